//! Selection of the messages of a branch that the model sees.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentese::types::{AgentMessage, ThinkingLevel};
use serde_json::{Value, json};

use super::body::{Body, Role};
use super::entry::Entry;
use super::entry_id::EntryId;
use super::{lenient_decode, system_messages};

/// Settings from the entries of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchSettings {
    /// Provider and id of the last model, taken from the last model change or the last answer.
    pub model: Option<(String, String)>,
    /// The last thinking level; `None` if it is missing or unknown.
    pub thinking: Option<ThinkingLevel>,
}

/// A message of the conversation with its entry.
#[derive(Debug, Clone)]
pub struct EntryMessage {
    /// Id of the entry.
    pub entry: EntryId,
    /// The message of the entry.
    pub message: Arc<AgentMessage>,
    /// Details of the compaction, if the message is its summary; otherwise `None`.
    pub details: Option<Value>,
}

impl BranchSettings {
    /// Returns the settings at the end of a path of entries.
    pub(super) fn of<'a>(path: impl DoubleEndedIterator<Item = &'a Entry> + Clone) -> Self {
        let model = path.clone().rev().find_map(|entry| match entry.body() {
            Body::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            Body::Message(Role::Assistant) => match &*entry.message()? {
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

/// The messages of a path that the model sees.
pub(super) struct ModelContext {
    /// Indices into the path, in this order: the entry that stands for the repeated system message, the compaction, the
    /// kept messages, the later messages.
    pub indices: Vec<usize>,
    /// System message that replaces the message of the first entry. It comes from a compaction, or is combined from
    /// several earlier system messages.
    pub system_message: Option<Arc<AgentMessage>>,
    /// Index of the newest compaction in the path.
    pub compaction: Option<usize>,
    /// Messages with edited content, by the positions of their entries.
    pub edited: HashMap<usize, Arc<AgentMessage>>,
}

/// Selects the messages of a path that the model sees. Leaves out the entries in `hidden`.
pub(super) fn model_context(entries: &[Entry], path: &[usize], hidden: &HashSet<usize>) -> ModelContext {
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
    // The last of several edits applies.
    let edits: HashMap<&EntryId, Option<&Value>> = path.iter().filter_map(edit).collect();
    let is_system = |index: &usize| matches!(entries[path[*index]].body(), Body::Message(Role::System));
    let is_there = |index: &usize| edits.get(entries[path[*index]].id()).is_none_or(Option::is_some);
    let is_visible = |index: &usize| {
        let entry = &entries[path[*index]];
        !hidden.contains(&path[*index])
            && is_there(index)
            && entry.has_model_message()
            && !matches!(entry.body(), Body::Compaction(_))
            // The system message comes first.
            && !(is_system(index) && compaction.is_some_and(|at| *index < at))
    };
    let (first, system_message) =
        compaction.map_or((None, None), |at| system_message_before(entries, path, at, is_there));
    let indices: Vec<usize> =
        first.into_iter().chain(compaction).chain((begin..path.len()).filter(is_visible)).collect();
    let edited_message = |index: &usize| {
        let entry = &entries[path[*index]];
        let content = (*edits.get(entry.id())?)?;
        Some((path[*index], Arc::new(with_content(&*entry.message()?, content.clone())?)))
    };
    let edited = match edits.is_empty() {
        true => HashMap::new(),
        false => indices.iter().filter_map(edited_message).collect(),
    };
    ModelContext { indices, system_message, compaction, edited }
}

/// Finds the system message that applies before the compaction at index `at` of a path. Returns the index of an entry
/// that stands for it. Also returns the message if it differs from the message of that entry.
fn system_message_before(
    entries: &[Entry],
    path: &[usize],
    at: usize,
    is_there: impl Fn(&usize) -> bool,
) -> (Option<usize>, Option<Arc<AgentMessage>>) {
    let entry = |index: usize| &entries[path[index]];
    if let Some(message) = system_messages::repeated_message(entry(at)) {
        return (Some(at), Some(message));
    }
    // An earlier compaction contains all of it.
    let earlier =
        (0..at).rev().find_map(|index| Some((index, system_messages::repeated_message(entry(index))?)));
    let begin = earlier.as_ref().map_or(0, |(index, _)| index + 1);
    let is_system = |index: &usize| matches!(entry(*index).body(), Body::Message(Role::System));
    let patches: Vec<usize> = (begin..at).filter(is_system).filter(is_there).collect();
    let (first, repeated) = match &earlier {
        Some((index, message)) => (Some(*index), Some(&**message)),
        None => (patches.first().copied(), None),
    };
    if repeated.is_none() && patches.len() < 2 {
        return (first, None);
    }
    let messages: Vec<_> = patches.iter().filter_map(|index| entry(*index).message()).collect();
    let all = system_messages::merge(repeated.into_iter().chain(messages.iter().map(|message| &**message)));
    (first, all.map(|all| Arc::new(all.into())))
}

/// Returns a message with other content. Returns `None` if messages of this role cannot be edited.
fn with_content(message: &AgentMessage, content: Value) -> Option<AgentMessage> {
    let content = match message {
        // These messages have text in blocks only.
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
    Some(serde_json::from_value(edited.clone()).unwrap_or_else(|_| lenient_decode::message(edited, 0)))
}
