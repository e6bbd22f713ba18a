//! The conversation that an engine works on: who said what, in order, and what it is called.
//!
//! Messages are kept in memory. They come in through [`Session::append`] alone, one at a time and
//! in order, so that a file behind it sees exactly what a client sees.

mod stats;

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, StopReason};

pub use stats::Stats;

/// The name was empty, or white space only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
// The text is the one that the pi document's agents send.
#[error("Session name cannot be empty")]
pub struct EmptyName;

/// One conversation.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    parent: Option<String>,
    name: Option<String>,
    messages: Vec<Arc<AgentMessage>>,
}

impl Session {
    /// An empty one. `parent` is the session that it came from, in the words of whoever says so.
    pub fn new(id: impl Into<String>, parent: Option<String>) -> Self {
        Self { id: id.into(), parent, name: None, messages: Vec::new() }
    }

    /// Its identifier.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The session that it came from.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// What it is called, where it was named.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Names it; white space around the name is dropped. Fails where nothing is left, and changes
    /// nothing then.
    pub fn rename(&mut self, name: &str) -> Result<(), EmptyName> {
        let name = name.trim();
        if name.is_empty() {
            return Err(EmptyName);
        }
        self.name = Some(name.to_owned());
        Ok(())
    }

    /// Adds a message at the end.
    pub fn append(&mut self, message: Arc<AgentMessage>) {
        self.messages.push(message);
    }

    /// All messages, in order.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
    }

    /// The text of the model's last answer, its blocks joined and trimmed; none where it has no
    /// text or there is no answer. An answer that was aborted before its first block does not count.
    pub fn last_assistant_text(&self) -> Option<String> {
        let last = self.messages.iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(answer)
                if !(answer.stop_reason == StopReason::Aborted && answer.content.is_empty()) =>
            {
                Some(answer)
            }
            _ => None,
        })?;
        let texts = last.content.iter().filter_map(|block| match block {
            AssistantBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        let text = texts.collect::<String>();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Counts, tokens and cost.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_and_an_empty_one_changes_nothing() {
        let mut session = Session::new("s", None);
        assert_eq!(session.rename(" \n\t "), Err(EmptyName));
        assert_eq!(session.name(), None);
        session.rename("  a name\n of two lines ").unwrap();
        assert_eq!(session.name(), Some("a name\n of two lines"));
        assert_eq!(session.rename(""), Err(EmptyName));
        assert_eq!(session.name(), Some("a name\n of two lines"));
    }

    #[test]
    fn the_last_text_skips_an_empty_aborted_answer_only() {
        let answer = |content: serde_json::Value, stop: &str| {
            let message = serde_json::json!({
                "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
                "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                          "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                "stopReason": stop, "timestamp": 1,
            });
            Arc::new(serde_json::from_value(message).unwrap())
        };
        let text = |text: &str| serde_json::json!([{"type": "text", "text": text}]);
        let mut session = Session::new("s", None);
        assert_eq!(session.last_assistant_text(), None);
        session.append(answer(
            serde_json::json!([{"type": "text", "text": " one"}, {"type": "text", "text": "two "}]),
            "stop",
        ));
        assert_eq!(session.last_assistant_text().as_deref(), Some("onetwo"));
        session.append(answer(serde_json::json!([]), "aborted"));
        assert_eq!(session.last_assistant_text().as_deref(), Some("onetwo"));
        session.append(answer(text("part"), "aborted"));
        assert_eq!(session.last_assistant_text().as_deref(), Some("part"));
        session.append(answer(serde_json::json!([]), "error"));
        assert_eq!(session.last_assistant_text(), None);
    }
}
