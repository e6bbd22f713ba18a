//! The events of a run, kept for a client that reconnects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentese::agui::Event as AguiEvent;
use tokio::sync::watch;
use tokio::time::Instant;

/// The maximum number of kept events of a run, and their maximum size in bytes. A single event may be larger.
pub(super) const MAX_EVENTS: usize = 4096;
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The identity of a run request. A request that is sent again has the same identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestKey {
    pub thread: String,
    pub run: String,
    /// A hash of the whole request.
    pub digest: u64,
}

/// The kept events of a run. One connection reads them; a further one takes its place.
pub(super) struct RunLog {
    /// The request that started the run.
    pub request: RequestKey,
    /// The prefix of the ids of the events.
    prefix: String,
    /// The time limit for a run without a connection.
    reconnect_limit: Duration,
    state: watch::Sender<LogState>,
}

/// The reason why a connection cannot continue after an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the events after {after} are no longer kept: only the latest run of a thread is, with its last {MAX_EVENTS} \
     events or {MAX_BYTES} bytes; the MESSAGES_SNAPSHOT of the next run has the conversation"
)]
pub(super) struct EventsGone {
    /// The id that the client sent.
    pub after: String,
}

struct LogState {
    events: VecDeque<String>,
    /// The number of events that are no longer kept. The first event of a run has the number 1.
    dropped: u64,
    bytes: usize,
    /// The number of the last event that a connection has taken.
    taken: u64,
    /// The size of the events that no connection has taken, in bytes.
    untaken_bytes: usize,
    connection: Connection,
    /// The number of connections so far.
    connections: u64,
    is_stopping: bool,
    is_ended: bool,
}

enum Connection {
    Open(u64),
    ClosedSince(Instant),
}

impl LogState {
    fn last(&self) -> u64 {
        self.dropped + self.events.len() as u64
    }

    fn is_open(&self) -> bool {
        matches!(self.connection, Connection::Open(_))
    }

    fn is_reader(&self, number: u64) -> bool {
        matches!(self.connection, Connection::Open(current) if current == number)
    }

    fn has_room(&self) -> bool {
        self.untaken_bytes < MAX_BYTES && self.last() - self.taken < MAX_EVENTS as u64
    }

    fn push(&mut self, event: String) {
        self.bytes += event.len();
        self.untaken_bytes += event.len();
        self.events.push_back(event);
        self.drop_oldest();
    }

    /// Drops the oldest events beyond the limits. Events that no connection has taken are only dropped while the run
    /// is stopping.
    fn drop_oldest(&mut self) {
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let is_taken = self.taken > self.dropped;
            let is_last = self.events.len() == 1;
            if is_last || !(is_taken || self.is_stopping && !self.is_open()) {
                return;
            }
            let Some(event) = self.events.pop_front() else { return };
            self.dropped += 1;
            self.bytes -= event.len();
            if !is_taken {
                self.taken += 1;
                self.untaken_bytes -= event.len();
            }
        }
    }

    /// Makes a connection the reader of the events after the one with number `after`. Fails if these are not kept.
    fn connect(&mut self, after: u64) -> Option<u64> {
        if after < self.dropped || after > self.last() {
            return None;
        }
        let skipped = usize::try_from(after - self.dropped).ok()?;
        self.taken = after;
        self.untaken_bytes = self.events.iter().skip(skipped).map(String::len).sum();
        self.connections += 1;
        self.connection = Connection::Open(self.connections);
        Some(self.connections)
    }

    /// Takes the next event, with its number.
    fn take(&mut self, number: u64) -> Option<(u64, String)> {
        if !self.is_reader(number) {
            return None;
        }
        let place = usize::try_from(self.taken - self.dropped).ok()?;
        let event = self.events.get(place)?.clone();
        self.taken += 1;
        self.untaken_bytes -= event.len();
        let taken = (self.taken, event);
        self.drop_oldest();
        Some(taken)
    }
}

