//! The proxy as a program that runs between a client and an agent.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::transport::{BoxReader, BoxWriter, stdio};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::{AgentEnd, Filter};

/// Maximum time for which a line is withheld until the next line arrives.
const HOLD: Duration = Duration::from_millis(100);
/// Time after which a hanging proxy ends, if it is not killed.
const HANG: Duration = Duration::from_secs(600);
/// Maximum time in which the agent must end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Error of the proxy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The agent does not start.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Name of the program that does not start.
        program: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A pipe or a file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Options of the proxy.
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// The agent: program and arguments.
    pub command: Vec<OsString>,
    /// File for a JSON object with the change that was made.
    pub log: Option<PathBuf>,
}

/// The change that the proxy made, and the end of the agent.
#[derive(Debug)]
pub struct Report {
    /// The change, if there was one.
    pub applied: Option<Value>,
    /// Exit code of the agent, if it exited.
    pub code: Option<i32>,
    /// The signal by which the agent ended.
    pub signal: Option<i32>,
}

/// Runs the agent behind the proxy's stdin and stdout until the agent has ended. Passes signals on to the
/// agent. The agent's stderr is the proxy's stderr.
///
/// # Errors
/// If the agent does not start, or if the log cannot be written.
pub async fn run(filter: Filter, options: &ProxyOptions) -> Result<Report, ProxyError> {
    let mut child = start(&options.command)?;
    let mut signals = ForwardedSignals::new()?;
    let filter = Arc::new(Mutex::new(filter));
    let ended = forward_lines(&filter, &mut child, &mut signals).await?;
    let (end, applied) = {
        let filter = locked(&filter);
        let applied = filter.applied().map(|_| describe_change(&filter));
        if let Some(path) = &options.log {
            // The log is written before the process ends, because the caller reads it after the end.
            let log = json!({"applied": applied, "places": filter.seen()});
            std::fs::write(path, log.to_string() + "\n")?;
        }
        (filter.end(), applied)
    };
    let (code, signal) = match (end, ended) {
        (Some(AgentEnd::Code(code)), _) => {
            stop(&mut child).await;
            (Some(code), None)
        }
        (Some(AgentEnd::Killed), _) => {
            let signal = tokio::time::timeout(HANG, signals.next()).await.unwrap_or(Signal::KILL);
            stop(&mut child).await;
            (None, Some(signal.as_raw()))
        }
        (None, Some(status)) => (status.code(), status.signal()),
        (None, None) => (None, None),
    };
    Ok(Report { applied, code, signal })
}

/// Locks the filter. No thread panics while it holds the lock, so the lock is never poisoned.
fn locked(filter: &Mutex<Filter>) -> MutexGuard<'_, Filter> {
    filter.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(command: &[OsString]) -> Result<Child, ProxyError> {
    let (program, arguments) = command.split_first().ok_or_else(|| ProxyError::Start {
        program: String::new(),
        source: io::Error::new(io::ErrorKind::InvalidInput, "there is no command"),
    })?;
    // The agent starts in the proxy's own process group, so that a signal to the group reaches both.
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| ProxyError::Start { program: program.to_string_lossy().into_owned(), source })
}

/// Passes lines on until the agent's output ends, or until the filter ends it. Returns the exit status of the
/// agent, unless the filter replaces it.
async fn forward_lines(
    filter: &Arc<Mutex<Filter>>,
    child: &mut Child,
    signals: &mut ForwardedSignals,
) -> Result<Option<ExitStatus>, ProxyError> {
    let missing = || io::Error::other("the agent has no pipes");
    let agent_in = child.stdin.take().ok_or_else(missing)?;
    let mut agent_out = BufReader::new(child.stdout.take().ok_or_else(missing)?);
    let (client_in, mut client_out, _) = stdio()?.into_parts();
    let to_agent = tokio::spawn(forward_to_agent(client_in, agent_in, filter.clone()));
    let mut output = Vec::new();
    let mut talks = true;
    while talks && locked(filter).end().is_none() {
        let holds = locked(filter).holds();
        tokio::select! {
            signal = signals.next() => forward(child, signal),
            read = agent_out.read_until(b'\n', &mut output) => {
                read?;
                talks = output.ends_with(b"\n");
                let out = {
                    let mut filter = locked(filter);
                    let mut out = if output.is_empty() { Vec::new() } else { filter.agent_line(&output) };
                    if !talks {
                        out.extend(filter.finish());
                    }
                    out
                };
                output.clear();
                talks &= write(&mut client_out, &out).await;
            }
            () = tokio::time::sleep(HOLD), if holds => {
                let out = locked(filter).release();
                talks = write(&mut client_out, &out).await;
            }
        }
    }
    // The pipe is closed, so that the agent gets an error when it writes.
    drop(agent_out);
    if locked(filter).end().is_none() {
        loop {
            // The client may still send signals in the meantime.
            tokio::select! {
                signal = signals.next() => forward(child, signal),
                status = child.wait() => {
                    to_agent.abort();
                    return Ok(Some(status?));
                }
            }
        }
    }
    // Lines from the client are still forwarded to the agent, which is not affected by the dropped output.
    Ok(None)
}

/// Passes lines from the client on, until the client closes its end. Each line is recorded before the agent
/// can answer it.
async fn forward_to_agent(client: BoxReader, mut agent: ChildStdin, filter: Arc<Mutex<Filter>>) {
    let mut client = BufReader::new(client);
    let mut line = Vec::new();
    loop {
        line.clear();
        match client.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => locked(&filter).client_line(&line),
        }
        // The agent may end before the client's input does.
        if agent.write_all(&line).await.is_err() || agent.flush().await.is_err() {
            break;
        }
    }
}

/// Writes to the client. Returns `false` if the client has closed its end.
async fn write(to: &mut BoxWriter, bytes: &[u8]) -> bool {
    let written = async {
        to.write_all(bytes).await?;
        to.flush().await
    };
    bytes.is_empty() || written.await.is_ok()
}

/// The signals that the proxy passes on to the agent.
struct ForwardedSignals([(Signals, Signal); 3]);

impl ForwardedSignals {
    fn new() -> io::Result<Self> {
        Ok(Self([
            (signal(SignalKind::terminate())?, Signal::TERM),
            (signal(SignalKind::interrupt())?, Signal::INT),
            (signal(SignalKind::hangup())?, Signal::HUP),
        ]))
    }

    async fn next(&mut self) -> Signal {
        let [(term, _), (int, _), (hup, _)] = &mut self.0;
        tokio::select! {
            _ = term.recv() => Signal::TERM,
            _ = int.recv() => Signal::INT,
            _ = hup.recv() => Signal::HUP,
        }
    }
}

fn forward(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        // The process may already have ended.
        let _ = kill_process(id, signal);
    }
}

/// Ends an agent whose exit status the proxy replaces.
async fn stop(child: &mut Child) {
    forward(child, Signal::TERM);
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// Returns the description of the change for the log.
fn describe_change(filter: &Filter) -> Value {
    let Some(application) = filter.applied() else { return Value::Null };
    let line = filter.changed_line().unwrap_or_default();
    let bytes = application.bytes(line);
    json!({
        "mutator": application.mutator,
        "line": application.at,
        "place": application.place.as_ref().map(ToString::to_string),
        "before": line,
        "after": bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    })
}
