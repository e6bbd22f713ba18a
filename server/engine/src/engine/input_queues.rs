//! Messages that wait for their delivery in a run.

use std::collections::VecDeque;

use agentese::types::{AgentMessage, InputBlock, InputContent, InterruptMode, QueueMode};

/// Maximum size of the queues, in bytes of texts and images. A single message may be larger.
pub const MAX_QUEUE_BYTES: usize = 64 << 20;

/// Error for a message that does not fit into the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{waiting} messages of {} MiB are queued, and the limit is {} MiB; send the message again when some of them are delivered",
    .bytes.div_ceil(1 << 20), MAX_QUEUE_BYTES >> 20
)]
pub struct QueueFullError {
    /// Number of waiting messages.
    pub waiting: usize,
    /// Size of the waiting messages in bytes.
    pub bytes: usize,
}

/// Returns the size of the texts and images of a message in bytes.
fn size(message: &AgentMessage) -> usize {
    let AgentMessage::User(message) = message else {
        return serde_json::to_vec(message).map_or(0, |text| text.len());
    };
    match &message.content {
        InputContent::Text(text) => text.len(),
        InputContent::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                InputBlock::Text(block) => block.text.len(),
                InputBlock::Image(image) => image.data.len(),
                _ => 0,
            })
            .sum(),
    }
}

/// Returns the text of a message.
pub(super) fn text(message: &AgentMessage) -> String {
    let AgentMessage::User(message) = message else { return String::new() };
    match &message.content {
        InputContent::Text(text) => text.clone(),
        // Notes about images follow the text.
        InputContent::Blocks(blocks) => match blocks.first() {
            Some(InputBlock::Text(block)) => block.text.clone(),
            _ => String::new(),
        },
    }
}

/// The queues of steering messages and follow-ups, and the messages taken from them for delivery.
///
/// A message is pending until its delivery. A taken message that cannot be delivered returns to the front of its queue,
/// so an abort loses no message.
#[derive(Debug)]
pub struct Queues {
    interrupt: InterruptMode,
    steering: Queue,
    follow_ups: Queue,
    taken: VecDeque<(QueueSource, AgentMessage)>,
    /// Size of the pending messages in bytes.
    bytes: usize,
    /// `true` after a change for which no event was emitted.
    changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueSource {
    Steering,
    FollowUps,
}

#[derive(Debug)]
struct Queue {
    mode: QueueMode,
    waiting: VecDeque<AgentMessage>,
}

impl Default for Queue {
    fn default() -> Self {
        // The documented default of both modes.
        Self { mode: QueueMode::OneAtATime, waiting: VecDeque::new() }
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            interrupt: InterruptMode::Immediate,
            steering: Queue::default(),
            follow_ups: Queue::default(),
            taken: VecDeque::new(),
            bytes: 0,
            changed: false,
        }
    }
}

impl Queues {
    /// Returns the moment at which steering reaches a run.
    pub fn interrupt_mode(&self) -> InterruptMode {
        self.interrupt
    }

    /// Sets the moment at which steering reaches a run.
    pub fn set_interrupt_mode(&mut self, mode: InterruptMode) {
        self.interrupt = mode;
    }

    /// Returns `true` if queued steering interrupts the running calls.
    pub fn interrupts(&self) -> bool {
        self.interrupt == InterruptMode::Immediate && !self.steering.waiting.is_empty()
    }

    /// Adds a message that interrupts. Fails, without adding it, if the queues are full.
    pub fn steer(&mut self, message: impl Into<AgentMessage>) -> Result<(), QueueFullError> {
        self.add(QueueSource::Steering, message.into())
    }

    /// Adds a message for the moment at which the agent would stop. Fails, without adding it, if the queues are full.
    pub fn follow_up(&mut self, message: impl Into<AgentMessage>) -> Result<(), QueueFullError> {
        self.add(QueueSource::FollowUps, message.into())
    }

    /// Fails if the queues have no room for the message.
    pub fn check_capacity(&self, message: &AgentMessage) -> Result<(), QueueFullError> {
        let waiting = self.pending();
        match waiting > 0 && self.bytes + size(message) > MAX_QUEUE_BYTES {
            true => Err(QueueFullError { waiting, bytes: self.bytes }),
            false => Ok(()),
        }
    }

    fn add(&mut self, source: QueueSource, message: AgentMessage) -> Result<(), QueueFullError> {
        self.check_capacity(&message)?;
        self.bytes += size(&message);
        self.changed = true;
        self.queue(source).waiting.push_back(message);
        Ok(())
    }

