//! Queue of frames for one extension process that it has not read yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::{HookEvent, HostEvent, HostFrame};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::Instant;

/// Number of waiting bytes above which the agent waits for the extension.
pub(super) const MAX_WAITING_BYTES: usize = 32 << 20;
/// Time for which a line must remain unread before updates of the same value are merged.
const SLOW_AFTER: Duration = Duration::from_millis(250);
/// Number of waiting updates of one value from which on they may be merged.
const MERGE_THRESHOLD: usize = 64;
/// Number of bytes in one write. A write that completes shows that the extension reads.
const WRITE_SIZE: usize = 64 << 10;

/// An item for an extension.
pub(super) enum OutboxItem {
    Frame(Box<HostFrame>),
    /// An update of a value that changes often. A later update of the same value replaces it.
    Update(ValueUpdate),
}

/// An update of a value that changes often, such as an answer in progress, for one extension.
pub(super) struct ValueUpdate {
    pub extension: String,
    /// Id of the value. Only an update of the same value replaces another.
    pub value_id: Arc<str>,
    pub event: Arc<HookEvent>,
}

impl ValueUpdate {
    fn is_same_value(&self, other: &Self) -> bool {
        self.extension == other.extension && self.value_id == other.value_id
    }
}

enum QueuedLine {
    Encoded(String),
    Update(ValueUpdate),
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<QueuedLine>,
    closed: bool,
    /// Time at which the current write started; `None` if no write is in progress.
    writing_since: Option<Instant>,
}

/// The queue of one process.
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// Number of waiting bytes. Updates are not included, because they are encoded just before they are written.
    waiting_bytes: watch::Sender<usize>,
    /// Number of items that were appended. A change of this number wakes the writer.
    arrivals: watch::Sender<u64>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            queue: Mutex::default(),
            waiting_bytes: watch::Sender::new(0),
            arrivals: watch::Sender::new(0),
        }
    }
}

/// The reason why writing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteError {
    /// The other end is closed.
    Closed,
    /// The process read nothing for the time limit, while too much was waiting.
    Unread,
}

