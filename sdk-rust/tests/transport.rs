//! Tests of child processes: their start, their end, and waits with a time limit.
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use std::future::Future;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentese::framing::{FrameReader, Incoming};
use agentese::transport::{BoxReader, ChildOptions, ChildProcess, Exit, SpawnErrorKind, Transport};
use tokio::io::AsyncWriteExt;

#[path = "support/long.rs"]
mod long;
use long::LONG;

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("waited in vain")
}

/// Returns a shell script that ends on request, even on a busy machine.
fn sh(script: &str) -> ChildOptions {
    ChildOptions::new("sh").arg("-c").arg(script).graces(GRACE, GRACE)
}

/// Grace period for children that end on end of input or on a signal.
const GRACE: Duration = LONG;
/// Grace period for children that end neither on end of input nor on a signal.
const SHORT: Duration = Duration::from_millis(100);

struct StartedChild {
    child: ChildProcess,
    writer: agentese::transport::BoxWriter,
    reader: FrameReader<BoxReader>,
    batch: std::vec::IntoIter<Incoming>,
}

fn start(options: ChildOptions) -> StartedChild {
    let (reader, writer, child) = Transport::from_child(options).unwrap().into_parts();
    let reader = FrameReader::new(reader);
    StartedChild { child: child.unwrap(), writer, reader, batch: Vec::new().into_iter() }
}

impl StartedChild {
    /// Returns the next line of stdout.
    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(incoming) = self.batch.next() {
                let Incoming::Frame(text) = incoming else { panic!("{incoming:?}") };
                return Some(text.as_str().to_owned());
            }
            let mut batch = Vec::new();
            if soon(self.reader.next_batch(&mut batch)).await.unwrap() == 0 {
                return None;
            }
            self.batch = batch.into_iter();
        }
    }

    async fn pid(&mut self) -> u32 {
        self.line().await.expect("no process id").parse().expect("a process id")
    }
}

/// Returns `true` if the process has ended. A zombie that another parent has not reaped is considered ended.
fn gone(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let mut fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
    let (state, parent) = (fields.next().unwrap(), fields.next().unwrap());
    state == "Z" && parent != std::process::id().to_string()
}

/// Polls a condition until it holds.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < LONG, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn frames_go_through_a_child_and_end_of_input_ends_it() {
    let mut cat = start(ChildOptions::new("cat"));
    cat.writer.write_all(b"{\"id\":1}\n{\"id\":2}\n").await.unwrap();
    assert_eq!(cat.line().await.unwrap(), "{\"id\":1}");
    assert_eq!(cat.line().await.unwrap(), "{\"id\":2}");
    drop(cat.writer);
    let exit = soon(cat.child.exit()).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(cat.child.exited(), Some(exit.clone()));
    assert_eq!(soon(cat.child.shutdown()).await, exit);
}

#[tokio::test]
async fn fm_F13_large_frames_go_through_a_pipe() {
    for mebibytes in [1, 16, 63] {
        let mut cat = start(ChildOptions::new("cat"));
        let mut frame = vec![b'x'; mebibytes * 1024 * 1024];
        frame.push(b'\n');
        let length = frame.len();
        let mut writer = cat.writer;
        let writing = tokio::spawn(async move { writer.write_all(&frame).await });
        let mut batch = Vec::new();
        soon(cat.reader.next_batch(&mut batch)).await.unwrap();
        assert!(matches!(&batch[0], Incoming::Frame(text) if text.len() == length - 1));
        writing.await.unwrap().unwrap();
        assert!(soon(cat.child.shutdown()).await.success());
    }
}

#[tokio::test]
async fn fm_F27_stderr_is_drained_into_a_bounded_tail() {
    let script = "i=0; line=$(printf '%1023s' x); while [ $i -lt 10240 ]; do echo \"$line\" >&2; i=$((i+1)); done; echo last words >&2; echo done; read _";
    let mut noisy = start(sh(script));
    assert_eq!(noisy.line().await.unwrap(), "done");
    // stderr has not been requested yet; the progress of the child proves that it is read.
    let exit = soon(noisy.child.shutdown()).await;
    assert_eq!(exit.stderr_tail.len(), 64 * 1024);
    assert!(exit.stderr_tail.ends_with("x\nlast words\n"));
}

#[tokio::test]
async fn stderr_lines_are_handed_to_the_callback() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let options = sh("echo one >&2; printf 'two' >&2")
        .on_stderr_line(move |line| sink.lock().unwrap().push(line.to_owned()));
    let child = start(options).child;
    soon(child.shutdown()).await;
    assert_eq!(*lines.lock().unwrap(), ["one", "two"]);
}

