//! System messages: the first one is complete, and each later one changes it.

use std::sync::Arc;

use agentese::types::{AgentMessage, InputContent, SystemMessage};

use super::body::Body;
use super::content;
use super::entry::Entry;

/// Returns the system message that a compaction contains. Returns `None` for other entries, and for a compaction
/// without a system message.
pub(super) fn repeated_message(entry: &Entry) -> Option<Arc<AgentMessage>> {
    let Body::Compaction(compaction) = entry.body() else { return None };
    let message = serde_json::from_value(compaction.system_message.clone()?).ok()?;
    matches!(message, AgentMessage::System(_)).then(|| Arc::new(message))
}

/// Combines system messages into one, which has the time of the first. For each section, the last message with this
/// section applies, and null removes the section. Tools are added and removed by name. Texts are joined. Other messages
/// are ignored. Returns `None` without a system message.
pub(super) fn merge<'a>(messages: impl IntoIterator<Item = &'a AgentMessage>) -> Option<SystemMessage> {
    let mut messages = messages.into_iter().filter_map(|message| match message {
        AgentMessage::System(message) => Some(message),
        _ => None,
    });
    let first = messages.next()?;
    let mut merged = first.clone();
    merged.tools_removed = None;
    let mut sections = merged.sections.take().unwrap_or_default();
    let mut tools = merged.tools_added.take().unwrap_or_default();
    for message in messages {
        let texts = [&merged.content, &message.content].map(content::text);
        if !texts[1].is_empty() {
            let texts: Vec<String> = texts.into_iter().filter(|texts| !texts.is_empty()).collect();
            merged.content = InputContent::Text(texts.join("\n\n"));
        }
        sections.extend(message.sections.clone().unwrap_or_default());
        for removed in message.tools_removed.iter().flatten() {
            tools.retain(|tool| tool.name != removed.name);
        }
        for tool in message.tools_added.iter().flatten() {
            match tools.iter_mut().find(|known| known.name == tool.name) {
                Some(known) => *known = tool.clone(),
                None => tools.push(tool.clone()),
            }
        }
    }
    sections.retain(|_, text| !text.is_null());
    merged.sections = Some(sections).filter(|sections| !sections.is_empty());
    merged.tools_added = Some(tools).filter(|tools| !tools.is_empty());
    Some(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(messages: Value) -> Value {
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        merge(&messages)
            .map_or(Value::Null, |merged| serde_json::to_value(AgentMessage::from(merged)).unwrap())
    }

    #[test]
    fn the_last_sections_and_tools_apply() {
        let tool = |name: &str, what: &str| json!({"name": name, "description": what, "parameters": {}});
        let first = json!({"role": "system", "content": "", "timestamp": 1,
            "sections": {"preamble": "a", "rules": "b", "docs": "c"},
            "toolsAdded": [tool("read", "1"), tool("bash", "1"), tool("edit", "1")]});
        let patches = [
            json!({"role": "user", "content": "u", "timestamp": 2}),
            json!({"role": "system", "content": "w", "timestamp": 3, "sections": {"rules": "d", "docs": null}}),
            json!({"role": "system", "content": [{"type": "text", "text": "x"}], "timestamp": 4,
                "toolsAdded": [tool("bash", "2"), tool("read", "2")], "toolsRemoved": [{"name": "read"}]}),
            json!({"role": "system", "content": "", "timestamp": 5, "toolsRemoved": [{"name": "edit"}]}),
        ];
        let all: Vec<Value> = std::iter::once(first).chain(patches.clone()).collect();
        assert_eq!(
            of(json!(all)),
            json!({"role": "system", "content": "w\n\nx", "timestamp": 1,
                "sections": {"preamble": "a", "rules": "d"},
                "toolsAdded": [tool("bash", "2"), tool("read", "2")]})
        );
        assert_eq!(of(json!([patches[0]])), Value::Null);
        let removed = json!({"role": "system", "content": "", "timestamp": 1, "sections": {"a": null}});
        assert_eq!(of(json!([removed])), json!({"role": "system", "content": "", "timestamp": 1}));
    }
}
