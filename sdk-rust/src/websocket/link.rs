//! A connection beyond the life of its sockets: one task transfers lines to the socket and messages from it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address::Address;
use super::error::ConnectError;
use super::options::{Options, Stream};
use super::resume::{MessageEffect, ResumeState};
use crate::framing::{Bom, FrameReader, FrameText, FramerOptions, Incoming};
use crate::transport::Transport;

type Socket = WebSocketStream<Stream>;

/// The buffer size in each direction, in bytes. A writer waits while the buffer is full.
const BUFFER_SIZE: usize = 64 * 1024;
/// The pauses between attempts to resume a connection, in milliseconds.
const RECONNECT_DELAYS: [u64; 5] = [200, 500, 1000, 2000, 4000];
/// The time limit for the last lines of a client that has closed its side, and for the close of the server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects, and starts the task.
pub(super) async fn start(address: Address, options: Options) -> Result<Transport, ConnectError> {
    let name = uuid::Uuid::new_v4().simple().to_string();
    let (ours, lines) = tokio::io::duplex(BUFFER_SIZE);
    let (frames, theirs) = tokio::io::duplex(BUFFER_SIZE);
    let gone = CancellationToken::new();
    let failed = Arc::new(OnceLock::new());
    let limits = FramerOptions { max_line: usize::MAX, bom: Bom::Keep };
    let lines = OutgoingLines { reader: FrameReader::with_options(lines, limits), read: VecDeque::new() };
    let mut link =
        Link { address, options, name, state: Mutex::default(), lines, frames, client_closed: gone.clone() };
    let socket = link.open().await?;
    let reader = FrameStream { _gone: gone.drop_guard(), stream: theirs, failed: failed.clone() };
    tokio::spawn(async move {
        if let Some(reason) = link.run(socket).await {
            let _ = failed.set(reason);
        }
    });
    Ok(Transport::from_io(reader, ours))
}

/// The reader of the client. It fails at its end if the connection has failed.
struct FrameStream {
    /// Notifies the task that the client has stopped reading, before the stream breaks.
    _gone: DropGuard,
    stream: DuplexStream,
    failed: Arc<OnceLock<&'static str>>,
}

impl AsyncRead for FrameStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        match (&read, self.failed.get()) {
            (Poll::Ready(Ok(())), Some(reason)) if into.filled().len() == before => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, *reason)))
            }
            _ => read,
        }
    }
}

/// The lines of the client.
struct OutgoingLines {
    reader: FrameReader<DuplexStream>,
    /// Lines that were read but not sent.
    read: VecDeque<Incoming>,
}

impl OutgoingLines {
    /// Returns the next line, or `None` at the end. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<FrameText> {
        loop {
            match self.read.pop_front() {
                Some(Incoming::Frame(line)) if !line.is_empty() => return Some(line),
                Some(_) => continue,
                None => {}
            }
            let mut batch = Vec::new();
            // Reading from memory cannot fail.
            if self.reader.next_batch(&mut batch).await.unwrap_or(0) == 0 {
                return None;
            }
            self.read.extend(batch);
        }
    }
}

struct Link {
    address: Address,
    options: Options,
    /// The name of the connection.
    name: String,
    state: Mutex<ResumeState>,
    lines: OutgoingLines,
    frames: DuplexStream,
    /// Cancelled when the client stops reading.
    client_closed: CancellationToken,
}

/// The reason why a socket is no longer in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocketEnd {
    /// The socket was lost.
    Lost,
    /// The client has closed its side, or the agent has ended.
    Closed,
    /// The server no longer has the missed messages.
    Reload,
}

impl Link {
    /// Opens a socket.
    async fn open(&self) -> Result<Socket, ConnectError> {
        let host = || self.address.host.clone();
        let refused = |reason: String| ConnectError::Refused { host: host(), reason };
        let failed = |source: io::Error| ConnectError::Io { host: host(), source };
        let after = self.options.timeout;
        let made = async {
            let stream = (self.options.dial)(host()).await.map_err(failed)?;
            let address = self.address.joined(&self.name, self.state().received);
            let sizes = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
            match client_async_with_config(address, stream, Some(sizes)).await {
                Ok((socket, _)) => Ok(socket),
                Err(tungstenite::Error::Io(source)) => Err(failed(source)),
                Err(tungstenite::Error::Http(answer)) => Err(refused(answer.status().to_string())),
                Err(other) => Err(refused(other.to_string())),
            }
        };
        timeout(after, made).await.unwrap_or_else(|_| Err(ConnectError::TimedOut { host: host(), after }))
    }