#[tokio::test]
async fn fm_F33_a_killed_child_is_reported_at_once_and_reaped() {
    let mut child = start(sh("echo starting >&2; echo ready; read _"));
    assert_eq!(child.line().await.unwrap(), "ready");
    let pid = child.child.id();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let exit = soon(child.child.exit()).await;
    assert_eq!((exit.code, exit.signal, exit.signal_name()), (None, Some(9), Some("SIGKILL")));
    assert_eq!(exit.stderr_tail, "starting\n");
    assert_eq!(exit.to_string(), "killed by SIGKILL");
    assert!(gone(pid), "a zombie is left");
    assert_eq!(child.line().await, None);
    assert_eq!(child.writer.write_all(b"late\n").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn fm_F34_an_exit_before_the_first_answer_carries_code_and_stderr() {
    let child = start(sh("echo 'no api key' >&2; exit 7")).child;
    let exit = soon(child.exit()).await;
    assert_eq!(exit, Exit { code: Some(7), signal: None, stderr_tail: "no api key\n".into() });
    assert_eq!(exit.to_string(), "exited with code 7");
}

#[tokio::test]
async fn the_end_is_noticed_while_others_hold_the_pipes() {
    let mut child = start(sh("sleep 1000 & echo $!; exit 3").graces(LONG, LONG));
    let grandchild = child.pid().await;
    let exit = soon(child.child.exit()).await;
    assert_eq!(exit.code, Some(3));
    assert!(!gone(grandchild), "the grace is not over yet");
    child.child.kill();
    until("the grandchild is gone", || gone(grandchild)).await;
    assert_eq!(child.line().await, None);
}

#[tokio::test]
async fn fm_F35_spawn_failures_are_reported_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let check = |options: ChildOptions, kind: SpawnErrorKind| {
        let spawn = || Transport::from_child(options.clone()).map(|_| ()).unwrap_err();
        let mut error = spawn();
        // A child of another test holds these files until it executes its program.
        for _ in 0..1000 {
            if error.kind == kind || error.kind != SpawnErrorKind::Busy {
                break;
            }
            error = spawn();
        }
        assert_eq!(error.kind, kind, "{options:?}: {error} ({})", error.source);
        let text = error.to_string();
        assert!(text.starts_with("cannot start ") && !text.contains('\n'), "{text}");
    };
    check(ChildOptions::new("agentese-no-such-program"), SpawnErrorKind::NotFound);
    check(ChildOptions::new(folder.path().join("missing")), SpawnErrorKind::NotFound);
    check(ChildOptions::new(file("plain", "text", 0o644)), SpawnErrorKind::NotExecutable);
    check(ChildOptions::new(folder.path()), SpawnErrorKind::NotExecutable);
    check(ChildOptions::new(file("no-program", "\0\x01\x02", 0o755)), SpawnErrorKind::NotExecutable);
    check(
        ChildOptions::new(file("script", "#!/no/such/interpreter\n", 0o755)),
        SpawnErrorKind::NotExecutable,
    );
    check(ChildOptions::new("cat").cwd(folder.path().join("missing")), SpawnErrorKind::WorkingDirectory);
    check(ChildOptions::new("cat").cwd(folder.path().join("plain")), SpawnErrorKind::WorkingDirectory);
    check(ChildOptions::new("agentese-no-such-program").cwd(folder.path()), SpawnErrorKind::NotFound);
    check(ChildOptions::new("cat").arg("nul\0"), SpawnErrorKind::Other);

    let busy = file("busy", "#!/bin/sh\n", 0o755);
    let writing = std::fs::OpenOptions::new().append(true).open(&busy).unwrap();
    check(ChildOptions::new(&busy), SpawnErrorKind::Busy);
    drop(writing);
}

#[test]
fn fm_F35_without_a_runtime_it_is_an_error_and_no_panic() {
    let error = Transport::from_child(ChildOptions::new("cat")).map(|_| ()).unwrap_err();
    assert_eq!(error.kind, SpawnErrorKind::Other);
}

#[tokio::test]
async fn directory_and_environment_are_the_childs() {
    let folder = tempfile::tempdir().unwrap();
    let options = sh("pwd -P; echo \"$GREETING ${HOME-none}\"")
        .cwd(folder.path())
        .env("GREETING", "hello")
        .env_remove("HOME");
    assert!(!format!("{:?}", options.clone().env("KEY", "canary")).contains("canary"));
    let mut child = start(options);
    assert_eq!(child.line().await.unwrap(), folder.path().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(child.line().await.unwrap(), "hello none");
    soon(child.child.shutdown()).await;
}

#[tokio::test]
async fn fm_F38_a_dropped_handle_shuts_the_child_down_in_steps() {
    // Children that obey the end of input, only SIGTERM, or neither.
    for (script, eof, term, code, signal) in [
        ("echo $$; read _; exit 5", GRACE, GRACE, Some(5), None),
        ("trap 'exit 6' TERM; echo $$; while :; do sleep 0.01; done", SHORT, GRACE, Some(6), None),
        ("trap '' TERM; echo $$; while :; do sleep 0.01; done", SHORT, SHORT, None, Some(9)),
    ] {
        let mut child = start(sh(script).graces(eof, term));
        let pid = child.pid().await;
        let exit = child.child.exit();
        drop(child.child);
        let exit = soon(exit).await;
        assert_eq!((exit.code, exit.signal), (code, signal), "{script}");
        assert!(gone(pid), "a zombie is left: {script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fm_F38_a_group_is_waited_for_and_killed_without_its_handle() {
    let mut started = start(sh("trap '' TERM; echo $$; sleep 60; sleep 60").graces(SHORT, LONG));
    let pid = started.pid().await;
    let group = started.child.group();
    assert!(!group.is_over());
    drop(started);
    // The child ignored the end of its input and SIGTERM, and has a long time left.
    assert!(tokio::time::timeout(3 * SHORT, group.wait()).await.is_err());
    group.kill();
    soon(group.wait()).await;
    assert!(group.is_over() && gone(pid));
    // The number may belong to another process now.
    group.kill();
}

#[tokio::test]
async fn fm_F38_a_write_that_waits_is_settled_by_the_shutdown() {
    let mut child = start(sh("echo ready; sleep 1000").graces(Duration::ZERO, Duration::ZERO));
    child.line().await.unwrap();
    let mut writer = child.writer;
    let writing = tokio::spawn(async move { writer.write_all(&vec![b'x'; 8 * 1024 * 1024]).await });
    let exit = soon(child.child.shutdown()).await;
    assert!(exit.signal.is_some());
    assert_eq!(soon(writing).await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn closing_stdin_from_outside_wakes_the_writer() {
    let mut child = start(sh("echo ready; sleep 1000"));
    child.line().await.unwrap();
    let mut writer = child.writer;
    let (blocked, is_blocked) = tokio::sync::oneshot::channel();
    let writing = tokio::spawn(async move {
        let big = vec![b'x'; 1024 * 1024];
        let written = writer.write(&big).await.unwrap();
        assert!(written < big.len(), "a pipe without a reader is full");
        blocked.send(()).unwrap();
        writer.write_all(&big).await
    });
    soon(is_blocked).await.unwrap();
    child.child.close_stdin();
    assert_eq!(soon(writing).await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    child.child.kill();
    assert_eq!(soon(child.child.shutdown()).await.signal, Some(9));
}

#[test]
fn fm_F38_a_runtime_that_ends_first_kills_and_reaps() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (child, leader, grandchild) = runtime.block_on(async {
        let mut child = start(sh("trap '' TERM; sleep 1000 & echo $!; wait").graces(LONG, LONG));
        let grandchild = child.pid().await;
        let leader = child.child.id();
        (child.child, leader, grandchild)
    });
    drop(runtime);
    assert!(gone(leader), "the leader is left");
    assert_eq!(child.exited().unwrap().signal, Some(9));
    // The handle remains valid in any other runtime, and dropping it is safe.
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(async {
        assert_eq!(soon(child.shutdown()).await.signal, Some(9));
        until("the grandchild is gone", || gone(grandchild)).await;
    });
}

#[tokio::test]
async fn fm_F39_a_wrapper_leaves_nothing_behind() {
    // The wrapper waits for its child, and both ignore the end of input and SIGTERM.
    let stubborn = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(1000)";
    let mut child = start(sh(&format!("trap '' TERM; python3 -c '{stubborn}'; true")).graces(SHORT, SHORT));
    let grandchild = child.pid().await;
    let leader = child.child.id();
    assert_ne!(grandchild, leader);
    let exit = soon(child.child.shutdown()).await;
    assert_eq!(exit.signal, Some(9));
    assert!(gone(leader) && gone(grandchild), "something is left");
    assert_eq!(child.line().await, None);
}

#[tokio::test]
async fn fm_F39_orphans_of_a_leader_are_killed() {
    let mut child = start(sh("trap '' TERM; sleep 1000 & echo $!; exit 0").graces(SHORT, SHORT));
    let grandchild = child.pid().await;
    assert!(soon(child.child.exit()).await.success());
    until("the grandchild is gone", || gone(grandchild)).await;
    // A later call returns at once, with the leader's own exit.
    assert!(soon(child.child.shutdown()).await.success());
}

#[tokio::test]
async fn shutdown_may_be_requested_concurrently() {
    let child = Arc::new(start(sh("read _; exit 4")).child);
    let second = Arc::clone(&child);
    let (one, two) = soon(async { tokio::join!(child.shutdown(), second.shutdown()) }).await;
    assert_eq!((one.code, two.code), (Some(4), Some(4)));
}

#[tokio::test]
async fn fm_F132_the_same_options_start_again() {
    let options = sh("read line; echo \"got $line\"");
    for round in ["one", "two"] {
        let mut child = start(options.clone());
        child.writer.write_all(format!("{round}\n").as_bytes()).await.unwrap();
        assert_eq!(child.line().await.unwrap(), format!("got {round}"));
        assert!(soon(child.child.shutdown()).await.success());
    }
}
