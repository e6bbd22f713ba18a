//! Tests of `agentese web` and `agentese inspect` with hostile requests.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use agentese::websocket;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::LONG;
use crate::support::agentese;
use crate::support::process::Place;

/// Agent that records its input and answers each line with an event.
const RECORDING_AGENT: &str = r#"while IFS= read -r line; do
    printf '%s\n' "$line" >> notes
    echo '{"jsonrpc":"2.0","method":"agent/event","params":{"type":"noted"}}'
done"#;

/// A running `agentese web`; killed on drop.
struct Page {
    child: Child,
    address: String,
}

impl Page {
    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim().to_owned() }
    }

    fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().unwrap()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.unwrap_or_else(|_| panic!("{what}: nothing within {LONG:?}"))
}

/// A frame with two members of the same name does not reach the agent, which might use the
/// first one.
#[tokio::test]
async fn a_denied_command_beside_another_does_not_reach_the_agent() {
    for rights in [&["--read-only"][..], &["--deny", "agent/prompt"]] {
        let place = Place::new();
        let words =
            [&["web", "--no-open", "--dialect", "opal"], rights, &["--", "sh", "-c", RECORDING_AGENT]]
                .concat();
        let page = Page::of(place.command(&words));
        let address = format!("{}ws", page.address.replacen("http", "ws", 1));
        let transport = soon("a connection", websocket::connect(&address)).await.unwrap();
        let (reader, mut writer, _) = transport.into_parts();
        let mut lines = tokio::io::BufReader::new(reader).lines();
        for frame in [
            r#"{"jsonrpc":"2.0","id":2,"method":"agent/prompt","method":"opal/ping","params":{"text":"one"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"agent/prompt","m\u0065thod":"opal/ping","params":{"text":"two"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":null,"method":"agent/prompt","params":{"text":"three"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"METHOD":"agent/prompt","method":"opal/ping","params":{"text":"four"}}"#,
            r#"[{"jsonrpc":"2.0","id":6,"method":"agent/prompt","params":{"text":"five"}}]"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"opal/ping","params":{"text":"last"}}"#,
        ] {
            soon("a frame", writer.write_all(format!("{frame}\n").as_bytes())).await.unwrap();
        }
        let mut refused = 0;
        loop {
            let line = soon("an answer", lines.next_line()).await.unwrap().unwrap();
            let frame: Value = serde_json::from_str(&line).unwrap();
            refused += usize::from(frame.get("error").is_some() && frame.get("id").is_some());
            if frame["params"]["type"] == "noted" {
                break;
            }
        }
        let notes = std::fs::read_to_string(place.work().join("notes")).unwrap();
        assert!(notes.contains("last") && !notes.contains("agent/prompt"), "{rights:?}: {notes}");
        assert_eq!(refused, 4, "{rights:?}");
    }
}

/// A page with a limit of 256 open files continues to work with 400 connections that sent
/// incomplete requests.
#[tokio::test]
async fn incomplete_requests_block_no_client_and_are_closed() {
    let place = Place::new();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 256; exec \"$0\" web --no-open -- cat"]).arg(agentese());
    limited.current_dir(place.work()).env("HOME", place.work());
    let page = Page::of(limited);
    let mut half = Vec::new();
    for _ in 0..400 {
        let mut stream = soon("a connection", TcpStream::connect(page.host())).await.unwrap();
        let _ = stream.write_all(b"GET /half HTTP/1.1\r\n").await;
        half.push(stream);
    }
    let mut stream = soon("a connection", TcpStream::connect(page.host())).await.unwrap();
    let path = page.address.trim_start_matches("http://").trim_start_matches(page.host());
    let request = format!("GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", page.host());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon("the page", stream.read_to_string(&mut text)).await.unwrap();
    assert!(text.starts_with("HTTP/1.0 200 OK"), "{text}");
    for (number, mut stream) in half.into_iter().enumerate() {
        let mut rest = Vec::new();
        // The connection was closed, or reset because of unread data.
        let _ = soon(&format!("the end of half request {number}"), stream.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn a_session_is_read_from_a_regular_file_of_bounded_size_only() {
    let place = Place::new();
    let pipe = place.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let sparse = place.work().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
    for (file, reason) in [
        (pipe.to_str().unwrap(), "expected a regular file, found a pipe"),
        (sparse.to_str().unwrap(), "the file has 3221225472 bytes"),
        ("/dev/zero", "expected a regular file, found a device"),
        (".", "expected a regular file, found a directory"),
    ] {
        let mut command = tokio::process::Command::from(place.command(&["inspect", "--no-open", file]));
        let ended = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let ended = soon(&format!("the end of inspect {file}"), ended).await.unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && stderr.contains(reason), "{file}: {stderr}");
    }
}
