//! The agent's process in client mode: it passes bytes between the client's pipes and the suite, and
//! ends as the suite says. What the agent says is decided on the other side of the socket.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The name of the program's command that is the agent.
pub const COMMAND: &str = "client-agent";

/// A line of a flood on stderr.
const NOISE: &str = "the agent writes this line to stderr, where nobody has to read it\n";

/// What the suite has the agent's process do beside passing bytes.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// It writes so many bytes to stderr. It says nothing on stdout meanwhile.
    Noise(usize),
    /// It closes its stdin.
    Deafen,
    /// It ends.
    End(Ending),
}

/// How the agent ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ending {
    /// The exit code.
    pub(super) code: i32,
    /// The signal that it ends itself with, in place of the code.
    pub(super) signal: Option<i32>,
    /// What it writes to stderr before that.
    pub(super) stderr: String,
}

/// Is the agent: passes bytes until the suite says how it ends, and then ends the process that way. Stdout
/// is open until the process is over: the end of its output and its exit code reach a client at once.
///
/// # Errors
/// Where the suite cannot be reached, or went away without a word.
pub async fn relay(socket: &Path) -> io::Result<Infallible> {
    let data = UnixStream::connect(socket).await?;
    let control = UnixStream::connect(socket).await?;
    let (mut from_suite, mut to_suite) = data.into_split();
    let (mut stdin, stdout, _) = agentese::transport::stdio()?.into_parts();
    let stdin = tokio::spawn(async move {
        // The end of stdin is told to the suite; so is its failure, in the same way.
        let _ = tokio::io::copy(&mut stdin, &mut to_suite).await;
        let _ = to_suite.shutdown().await;
    });
    let stdout = Arc::new(Mutex::new(stdout));
    let ending = tokio::spawn(obey(control, stdin, stdout.clone()));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from_suite.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        let mut stdout = stdout.lock().await;
        // A client that is gone reads no more; how the agent ends is still the suite's to say.
        if stdout.write_all(&buffer[..count]).await.is_err() || stdout.flush().await.is_err() {
            break;
        }
    }
    let ending = ending.await.map_err(io::Error::other)??;
    io::Write::write_all(&mut io::stderr(), ending.stderr.as_bytes())?;
    if let Some(signal) = ending.signal.and_then(rustix::process::Signal::from_named_raw) {
        rustix::process::kill_process(rustix::process::getpid(), signal)?;
        // Only a signal that is ignored comes here.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    // What still waits for stdin is of no interest, and would hold the process up.
    std::process::exit(ending.code)
}

/// Does what the suite orders, until it says how the process ends.
async fn obey<W: Send + 'static>(
    control: UnixStream,
    stdin: JoinHandle<()>,
    stdout: Arc<Mutex<W>>,
) -> io::Result<Ending> {
    let mut orders = BufReader::new(control).lines();
    while let Some(order) = orders.next_line().await? {
        match serde_json::from_str(&order)? {
            Order::Noise(bytes) => {
                // As an agent does that has one thread: nothing is said before this is written.
                let silent = stdout.clone().lock_owned().await;
                let write = move || {
                    let noise = NOISE.repeat(bytes.div_ceil(NOISE.len()));
                    let result = io::Write::write_all(&mut io::stderr(), noise.as_bytes());
                    drop(silent);
                    result
                };
                // A client may have closed its end.
                let _ = tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?;
            }
            Order::Deafen => {
                let nothing = std::fs::File::open("/dev/null")?;
                rustix::stdio::dup2_stdin(&nothing)?;
                // The suite sees the end of what comes from the client.
                stdin.abort();
            }
            Order::End(ending) => return Ok(ending),
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the suite is gone"))
}

/// Where the agent's process calls the suite.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Opens a socket in a directory that nobody else can enter.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("agent.sock");
        let listener = UnixListener::bind(&path)?;
        Ok(Self { listener, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the agent's process.
    pub(super) async fn enter(&self) -> io::Result<(OwnedReadHalf, Mouth)> {
        let (data, _) = self.listener.accept().await?;
        let (control, _) = self.listener.accept().await?;
        let (ears, mouth) = data.into_split();
        Ok((ears, Mouth { data: mouth, control }))
    }
}

/// What the suite says as the agent.
pub(super) struct Mouth {
    data: OwnedWriteHalf,
    control: UnixStream,
}

impl Mouth {
    /// Writes bytes to the client.
    pub(super) async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.data.write_all(bytes).await
    }

    /// Writes so many bytes to stderr.
    pub(super) async fn noise(&mut self, bytes: usize) -> io::Result<()> {
        self.order(&Order::Noise(bytes)).await
    }

    /// Closes the agent's stdin.
    pub(super) async fn deafen(&mut self) -> io::Result<()> {
        self.order(&Order::Deafen).await
    }

    /// Ends the agent, once everything that was said is on its way to the client.
    pub(super) async fn end(mut self, ending: Ending) -> io::Result<()> {
        self.data.shutdown().await?;
        self.order(&Order::End(ending)).await?;
        self.control.shutdown().await
    }

    async fn order(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(order).map_err(io::Error::other)?;
        line.push(b'\n');
        self.control.write_all(&line).await
    }
}
