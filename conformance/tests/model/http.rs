//! Minimal HTTP client that gives access to every byte of a response.

use std::net::SocketAddr;

use agentese::types::ModelScript;
use agentese_conformance::model::ScriptedModel;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub use crate::long::LONG;

/// Way in which a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The response has the announced length.
    Complete,
    /// The connection was closed before the announced end.
    Cut,
    /// The connection was reset.
    Reset,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
    pub end: End,
}

pub async fn start(script: Value) -> ScriptedModel {
    let script: ModelScript = serde_json::from_value(script).unwrap();
    ScriptedModel::start(script).await.unwrap()
}

/// Sends a request on a new connection and returns the socket.
pub async fn send(address: SocketAddr, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

pub async fn post(address: SocketAddr, path: &str, body: &Value) -> Response {
    let stream = send(address, path, body).await;
    tokio::time::timeout(LONG, read(stream)).await.expect("an answer in time")
}

/// Reads a response up to its announced length, or else to the end of the connection.
pub async fn read(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    let mut reset = false;
    loop {
        match stream.read_buf(&mut bytes).await {
            Ok(0) => break,
            Ok(_) if is_whole(&bytes) => break,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
                reset = true;
                break;
            }
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (body, whole) =
        if head.contains("transfer-encoding: chunked") { unchunked(body) } else { (body.to_owned(), true) };
    let end = match (reset, whole) {
        (true, _) => End::Reset,
        (false, true) => End::Complete,
        (false, false) => End::Cut,
    };
    Response { status, head: head.to_owned(), body, end }
}

/// Returns `true` if the response has the length that its head announces. A response without a length ends
/// with the connection.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| body.len() >= length.parse::<usize>().unwrap())
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut out = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (out, after == "\r\n");
        }
        let Some(chunk) = after.get(..size) else { break };
        out.push_str(chunk);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
    (out, false)
}
