//! The fork point at a remote agent: the last entry that the conversation keeps before a user message.
//! Without I/O.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::view::{Conversation, ForkPoint, Role};
use agentese_server_engine::engine::RemoteError;

/// The error if no user message matches, or if several match.
const NO_SUCH_MESSAGE: &str = "the agent has no such user message to fork from";

/// The error if the agent does not report the id of the message before the fork.
const UNKNOWN_ENTRY: &str = "the agent does not report the entry before that user message";

/// The messages before a fork, recorded for agents that do not send them again after the fork.
#[derive(Default)]
pub(super) struct ForkHistory(Mutex<Option<Conversation>>);

impl ForkHistory {
    /// Returns the current conversation with the recorded messages before the fork.
    pub fn full_conversation(&self, now: &Conversation) -> Conversation {
        let mut all = now.clone();
        if let Some(before) = self.earlier().as_ref().filter(|_| !now.complete) {
            all.messages.splice(0..0, before.messages.iter().cloned());
            all.complete = before.complete;
        }
        all
    }

    /// Records a fork after `entry`, with the messages of the `known` conversation up to that entry.
    pub fn record(&self, mut known: Conversation, entry: &str) {
        let last = known.messages.iter().rposition(|message| message.id.as_deref() == Some(entry));
        known.messages.truncate(last.map_or(0, |last| last + 1));
        known.complete &= last.is_some();
        *self.earlier() = Some(known);
    }

    /// Clears the recorded messages if `replaced` is `true`, because another conversation has replaced this
    /// one.
    pub fn clear_if(&self, replaced: bool) {
        self.earlier().take_if(|_| replaced);
    }

    fn earlier(&self) -> MutexGuard<'_, Option<Conversation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the id of the fork point with that index and text from the list of the agent. Fails if no entry or several
/// match.
pub(super) fn listed_point(points: &[ForkPoint], number: usize, text: &str) -> Result<String, RemoteError> {
    let at = matching_index(points.iter().map(|point| point.text == text), number)?;
    Ok(points[at].id.clone())
}

/// Returns the id of the message before a user message, for agents that have no list of fork points. Returns `None` if
/// the user message is the first of a complete conversation. Fails if the message does not match or the preceding id is
/// unknown.
pub(super) fn entry_before(
    now: &Conversation,
    number: usize,
    text: &str,
) -> Result<Option<String>, RemoteError> {
    let messages: Vec<_> = now.messages.iter().filter(|message| !message.is_gone()).collect();
    let of_user = messages.iter().enumerate().filter(|(_, message)| message.role == Role::User);
    let (places, same): (Vec<_>, Vec<_>) = of_user.map(|(at, message)| (at, message.text() == text)).unzip();
    let at = places[matching_index(same.into_iter(), number)?];
    match messages[..at].last() {
        Some(message) => message.id.clone().map(Some).ok_or_else(|| UNKNOWN_ENTRY.to_owned()),
        None if now.complete => Ok(None),
        None => Err(UNKNOWN_ENTRY.to_owned()),
    }
}

/// Returns the index of the matching message: `number` if the message at that index matches, else the only
/// match. The indices differ if the agent has compacted its conversation. Fails if no message or several
/// match.
fn matching_index(same: impl Iterator<Item = bool>, number: usize) -> Result<usize, RemoteError> {
    let places: Vec<usize> = same.enumerate().filter_map(|(at, same)| same.then_some(at)).collect();
    match places[..] {
        _ if places.contains(&number) => Ok(number),
        [only] => Ok(only),
        _ => Err(NO_SUCH_MESSAGE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentese::view::{Block, Message};

    use super::*;

    fn message(role: Role, id: Option<&str>, text: &str) -> Arc<Message> {
        let mut message = Message::default();
        message.role = role;
        message.id = id.map(str::to_owned);
        message.blocks = vec![Block::Text { text: text.to_owned() }];
        Arc::new(message)
    }

    fn conversation(answer: Option<&str>) -> Conversation {
        let mut now = Conversation::new("operator");
        now.messages = vec![
            message(Role::User, Some("u1"), "first"),
            message(Role::Assistant, answer, "one"),
            message(Role::User, Some("u2"), "second"),
        ];
        now
    }

    #[test]
    fn a_fork_goes_on_from_the_message_before() {
        let now = conversation(Some("a1"));
        assert_eq!(entry_before(&now, 1, "second"), Ok(Some("a1".to_owned())));
        // The indices differ, but the texts match.
        assert_eq!(entry_before(&now, 7, "second"), Ok(Some("a1".to_owned())));
    }

    #[test]
    fn a_fork_before_a_message_that_the_agent_does_not_have_is_refused() {
        let now = conversation(Some("a1"));
        assert_eq!(entry_before(&now, 2, "third"), Err(NO_SUCH_MESSAGE.to_owned()));
        assert_eq!(entry_before(&now, 1, "other text"), Err(NO_SUCH_MESSAGE.to_owned()));
        let mut twice = now.clone();
        twice.messages.push(message(Role::User, Some("u3"), "first"));
        assert_eq!(entry_before(&twice, 1, "first"), Err(NO_SUCH_MESSAGE.to_owned()), "either can be meant");
    }

    #[test]
    fn only_a_complete_conversation_can_fork_at_its_start() {
        let mut now = conversation(None);
        assert_eq!(entry_before(&now, 0, "first"), Ok(None));
        assert_eq!(entry_before(&now, 1, "second"), Err(UNKNOWN_ENTRY.to_owned()), "its answer has no id");
        now.complete = false;
        assert_eq!(
            entry_before(&now, 0, "first"),
            Err(UNKNOWN_ENTRY.to_owned()),
            "an earlier message may exist"
        );
    }

    #[test]
    fn messages_before_a_fork_are_remembered() {
        let stands = ForkHistory::default();
        stands.record(conversation(Some("a1")), "a1");
        // The conversation in the client starts empty.
        let mut now = Conversation::new("operator");
        now.complete = false;
        now.messages =
            vec![message(Role::User, Some("u3"), "third"), message(Role::Assistant, Some("a3"), "three")];
        let all = stands.full_conversation(&now);
        let words: Vec<String> = all.messages.iter().map(|message| message.text()).collect();
        assert_eq!(words, ["first", "one", "third", "three"]);
        assert_eq!(entry_before(&all, 1, "third"), Ok(Some("a1".to_owned())));
        assert_eq!(entry_before(&all, 0, "first"), Ok(None), "nothing stood before it");
        stands.record(all, "a1");
        now.complete = true;
        assert_eq!(stands.full_conversation(&now).messages.len(), 2, "the agent reports it");
        now.complete = false;
        stands.clear_if(false);
        assert_eq!(stands.full_conversation(&now).messages.len(), 4);
        stands.clear_if(true);
        assert_eq!(stands.full_conversation(&now).messages.len(), 2);
    }

    #[test]
    fn a_listed_point_must_match_the_text() {
        let points: Vec<ForkPoint> =
            serde_json::from_value(serde_json::json!([{"id": "p1", "text": "a"}, {"id": "p2", "text": "b"}]))
                .unwrap();
        assert_eq!(listed_point(&points, 1, "b"), Ok("p2".to_owned()));
        assert_eq!(listed_point(&points, 5, "a"), Ok("p1".to_owned()));
        assert_eq!(listed_point(&points, 1, "c"), Err(NO_SUCH_MESSAGE.to_owned()));
    }
}