    /// Returns the delivery mode of steering messages.
    pub fn steering_mode(&self) -> QueueMode {
        self.steering.mode
    }

    /// Sets the delivery mode of steering messages.
    pub fn set_steering_mode(&mut self, mode: QueueMode) {
        self.steering.mode = mode;
    }

    /// Returns the delivery mode of follow-ups.
    pub fn follow_up_mode(&self) -> QueueMode {
        self.follow_ups.mode
    }

    /// Sets the delivery mode of follow-ups.
    pub fn set_follow_up_mode(&mut self, mode: QueueMode) {
        self.follow_ups.mode = mode;
    }

    /// Returns the number of pending messages.
    pub fn pending(&self) -> usize {
        self.steering.waiting.len() + self.follow_ups.waiting.len() + self.taken.len()
    }

    /// Takes steering messages for delivery: one or all, as the mode defines. Returns `true` if any were taken.
    pub fn take_steering(&mut self) -> bool {
        self.take(QueueSource::Steering)
    }

    /// Takes follow-ups for delivery: one or all, as the mode defines. Returns `true` if any were taken.
    pub fn take_follow_ups(&mut self) -> bool {
        self.take(QueueSource::FollowUps)
    }

    /// Returns `true` if taken messages wait for delivery.
    pub fn has_taken(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Removes and returns the next taken message. It is then delivered, and no longer pending.
    pub fn deliver(&mut self) -> Option<AgentMessage> {
        let (_, message) = self.taken.pop_front()?;
        self.changed = true;
        self.bytes = self.bytes.saturating_sub(size(&message));
        Some(message)
    }

    /// Removes and returns the first waiting message with the same text. Used if a remote agent has delivered the
    /// message itself.
    pub fn take_matching(&mut self, message: &AgentMessage) -> Option<AgentMessage> {
        let wanted = text(message);
        let found = [QueueSource::Steering, QueueSource::FollowUps].into_iter().find_map(|source| {
            let waiting = &mut self.queue(source).waiting;
            let at = waiting.iter().position(|waits| text(waits) == wanted)?;
            waiting.remove(at)
        })?;
        self.changed = true;
        self.bytes = self.bytes.saturating_sub(size(&found));
        Some(found)
    }

    /// Puts taken messages back at the front of their queues.
    pub fn put_back(&mut self) {
        while let Some((source, message)) = self.taken.pop_back() {
            self.queue(source).waiting.push_front(message);
        }
    }

    /// Drops every message; the modes stay.
    pub fn clear(&mut self) {
        self.steering.waiting.clear();
        self.follow_ups.waiting.clear();
        self.taken.clear();
        self.bytes = 0;
        self.changed = false;
    }

    /// Empties the queues, and returns the texts of the steering messages and of the follow-ups.
    pub fn drain_texts(&mut self) -> (Vec<String>, Vec<String>) {
        let mut empty = |source| -> Vec<String> {
            let messages: Vec<_> = self.queue(source).waiting.drain(..).collect();
            self.bytes = self.bytes.saturating_sub(messages.iter().map(size).sum());
            messages.iter().map(text).collect()
        };
        let texts = (empty(QueueSource::Steering), empty(QueueSource::FollowUps));
        self.changed = true;
        texts
    }

    /// Returns the waiting texts if they have changed since the last call.
    pub fn take_changes(&mut self) -> Option<(Vec<String>, Vec<String>)> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let texts = |source, queue: &Queue| -> Vec<String> {
            let taken =
                self.taken.iter().filter(|(from, _)| *from == source).map(|(_, message)| text(message));
            taken.chain(queue.waiting.iter().map(text)).collect()
        };
        Some((texts(QueueSource::Steering, &self.steering), texts(QueueSource::FollowUps, &self.follow_ups)))
    }

    fn queue(&mut self, source: QueueSource) -> &mut Queue {
        match source {
            QueueSource::Steering => &mut self.steering,
            QueueSource::FollowUps => &mut self.follow_ups,
        }
    }

