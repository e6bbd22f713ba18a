//! Shell commands of a case, which run before the agent starts or as steps.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// Time limit of a command, if the case sets no limit.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// Largest output of a command, in bytes.
const LONGEST: u64 = 4 << 20;

/// Output of a command: stdout followed by stderr, and a description of the failure if it failed.
#[derive(Debug)]
pub(super) struct Output {
    pub text: String,
    pub failure: Option<String>,
}

/// Runs a command in a process group of its own, and then ends the group.
pub(super) async fn run(
    command: &str,
    work: &Path,
    environment: &[(String, String)],
    limit: Duration,
) -> Output {
    let failed = |reason: String| Output { text: String::new(), failure: Some(reason) };
    let spawned = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .current_dir(work)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return failed(error.to_string()),
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let read_out = async {
            if let Some(stdout) = stdout {
                let _ = stdout.take(LONGEST).read_to_end(&mut out).await;
            }
        };
        let read_err = async {
            if let Some(stderr) = stderr {
                let _ = stderr.take(LONGEST).read_to_end(&mut err).await;
            }
        };
        tokio::join!(read_out, read_err);
        let status = child.wait().await;
        out.extend(err);
        (String::from_utf8_lossy(&out).into_owned(), status)
    };
    match tokio::time::timeout(limit, work).await {
        Ok((text, Ok(status))) => {
            let last = text.trim().lines().last().unwrap_or_default();
            let failure = (!status.success()).then(|| format!("{status}: {last}"));
            Output { text, failure }
        }
        Ok((text, Err(error))) => Output { text, failure: Some(error.to_string()) },
        Err(_) => {
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::KILL);
            }
            failed(format!("took longer than {} ms", limit.as_millis()))
        }
    }
}
