//! Shared support for the tests of the tools.

#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
#[path = "../support/skip.rs"]
pub mod skip;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentese_server::tools::{LocalSpawner, ToolContext, ToolOutput, ToolSet};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

pub use long::LONG;

/// The directory of one test: `work` as the working directory, `temp` for full outputs. Removed on drop.
pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.work()).unwrap();
        std::fs::create_dir(place.temp()).unwrap();
        place
    }

    /// Returns a context for calls. Commands run under the program that `AGENTESE_TEST_GUARD` names as their guard, or
    /// without a guard.
    pub fn context(&self) -> ToolContext {
        self.context_of(LocalSpawner::new(std::env::var_os("AGENTESE_TEST_GUARD").map(PathBuf::from)))
    }

    pub fn context_of(&self, spawner: LocalSpawner) -> ToolContext {
        let mut context = ToolContext::new(self.work(), Arc::new(spawner));
        context.temp_dir = self.temp();
        context
    }

    pub fn work(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("work")
    }

    pub fn temp(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("temp")
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.work().join(name)).unwrap()
    }

    /// Returns the names of the files in the working directory.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.work()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Calls a built-in tool, and returns its output even if the call failed. Fails if the call hangs.
pub async fn call(context: &ToolContext, tool: &str, arguments: Value) -> ToolOutput {
    let tools = ToolSet::available();
    let output =
        tokio::time::timeout(LONG, tools.call(context, tool, arguments)).await.expect("the call hangs");
    ToolOutput { took: None, ..output }
}

/// Returns the text of a call that must succeed.
pub async fn succeeds(context: &ToolContext, tool: &str, arguments: Value) -> String {
    let output = call(context, tool, arguments).await;
    assert!(!output.is_error, "{output:?}");
    output.all_text()
}

/// Returns the text of a call that must fail.
pub async fn fails(context: &ToolContext, tool: &str, arguments: Value) -> String {
    let output = call(context, tool, arguments).await;
    assert!(output.is_error, "{output:?}");
    assert_eq!(output.details, Some(serde_json::json!({})));
    output.all_text()
}

/// Waits until a process has ended. A zombie without a parent counts as ended.
#[track_caller]
pub fn assert_gone(pid: i32) {
    let started = Instant::now();
    while alive(pid) {
        assert!(started.elapsed() < LONG, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let zombie = stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")));
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok() && !zombie
}

pub fn kill(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}