impl Outbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an item. Returns the length of the frame in bytes, or 0 for an update or a closed queue. In the queue of
    /// a slow process, an update replaces an earlier update of its value.
    pub fn push(&self, item: OutboxItem) -> usize {
        let mut queue = self.queue();
        if queue.closed {
            return 0;
        }
        let mut length = 0;
        match item {
            OutboxItem::Frame(frame) => match agentese::wire::encode(&*frame) {
                Ok(line) => {
                    length = line.len();
                    self.waiting_bytes.send_modify(|waiting| *waiting += length);
                    queue.lines.push_back(QueuedLine::Encoded(line));
                }
                Err(error) => tracing::error!(%error, "a frame for an extension could not be written"),
            },
            OutboxItem::Update(step) => queue.push_update(step),
        }
        drop(queue);
        self.arrivals.send_modify(|came| *came += 1);
        length
    }

    /// Waits until at most [`MAX_WAITING_BYTES`] wait, or until the queue is closed.
    pub async fn wait_for_capacity(&self) {
        let _ = self.waiting_bytes.subscribe().wait_for(|waiting| *waiting <= MAX_WAITING_BYTES).await;
    }

    /// Closes the queue: nothing is sent any more.
    pub fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.lines.clear();
        drop(queue);
        self.waiting_bytes.send_replace(0);
        self.arrivals.send_modify(|came| *came += 1);
    }

    fn next(&self) -> Option<QueuedLine> {
        let mut queue = self.queue();
        let line = queue.lines.pop_front();
        queue.writing_since = line.as_ref().map(|_| Instant::now());
        line
    }

    /// Writes items as they arrive. Returns if the other end is closed. Also returns if the process reads nothing for
    /// `read_timeout` while more than [`MAX_WAITING_BYTES`] wait.
    pub async fn write(
        &self,
        input: &mut (dyn AsyncWrite + Send + Unpin),
        read_timeout: Duration,
    ) -> WriteError {
        let mut came = self.arrivals.subscribe();
        loop {
            came.borrow_and_update();
            while let Some(line) = self.next() {
                let (mut line, counted) = match line {
                    QueuedLine::Encoded(line) => (line, true),
                    QueuedLine::Update(ValueUpdate { extension, event, .. }) => {
                        match agentese::wire::encode(&HostFrame::from(HostEvent::new(
                            extension,
                            HookEvent::clone(&event),
                        ))) {
                            Ok(line) => (line, false),
                            Err(error) => {
                                tracing::error!(%error, "a frame for an extension could not be written");
                                continue;
                            }
                        }
                    }
                };
                let length = line.len();
                line.push('\n');
                if let Err(broken) = self.write_line(line.as_bytes(), input, read_timeout).await {
                    return broken;
                }
                if counted {
                    self.waiting_bytes.send_modify(|waiting| *waiting = waiting.saturating_sub(length));
                }
            }
            if came.changed().await.is_err() {
                return WriteError::Closed;
            }
        }
    }

    async fn write_line(
        &self,
        mut rest: &[u8],
        input: &mut (dyn AsyncWrite + Send + Unpin),
        read_timeout: Duration,
    ) -> Result<(), WriteError> {
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(WRITE_SIZE)];
            match tokio::time::timeout(read_timeout, input.write(piece)).await {
                Ok(Ok(0) | Err(_)) => return Err(WriteError::Closed),
                Ok(Ok(count)) => rest = &rest[count..],
                Err(_) if *self.waiting_bytes.borrow() > MAX_WAITING_BYTES => return Err(WriteError::Unread),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Queue {
    fn push_update(&mut self, step: ValueUpdate) {
        let behind = self.writing_since.is_some_and(|since| since.elapsed() > SLOW_AFTER);
        if behind {
            // Never across a frame: the updates before a frame describe the state at that frame.
            let steps = || {
                self.lines.iter().rev().map_while(|line| match line {
                    QueuedLine::Update(step) => Some(step),
                    QueuedLine::Encoded(_) => None,
                })
            };
            let same = steps().filter(|earlier| step.is_same_value(earlier)).count();
            let newest = steps().position(|earlier| step.is_same_value(earlier));
            if same >= MERGE_THRESHOLD
                && let Some(newest) = newest
            {
                let index = self.lines.len() - 1 - newest;
                self.lines[index] = QueuedLine::Update(step);
                return;
            }
        }
        self.lines.push_back(QueuedLine::Update(step));
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::{AgentStart, HostCancel};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn step(extension: &str, what: &str) -> OutboxItem {
        let event = Arc::new(HookEvent::from(AgentStart::new()));
        OutboxItem::Update(ValueUpdate { extension: extension.to_owned(), value_id: what.into(), event })
    }

    fn frame(bytes: usize) -> OutboxItem {
        OutboxItem::Frame(Box::new(HostCancel::new("x".repeat(bytes)).into()))
    }

    #[tokio::test(start_paused = true)]
    async fn fm_f92_a_frame_of_any_size_is_written_where_it_is_read() {
        let outbox = Outbox::default();
        outbox.push(frame(2 * MAX_WAITING_BYTES));
        let (mut near, mut far) = tokio::io::duplex(1 << 16);
        let reading = async {
            let mut piece = vec![0; 1 << 20];
            let mut read = 0;
            while read < 2 * MAX_WAITING_BYTES {
                // It reads, but slowly.
                tokio::time::sleep(PATIENCE / 3).await;
                read += far.read(&mut piece).await.unwrap();
            }
            // Less than a piece is left.
            let rest = async { while far.read(&mut piece).await.unwrap() > 0 {} };
            tokio::select! {
                () = rest => panic!("the writer continues"),
                () = outbox.wait_for_capacity() => {}
            }
        };
        tokio::select! {
            broken = outbox.write(&mut near, PATIENCE) => panic!("{broken:?}"),
            () = reading => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn fm_f92_a_process_that_reads_nothing_is_ended_after_the_time_limit() {
        let outbox = Outbox::default();
        let (mut near, _far) = tokio::io::duplex(1 << 10);
        outbox.push(frame(1 << 20));
        // A small amount may wait without limit.
        let waits = tokio::time::timeout(PATIENCE * 10, outbox.write(&mut near, PATIENCE));
        assert!(waits.await.is_err());
        outbox.push(frame(MAX_WAITING_BYTES));
        outbox.push(frame(1 << 20));
        assert!(tokio::time::timeout(PATIENCE, outbox.wait_for_capacity()).await.is_err());
        let began = Instant::now();
        assert_eq!(outbox.write(&mut near, PATIENCE).await, WriteError::Unread);
        assert_eq!(began.elapsed(), PATIENCE);
        outbox.close();
        outbox.wait_for_capacity().await;
    }

    #[tokio::test(start_paused = true)]
    async fn updates_are_sent_one_by_one_until_the_process_is_slow() {
        let outbox = Outbox::default();
        for _ in 0..3 * MERGE_THRESHOLD {
            outbox.push(step("a", "message"));
        }
        let (mut near, far) = tokio::io::duplex(64);
        let mut lines = BufReader::new(far).lines();
        // The first line is being written and does not arrive.
        let writing = outbox.write(&mut near, PATIENCE);
        tokio::pin!(writing);
        assert!(tokio::time::timeout(2 * SLOW_AFTER, &mut writing).await.is_err());
        for _ in 0..5 {
            outbox.push(step("a", "message"));
        }
        outbox.push(step("b", "message"));
        outbox.push(step("a", "a tool"));
        outbox.push(frame(1));
        outbox.push(step("a", "message"));
        let mut received = Vec::new();
        while received.len() < 3 * MERGE_THRESHOLD + 4 {
            tokio::select! {
                broken = &mut writing => panic!("{broken:?}"),
                line = lines.next_line() => received.push(line.unwrap().unwrap()),
            }
        }
        let index = received.iter().position(|line| line.contains("cancel")).unwrap();
        assert_eq!(index, received.len() - 2, "order stays, five steps were left out: {received:#?}");
        assert!(received[index - 2].contains("\"b\""));
    }
}
