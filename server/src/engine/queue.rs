//! Messages that wait for their moment in a run.

use std::collections::VecDeque;

use agentese::types::{AgentMessage, InterruptMode, QueueMode};

/// Two queues, and the messages that were taken from them and are about to be delivered.
///
/// A message counts as pending until it is delivered. One that was taken and cannot be delivered
/// goes back to the front of its queue, so that an abort loses nothing.
#[derive(Debug)]
pub struct Queues {
    interrupt: InterruptMode,
    steering: Queue,
    follow_ups: Queue,
    taken: VecDeque<(Source, AgentMessage)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
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
        }
    }
}

impl Queues {
    /// When steering reaches a run.
    pub fn interrupt_mode(&self) -> InterruptMode {
        self.interrupt
    }

    /// Sets when steering reaches a run.
    pub fn set_interrupt_mode(&mut self, mode: InterruptMode) {
        self.interrupt = mode;
    }

    /// Whether steering waits that is to interrupt the calls that are running.
    pub fn interrupts(&self) -> bool {
        self.interrupt == InterruptMode::Immediate && !self.steering.waiting.is_empty()
    }

    /// Adds a message that interrupts.
    pub fn steer(&mut self, message: impl Into<AgentMessage>) {
        self.steering.waiting.push_back(message.into());
    }

    /// Adds a message for the time when the agent would stop.
    pub fn follow_up(&mut self, message: impl Into<AgentMessage>) {
        self.follow_ups.waiting.push_back(message.into());
    }

    /// How steering messages are delivered.
    pub fn steering_mode(&self) -> QueueMode {
        self.steering.mode
    }

    /// Sets how steering messages are delivered.
    pub fn set_steering_mode(&mut self, mode: QueueMode) {
        self.steering.mode = mode;
    }

    /// How follow-ups are delivered.
    pub fn follow_up_mode(&self) -> QueueMode {
        self.follow_ups.mode
    }

    /// Sets how follow-ups are delivered.
    pub fn set_follow_up_mode(&mut self, mode: QueueMode) {
        self.follow_ups.mode = mode;
    }

    /// How many messages wait.
    pub fn pending(&self) -> usize {
        self.steering.waiting.len() + self.follow_ups.waiting.len() + self.taken.len()
    }

    /// Takes steering messages for delivery, one or all; says whether there were any.
    pub fn take_steering(&mut self) -> bool {
        self.take(Source::Steering)
    }

    /// Takes follow-ups for delivery, one or all; says whether there were any.
    pub fn take_follow_ups(&mut self) -> bool {
        self.take(Source::FollowUps)
    }

    /// Whether taken messages wait for delivery.
    pub fn has_taken(&self) -> bool {
        !self.taken.is_empty()
    }

    /// The next taken message; it does not count any more.
    pub fn deliver(&mut self) -> Option<AgentMessage> {
        self.taken.pop_front().map(|(_, message)| message)
    }

    /// Puts taken messages back where they came from.
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
    }

    fn queue(&mut self, source: Source) -> &mut Queue {
        match source {
            Source::Steering => &mut self.steering,
            Source::FollowUps => &mut self.follow_ups,
        }
    }

    fn take(&mut self, source: Source) -> bool {
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
            queues.steer(message(text));
        }
        for text in ["f1", "f2"] {
            queues.follow_up(message(text));
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
    fn taken_messages_count_until_they_are_delivered_and_go_back_in_order() {
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
            queues.steer(message(text));
        }
        assert_eq!(queues.pending(), 4);
        queues.take_steering();
        assert_eq!(delivered(&mut queues), ["same", "same", "", ""]);
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
