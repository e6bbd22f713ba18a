//! A connection that outlives its sockets: one task carries lines to the socket and messages from it.

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
use super::book::{Book, Heard};
use super::{ConnectError, Options, Stream};
use crate::framing::{Bom, FrameReader, FrameText, FramerOptions, Incoming};
use crate::transport::Transport;

type Socket = WebSocketStream<Stream>;

/// How much waits in memory in each direction, in bytes; whoever writes more waits.
const WAITING: usize = 64 * 1024;
/// The pauses between attempts to take a connection up again, in milliseconds.
const PAUSES: [u64; 5] = [200, 500, 1000, 2000, 4000];
/// How long a client that has gone is given: for its last lines, and for the server's own goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

/// Connects, and starts the task.
pub(super) async fn start(address: Address, options: Options) -> Result<Transport, ConnectError> {
    let name = uuid::Uuid::new_v4().simple().to_string();
    let (ours, lines) = tokio::io::duplex(WAITING);
    let (frames, theirs) = tokio::io::duplex(WAITING);
    let gone = CancellationToken::new();
    let failed = Arc::new(OnceLock::new());
    let limits = FramerOptions { max_line: usize::MAX, bom: Bom::Keep };
    let lines = Lines { reader: FrameReader::with_options(lines, limits), read: VecDeque::new() };
    let mut link = Link { address, options, name, book: Mutex::default(), lines, frames, gone: gone.clone() };
    let socket = link.open().await?;
    let reader = Frames { _gone: gone.drop_guard(), stream: theirs, failed: failed.clone() };
    tokio::spawn(async move {
        if let Some(reason) = link.run(socket).await {
            let _ = failed.set(reason);
        }
    });
    Ok(Transport::from_io(reader, ours))
}

/// What the client reads from: it fails at its end where the connection did.
struct Frames {
    /// Tells the task that nobody reads any longer, before the stream breaks.
    _gone: DropGuard,
    stream: DuplexStream,
    failed: Arc<OnceLock<&'static str>>,
}

impl AsyncRead for Frames {
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

/// What the client writes.
struct Lines {
    reader: FrameReader<DuplexStream>,
    /// Lines that were read and not sent.
    read: VecDeque<Incoming>,
}

impl Lines {
    /// The next line; none at the end. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<FrameText> {
        loop {
            match self.read.pop_front() {
                Some(Incoming::Frame(line)) if !line.is_empty() => return Some(line),
                Some(_) => continue,
                None => {}
            }
            let mut batch = Vec::new();
            // A pair in memory does not fail.
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
    /// What the connection calls itself.
    name: String,
    book: Mutex<Book>,
    lines: Lines,
    frames: DuplexStream,
    /// Cancelled when the client reads no longer.
    gone: CancellationToken,
}

/// Why a socket is not used any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The socket was lost.
    Lost,
    /// The client has gone, or the agent has ended.
    Closed,
    /// The server no longer has what was missed.
    Reload,
}

impl Link {
    /// Makes a socket.
    async fn open(&self) -> Result<Socket, ConnectError> {
        let host = || self.address.host.clone();
        let refused = |reason: String| ConnectError::Refused { host: host(), reason };
        let failed = |source: io::Error| ConnectError::Io { host: host(), source };
        let after = self.options.timeout;
        let made = async {
            let stream = (self.options.dial)(host()).await.map_err(failed)?;
            let address = self.address.joined(&self.name, self.book().have);
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

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries lines and messages until the connection is over. Gives the reason where it failed.
    async fn run(&mut self, mut socket: Socket) -> Option<&'static str> {
        let mut is_back = false;
        loop {
            match self.talk(socket, is_back).await {
                Over::Closed => return None,
                Over::Reload => return Some("reload: the server no longer has what was missed"),
                Over::Lost if self.book().have.is_none() => return None,
                Over::Lost => {}
            }
            socket = tokio::select! {
                made = self.again() => match made {
                    Some(socket) => socket,
                    None => return Some("the connection was lost"),
                },
                () = self.gone.cancelled() => return None,
            };
            is_back = true;
        }
    }

    /// Takes the connection up again; none where that does not succeed in time.
    async fn again(&self) -> Option<Socket> {
        let until = Instant::now() + self.options.patience;
        let mut pauses = PAUSES.into_iter().chain(std::iter::repeat(PAUSES[PAUSES.len() - 1]));
        while Instant::now() < until {
            sleep(Duration::from_millis(pauses.next()?)).await;
            if let Ok(socket) = self.open().await {
                return Some(socket);
            }
        }
        None
    }

    /// Uses a socket until it is lost or the connection is over. `is_back` says whether it is not the first one.
    async fn talk(&mut self, socket: Socket, is_back: bool) -> Over {
        let (mut sink, mut stream) = socket.split();
        let Self { book, lines, frames, gone, .. } = self;
        let book = &*book;
        let book = || book.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is sent before what was lost has been sent again.
        let (greeted, over) = (CancellationToken::new(), CancellationToken::new());
        if !is_back {
            greeted.cancel();
        }
        let receive = async {
            let ended = receive(&mut stream, frames, book, &greeted, &over).await;
            // What a client wrote before it went is sent.
            if ended == Over::Closed && gone.is_cancelled() {
                let _ = timeout(GOODBYE, over.cancelled()).await;
            }
            over.cancel();
            ended
        };
        let send = async {
            let sending = async {
                greeted.cancelled().await;
                if is_back {
                    let again = book().unsettled();
                    for line in again {
                        sink.send(Message::text(line)).await?;
                    }
                }
                send(&mut sink, lines, book).await
            };
            let ended = tokio::select! {
                sent = sending => match sent {
                    Ok(()) => Over::Closed,
                    Err(_) => Over::Lost,
                },
                () = over.cancelled() => Over::Lost,
            };
            if ended == Over::Closed {
                let _ = timeout(GOODBYE, sink.close()).await;
            }
            over.cancel();
            ended
        };
        match tokio::join!(receive, send) {
            (Over::Lost, sent) => sent,
            (received, _) => received,
        }
    }
}

/// Gives the client what comes, until the socket is lost or the connection is over. Nothing of a message is lost where
/// `over` stops it.
async fn receive<'a>(
    stream: &mut SplitStream<Socket>,
    frames: &mut DuplexStream,
    book: impl Fn() -> MutexGuard<'a, Book>,
    greeted: &CancellationToken,
    over: &CancellationToken,
) -> Over {
    let mut first = true;
    loop {
        let message = tokio::select! {
            message = stream.next() => message,
            () = over.cancelled() => return Over::Lost,
        };
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Over::Lost,
            Some(Ok(_)) => continue,
        };
        let heard = book().hears(text.as_str(), std::mem::take(&mut first));
        let news = match heard {
            Heard::Frames(news) => news,
            Heard::Back => Vec::new(),
            Heard::Reload => return Over::Reload,
            Heard::Ended => return Over::Closed,
        };
        greeted.cancel();
        for mut line in news {
            line.push('\n');
            if frames.write_all(line.as_bytes()).await.is_err() {
                return Over::Closed;
            }
        }
    }
}

/// Sends what the client writes, until it closes its side.
async fn send<'a>(
    sink: &mut SplitSink<Socket, Message>,
    lines: &mut Lines,
    book: impl Fn() -> MutexGuard<'a, Book>,
) -> Result<(), tungstenite::Error> {
    while let Some(line) = lines.next().await {
        book().sends(line.as_str());
        sink.send(Message::text(line.as_str())).await?;
    }
    Ok(())
}
