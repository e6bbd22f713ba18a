//! Running git, under the guard, without hooks and without a terminal.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::tools::{CommandLine, Exit, Spawner};

/// A git command takes seconds at most; on a huge repository and a slow disk, minutes.
const LIMIT: Duration = Duration::from_secs(600);
/// Only the ends of what git says are looked at.
const SAID: u64 = 64 * 1024;

/// What keeps git from running programs of the repository, and from cleaning up on its own.
pub(super) const QUIET: [&str; 10] = [
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

/// Variables that would send git to another repository.
pub(super) const AWAY: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Runs git.
#[derive(Clone)]
pub struct Git {
    spawner: Arc<dyn Spawner>,
}

/// Variables of one command.
pub type Variables = Vec<(OsString, OsString)>;

impl Git {
    pub fn new(spawner: Arc<dyn Spawner>) -> Self {
        Self { spawner }
    }

    /// What git says, without the line's end. Fails with what it says where its code is not 0.
    pub async fn run(&self, cwd: &Path, variables: &Variables, arguments: &[&str]) -> Result<String, String> {
        let hidden = AWAY.iter().map(OsString::from);
        let mut environment = variables.clone();
        environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        environment.push(("LC_ALL".into(), "C".into()));
        let line = CommandLine {
            program: "git".into(),
            arguments: QUIET.iter().chain(arguments).map(OsString::from).collect(),
            cwd: cwd.to_owned(),
            hidden: hidden.filter(|name| environment.iter().all(|(set, _)| set != name)).collect(),
            environment,
        };
        let mut running =
            self.spawner.spawn(&line).await.map_err(|error| format!("git does not start: {error}"))?;
        let mut output = running.take_output();
        let mut said = Vec::new();
        let work = async {
            let read = (&mut output).take(SAID).read_to_end(&mut said).await;
            // What is beyond that is read and thrown away, so that git does not wait.
            let rest = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
            let exit = running.wait().await;
            read.and(rest).and(exit)
        };
        let exit = tokio::time::timeout(LIMIT, work).await;
        let text = String::from_utf8_lossy(&said).trim_end().to_owned();
        let name = arguments.first().copied().unwrap_or_default();
        match exit {
            Ok(Ok(Exit::Code(0))) => Ok(text),
            Ok(Ok(_)) => Err(format!("git {name}: {text}")),
            Ok(Err(error)) => Err(format!("git {name}: {error}")),
            Err(_) => Err(format!("git {name} took more than {} s", LIMIT.as_secs())),
        }
    }
}
