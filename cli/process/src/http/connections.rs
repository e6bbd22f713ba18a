//! Connections with limits. Clients without the token can neither block others nor hold memory forever.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Time limit for the head of a request. A connection that sends no complete head in this time is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for the body of a request.
const BODY: Duration = Duration::from_secs(30);
/// Limit of open connections without the token. Beyond it, a new connection replaces the oldest.
const MAX_ANONYMOUS: usize = 64;
/// Limit of open connections with the token.
const MAX_AUTHENTICATED: usize = 128;
/// Pause before the next attempt to accept a connection if the system has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections of a server.
#[derive(Debug)]
struct Connections {
    numbers: AtomicU64,
    /// Connections without the token, oldest first. Each has a cancellation token that closes it.
    anonymous: Mutex<VecDeque<(u64, CancellationToken)>>,
    authenticated: Arc<Semaphore>,
}

impl Connections {
    fn anonymous(&self) -> MutexGuard<'_, VecDeque<(u64, CancellationToken)>> {
        self.anonymous.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection. Closes the oldest one without the token if there are too many.
    fn register(self: &Arc<Self>) -> Arc<ConnectionGuard> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let closed = CancellationToken::new();
        let mut anonymous = self.anonymous();
        while anonymous.len() >= MAX_ANONYMOUS {
            close(anonymous.pop_front());
        }
        anonymous.push_back((number, closed.clone()));
        drop(anonymous);
        Arc::new(ConnectionGuard { number, closed, connections: self.clone(), permit: OnceLock::new() })
    }
}

fn close(connection: Option<(u64, CancellationToken)>) {
    if let Some((_, closed)) = connection {
        closed.cancel();
    }
}

/// Guard of an open connection, which stays registered after an upgrade to another protocol.
#[derive(Debug)]
pub struct ConnectionGuard {
    number: u64,
    closed: CancellationToken,
    connections: Arc<Connections>,
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl ConnectionGuard {
    /// Marks the connection as authenticated. Returns `false` if too many authenticated connections are open.
    fn admit(&self) -> bool {
        if self.permit.get().is_none() {
            let Ok(permit) = self.connections.authenticated.clone().try_acquire_owned() else { return false };
            let _ = self.permit.set(permit);
            self.forget();
        }
        true
    }

    fn forget(&self) {
        self.connections.anonymous().retain(|(number, _)| *number != self.number);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Marks the connection of a request with the token as authenticated. Returns its guard, which a connection
/// keeps after an upgrade to another protocol. Fails with the reason if too many connections are open.
pub fn admit(request: &Request) -> Result<Arc<ConnectionGuard>, String> {
    let guard = request.extensions().get::<Arc<ConnectionGuard>>().filter(|visit| visit.admit());
    guard
        .cloned()
        .ok_or_else(|| format!("{MAX_AUTHENTICATED} connections are open: close a tab, or end a run"))
}

/// Reason why the body of a request could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body exceeds this limit, in bytes.
    #[error("a request has {0} bytes at most")]
    TooLong(usize),
    /// The body was incomplete when the time limit passed.
    #[error("the body of the request did not come within {BODY:?}")]
    TimedOut,
}

/// Reads the body of a request within the time limit.
pub async fn read_body(request: Request, longest: usize) -> Result<Bytes, BodyError> {
    let read = axum::body::to_bytes(request.into_body(), longest);
    let read = tokio::time::timeout(BODY, read).await.map_err(|_| BodyError::TimedOut)?;
    read.map_err(|_| BodyError::TooLong(longest))
}

/// Accepts connections and answers their requests. All work happens while the returned future is polled.
pub async fn serve<A, R>(listener: TcpListener, answer: A) -> Infallible
where
    A: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    let connections = Arc::new(Connections {
        numbers: AtomicU64::new(0),
        anonymous: Mutex::default(),
        authenticated: Arc::new(Semaphore::new(MAX_AUTHENTICATED)),
    });
    loop {
        match accept(&listener).await {
            Ok(stream) => {
                drop(tokio::spawn(serve_connection(stream, connections.register(), answer.clone())))
            }
            // The client has already disconnected.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                close(connections.anonymous().pop_front());
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Accepts a connection, for which small frames are sent without delay.
async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    // This fails only after a disconnect, which the next read detects.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn serve_connection<A, R>(stream: TcpStream, guard: Arc<ConnectionGuard>, answer: A)
where
    A: Fn(Request) -> R,
    R: Future<Output = Response<Body>>,
{
    let closed = guard.closed.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(guard.clone());
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::select! {
        // A disconnect of the client is not a failure of the server.
        ended = connection => drop(ended),
        () = closed.cancelled() => {}
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Answers `/in` for admitted connections, and the length of the body for all others.
    async fn answer(request: Request) -> Response<Body> {
        if request.uri().path() == "/in" {
            return match admit(&request) {
                Ok(_) => "in".into_response(),
                Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
            };
        }
        match read_body(request, 100).await {
            Ok(body) => body.len().to_string().into_response(),
            Err(error) => (StatusCode::REQUEST_TIMEOUT, error.to_string()).into_response(),
        }
    }

    struct Server(std::net::SocketAddr);

    impl Server {
        async fn start() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve(listener, answer));
            Self(address)
        }

        async fn sends(&self, text: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.0).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            stream
        }
    }

    /// Returns all data until the server closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // If the server closes with unread data, the connection is reset, so an error is ignored.
        let _ = stream.read_to_end(&mut text).await;
        String::from_utf8(text).unwrap()
    }

    async fn some(stream: &mut TcpStream) -> String {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).await.unwrap();
        String::from_utf8_lossy(&piece[..count]).into_owned()
    }