    fn take(&mut self, source: QueueSource) -> bool {
        let queue = self.queue(source);
        let count = match queue.mode {
            QueueMode::All => queue.waiting.len(),
            QueueMode::OneAtATime => queue.waiting.len().min(1),
        };
        let messages: Vec<_> = queue.waiting.drain(..count).collect();
        self.taken.extend(messages.into_iter().map(|message| (source, message)));
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::{InputContent, UserMessage};

    use super::*;

    fn message(text: &str) -> UserMessage {
        UserMessage::new(InputContent::Text(text.to_owned()), 0)
    }

    fn delivered(queues: &mut Queues) -> Vec<String> {
        let texts = std::iter::from_fn(|| queues.deliver()).map(|message| match message {
            AgentMessage::User(UserMessage { content: InputContent::Text(text), .. }) => text,
            _ => unreachable!(),
        });
        texts.collect()
    }

    fn filled() -> Queues {
        let mut queues = Queues::default();
        for text in ["s1", "s2"] {
            queues.steer(message(text)).unwrap();
        }
        for text in ["f1", "f2"] {
            queues.follow_up(message(text)).unwrap();
        }
        queues
    }

    #[test]
    fn one_at_a_time_takes_one_and_all_takes_all() {
        let mut queues = filled();
        assert!(queues.take_steering());
        assert_eq!(delivered(&mut queues), ["s1"]);
        queues.set_follow_up_mode(QueueMode::All);
        assert!(queues.take_follow_ups());
        assert!(!queues.take_follow_ups());
        assert_eq!(delivered(&mut queues), ["f1", "f2"]);
        assert_eq!(queues.pending(), 1);
    }

    #[test]
    fn taken_messages_are_pending_until_delivery_and_return_in_order() {
        let mut queues = filled();
        queues.set_steering_mode(QueueMode::All);
        queues.take_steering();
        queues.take_follow_ups();
        assert_eq!(queues.pending(), 4);
        queues.put_back();
        assert!(!queues.has_taken());
        assert_eq!(queues.pending(), 4);
        queues.set_follow_up_mode(QueueMode::All);
        queues.take_steering();
        queues.take_follow_ups();
        assert_eq!(delivered(&mut queues), ["s1", "s2", "f1", "f2"]);
    }

    #[test]
    fn fm_f54_equal_and_empty_texts_are_messages_of_their_own() {
        let mut queues = Queues::default();
        queues.set_steering_mode(QueueMode::All);
        for text in ["same", "same", "", ""] {
            queues.steer(message(text)).unwrap();
        }
        assert_eq!(queues.pending(), 4);
        queues.take_steering();
        assert_eq!(delivered(&mut queues), ["same", "same", "", ""]);
        assert_eq!(queues.pending(), 0);
    }

    #[test]
    fn fm_f58_messages_beyond_the_limit_are_rejected_until_a_delivery() {
        let mut queues = Queues::default();
        let large = "x".repeat(1 << 20);
        for _ in 0..64 {
            queues.steer(message(&large)).unwrap();
        }
        let full = queues.follow_up(message(&large)).unwrap_err();
        assert_eq!((full.waiting, full.bytes), (64, 64 << 20));
        assert!(full.to_string().starts_with("64 messages of 64 MiB are queued"), "{full}");
        queues.take_steering();
        assert!(queues.follow_up(message(&large)).is_err(), "what is taken still counts");
        queues.deliver();
        queues.follow_up(message(&large)).unwrap();
        queues.clear();
        // A single message is never too large.
        queues.steer(message(&large.repeat(65))).unwrap();
        assert!(queues.steer(message("x")).is_err());
    }

    #[test]
    fn changes_are_reported_once_and_a_taken_message_is_listed_until_delivery() {
        let texts = |steering: &[&str], follow_ups: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            (owned(steering), owned(follow_ups))
        };
        let mut queues = filled();
        assert_eq!(queues.take_changes(), Some(texts(&["s1", "s2"], &["f1", "f2"])));
        assert_eq!(queues.take_changes(), None);
        queues.take_steering();
        assert_eq!(queues.take_changes(), None);
        queues.deliver();
        assert_eq!(queues.take_changes(), Some(texts(&["s2"], &["f1", "f2"])));
        assert_eq!(queues.drain_texts(), texts(&["s2"], &["f1", "f2"]));
        assert_eq!(queues.take_changes(), Some(texts(&[], &[])));
        assert_eq!(queues.pending(), 0);
    }

    #[test]
    fn clearing_keeps_the_modes() {
        let mut queues = filled();
        queues.set_steering_mode(QueueMode::All);
        queues.take_steering();
        queues.clear();
        assert_eq!(queues.pending(), 0);
        assert_eq!(queues.steering_mode(), QueueMode::All);
    }
}
