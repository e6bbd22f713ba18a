//! Execution of git commands: under the guard process, without hooks, without a terminal, and without keys of providers
//! in the environment.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::providers::key_variables;
use crate::tools::{CommandLine, Exit, PipedProcess, Spawner};

/// Time limit of a git command. Usually it takes seconds; on a huge repository and a slow disk, minutes.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of bytes that are read of git's error output.
const MAX_STDERR_BYTES: u64 = 64 * 1024;
/// Maximum number of bytes of git's output, enough for the names of a million files.
const MAX_STDOUT_BYTES: u64 = 256 << 20;

/// Options that disable hooks, monitors and automatic maintenance.
pub(super) const SAFE_OPTIONS: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "commit.gpgSign=false",
];

/// Environment variables that are removed, because they would direct git to another repository or change its handling
/// of paths.
pub(super) const HIDDEN_VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Prefix of variables that make git write traces.
const TRACE: &[u8] = b"GIT_TRACE";

/// Runs git commands.
#[derive(Clone)]
pub struct Git {
    spawner: Arc<dyn Spawner>,
    stop: CancellationToken,
}

/// Environment variables of one command.
pub type Variables = Vec<(OsString, OsString)>;

impl Git {
    /// Creates a runner whose commands end when `stop` is cancelled.
    pub fn new(spawner: Arc<dyn Spawner>, stop: CancellationToken) -> Self {
        Self { spawner, stop }
    }

    /// Returns a runner whose commands end only if `stop` is cancelled.
    pub fn with_stop_token(&self, stop: CancellationToken) -> Self {
        Self::new(self.spawner.clone(), stop)
    }

    /// Returns a runner for work that must not be interrupted.
    pub fn uninterruptible(&self) -> Self {
        self.with_stop_token(CancellationToken::new())
    }

    /// Returns true if the commands of this runner must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns a token that is cancelled together with the commands of this runner.
    pub fn child_token(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// Runs git, and returns its output without the line end. Fails with git's error output if the exit code is not 0.
    /// Also fails if the command is cancelled; git has then already ended.
    pub async fn run(&self, cwd: &Path, variables: &Variables, arguments: &[&str]) -> Result<String, String> {
        let answer = self.pipe(cwd, variables, arguments, Vec::new()).await?;
        Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
    }

    /// Runs git with `input` on stdin, and returns its unchanged output. Fails like [`Git::run`].
    pub async fn pipe(
        &self,
        cwd: &Path,
        variables: &Variables,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<Vec<u8>, String> {
        let line = command_line(cwd, variables, arguments);
        let name = arguments.first().copied().unwrap_or_default();
        if self.is_stopped() {
            return Err(format!("git {name} was stopped"));
        }
        let piped =
            self.spawner.spawn_piped(&line).await.map_err(|error| format!("git does not start: {error}"))?;
        let PipedProcess { input: stdin, output, errors, process: mut running } = piped;
        let work = async {
            // Warnings are not part of the output.
            let (answer, stderr, ()) = tokio::join!(
                read_limited(output, MAX_STDOUT_BYTES),
                read_limited(errors, MAX_STDERR_BYTES),
                write(stdin, input)
            );
            Ok::<_, io::Error>((answer?, stderr?, running.wait().await?))
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(TIMEOUT, work) => Some(ended),
            () = self.stop.cancelled() => None,
        };
        let Some(ended) = ended else {
            running.end().await;
            return Err(format!("git {name} was stopped"));
        };
        match ended {
            Ok(Ok((answer, _, Exit::Code(0)))) if answer.len() as u64 == MAX_STDOUT_BYTES => {
                Err(format!("git {name} printed more than {} MiB", MAX_STDOUT_BYTES >> 20))
            }
            Ok(Ok((answer, _, Exit::Code(0)))) => Ok(answer),
            Ok(Ok((answer, stderr, _))) => {
                let message = if stderr.is_empty() { answer } else { stderr };
                Err(format!("git {name}: {}", String::from_utf8_lossy(&message).trim_end()))
            }
            Ok(Err(error)) => Err(format!("git {name}: {error}")),
            Err(_) => Err(format!("git {name} took more than {} s", TIMEOUT.as_secs())),
        }
    }
}

fn command_line(cwd: &Path, variables: &Variables, arguments: &[&str]) -> CommandLine {
    let traces = std::env::vars_os().map(|(name, _)| name);
    let traces = traces.filter(|name| name.as_encoded_bytes().starts_with(TRACE));
    let hidden =
        HIDDEN_VARIABLES.iter().map(OsString::from).chain(traces).chain(key_variables().map(OsString::from));
    let mut environment = variables.clone();
    environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    environment.push(("LC_ALL".into(), "C".into()));
    CommandLine {
        program: "git".into(),
        arguments: SAFE_OPTIONS.iter().chain(arguments).map(OsString::from).collect(),
        cwd: cwd.to_owned(),
        hidden: hidden.filter(|name| environment.iter().all(|(set, _)| set != name)).collect(),
        environment,
    }
}

/// Writes all input, then closes the channel. Errors are ignored, because the exit code shows if a program stopped
/// reading too early.
async fn write(mut channel: impl AsyncWrite + Unpin, input: Vec<u8>) {
    let _ = channel.write_all(&input).await;
    let _ = channel.shutdown().await;
}

/// Returns the first `limit` bytes of a channel. The rest is read and discarded, so that git is not blocked.
async fn read_limited(mut channel: impl AsyncRead + Unpin, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    (&mut channel).take(limit).read_to_end(&mut content).await?;
    tokio::io::copy(&mut channel, &mut tokio::io::sink()).await?;
    Ok(content)
}
