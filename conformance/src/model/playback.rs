//! Writes one answer to a connection, with the pauses and pieces of the script, and breaks off if the script
//! requests it.

use std::io;
use std::time::Duration;

use agentese::types::{ModelRequest, ScriptError, ScriptRaw};
use agentese_script::{Interruption, Turn, interruption_of};
use base64::Engine as _;

use super::http::Connection;
use super::wire::{self, StreamPart};

/// Number of bytes that are collected before a write, if the script has no pauses between pieces.
const GATHERED: usize = 64 << 10;

/// Pause before the connection is reset, because a reset discards bytes that the client has not read.
const BEFORE_CUT: Duration = Duration::from_millis(50);

/// Writes an answer. Returns `false` if the connection ends with it.
pub(super) async fn play(
    connection: &mut Connection,
    turn: &Turn,
    request: &ModelRequest,
) -> io::Result<bool> {
    let answer = &turn.answer;
    if let Some(pause) = answer.first_ms {
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    if let Some(raw) = &answer.raw {
        return play_raw(connection, raw).await;
    }
    if let Some(error) = &answer.empty_error {
        connection.write_whole(status(error), &headers(error), b"").await?;
        return Ok(true);
    }
    let broken = interruption_of(answer);
    if let (Some(error), false) = (&answer.error, broken.is_some_and(|(kind, _)| kind == Interruption::Error))
    {
        let body = wire::error_body(&request.api, error, status(error));
        connection.write_json(status(error), &headers(error), &body).await?;
        return Ok(true);
    }
    if broken.is_some_and(|(kind, after)| kind == Interruption::Hang && after < 0) {
        connection.wait_for_disconnect().await;
        return Ok(false);
    }
    let left = answer.cut_after_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let mut body = Body { connection, chunked: answer.chunked != Some(false), gathered: Vec::new(), left };
    body.begin(
        broken.is_some_and(|(kind, _)| matches!(kind, Interruption::Reset | Interruption::Close))
            || left.is_some(),
    )
    .await?;
    let pause = answer.delay_ms.filter(|pause| *pause > 0).map(Duration::from_millis);
    let mut pieces: i64 = 0;
    for StreamPart { bytes, is_piece } in wire::parts(turn, request) {
        if let Some((kind, after)) = broken
            && pieces >= after
            // Parts before the first piece belong to the beginning of the answer. Parts after the last piece
            // are not sent.
            && (is_piece || pieces > 0 && kind == Interruption::Hang)
        {
            break;
        }
        if is_piece {
            pieces += 1;
            if let Some(pause) = pause {
                body.flush().await?;
                tokio::time::sleep(pause).await;
            }
        }
        body.put(&bytes).await?;
        if body.left == Some(0) {
            body.flush().await?;
            tokio::time::sleep(BEFORE_CUT).await;
            connection.close().await?;
            return Ok(false);
        }
    }
    body.flush().await?;
    match broken {
        None => {}
        Some((Interruption::Hang, _)) => {
            connection.wait_for_disconnect().await;
            return Ok(false);
        }
        Some((kind @ (Interruption::Reset | Interruption::Close), _)) => {
            tokio::time::sleep(BEFORE_CUT).await;
            if kind == Interruption::Reset {
                connection.reset()?;
                return Ok(false);
            }
            connection.close().await?;
            return Ok(false);
        }
        Some((Interruption::Error, _)) => {
            let error = answer.error.clone().unwrap_or_default();
            body.put(&wire::error_in_stream(&request.api, &error)).await?;
        }
    }
    body.end().await?;
    connection.close().await?;
    Ok(false)
}

async fn play_raw(connection: &mut Connection, raw: &ScriptRaw) -> io::Result<bool> {
    let status = raw.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    let headers: Vec<_> =
        raw.headers.iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    let bytes = raw.base64.as_ref().map(|text| base64::engine::general_purpose::STANDARD.decode(text));
    let body = match bytes {
        Some(decoded) => decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
        None => raw.body.clone().unwrap_or_default().into_bytes(),
    };
    connection.write_whole(status, &headers, &body).await?;
    Ok(true)
}

fn status(error: &ScriptError) -> u16 {
    error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500)
}

/// Returns the headers of an error response. By default they disable the retries of the official client
/// libraries, because cases test the retries of the agent.
fn headers(error: &ScriptError) -> Vec<(String, String)> {
    let mut headers = vec![("x-should-retry".to_owned(), "false".to_owned())];
    for (name, value) in error.headers.iter().flatten() {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(value) => headers.push((name.clone(), value.clone())),
            other => headers.push((name.clone(), other.to_string())),
        }
    }
    headers
}

/// The body of a streamed response.
struct Body<'a> {
    connection: &'a mut Connection,
    chunked: bool,
    gathered: Vec<u8>,
    /// Number of bytes to send before the connection is closed; `None` if the script does not close it.
    left: Option<usize>,
}

impl Body<'_> {
    async fn begin(&mut self, is_cut: bool) -> io::Result<()> {
        let mut head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n".to_owned();
        // With `connection: close`, some clients accept a cut body as complete. So a connection that will be
        // cut has no such header, as with real providers.
        if !is_cut || !self.chunked {
            head.push_str("connection: close\r\n");
        }
        if self.chunked {
            head.push_str("transfer-encoding: chunked\r\n");
        }
        head.push_str("\r\n");
        self.connection.write(head.as_bytes()).await
    }

    async fn put(&mut self, bytes: &str) -> io::Result<()> {
        let mut bytes = bytes.as_bytes();
        if let Some(left) = &mut self.left {
            bytes = &bytes[..bytes.len().min(*left)];
            *left -= bytes.len();
        }
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.gathered);
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.chunked {
            return self.connection.write(&bytes).await;
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.connection.write(&chunk).await
    }

    async fn end(&mut self) -> io::Result<()> {
        self.flush().await?;
        if self.chunked { self.connection.write(b"0\r\n\r\n").await } else { Ok(()) }
    }
}
