//! What the model gets to see of a branch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentese::types::{AgentMessage, ThinkingLevel};
use serde_json::{Value, json};

use super::body::{Body, Role};
use super::entry::Entry;
use super::entry_id::EntryId;
use super::{foreign, told};

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

/// What of a path from the root the model gets to see.
pub(super) struct Seen {
    /// As indices into the path: a compaction first where there is one (behind the entry that stands for what the model is
    /// told beforehand), then what it kept, then what came after it.
    pub spoken: Vec<usize>,
    /// What the first of those entries says, where a compaction says again what the model is told beforehand, or several
    /// messages before it say it together.
    pub told: Option<Arc<AgentMessage>>,
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
    let is_there = |index: &usize| edits.get(entries[path[*index]].id()).is_none_or(Option::is_some);
    let speaks = |index: &usize| {
        let entry = &entries[path[*index]];
        !forgotten.contains(&path[*index])
            && is_there(index)
            && entry.speaks()
            && !matches!(entry.body(), Body::Compaction(_))
            // It stands first.
            && !(is_told(index) && compaction.is_some_and(|at| *index < at))
    };
    let (first, told) = compaction.map_or((None, None), |at| told_before(entries, path, at, is_there));
    let spoken: Vec<usize> =
        first.into_iter().chain(compaction).chain((begin..path.len()).filter(speaks)).collect();
    let other_words = |index: &usize| {
        let entry = &entries[path[*index]];
        let content = (*edits.get(entry.id())?)?;
        Some((path[*index], Arc::new(with_content(&*entry.message()?, content.clone())?)))
    };
    let edited = match edits.is_empty() {
        true => HashMap::new(),
        false => spoken.iter().filter_map(other_words).collect(),
    };
    Seen { spoken, told, compaction, edited }
}

/// The entry that stands for what the model is told before the compaction at that index of a path, and what it says where
/// that is not its own message.
fn told_before(
    entries: &[Entry],
    path: &[usize],
    at: usize,
    is_there: impl Fn(&usize) -> bool,
) -> (Option<usize>, Option<Arc<AgentMessage>>) {
    let entry = |index: usize| &entries[path[index]];
    if let Some(told) = told::again(entry(at)) {
        return (Some(at), Some(told));
    }
    // An earlier compaction said all of it.
    let earlier = (0..at).rev().find_map(|index| Some((index, told::again(entry(index))?)));
    let begin = earlier.as_ref().map_or(0, |(index, _)| index + 1);
    let is_told = |index: &usize| matches!(entry(*index).body(), Body::Message(Role::System));
    let patches: Vec<usize> = (begin..at).filter(is_told).filter(is_there).collect();
    let (first, said) = match &earlier {
        Some((index, told)) => (Some(*index), Some(&**told)),
        None => (patches.first().copied(), None),
    };
    if said.is_none() && patches.len() < 2 {
        return (first, None);
    }
    let messages: Vec<_> = patches.iter().filter_map(|index| entry(*index).message()).collect();
    let all = told::together(said.into_iter().chain(messages.iter().map(|message| &**message)));
    (first, all.map(|all| Arc::new(all.into())))
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
