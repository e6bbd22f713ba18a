//! Connections to the server of a page: regular ones, as a browser makes them, and irregular
//! ones.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::super::AttackError;
use super::super::agent::LONG;
use super::super::codec::{DialectCodec, LineKind};

/// Time limit of one connection attempt.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Address of a page: the port, and the path with the token.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub port: u16,
    pub path: String,
}

impl Address {
    /// Parses the address printed by the server.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.trim().strip_prefix("http://")?;
        let (host, path) = rest.split_once('/')?;
        Some(Self { port: host.rsplit_once(':')?.1.parse().ok()?, path: format!("/{path}") })
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a request with these headers and returns the HTTP status of the response.
    pub(super) async fn status(&self, path: &str, headers: &[(&str, String)]) -> Result<u16, AttackError> {
        let broken =
            |error: std::io::Error| AttackError::finding(format!("no response to a request: {error}"));
        let ask = async {
            let mut stream = TcpStream::connect(self.host()).await?;
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            stream.write_all(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes()).await?;
            let mut head = Vec::new();
            while !head.contains(&b'\n') && stream.read_buf(&mut head).await? > 0 {}
            Ok(head)
        };
        let head = match tokio::time::timeout(LONG, ask).await {
            Ok(head) => head.map_err(broken)?,
            Err(_) => return Err(AttackError::finding("no response to a request in time")),
        };
        let text = String::from_utf8_lossy(&head).into_owned();
        // A closed connection is treated as a rejection with status 400.
        Ok(text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(400))
    }

    /// Returns the headers with which the server accepts a request: for the page, or for its
    /// WebSocket if `socket` is `true`.
    pub(super) fn headers(&self, socket: bool) -> Vec<(&'static str, String)> {
        let mut all = vec![("Host", self.host())];
        if socket {
            let key = "dGhlIHNhbXBsZSBub25jZQ==".to_owned();
            all.extend([("Upgrade", "websocket".to_owned()), ("Connection", "Upgrade".to_owned())]);
            all.extend([("Sec-WebSocket-Key", key), ("Sec-WebSocket-Version", "13".to_owned())]);
        }
        all
    }

    /// Sends the first part of a request and keeps the connection open.
    pub(super) async fn half_request(&self) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.host()).await?;
        stream.write_all(format!("GET {} HTTP/1.1\r\nHost: loc", self.path).as_bytes()).await?;
        Ok(stream)
    }

    /// Connects as the user's browser tab does. Retries for a limited time.
    pub(super) async fn tab(&self, name: &str) -> Result<Tab, AttackError> {
        let end = tokio::time::Instant::now() + LONG;
        loop {
            let attempt = async {
                let stream = TcpStream::connect(self.host()).await.map_err(|error| error.to_string())?;
                let address = format!("ws://{}{}ws?tab={name}", self.host(), self.path);
                let made = tokio_tungstenite::client_async(address, stream).await;
                made.map(|(socket, _)| socket).map_err(|error| error.to_string())
            };
            let why = match tokio::time::timeout(ATTEMPT, attempt).await {
                Ok(Ok(socket)) => return Ok(Tab { socket }),
                Ok(Err(why)) => why,
                Err(_) => "no response".to_owned(),
            };
            if tokio::time::Instant::now() > end {
                return Err(AttackError::finding(format!("the user cannot reach the page: {why}")));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A tab of the page.
pub(super) struct Tab {
    socket: WebSocketStream<TcpStream>,
}

impl Tab {
    /// Sends a message. Returns `false` if the connection has ended.
    pub(super) async fn send(&mut self, message: Message) -> bool {
        let sent = tokio::time::timeout(LONG, self.socket.send(message)).await;
        matches!(sent, Ok(Ok(())))
    }

    /// Reads messages until a command is answered. Returns `false` if the connection ends
    /// first.
    pub(super) async fn wait_for_answer(
        &mut self,
        codec: &DialectCodec,
        wanted: &str,
    ) -> Result<bool, AttackError> {
        let end = tokio::time::Instant::now() + LONG;
        loop {
            match tokio::time::timeout_at(end, self.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => {
                    if matches!(codec.classify(text.as_bytes()), LineKind::Answer(Some(id), _) if id == wanted)
                    {
                        return Ok(true);
                    }
                }
                Ok(Some(Ok(_))) => {}
                Ok(None | Some(Err(_))) => return Ok(false),
                Err(_) => {
                    return Err(AttackError::finding(format!("the user received no answer to {wanted}")));
                }
            }
        }
    }
}
