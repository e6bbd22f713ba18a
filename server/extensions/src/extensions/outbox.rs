//! Frames for an extension that are not read yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::{HookEvent, HostEvent, HostFrame};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::Instant;

/// Number of waiting bytes above which the agent waits too.
pub(super) const ROOM: usize = 32 << 20;
/// Age of an unread line above which updates of growing values are merged.
const BEHIND: Duration = Duration::from_millis(250);
/// Minimum number of waiting updates of one value before any are merged.
const STEPS: usize = 64;
/// Size of one write: an extension that reads this much is considered reading.
const PIECE: usize = 64 << 10;

/// An item for an extension.
pub(super) enum Item {
    Frame(Box<HostFrame>),
    /// An update of a growing value; a later update contains it.
    Step(Step),
}

/// An update of a growing value, for one extension.
pub(super) struct Step {
    pub extension: String,
    /// Identifies the value: only updates of the same value replace each other.
    pub what: Arc<str>,
    pub event: Arc<HookEvent>,
}

impl Step {
    fn continues(&self, other: &Self) -> bool {
        self.extension == other.extension && self.what == other.what
    }
}

enum Line {
    Written(String),
    Step(Step),
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Line>,
    closed: bool,
    /// The start of the current write.
    busy: Option<Instant>,
}

/// The queue of one process.
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// Number of waiting bytes without updates, which are encoded just before they are written.
    waiting: watch::Sender<usize>,
    /// Counts new items.
    came: watch::Sender<u64>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { queue: Mutex::default(), waiting: watch::Sender::new(0), came: watch::Sender::new(0) }
    }
}

/// Reason for an early end of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The other end is closed.
    Closed,
    /// Nothing was read for too long, and too much waits.
    Unread,
}

