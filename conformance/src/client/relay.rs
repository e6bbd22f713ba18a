//! The agent's process in client mode. It passes bytes between the client's pipes and the suite, and ends
//! when the suite requests it. The suite, at the other end of a socket, determines all output.

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

/// Subcommand of this program that runs the agent.
pub const COMMAND: &str = "client-agent";

/// Line that the agent repeats to flood stderr.
const STDERR_LINE: &str = "line of the agent on stderr, which a client may ignore\n";

/// Command from the suite to the agent's process.
#[derive(Debug, Serialize, Deserialize)]
enum RelayCommand {
    /// Writes that number of bytes to stderr. Stdout is silent in the meantime.
    Noise(usize),
    /// Closes the stdin of the agent's process.
    Deafen,
    /// Ends the agent's process in this way.
    End(Ending),
}

/// The way in which the agent's process ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ending {
    /// The exit code of the process.
    pub(super) code: i32,
    /// Signal that the process sends to itself, in place of the exit code.
    pub(super) signal: Option<i32>,
    /// Text for stderr before the end.
    pub(super) stderr: String,
}

/// Runs the agent: passes bytes until the suite requests the end, and then ends the process in the requested
/// way.
///
/// Stdout stays open until the process ends, so that the client sees the end of the output and the exit code
/// together.
///
/// # Errors
/// If the suite cannot be reached, or if it closes the connection without such a request.
pub async fn relay(socket: &Path) -> io::Result<Infallible> {
    let data = UnixStream::connect(socket).await?;
    let control = UnixStream::connect(socket).await?;
    let (mut from_suite, mut to_suite) = data.into_split();
    let (mut stdin, stdout, _) = agentese::transport::stdio()?.into_parts();
    let stdin = tokio::spawn(async move {
        // The suite is notified of the end of stdin; a read error has the same effect.
        let _ = tokio::io::copy(&mut stdin, &mut to_suite).await;
        let _ = to_suite.shutdown().await;
    });
    let stdout = Arc::new(Mutex::new(stdout));
    let ending = tokio::spawn(run_commands(control, stdin, stdout.clone()));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from_suite.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        let mut stdout = stdout.lock().await;
        // If the client has closed its end, it reads no more. The suite still determines the end of the
        // agent.
        if stdout.write_all(&buffer[..count]).await.is_err() || stdout.flush().await.is_err() {
            break;
        }
    }
    let ending = ending.await.map_err(io::Error::other)??;
    io::Write::write_all(&mut io::stderr(), ending.stderr.as_bytes())?;
    if let Some(signal) = ending.signal.and_then(rustix::process::Signal::from_named_raw) {
        rustix::process::kill_process(rustix::process::getpid(), signal)?;
        // This line runs only if the signal is ignored.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    // Exits without the task that still waits for stdin, which would delay the end.
    std::process::exit(ending.code)
}

/// Carries out the suite's commands. Returns the last one, which ends the process.
async fn run_commands<W: Send + 'static>(
    control: UnixStream,
    stdin: JoinHandle<()>,
    stdout: Arc<Mutex<W>>,
) -> io::Result<Ending> {
    let mut orders = BufReader::new(control).lines();
    while let Some(order) = orders.next_line().await? {
        match serde_json::from_str(&order)? {
            RelayCommand::Noise(bytes) => {
                // The lock is held, because an agent with a single thread could not write to stdout at the
                // same time.
                let silent = stdout.clone().lock_owned().await;
                let write = move || {
                    let noise = STDERR_LINE.repeat(bytes.div_ceil(STDERR_LINE.len()));
                    let result = io::Write::write_all(&mut io::stderr(), noise.as_bytes());
                    drop(silent);
                    result
                };
                // A failure is ignored, because the client may have closed its end.
                let _ = tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?;
            }
            RelayCommand::Deafen => {
                let nothing = std::fs::File::open("/dev/null")?;
                rustix::stdio::dup2_stdin(&nothing)?;
                // The suite is notified that the client's input has ended.
                stdin.abort();
            }
            RelayCommand::End(ending) => return Ok(ending),
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the suite has disconnected"))
}

/// Socket to which the agent's process connects.
pub(super) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Opens a socket in a directory that no other user can enter.
    pub(super) fn bind(directory: &Path) -> io::Result<Self> {
        let path = directory.join("agent.sock");
        let listener = UnixListener::bind(&path)?;
        Ok(Self { listener, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the agent's process.
    pub(super) async fn accept(&self) -> io::Result<(OwnedReadHalf, AgentWriter)> {
        let (data, _) = self.listener.accept().await?;
        let (control, _) = self.listener.accept().await?;
        let (ears, writer) = data.into_split();
        Ok((ears, AgentWriter { data: writer, control }))
    }
}

/// Output of the agent, through which the suite writes.
pub(super) struct AgentWriter {
    data: OwnedWriteHalf,
    control: UnixStream,
}

impl AgentWriter {
    /// Writes bytes to the client.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.data.write_all(bytes).await
    }

    /// Writes this number of bytes to stderr.
    pub(super) async fn write_stderr(&mut self, bytes: usize) -> io::Result<()> {
        self.send_command(&RelayCommand::Noise(bytes)).await
    }

    /// Closes the agent's stdin.
    pub(super) async fn close_stdin(&mut self) -> io::Result<()> {
        self.send_command(&RelayCommand::Deafen).await
    }

    /// Requests the end of the agent, after all output has been sent to the client.
    pub(super) async fn end(mut self, ending: Ending) -> io::Result<()> {
        self.data.shutdown().await?;
        self.send_command(&RelayCommand::End(ending)).await?;
        self.control.shutdown().await
    }

    async fn send_command(&mut self, order: &RelayCommand) -> io::Result<()> {
        let mut line = serde_json::to_vec(order).map_err(io::Error::other)?;
        line.push(b'\n');
        self.control.write_all(&line).await
    }
}
