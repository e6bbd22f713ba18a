//! What the model gets to see of a branch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentese::types::{AgentMessage, ThinkingLevel};
use serde_json::{Value, json};

use super::body::{Body, Role};
use super::entry::{Entry, EntryId};
use super::foreign;

/// What the entries of a branch say about its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Provider and id of the model that was named or that answered last.
    pub model: Option<(String, String)>,
    /// The thinking level that was set last; none also where it is not a known one.
    pub thinking: Option<ThinkingLevel>,
}

/// A message of the conversation, and the entry that it stands in.
#[derive(Debug, Clone)]
pub struct Spoken {
    /// The entry.
    pub entry: EntryId,
    /// The message.
    pub message: Arc<AgentMessage>,
    /// What a compaction says about the messages that it stands for.
    pub details: Option<Value>,
}

impl Restored {
    /// Of a path from the root.
    pub(super) fn of<'a>(path: impl DoubleEndedIterator<Item = &'a Entry> + Clone) -> Self {
        let model = path.clone().rev().find_map(|entry| match entry.body() {
            Body::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            Body::Message(Role::Assistant) => match &**entry.message()? {
                AgentMessage::Assistant(answer) => Some((answer.provider.clone(), answer.model.clone())),
                _ => None,
            },
            _ => None,
        });
        let level = path.rev().find_map(|entry| match entry.body() {
            Body::ThinkingLevelChange { level } => Some(level),
            _ => None,
        });
        Self { model, thinking: level.and_then(|level| level.parse().ok()) }
    }
}

/// What of a path from the root the model gets to see.
pub(super) struct Seen {
    /// As indices into the path: a compaction first where there is one (behind what the model is told beforehand, for which
    /// the compaction itself stands where it says it again), then what it kept, then what came after it.
    pub spoken: Vec<usize>,
    /// The index of that compaction.
    pub compaction: Option<usize>,
    /// Messages with other words than their entries have, by the positions of those.
    pub edited: HashMap<usize, Arc<AgentMessage>>,
}

/// What of a path from the root the model gets to see. Entries in `forgotten` are left out.
pub(super) fn seen(entries: &[Entry], path: &[usize], forgotten: &HashSet<usize>) -> Seen {
    let compaction =
        path.iter().rposition(|position| matches!(entries[*position].body(), Body::Compaction(_)));
    let begin = compaction.map_or(0, |at| match entries[path[at]].body() {
        Body::Compaction(compaction) => path[..at]
            .iter()
            .position(|position| *entries[*position].id() == compaction.first_kept_entry_id)
            .unwrap_or(at),
        _ => at,
    });
    let edit = |position: &usize| match entries[*position].body() {
        Body::ContextEdit { target, content } => Some((target, content.as_ref())),
        _ => None,
    };
    // Of several edits the last one counts.
    let edits: HashMap<&EntryId, Option<&Value>> = path.iter().filter_map(edit).collect();
    let is_told = |index: &usize| matches!(entries[path[*index]].body(), Body::Message(Role::System));
    let speaks = |index: &usize| {
        let entry = &entries[path[*index]];
        !forgotten.contains(&path[*index])
            && edits.get(entry.id()).is_none_or(Option::is_some)
            && entry.speaks()
            && !matches!(entry.body(), Body::Compaction(_))
            // It stands first.
            && !(is_told(index) && compaction.is_some_and(|at| *index < at))
    };
    let told = compaction.and_then(|at| match told_again(&entries[path[at]]) {
        Some(_) => Some(at),
        None => (0..at).rfind(is_told),
    });
    let spoken: Vec<usize> =
        told.into_iter().chain(compaction).chain((begin..path.len()).filter(speaks)).collect();
    let other_words = |index: &usize| {
        let entry = &entries[path[*index]];
        let content = (*edits.get(entry.id())?)?;
        Some((path[*index], Arc::new(with_content(entry.message()?, content.clone())?)))
    };
    let edited = match edits.is_empty() {
        true => HashMap::new(),
        false => spoken.iter().filter_map(other_words).collect(),
    };
    Seen { spoken, compaction, edited }
}

/// What the model is told beforehand, where an entry is a compaction that says so again.
pub(super) fn told_again(entry: &Entry) -> Option<Arc<AgentMessage>> {
    let Body::Compaction(compaction) = entry.body() else { return None };
    let told = serde_json::from_value(compaction.system_message.clone()?).ok()?;
    matches!(told, AgentMessage::System(_)).then(|| Arc::new(told))
}

/// A message with another content; none for those whose words nobody replaces.
fn with_content(message: &AgentMessage, content: Value) -> Option<AgentMessage> {
    let content = match message {
        // These have no text but in a block.
        AgentMessage::Assistant(_) | AgentMessage::ToolResult(_) if content.is_string() => {
            json!([{"type": "text", "text": content}])
        }
        AgentMessage::User(_)
        | AgentMessage::Custom(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::ToolResult(_) => content,
        _ => return None,
    };
    let mut edited = serde_json::to_value(message).ok()?;
    *edited.get_mut("content")? = content;
    Some(serde_json::from_value(edited.clone()).unwrap_or_else(|_| foreign::message(edited, 0)))
}
