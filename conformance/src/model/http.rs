//! A minimal HTTP/1.1 server that can break off a response at any byte.
//!
//! A library would not permit the faults that a script may request: a body without its last chunk, a reset
//! in the middle of a chunk, a request without a response. So only the head is parsed by a library,
//! `httparse`.

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum length of an accepted body in bytes. A conversation with images is much shorter.
const LONGEST_BODY: usize = 256 << 20;

/// Maximum length of the head of a request in bytes.
const LONGEST_HEAD: usize = 256 << 10;

/// HTTP request of an agent.
#[derive(Debug)]
pub(super) struct HttpRequest {
    /// Method of the request.
    pub method: String,
    /// Path with its query.
    pub target: String,
    /// Body of the request.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Returns the path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// A connection: its socket, and bytes that were read but not used yet.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Reads the next request. Returns `None` at the end of the connection.
    pub(super) async fn read_request(&mut self) -> io::Result<Option<HttpRequest>> {
        let (method, target, framing, expects, head) = loop {
            if let Some(head) = parse_head(&self.buffer)? {
                break head;
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the head is too long"));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        };
        self.buffer.drain(..head);
        if expects {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let body = match framing {
            Framing::Length(length) => self.take(length).await?,
            Framing::Chunked => self.take_chunks().await?,
        };
        Ok(Some(HttpRequest { method, target, body }))
    }

    /// Reads the next bytes of a body.
    async fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LONGEST_BODY {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the body is too long"));
        }
        while self.buffer.len() < length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "invalid chunk size"))?;
            if size == 0 {
                // Trailers are skipped up to an empty line.
                while !self.take_line().await?.is_empty() {}
                return Ok(body);
            }
            if body.len() + size > LONGEST_BODY {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the body is too long"));
            }
            body.extend(self.take(size).await?);
            self.take_line().await?;
        }
    }

    async fn take_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Writes a complete response with a JSON body.
    pub(super) async fn write_json(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let mut all = vec![("content-type".to_owned(), "application/json".to_owned())];
        for (name, value) in headers {
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            all.push((name.clone(), value.clone()));
        }
        self.write_whole(status, &all, body.as_bytes()).await
    }

    /// Writes a complete response.
    pub(super) async fn write_whole(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes).await
    }

    /// Waits until the client closes the connection, and ignores further input.
    pub(super) async fn wait_for_disconnect(&mut self) {
        let mut rest = [0; 1024];
        while !matches!(self.stream.read(&mut rest).await, Ok(0) | Err(_)) {}
    }

    /// Lets the next close reset the connection, so that the client does not see a regular end.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    /// Closes the sending side. Waits at most one second until the client closes its own side.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        let _ = tokio::time::timeout(Duration::from_secs(1), self.wait_for_disconnect()).await;
        Ok(())
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

/// Parsed head of a request: method, target, framing of the body, `true` for `expect: 100-continue`, and
/// length of the head in bytes.
type RequestHead = (String, String, Framing, bool, usize);

fn parse_head(bytes: &[u8]) -> io::Result<Option<RequestHead>> {
    let wrong = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) =
        request.parse(bytes).map_err(|error| wrong(&error.to_string()))?
    else {
        return Ok(None);
    };
    let mut framing = Framing::Length(0);
    let mut expects = false;
    for header in request.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => {
                framing = Framing::Length(value.parse().map_err(|_| wrong("invalid content length"))?);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => framing = Framing::Chunked,
            "expect" => expects = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    Ok(Some((method.to_owned(), target.to_owned(), framing, expects, length)))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
