//! Tests of `record` between a client and an agent that are real processes, and of `replay` with the
//! recorded transcript.

use std::path::Path;
use std::process::Stdio;

use agentese_conformance::Transcript;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

#[path = "../../sdk-rust/tests/support/long.rs"]
mod long;
use long::LONG;

const PROGRAM: &str = env!("CARGO_BIN_EXE_agentese-conformance");

fn start(arguments: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(arguments)
        .env("RECORD_TEST_TOKEN", "tooth-and-nail")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Sends lines. After each line, waits for an output line that contains the text beside it in
/// `said`. Returns all output lines, the exit code and stderr.
async fn converse<S: AsRef<str>>(mut child: Child, said: &[(S, &str)]) -> (Vec<String>, i32, String) {
    let talk = async {
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = Vec::new();
        for (line, until) in said {
            stdin.write_all(format!("{}\n", line.as_ref()).as_bytes()).await.unwrap();
            loop {
                let line = lines.next_line().await.unwrap().expect("an answer");
                let is_last = line.contains(until);
                seen.push(line);
                if is_last {
                    break;
                }
            }
        }
        drop(stdin);
        while let Some(line) = lines.next_line().await.unwrap() {
            seen.push(line);
        }
        let output = child.wait_with_output().await.unwrap();
        (seen, output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    tokio::time::timeout(LONG, talk).await.expect("the session ends")
}

/// An agent that is a short shell script and repeats every line.
const ECHO: &str =
    r#"while read -r line; do echo "{\"type\":\"echo\",\"of\":$line}"; done; echo bye >&2; exit 5"#;

#[tokio::test]
async fn bytes_pass_through_and_the_recording_is_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/session.jsonl");
    let here = std::env::current_dir().unwrap();
    let child = start(&[
        "record",
        "--out",
        out.to_str().unwrap(),
        "--agent",
        "echo",
        "--redact",
        "nightingale=bird",
        "--",
        "/bin/sh",
        "-c",
        ECHO,
    ]);
    let line = format!(
        r#"{{"id":1,"apiKey":"averysecretvalue","path":"{}/x","note":"sk-abcdefghijklmnopqrstuvwx nightingale"}}"#,
        here.display()
    );
    let (seen, code, stderr) = converse(child, &[(&line, "echo")]).await;
    assert_eq!(code, 5, "{stderr}");
    // The client receives every byte.
    assert_eq!(seen, [format!(r#"{{"type":"echo","of":{line}}}"#)]);
    assert!(stderr.contains("bye"), "{stderr}");
    let kept = std::fs::read_to_string(&out).unwrap();
    for secret in ["averysecretvalue", "sk-abc", "nightingale", here.to_str().unwrap()] {
        assert!(!kept.contains(secret), "{secret}: {kept}");
    }
    let transcript = Transcript::load(&out).unwrap();
    assert_eq!(transcript.header.agent, "echo");
    assert_eq!(
        transcript.sent().next().unwrap().as_str(),
        r#"{"id":1,"apiKey":"[redacted]","path":"/work-dir/x","note":"[redacted] bird"}"#
    );
}

#[tokio::test]
async fn a_recording_with_a_key_is_not_written() {
    let table = [
        (
            r#"{"text":"-----BEGIN RSA PRIVATE KEY----- abcdefghijklmnopqrst"}"#,
            "record 1 contains a private key",
        ),
        (
            r#"{"text":"it is tooth-and-nail"}"#,
            "record 1 contains the value of the variable RECORD_TEST_TOKEN",
        ),
    ];
    for (line, wanted) in table {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("session.jsonl");
        let child = start(&["record", "--out", out.to_str().unwrap(), "--", "/bin/sh", "-c", ECHO]);
        let (_, code, stderr) = converse(child, &[(line, "echo")]).await;
        assert_eq!(code, 3, "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
        // The message does not contain the complete secret.
        assert!(!stderr.contains("tooth-and-nail") && !stderr.contains("abcdefghij"), "{stderr}");
        assert!(!Path::new(&out).exists());
    }
}

/// A recorded session is replayed to a client that sends the same commands and a few more.
#[tokio::test]
async fn a_recording_plays_back() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("session.jsonl");
    let out = out.to_str().unwrap();
    let said = |id: &'static str, message: &'static str| {
        let state = format!(r#"{{"id":"{id}","type":"get_state"}}"#);
        let prompt = format!(r#"{{"type":"prompt","id":"b","message":"{message}"}}"#);
        let stats = r#"{"id":"c","type":"get_session_stats"}"#.to_owned();
        [(state, "\"get_state\""), (prompt, "agent_end"), (stats, "\"get_session_stats\"")]
    };
    let recorded = start(&["record", "--out", out, "--", PROGRAM, "replay", "--dialect", "pi", "tool-multi"]);
    let (seen, code, stderr) = converse(recorded, &said("a", "three things")).await;
    assert_eq!((code, stderr.as_str()), (0, ""));
    let replayed = start(&["replay", "--dialect", "pi@0.55", "--strict", out]);
    let (seen_again, code, stderr) = converse(replayed, &said("x", "three things")).await;
    assert_eq!((code, stderr.as_str()), (0, ""));
    let ids = |line: &String| line.replace("\"id\":\"x\"", "\"id\":\"a\"");
    assert_eq!(seen_again.iter().map(ids).collect::<Vec<_>>(), seen);
    // A deviation is reported. With `--strict` it is a failure.
    let other = start(&["replay", "--dialect", "pi", "--strict", out]);
    let (_, code, stderr) = converse(other, &said("a", "something else")).await;
    assert_eq!(code, 1);
    assert!(stderr.starts_with("different line: "), "{stderr}");
}
