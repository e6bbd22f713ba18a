//! Commands of the user that keep the state of the previous command: directory, variables, and in bash also functions.
//! Each command has its own shell. So a command that hangs or is aborted does not affect later ones.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{RpcBashError, RpcBashOutput, ToolContext, run_rpc_bash};

/// Maximum size of the stored state, in bytes.
const LIMIT: u64 = 1 << 20;

/// The state after the last command. It can contain keys. Therefore it is written to a file only while a command runs,
/// and only its owner can read this file.
#[derive(Debug, Default)]
pub struct ShellSession(Mutex<ShellState>);

#[derive(Debug, Clone, Default)]
struct ShellState {
    directory: Option<PathBuf>,
    /// A shell script that restores the variables and functions.
    variables: Option<Vec<u8>>,
}

impl ShellSession {
    fn state(&self) -> MutexGuard<'_, ShellState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command as [`run_rpc_bash`] does, in the state of the previous command. If the command exits by itself,
    /// its state is stored for the next one. If commands run at the same time, the last one to exit determines the
    /// state. A state that cannot be stored does not prevent the command.
    pub async fn run(&self, context: &ToolContext, command: &str) -> Result<RpcBashOutput, RpcBashError> {
        let previous = self.state().clone();
        let mut context = context.clone();
        if let Some(directory) = previous.directory.filter(|directory| directory.is_dir()) {
            context.cwd = directory;
        }
        let files = match StateFiles::new(&context.temp_dir, previous.variables.as_deref()) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(%error, "the state of the shell is not kept");
                return run_rpc_bash(&context, command, &mut |_| {}).await;
            }
        };
        let result = run_rpc_bash(&context, &files.script(command), &mut |_| {}).await;
        // A shell that a signal ends may write its state too.
        let ended_by_itself =
            result.as_ref().is_ok_and(|output| !output.cancelled && output.exit_code.is_some());
        if ended_by_itself
            && let (Some(directory), Some(variables)) = (files.read("directory"), files.read("after"))
        {
            use std::os::unix::ffi::OsStringExt as _;
            let mut directory = directory;
            directory.pop_if(|last| *last == b'\n');
            let directory = PathBuf::from(std::ffi::OsString::from_vec(directory));
            *self.state() = ShellState { directory: Some(directory), variables: Some(variables) };
        }
        result
    }
}

/// A temporary directory with the files for the state of one command.
struct StateFiles {
    directory: tempfile::TempDir,
    has_variables: bool,
}

impl StateFiles {
    fn new(temp_dir: &Path, variables: Option<&[u8]>) -> std::io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("agentese-shell-").tempdir_in(temp_dir)?;
        if let Some(variables) = variables {
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(directory.path().join("before"))?;
            file.write_all(variables)?;
        }
        Ok(Self { directory, has_variables: variables.is_some() })
    }

    /// Returns the command with code that restores and stores the state. This code is on the first line, so that line
    /// numbers do not change.
    fn script(&self, command: &str) -> String {
        let file = |name: &str| quoted(&self.directory.path().join(name).to_string_lossy());
        // Read-only variables of the shell cause errors, which are ignored.
        let begin =
            if self.has_variables { format!(". {} 2>/dev/null; ", file("before")) } else { String::new() };
        let end = format!(
            "umask 077; if [ -n \"$BASH_VERSION\" ]; then {{ declare -p; declare -f; }} else export -p; fi >{} 2>/dev/null; \
             pwd >{} 2>/dev/null",
            file("after"),
            file("directory"),
        );
        format!("{begin}trap {} 0; {command}", quoted(&end))
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let file = File::open(self.directory.path().join(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(LIMIT + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= LIMIT && !bytes.is_empty()).then_some(bytes)
    }
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{LocalSpawner, ShellSettings};

    async fn run(session: &ShellSession, context: &ToolContext, command: &str) -> (String, Option<i32>) {
        let output = session.run(context, command).await.unwrap();
        (output.output, output.exit_code)
    }

    fn context(directory: &tempfile::TempDir) -> ToolContext {
        let mut context = ToolContext::new(directory.path(), Arc::new(LocalSpawner::new(None)));
        context.temp_dir = directory.path().to_owned();
        context
    }

    #[tokio::test]
    async fn directory_variables_and_functions_stay() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("it's")).unwrap();
        let (session, context) = (ShellSession::default(), context(&directory));
        let first =
            "cd \"it's\"; export FOO=\"a'b\nc\"; plain=1; list=(x 'y z'); f() { echo \"f$1\"; }; exit 3";
        assert_eq!(run(&session, &context, first).await, (String::new(), Some(3)));
        let second = "basename \"$PWD\"; echo \"$FOO|$plain|${list[1]}\"; f 2; env | grep -c ^FOO=";
        assert_eq!(
            run(&session, &context, second).await,
            ("it's\na'b\nc|1|y z\nf2\n1\n".to_owned(), Some(0))
        );
        assert_eq!(run(&session, &context, "nosuchprogram").await.1, Some(127));
        let (output, _) = run(&session, &context, "nosuchprogram").await;
        assert!(output.contains("line 1"), "{output}");
        std::fs::remove_dir(directory.path().join("it's")).unwrap();
        assert_eq!(run(&session, &context, "cd .; echo $plain").await.0, "1\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[tokio::test]
    async fn a_stopped_command_does_not_change_the_state() {
        let directory = tempfile::tempdir().unwrap();
        let (session, context) = (ShellSession::default(), context(&directory));
        run(&session, &context, "x=1").await;
        let mut stopped = context.clone();
        stopped.abort = tokio_util::sync::CancellationToken::new();
        let abort = stopped.abort.clone();
        let started = directory.path().join("started");
        let (output, ()) = tokio::join!(session.run(&stopped, "x=2; : >started; sleep 60"), async {
            while !started.exists() {
                tokio::task::yield_now().await;
            }
            abort.cancel();
        });
        assert!(output.unwrap().cancelled);
        assert_eq!(run(&session, &context, "echo $x").await.0, "1\n");
    }

    #[tokio::test]
    async fn another_shell_keeps_exported_variables() {
        let directory = tempfile::tempdir().unwrap();
        let (session, mut context) = (ShellSession::default(), context(&directory));
        context.shell = ShellSettings { program: Some("/bin/sh".into()), ..ShellSettings::default() };
        run(&session, &context, "cd /; export FOO='a b'").await;
        assert_eq!(run(&session, &context, "pwd; echo \"$FOO\"").await.0, "/\na b\n");
    }
}
