//! The view: it folds the frames of both directions, in any dialect, into a conversation for front ends.
//!
//! The effect of each frame on the conversation is declared, and generated as a table for each dialect. The
//! fold itself is independent of the dialect.
//!
//! ```
//! use agentese::view::View;
//!
//! let mut view = View::open("pi")?;
//! view.received(r#"{"type": "agent_start"}"#);
//! view.received(r#"{"type": "message_start", "message": {"role": "user", "content": "Hi", "timestamp": 1}}"#);
//! assert_eq!(view.conversation().messages[0].text(), "Hi");
//! let kept = serde_json::to_string(&*view.conversation())?;
//! let again = View::resume(serde_json::from_str(&kept)?)?;
//! assert_eq!(again.conversation(), view.conversation());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod conversation;
mod fold;
pub(crate) mod meaning;
mod message;
mod panel;
pub(crate) mod read;
mod record;
mod reducers;

use std::sync::Arc;

use serde_json::Value;

pub use activity::{Compaction, Retry, Run, RunState};
pub use conversation::{Block, Context, Conversation, FoldState, Message, SentCommand, ToolBlock};
pub use fold::Direction;
use fold::FrameFold;
use meaning::{Meaning, meaning_of};
pub use message::{MessageState, Role, ToolState, Usage};
pub use panel::{
    Delivery, Draft, ForkPoint, Model, Notice, OpenQuestion, PendingInput, PendingInputState, Session, Shell,
    SlashCommand, Todo,
};

/// The dialect is unknown, or its feature is off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect \"{0}\"; known: {known}", known = crate::dynamic::known())]
pub struct UnknownDialectError(pub String);

/// A view that folds the frames of both directions into a conversation. Unreadable frames and frames without an
/// effect leave it unchanged.
#[derive(Debug, Clone)]
pub struct View {
    meaning: &'static Meaning,
    conversation: Arc<Conversation>,
}

impl View {
    /// Creates a view for an agent of the given dialect.
    ///
    /// # Errors
    /// Fails if no dialect has that name.
    pub fn open(dialect: &str) -> Result<Self, UnknownDialectError> {
        Self::resume(Conversation::new(dialect))
    }

    /// Creates a view that continues a stored conversation.
    ///
    /// # Errors
    /// Fails if the dialect of the conversation is unknown.
    pub fn resume(conversation: Conversation) -> Result<Self, UnknownDialectError> {
        let meaning = meaning_of(&conversation.dialect)
            .ok_or_else(|| UnknownDialectError(conversation.dialect.clone()))?;
        Ok(View { meaning, conversation: Arc::new(conversation) })
    }

    /// Restricts the view to one session, for dialects with several sessions per connection. Without this
    /// call the view follows the first session that starts.
    #[must_use]
    pub fn of_session(mut self, session: &str) -> Self {
        Arc::make_mut(&mut self.conversation).session.id = Some(session.to_owned());
        self
    }

    /// Replaces the unanswered commands by those of another conversation.
    pub(crate) fn keep_sent(&mut self, other: &Conversation) {
        Arc::make_mut(&mut self.conversation).internal.sent.clone_from(&other.internal.sent);
    }

    /// Returns the current conversation. The returned value never changes: later frames change a copy, which
    /// shares all unchanged messages with it.
    #[must_use]
    pub fn conversation(&self) -> Arc<Conversation> {
        Arc::clone(&self.conversation)
    }

    /// Returns the commands that a view must send if it starts late. Their responses contain the state from
    /// earlier frames.
    #[must_use]
    pub fn catch_up_commands(&self) -> &'static [String] {
        &self.meaning.asks
    }

    /// Folds a line sent by the client.
    pub fn sent(&mut self, line: &str) {
        self.line(Direction::Sent, line, None);
    }

    /// Folds a line sent by the agent.
    pub fn received(&mut self, line: &str) {
        self.line(Direction::Received, line, None);
    }

    /// Folds a line that arrived at the time `at`, in milliseconds since the epoch. Closes questions that have
    /// expired by then.
    pub fn line(&mut self, direction: Direction, line: &str, at: Option<f64>) {
        if let Ok(frame) = crate::wire::decode::<Value>(line) {
            self.frame(direction, &frame, at);
        }
    }

    /// Ends all open work when the connection has ended. `reason` becomes the error of an unfinished run.
    pub fn close(&mut self, reason: &str) {
        reducers::close(Arc::make_mut(&mut self.conversation), reason);
    }

    /// Folds a frame.
    pub fn frame(&mut self, direction: Direction, frame: &Value, at: Option<f64>) {
        let folding = FrameFold { meaning: self.meaning, at };
        folding.fold(Arc::make_mut(&mut self.conversation), direction, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases shared by the views of all languages.
    #[test]
    fn the_end_of_a_run_and_of_the_agent_matches_the_vectors() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../conformance/vectors/view_ends.json")).unwrap();
        assert!(cases.len() > 20);
        for case in cases {
            let mut view = View::open(case["dialect"].as_str().unwrap()).unwrap();
            for frame in case["frames"].as_array().unwrap() {
                let direction = if frame[0] == "sent" { Direction::Sent } else { Direction::Received };
                view.frame(direction, &frame[1], None);
            }
            if let Some(reason) = case["ended"].as_str() {
                view.close(reason);
            }
            let conversation = view.conversation();
            let name = format!("{}: {}", case["dialect"], case["name"]);
            assert_eq!(serde_json::to_value(&conversation.run).unwrap(), case["run"], "{name}");
            let states: Vec<Value> = conversation
                .messages
                .iter()
                .map(|message| serde_json::to_value(message.state).unwrap())
                .collect();
            assert_eq!(Value::Array(states), case["states"], "{name}");
            assert!(conversation.dialogs.is_empty(), "{name}");
        }
    }
}