impl RunLog {
    /// Creates an empty log, and the writer of its events. `prefix` must differ from those of all other runs.
    pub fn new(prefix: String, request: RequestKey, reconnect_limit: Duration) -> (Arc<Self>, RunWriter) {
        let state = LogState {
            events: VecDeque::new(),
            dropped: 0,
            bytes: 0,
            taken: 0,
            untaken_bytes: 0,
            connection: Connection::ClosedSince(Instant::now()),
            connections: 0,
            is_stopping: false,
            is_ended: false,
        };
        let log = Arc::new(Self { request, prefix, reconnect_limit, state: watch::Sender::new(state) });
        (log.clone(), RunWriter(log))
    }

    /// Returns `true` if the run has ended.
    pub fn is_ended(&self) -> bool {
        self.state.borrow().is_ended
    }

    /// Connects a reader of all events. Fails if the first ones are no longer kept.
    pub fn read_from_start(self: &Arc<Self>) -> Result<RunReader, EventsGone> {
        self.read_after(0).ok_or_else(|| EventsGone { after: "the start of the run".to_owned() })
    }

    /// Connects a reader of the events after the one with the id `last`. Fails if the id is not of this run, or if these
    /// events are no longer kept.
    pub fn resume(self: &Arc<Self>, last: &str) -> Result<RunReader, EventsGone> {
        let number = last.rsplit_once('-').filter(|(prefix, _)| *prefix == self.prefix);
        let number = number.and_then(|(_, number)| number.parse().ok());
        number.and_then(|number| self.read_after(number)).ok_or_else(|| EventsGone { after: last.to_owned() })
    }

    fn read_after(self: &Arc<Self>, after: u64) -> Option<RunReader> {
        let mut number = None;
        self.state.send_if_modified(|state| {
            // The limit applies even if the run has not noticed yet that it is over.
            state.is_stopping |= state.connections > 0
                && matches!(state.connection, Connection::ClosedSince(since) if since.elapsed() >= self.reconnect_limit);
            number = state.connect(after);
            number.is_some()
        });
        number.map(|number| RunReader { log: self.clone(), number })
    }

    async fn wait(&self, condition: impl FnMut(&LogState) -> bool + Send) {
        let _ = self.state.subscribe().wait_for(condition).await;
    }

    /// Stops the run as soon as it has no connection. Completes then.
    pub async fn stop_without_connection(&self) {
        self.wait(|state| !state.is_open()).await;
        self.state.send_modify(|state| state.is_stopping = true);
    }
}

/// The writer of a run's events. The run ends when it is dropped.
pub(super) struct RunWriter(Arc<RunLog>);

impl RunWriter {
    /// Adds an event. Waits while the log is full of events that no connection has taken, unless the run is abandoned.
    pub async fn send(&self, event: AguiEvent) {
        let text = serde_json::to_string(&event).unwrap_or_default();
        tokio::select! {
            biased;
            () = self.0.wait(LogState::has_room) => {}
            () = self.abandoned() => {}
        }
        self.0.state.send_modify(|state| state.push(text));
    }

    /// Completes when the run has been without a connection for the time limit, or when a further run of the thread
    /// waits and this one has no connection.
    pub async fn abandoned(&self) {
        loop {
            let mut since = None;
            self.0
                .wait(|state| {
                    since = match state.connection {
                        Connection::ClosedSince(since) => Some(since),
                        Connection::Open(_) => None,
                    };
                    state.is_stopping || since.is_some()
                })
                .await;
            let Some(since) = since.filter(|_| !self.0.state.borrow().is_stopping) else { return };
            tokio::select! {
                () = tokio::time::sleep_until(since + self.0.reconnect_limit) => {
                    self.0.state.send_modify(|state| state.is_stopping = true);
                    return;
                }
                () = self.0.wait(|state| state.is_stopping || state.is_open()) => {}
            }
        }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.is_ended = true);
    }
}

/// A connection that reads the events of a run. Dropping it closes the connection.
pub(super) struct RunReader {
    log: Arc<RunLog>,
    number: u64,
}

impl RunReader {
    /// Returns the id and the text of the next event. Returns `None` after the last one, or if another connection has
    /// taken the place of this one.
    pub async fn next(&mut self) -> Option<(String, String)> {
        let number = self.number;
        self.log.wait(|state| !state.is_reader(number) || state.is_ended || state.taken < state.last()).await;
        let mut taken = None;
        self.log.state.send_if_modified(|state| {
            taken = state.take(number);
            taken.is_some()
        });
        taken.map(|(number, event)| (format!("{}-{number}", self.log.prefix), event))
    }
}

