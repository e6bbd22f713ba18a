//! Tests of a process's own stdin and stdout, with every kind of stream that a parent may provide.
//!
//! The test starts its own program again as the server. `server` below is the code of this child process, and
//! not a test.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use agentese::framing::{FrameReader, Incoming};
use agentese::transport::{guard_stdio, stdio};
use rustix::fs::{OFlags, fcntl_getfl};
use tokio::io::AsyncWriteExt;

#[tokio::test]
#[ignore = "is the child of the other tests"]
#[allow(clippy::print_stdout, reason = "the test is about foreign prints")]
async fn server() {
    let stdio_kind = std::env::var("AGENTESE_STDIO").expect("is started by the other tests");
    if stdio_kind == "pipe" {
        drop(stdio().unwrap());
        // The pipes of the parent are unchanged for their other users.
        for flags in [fcntl_getfl(std::io::stdin()).unwrap(), fcntl_getfl(std::io::stdout()).unwrap()] {
            assert!(!flags.contains(OFlags::NONBLOCK));
        }
    }
    let transport = guard_stdio().unwrap();
    println!("{{\"foreign\":true}}");
    let nothing = std::io::stdin().read(&mut [0; 16]).unwrap();
    assert_eq!(nothing, 0, "a foreign reader took frames");

    let mut writer = transport.writer;
    // The output of the test harness precedes it on the same line.
    writer.write_all(b"\n").await.unwrap();
    let mut reader = FrameReader::new(transport.reader);
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).await.unwrap() > 0 {
        for incoming in batch.drain(..) {
            let Incoming::Frame(text) = incoming else { panic!("{incoming:?}") };
            writer.write_all(format!("{{\"echo\":{text}}}\n").as_bytes()).await.unwrap();
        }
    }
    writer.flush().await.unwrap();
}

fn server_over(stdio_kind: &str, stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "server", "--nocapture"])
        .env("AGENTESE_STDIO", stdio_kind)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

const FRAMES: u32 = 20_000;

fn frames() -> String {
    (0..FRAMES).map(|number| format!("{{\"id\":{number}}}\n")).collect()
}

/// Ends the server and checks its output.
fn check(server: std::process::Child, stdout: &str) {
    let output = server.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let wanted: Vec<String> = (0..FRAMES).map(|number| format!("{{\"echo\":{{\"id\":{number}}}}}")).collect();
    let got: Vec<&str> = stdout.lines().filter(|line| line.starts_with('{')).collect();
    assert!(got == wanted, "{} frames came back, {} were sent: {stderr}", got.len(), wanted.len());
    assert!(stderr.contains("{\"foreign\":true}"), "foreign text goes to stderr: {stderr}");
}

#[test]
fn fm_F22_over_pipes_frames_stay_whole_and_foreign_text_goes_to_stderr() {
    let mut server = server_over("pipe", Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = server.stdout.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(frames().as_bytes()).unwrap());
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    writing.join().unwrap();
    check(server, &text);
}

#[test]
fn over_sockets_as_a_node_parent_has_them() {
    let (mut near_in, far_in) = UnixStream::pair().unwrap();
    let (mut near_out, far_out) = UnixStream::pair().unwrap();
    // The sockets remain unchanged for their other users, during and after the test.
    let shared = [far_in.try_clone().unwrap(), far_out.try_clone().unwrap()];
    let server = server_over("socket", OwnedFd::from(far_in), OwnedFd::from(far_out));
    let waits = || shared.iter().all(|socket| !fcntl_getfl(socket).unwrap().contains(OFlags::NONBLOCK));
    let writing = std::thread::spawn(move || near_in.write_all(frames().as_bytes()).unwrap());
    let mut text = String::new();
    // The other user keeps the socket open, so that only the last frame shows the end.
    let last = format!("{{\"echo\":{{\"id\":{}}}}}\n", FRAMES - 1);
    let mut chunk = vec![0; 1 << 16];
    while !text.ends_with(&last) {
        let count = near_out.read(&mut chunk).unwrap();
        assert!(count > 0 && waits(), "a shared socket was made non-blocking");
        text.push_str(std::str::from_utf8(&chunk[..count]).unwrap());
    }
    writing.join().unwrap();
    check(server, &text);
    assert!(waits(), "a shared socket is left non-blocking");
}

#[test]
fn over_files() {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(frames().as_bytes()).unwrap();
    input.rewind().unwrap();
    let mut output = tempfile::tempfile().unwrap();
    let mut server = server_over("file", input, output.try_clone().unwrap());
    server.wait().unwrap();
    let mut text = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    check(server, &text);
}