impl Outbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an item and returns the length of a frame. If the process is slow, an update replaces the
    /// previous update.
    pub fn push(&self, item: Item) -> usize {
        let mut queue = self.queue();
        if queue.closed {
            return 0;
        }
        let mut length = 0;
        match item {
            Item::Frame(frame) => match agentese::wire::encode(&*frame) {
                Ok(line) => {
                    length = line.len();
                    self.waiting.send_modify(|waiting| *waiting += length);
                    queue.lines.push_back(Line::Written(line));
                }
                Err(error) => tracing::error!(%error, "a frame for an extension could not be written"),
            },
            Item::Step(step) => queue.step(step),
        }
        drop(queue);
        self.came.send_modify(|came| *came += 1);
        length
    }

    /// Waits until the queue is short enough, or until no reader is left.
    pub async fn room(&self) {
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting <= ROOM).await;
    }

    /// Closes the queue: nothing is sent any more.
    pub fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.lines.clear();
        drop(queue);
        self.waiting.send_replace(0);
        self.came.send_modify(|came| *came += 1);
    }

    fn next(&self) -> Option<Line> {
        let mut queue = self.queue();
        let line = queue.lines.pop_front();
        queue.busy = line.as_ref().map(|_| Instant::now());
        line
    }

    /// Writes items as they arrive, without end. Returns if the other end is closed, or if nothing was read
    /// for `patience` while more than [`ROOM`] waits.
    pub async fn write(&self, input: &mut (dyn AsyncWrite + Send + Unpin), patience: Duration) -> Broken {
        let mut came = self.came.subscribe();
        loop {
            came.borrow_and_update();
            while let Some(line) = self.next() {
                let (mut line, counted) = match line {
                    Line::Written(line) => (line, true),
                    Line::Step(Step { extension, event, .. }) => {
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
                if let Err(broken) = self.write_line(line.as_bytes(), input, patience).await {
                    return broken;
                }
                if counted {
                    self.waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(length));
                }
            }
            if came.changed().await.is_err() {
                return Broken::Closed;
            }
        }
    }

    async fn write_line(
        &self,
        mut rest: &[u8],
        input: &mut (dyn AsyncWrite + Send + Unpin),
        patience: Duration,
    ) -> Result<(), Broken> {
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(PIECE)];
            match tokio::time::timeout(patience, input.write(piece)).await {
                Ok(Ok(0) | Err(_)) => return Err(Broken::Closed),
                Ok(Ok(count)) => rest = &rest[count..],
                Err(_) if *self.waiting.borrow() > ROOM => return Err(Broken::Unread),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Queue {
    fn step(&mut self, step: Step) {
        let behind = self.busy.is_some_and(|since| since.elapsed() > BEHIND);
        if behind {
            // Never across a frame: the updates before a frame describe the state at that frame.
            let steps = || {
                self.lines.iter().rev().map_while(|line| match line {
                    Line::Step(step) => Some(step),
                    Line::Written(_) => None,
                })
            };
            let same = steps().filter(|before| step.continues(before)).count();
            let newest = steps().position(|before| step.continues(before));
            if same >= STEPS
                && let Some(newest) = newest
            {
                let place = self.lines.len() - 1 - newest;
                self.lines[place] = Line::Step(step);
                return;
            }
        }
        self.lines.push_back(Line::Step(step));
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::{AgentStart, HostCancel};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn step(extension: &str, what: &str) -> Item {
        let event = Arc::new(HookEvent::from(AgentStart::new()));
        Item::Step(Step { extension: extension.to_owned(), what: what.into(), event })
    }

    fn frame(bytes: usize) -> Item {
        Item::Frame(Box::new(HostCancel::new("x".repeat(bytes)).into()))
    }

    #[tokio::test(start_paused = true)]
    async fn fm_f92_a_frame_of_any_size_is_written_where_it_is_read() {
        let outbox = Outbox::default();
        outbox.push(frame(2 * ROOM));
        let (mut near, mut far) = tokio::io::duplex(1 << 16);
        let reading = async {
            let mut piece = vec![0; 1 << 20];
            let mut read = 0;
            while read < 2 * ROOM {
                // It reads, but slowly.
                tokio::time::sleep(PATIENCE / 3).await;
                read += far.read(&mut piece).await.unwrap();
            }
            // Less than a piece is left.
            let rest = async { while far.read(&mut piece).await.unwrap() > 0 {} };
            tokio::select! {
                () = rest => panic!("the writer goes on"),
                () = outbox.room() => {}
            }
        };
        tokio::select! {
            broken = outbox.write(&mut near, PATIENCE) => panic!("{broken:?}"),
            () = reading => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn fm_f92_one_that_reads_nothing_is_given_up_in_time_and_not_before() {
        let outbox = Outbox::default();
        let (mut near, _far) = tokio::io::duplex(1 << 10);
        outbox.push(frame(1 << 20));
        // A small amount may wait without limit.
        let waits = tokio::time::timeout(PATIENCE * 10, outbox.write(&mut near, PATIENCE));
        assert!(waits.await.is_err());
        outbox.push(frame(ROOM));
        outbox.push(frame(1 << 20));
        assert!(tokio::time::timeout(PATIENCE, outbox.room()).await.is_err());
        let began = Instant::now();
        assert_eq!(outbox.write(&mut near, PATIENCE).await, Broken::Unread);
        assert_eq!(began.elapsed(), PATIENCE);
        outbox.close();
        outbox.room().await;
    }

    #[tokio::test(start_paused = true)]
    async fn steps_are_told_one_by_one_until_the_process_is_behind() {
        let outbox = Outbox::default();
        for _ in 0..3 * STEPS {
            outbox.push(step("a", "message"));
        }
        let (mut near, far) = tokio::io::duplex(64);
        let mut lines = BufReader::new(far).lines();
        // The first line is being written and does not arrive.
        let writing = outbox.write(&mut near, PATIENCE);
        tokio::pin!(writing);
        assert!(tokio::time::timeout(2 * BEHIND, &mut writing).await.is_err());
        for _ in 0..5 {
            outbox.push(step("a", "message"));
        }
        outbox.push(step("b", "message"));
        outbox.push(step("a", "a tool"));
        outbox.push(frame(1));
        outbox.push(step("a", "message"));
        let mut told = Vec::new();
        while told.len() < 3 * STEPS + 4 {
            tokio::select! {
                broken = &mut writing => panic!("{broken:?}"),
                line = lines.next_line() => told.push(line.unwrap().unwrap()),
            }
        }
        let place = told.iter().position(|line| line.contains("cancel")).unwrap();
        assert_eq!(place, told.len() - 2, "order stays, five steps were left out: {told:#?}");
        assert!(told[place - 2].contains("\"b\""));
    }
}