impl Drop for RunReader {
    fn drop(&mut self) {
        self.log.state.send_if_modified(|state| {
            let is_open = state.is_reader(self.number);
            if is_open {
                state.connection = Connection::ClosedSince(Instant::now());
            }
            is_open
        });
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::AguiTextMessageContent;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn log() -> (Arc<RunLog>, RunWriter) {
        let request = RequestKey { thread: "t".to_owned(), run: "r".to_owned(), digest: 1 };
        RunLog::new("ab".to_owned(), request, LIMIT)
    }

    fn event(text: &str) -> AguiEvent {
        AguiTextMessageContent::new("m", text).into()
    }

    async fn ids(mut reader: RunReader) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some((id, _)) = reader.next().await {
            ids.push(id);
        }
        ids
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reconnects_reads_the_missed_events_once() {
        let (log, writer) = log();
        let mut first = log.read_from_start().unwrap();
        writer.send(event("a")).await;
        let (last, _) = first.next().await.unwrap();
        drop(first);
        writer.send(event("b")).await;
        tokio::time::advance(LIMIT / 2).await;
        let second = log.resume(&last).unwrap();
        tokio::time::advance(LIMIT).await;
        writer.send(event("c")).await;
        drop(writer);
        assert_eq!(ids(second).await, ["ab-2", "ab-3"]);
        assert_eq!(ids(log.resume("ab-0").unwrap()).await, ["ab-1", "ab-2", "ab-3"]);
        for unknown in ["ab-4", "ac-1", "1", "ab-", ""] {
            let gone = log.resume(unknown).err();
            assert_eq!(gone, Some(EventsGone { after: unknown.to_owned() }));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_without_a_connection_is_abandoned_after_the_limit() {
        let (log, writer) = log();
        let reader = log.read_from_start().unwrap();
        assert!(tokio::time::timeout(2 * LIMIT, writer.abandoned()).await.is_err());
        drop(reader);
        assert!(tokio::time::timeout(LIMIT / 2, writer.abandoned()).await.is_err());
        // A wait that begins anew has the same end.
        assert!(tokio::time::timeout(LIMIT * 3 / 4, writer.abandoned()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_further_run_stops_only_a_run_without_a_connection() {
        let (log, writer) = log();
        let reader = log.read_from_start().unwrap();
        assert!(tokio::time::timeout(LIMIT, log.stop_without_connection()).await.is_err());
        drop(reader);
        log.stop_without_connection().await;
        writer.abandoned().await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_log_keeps_untaken_events_and_drops_the_oldest_taken_ones() {
        let (log, writer) = log();
        for _ in 0..MAX_EVENTS {
            writer.send(event("a")).await;
        }
        let mut reader = log.read_from_start().unwrap();
        assert!(tokio::time::timeout(LIMIT, writer.send(event("too many"))).await.is_err());
        reader.next().await.unwrap();
        writer.send(event("b")).await;
        assert!(log.resume("ab-0").is_err());
        let mut second = log.resume("ab-1").unwrap();
        assert_eq!(reader.next().await, None);
        assert_eq!(second.next().await.unwrap().0, "ab-2");
        // The size is limited, too, but not that of a single event.
        let large = "x".repeat(MAX_BYTES);
        for _ in 0..MAX_EVENTS - 1 {
            second.next().await.unwrap();
        }
        writer.send(event(&large)).await;
        assert!(second.next().await.unwrap().1.len() > MAX_BYTES);
        writer.send(event("c")).await;
        assert!(log.resume("ab-0").is_err());
        assert!(log.resume(&format!("ab-{}", MAX_EVENTS + 2)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_run_neither_waits_nor_grows() {
        let (log, writer) = log();
        log.stop_without_connection().await;
        for _ in 0..MAX_EVENTS + 2 {
            writer.send(event("a")).await;
        }
        drop(writer);
        assert!(log.read_from_start().is_err());
        assert_eq!(ids(log.resume("ab-2").unwrap()).await.len(), MAX_EVENTS);
    }
}
