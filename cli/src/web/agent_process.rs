//! Agent process of the page. It is started, observed and restarted here.

use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentese::framing::{FrameReader, Incoming};
use agentese::transport::{ChildOptions, Transport};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::hub::Hub;
use super::message_log::Recipients;

/// Minimum time for which the agent must have run to be restarted automatically.
const MIN_UPTIME: Duration = Duration::from_secs(5);
/// Maximum number of queued lines for an agent that does not read its input. If the queue is full, the tabs
/// wait.
const LINE_QUEUE: usize = 256;
/// Limit in bytes of the server's own answers that the agent has not read. Beyond it, further questions stay
/// open.
const MAX_UNSENT_BYTES: usize = 1024 * 1024;

/// Hub with its agent and tabs, shared between tasks.
#[derive(Debug, Clone)]
pub(super) struct SharedHub {
    hub: Arc<Mutex<Hub>>,
    /// Sender that notifies receivers of every new message.
    changed: watch::Sender<()>,
    /// Queue of lines for the agent; `None` while it is not running.
    lines: Arc<Mutex<Option<mpsc::Sender<String>>>>,
    restart: Arc<Notify>,
}

impl SharedHub {
    pub fn new(hub: Hub) -> Self {
        Self {
            hub: Arc::new(Mutex::new(hub)),
            changed: watch::Sender::new(()),
            lines: Arc::default(),
            restart: Arc::default(),
        }
    }

    /// Runs a function on the hub, and wakes the tabs.
    pub fn with<T>(&self, work: impl FnOnce(&mut Hub) -> T) -> T {
        let result = work(&mut self.hub());
        self.changed.send_replace(());
        result
    }

    /// Returns the locked hub.
    pub fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a receiver of change notifications.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Sends a line to the agent, and waits while the queue is full. If the agent has ended, the line is
    /// dropped; the tabs are notified of the end separately.
    pub async fn send(&self, line: String) {
        let lines = self.lines().clone();
        if let Some(lines) = lines {
            let _ = lines.send(line).await;
        }
    }

    /// Creates a queue of lines for the next agent.
    fn new_queue(&self) -> mpsc::Receiver<String> {
        let (lines, waiting) = mpsc::channel(LINE_QUEUE);
        *self.lines() = Some(lines);
        waiting
    }

    fn lines(&self) -> MutexGuard<'_, Option<mpsc::Sender<String>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restarts an agent that has ended.
    pub fn restart(&self) {
        self.restart.notify_one();
    }
}

/// Runs the agent until `shutdown`: starts, observes and restarts it. Lines of tabs are queued from this call
/// on, even before the first start.
pub(super) fn run(
    command: Vec<OsString>,
    shared: SharedHub,
    shutdown: CancellationToken,
) -> impl Future<Output = ()> {
    let first = shared.new_queue();
    run_from(command, shared, shutdown, first)
}

async fn run_from(
    command: Vec<OsString>,
    shared: SharedHub,
    shutdown: CancellationToken,
    first: mpsc::Receiver<String>,
) {
    let mut first = Some(first);
    loop {
        let began = Instant::now();
        let (text, stderr) = match start(&command) {
            Ok(transport) => {
                let waiting = first.take().unwrap_or_else(|| {
                    let waiting = shared.new_queue();
                    shared.with(Hub::started);
                    waiting
                });
                observe(transport, waiting, &shared, &shutdown).await
            }
            Err(error) => (error, String::new()),
        };
        *shared.lines() = None;
        let restarts = began.elapsed() >= MIN_UPTIME;
        if shutdown.is_cancelled() {
            return;
        }
        first = None;
        shared.with(|hub| hub.ended(&text, &stderr, restarts));
        if restarts {
            continue;
        }
        tokio::select! {
            () = shared.restart.notified() => {}
            () = shutdown.cancelled() => return,
        }
    }
}

fn start(command: &[OsString]) -> Result<Transport, String> {
    let (program, arguments) = command.split_first().ok_or("no command line of the agent")?;
    let options = ChildOptions::new(program).args(arguments.iter().cloned());
    Transport::from_child(options).map_err(|error| error.to_string())
}