    #[tokio::test]
    async fn accepted_sockets_send_small_frames_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, _far) = tokio::join!(accept(&listener), TcpStream::connect(address));
        assert!(accepted.unwrap().nodelay().unwrap());
    }

    /// The paused clock advances by itself while all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn incomplete_requests_are_closed() {
        let server = Server::start().await;
        for half in ["", "GET / HT", "GET /in HTTP/1.1\r\nhost: a\r\n"] {
            assert_eq!(rest(server.sends(half).await).await, "", "{half:?}");
        }
        let idle = rest(server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await).await;
        assert!(idle.starts_with("HTTP/1.1 200 OK") && idle.ends_with("in"), "{idle}");
        let half = server.sends("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf").await;
        let told = rest(half).await;
        assert!(told.starts_with("HTTP/1.1 408") && told.ends_with("within 30s"), "{told}");
    }

    #[tokio::test]
    async fn connections_without_the_token_block_no_client() {
        let server = Server::start().await;
        let mut guest = server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(some(&mut guest).await.ends_with("in"));
        let mut strangers = Vec::new();
        for _ in 0..3 * MAX_ANONYMOUS {
            strangers.push(server.sends("GET /").await);
        }
        let mut late = server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(some(&mut late).await.ends_with("in"));
        // The oldest connections were closed; the admitted one remains open.
        assert_eq!(rest(strangers.swap_remove(0)).await, "");
        guest.write_all(b"GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(some(&mut guest).await.ends_with("in"));
    }

    #[tokio::test]
    async fn connections_with_the_token_are_bounded() {
        let server = Server::start().await;
        let mut guests = Vec::new();
        for _ in 0..MAX_AUTHENTICATED {
            let mut guest = server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await;
            assert!(some(&mut guest).await.ends_with("in"));
            guests.push(guest);
        }
        let mut more = server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let told = some(&mut more).await;
        assert!(told.starts_with("HTTP/1.1 503") && told.contains("128 connections are open"), "{told}");
        guests.clear();
        // The server notices the closed connections with a delay.
        loop {
            let mut again = server.sends("GET /in HTTP/1.1\r\nhost: a\r\n\r\n").await;
            if some(&mut again).await.ends_with("in") {
                break;
            }
        }
    }
}
