//! Where another agent has to go back to so that its conversation ends before a message of the user. Without I/O.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::view::{Conversation, ForkPoint, Role};
use agentese_server::engine::Unwilling;

/// What is said where no message, or more than one, can be meant.
const NO_SUCH: &str = "the agent has no such message of the user to go back to";

/// What is said where the agent does not name the message before it.
const UNNAMED: &str = "the agent does not say which message stands before that one";

/// What stands of a conversation behind a fork, of agents that do not tell it: the view of one begins empty there.
#[derive(Default)]
pub(super) struct Stands(Mutex<Option<Conversation>>);

impl Stands {
    /// The conversation as it is known, with what stood before.
    pub fn with(&self, now: &Conversation) -> Conversation {
        let mut all = now.clone();
        if let Some(before) = self.before().as_ref().filter(|_| !now.complete) {
            all.messages.splice(0..0, before.messages.iter().cloned());
            all.complete = before.complete;
        }
        all
    }

    /// The agent has gone back to that entry of what was known.
    pub fn cut(&self, mut known: Conversation, entry: &str) {
        let last = known.messages.iter().rposition(|message| message.id.as_deref() == Some(entry));
        known.messages.truncate(last.map_or(0, |last| last + 1));
        known.complete &= last.is_some();
        *self.before() = Some(known);
    }

    /// Another conversation took the place of this one, if it did.
    pub fn leave(&self, left: bool) {
        self.before().take_if(|_| left);
    }

    fn before(&self) -> MutexGuard<'_, Option<Conversation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The point that the agent lists for the message of the user with that number, from 0, and that text.
pub(super) fn point(points: &[ForkPoint], number: usize, text: &str) -> Result<String, Unwilling> {
    let at = meant(points.iter().map(|point| point.text == text), number)?;
    Ok(points[at].id.clone())
}

/// For agents without such a list, which go back to any entry: the one before the message; none for the beginning of the
/// conversation, where it is known that nothing stands before.
pub(super) fn before(now: &Conversation, number: usize, text: &str) -> Result<Option<String>, Unwilling> {
    let standing: Vec<_> = now.messages.iter().filter(|message| !message.is_gone()).collect();
    let of_user = standing.iter().enumerate().filter(|(_, message)| message.role == Role::User);
    let (places, same): (Vec<_>, Vec<_>) = of_user.map(|(at, message)| (at, message.text() == text)).unzip();
    let at = places[meant(same.into_iter(), number)?];
    match standing[..at].last() {
        Some(message) => message.id.clone().map(Some).ok_or_else(|| UNNAMED.to_owned()),
        None if now.complete => Ok(None),
        None => Err(UNNAMED.to_owned()),
    }
}

/// Which one is meant: the one with that number where its words are the same, else the only one with these words. The
/// numbers differ where the agent has compacted its conversation.
fn meant(same: impl Iterator<Item = bool>, number: usize) -> Result<usize, Unwilling> {
    let places: Vec<usize> = same.enumerate().filter_map(|(at, same)| same.then_some(at)).collect();
    match places[..] {
        _ if places.contains(&number) => Ok(number),
        [only] => Ok(only),
        _ => Err(NO_SUCH.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentese::view::{Block, Message};

    use super::*;

    fn said(role: Role, id: Option<&str>, text: &str) -> Arc<Message> {
        let mut message = Message::default();
        message.role = role;
        message.id = id.map(str::to_owned);
        message.blocks = vec![Block::Text { text: text.to_owned() }];
        Arc::new(message)
    }

    fn conversation(answer: Option<&str>) -> Conversation {
        let mut now = Conversation::begin("operator");
        now.messages = vec![
            said(Role::User, Some("u1"), "first"),
            said(Role::Assistant, answer, "one"),
            said(Role::User, Some("u2"), "second"),
        ];
        now
    }

    #[test]
    fn a_fork_goes_on_from_the_message_before() {
        let now = conversation(Some("a1"));
        assert_eq!(before(&now, 1, "second"), Ok(Some("a1".to_owned())));
        // The numbers differ, the words do not.
        assert_eq!(before(&now, 7, "second"), Ok(Some("a1".to_owned())));
    }

    #[test]
    fn a_fork_before_a_message_that_the_agent_does_not_have_is_refused() {
        let now = conversation(Some("a1"));
        assert_eq!(before(&now, 2, "third"), Err(NO_SUCH.to_owned()));
        assert_eq!(before(&now, 1, "other words"), Err(NO_SUCH.to_owned()));
        let mut twice = now.clone();
        twice.messages.push(said(Role::User, Some("u3"), "first"));
        assert_eq!(before(&twice, 1, "first"), Err(NO_SUCH.to_owned()), "either can be meant");
    }

    #[test]
    fn context_is_left_only_where_the_conversation_began_here() {
        let mut now = conversation(None);
        assert_eq!(before(&now, 0, "first"), Ok(None));
        assert_eq!(before(&now, 1, "second"), Err(UNNAMED.to_owned()), "its answer has no id");
        now.complete = false;
        assert_eq!(before(&now, 0, "first"), Err(UNNAMED.to_owned()), "something may stand before");
    }

    #[test]
    fn what_stands_behind_a_fork_is_known_where_the_agent_does_not_tell_it() {
        let stands = Stands::default();
        stands.cut(conversation(Some("a1")), "a1");
        // The agent's view begins empty.
        let mut now = Conversation::begin("operator");
        now.complete = false;
        now.messages =
            vec![said(Role::User, Some("u3"), "third"), said(Role::Assistant, Some("a3"), "three")];
        let all = stands.with(&now);
        let words: Vec<String> = all.messages.iter().map(|message| message.text()).collect();
        assert_eq!(words, ["first", "one", "third", "three"]);
        assert_eq!(before(&all, 1, "third"), Ok(Some("a1".to_owned())));
        assert_eq!(before(&all, 0, "first"), Ok(None), "nothing stood before it");
        stands.cut(all, "a1");
        now.complete = true;
        assert_eq!(stands.with(&now).messages.len(), 2, "the agent tells it");
        now.complete = false;
        stands.leave(false);
        assert_eq!(stands.with(&now).messages.len(), 4);
        stands.leave(true);
        assert_eq!(stands.with(&now).messages.len(), 2);
    }

    #[test]
    fn a_listed_point_is_named_only_where_its_words_are_the_same() {
        let points: Vec<ForkPoint> =
            serde_json::from_value(serde_json::json!([{"id": "p1", "text": "a"}, {"id": "p2", "text": "b"}]))
                .unwrap();
        assert_eq!(point(&points, 1, "b"), Ok("p2".to_owned()));
        assert_eq!(point(&points, 5, "a"), Ok("p1".to_owned()));
        assert_eq!(point(&points, 1, "c"), Err(NO_SUCH.to_owned()));
    }
}