/// Observes an agent until it ends. Returns its exit status and the end of its stderr.
async fn observe(
    transport: Transport,
    mut waiting: mpsc::Receiver<String>,
    shared: &SharedHub,
    shutdown: &CancellationToken,
) -> (String, String) {
    let (reader, mut writer, child) = transport.into_parts();
    let (dismissals, mut dismissed) = mpsc::unbounded_channel::<String>();
    let unsent = AtomicUsize::new(0);
    let write = async {
        loop {
            let mut line = tokio::select! {
                Some(line) = dismissed.recv() => {
                    unsent.fetch_sub(line.len(), Ordering::Relaxed);
                    line
                }
                line = waiting.recv() => match line {
                    Some(line) => line,
                    None => break,
                },
            };
            line.push('\n');
            if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let read = async {
        let mut reader = FrameReader::new(reader);
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch).await.is_ok_and(|count| count > 0) {
            let now = Instant::now();
            let own = shared.with(|hub| {
                for incoming in batch.drain(..) {
                    match incoming {
                        Incoming::Frame(line) if line.is_empty() => {}
                        Incoming::Frame(line) => hub.handle_agent_line(&line, now),
                        Incoming::Fault(fault) => {
                            hub.send_message(
                                Recipients::All,
                                json!({"agentese": "noise", "line": "", "error": fault.to_string()}),
                            );
                        }
                    }
                }
                hub.take_dismissals()
            });
            for line in own {
                if unsent.load(Ordering::Relaxed) + line.len() <= MAX_UNSENT_BYTES {
                    unsent.fetch_add(line.len(), Ordering::Relaxed);
                    let _ = dismissals.send(line);
                }
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
        () = shutdown.cancelled() => {}
    }
    let Some(child) = child else { return ("ended".to_owned(), String::new()) };
    let exit = child.shutdown().await;
    (exit.to_string(), agentese::redact::redact_text(&exit.stderr_tail).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::command_permissions::AccessPolicy;
    use super::super::hub::{AgentInfo, LineOutcome};
    use super::super::tabs::TabQuery;
    use super::*;

    /// A question beyond the limit of open questions is answered by the server, so that the agent continues.
    #[tokio::test]
    async fn a_question_that_is_not_stored_is_answered() {
        let spec = agentese::dynamic::client("pi").unwrap().0;
        let shared = SharedHub::new(Hub::new(spec, AccessPolicy::default(), AgentInfo::default()));
        let shutdown = CancellationToken::new();
        // The agent sends a question with a long id, and emits an event after the answer.
        let asks = r#"id=$(printf '%02000d' 1)
            echo '{"type":"extension_ui_request","id":"'$id'","method":"input","title":"Name?"}'
            read -r answer && echo '{"type":"goes_on","answer":'"$answer"'}'; cat >/dev/null"#;
        let command = ["sh", "-c", asks].map(OsString::from).to_vec();
        let tab = TabQuery { name: "a".to_owned(), have: None, all: true };
        let joined = shared.with(|hub| hub.join(&tab, Instant::now()));
        let mut changes = shared.changes();
        let running = tokio::spawn(run(command, shared.clone(), shutdown.clone()));
        let goes_on = async {
            loop {
                let (texts, _) = shared.hub().tabs.read(joined.tab_id, joined.next, usize::MAX).unwrap();
                if let Some(text) = texts.iter().find(|text| text.contains("goes_on")) {
                    break text.to_string();
                }
                changes.changed().await.unwrap();
            }
        };
        let text = tokio::time::timeout(Duration::from_secs(60), goes_on).await.unwrap();
        assert!(text.contains(r#""cancelled":true"#), "{text:.200}");
        shutdown.cancel();
        running.await.unwrap();
    }

    #[tokio::test]
    async fn lines_before_the_first_start_reach_the_agent() {
        let spec = agentese::dynamic::client("pi").unwrap().0;
        let shared = SharedHub::new(Hub::new(spec, AccessPolicy::default(), AgentInfo::default()));
        let shutdown = CancellationToken::new();
        // This agent repeats its input.
        let running = run(vec!["cat".into()], shared.clone(), shutdown.clone());
        let tab = TabQuery { name: "a".to_owned(), have: None, all: true };
        let joined = shared.with(|hub| hub.join(&tab, Instant::now()));
        let sent = shared.with(|hub| hub.handle_tab_line(joined.tab_id, r#"{"id":"1","type":"get_state"}"#));
        let LineOutcome::Forward(line) = sent else { panic!("{sent:?}") };
        shared.send(line).await;
        let mut changes = shared.changes();
        changes.mark_unchanged();
        let running = tokio::spawn(running);
        let answered = tokio::time::timeout(Duration::from_secs(60), changes.changed()).await;
        answered.unwrap().unwrap();
        let (texts, _) = shared.hub().tabs.read(joined.tab_id, joined.next, usize::MAX).unwrap();
        assert!(texts[0].contains("get_state"), "{texts:?}");
        shutdown.cancel();
        running.await.unwrap();
    }
}