    fn state(&self) -> MutexGuard<'_, ResumeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Transfers lines and messages until the end of the connection. Returns the reason of a failure.
    async fn run(&mut self, mut socket: Socket) -> Option<&'static str> {
        let mut is_resumed = false;
        loop {
            match self.run_socket(socket, is_resumed).await {
                SocketEnd::Closed => return None,
                SocketEnd::Reload => return Some("reload: the server no longer has the missed messages"),
                SocketEnd::Lost if self.state().received.is_none() => return None,
                SocketEnd::Lost => {}
            }
            socket = tokio::select! {
                made = self.reconnect() => match made {
                    Some(socket) => socket,
                    None => return Some("the connection was lost"),
                },
                () = self.client_closed.cancelled() => return None,
            };
            is_resumed = true;
        }
    }

    /// Reconnects. Returns `None` if that does not succeed in time.
    async fn reconnect(&self) -> Option<Socket> {
        let until = Instant::now() + self.options.reconnect_timeout;
        let mut pauses = RECONNECT_DELAYS
            .into_iter()
            .chain(std::iter::repeat(RECONNECT_DELAYS[RECONNECT_DELAYS.len() - 1]));
        while Instant::now() < until {
            sleep(Duration::from_millis(pauses.next()?)).await;
            if let Ok(socket) = self.open().await {
                return Some(socket);
            }
        }
        None
    }

    /// Uses a socket until it is lost or the connection ends. `is_resumed` is true for every socket except the
    /// first.
    async fn run_socket(&mut self, socket: Socket, is_resumed: bool) -> SocketEnd {
        let (mut sink, mut stream) = socket.split();
        let Self { state: resume_state, lines, frames, client_closed: gone, .. } = self;
        let resume_state = &*resume_state;
        let resume_state = || resume_state.lock().unwrap_or_else(PoisonError::into_inner);
        // No line is sent before the lost lines have been repeated.
        let (greeted, over) = (CancellationToken::new(), CancellationToken::new());
        if !is_resumed {
            greeted.cancel();
        }
        let receive = async {
            let ended = receive(&mut stream, frames, resume_state, &greeted, &over).await;
            // The lines that the client wrote before it closed its side are still sent.
            if ended == SocketEnd::Closed && gone.is_cancelled() {
                let _ = timeout(CLOSE_TIMEOUT, over.cancelled()).await;
            }
            over.cancel();
            ended
        };
        let send = async {
            let sending = async {
                greeted.cancelled().await;
                if is_resumed {
                    let again = resume_state().unsettled();
                    for line in again {
                        sink.send(Message::text(line)).await?;
                    }
                }
                send(&mut sink, lines, resume_state).await
            };
            let ended = tokio::select! {
                sent = sending => match sent {
                    Ok(()) => SocketEnd::Closed,
                    Err(_) => SocketEnd::Lost,
                },
                () = over.cancelled() => SocketEnd::Lost,
            };
            if ended == SocketEnd::Closed {
                let _ = timeout(CLOSE_TIMEOUT, sink.close()).await;
            }
            over.cancel();
            ended
        };
        match tokio::join!(receive, send) {
            (SocketEnd::Lost, sent) => sent,
            (received, _) => received,
        }
    }
}

/// Forwards messages to the client until the socket is lost or the connection ends. A stop through `over`
/// loses no part of a message.
async fn receive<'a>(
    stream: &mut SplitStream<Socket>,
    frames: &mut DuplexStream,
    resume_state: impl Fn() -> MutexGuard<'a, ResumeState>,
    greeted: &CancellationToken,
    end: &CancellationToken,
) -> SocketEnd {
    let mut first = true;
    loop {
        let message = tokio::select! {
            message = stream.next() => message,
            () = end.cancelled() => return SocketEnd::Lost,
        };
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return SocketEnd::Lost,
            Some(Ok(_)) => continue,
        };
        let effect = resume_state().receive(text.as_str(), std::mem::take(&mut first));
        let new_frames = match effect {
            MessageEffect::Frames(new_frames) => new_frames,
            MessageEffect::Resumed => Vec::new(),
            MessageEffect::Reload => return SocketEnd::Reload,
            MessageEffect::Ended => return SocketEnd::Closed,
        };
        greeted.cancel();
        for mut line in new_frames {
            line.push('\n');
            if frames.write_all(line.as_bytes()).await.is_err() {
                return SocketEnd::Closed;
            }
        }
    }
}

/// Sends the lines of the client until it closes its side.
async fn send<'a>(
    sink: &mut SplitSink<Socket, Message>,
    lines: &mut OutgoingLines,
    resume_state: impl Fn() -> MutexGuard<'a, ResumeState>,
) -> Result<(), tungstenite::Error> {
    while let Some(line) = lines.next().await {
        resume_state().record_sent(line.as_str());
        sink.send(Message::text(line.as_str())).await?;
    }
    Ok(())
}
