//! Messages with roles that only some dialects have. A conversation stores them as messages of an unknown role, with
//! unchanged members. This module creates and reads them.

use agentese::types::{
    AgentMessage, DeveloperMessage, FileMentionMessage, InputBlock, InputContent, MentionedFile,
    SystemMessage, TextContent, ToolDeclaration,
};
use agentese::wire::{ConstantValue, Record, UnknownVariant};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Creates a message from the agent with instructions for the model.
pub fn developer_message(text: impl Into<String>, now: i64) -> AgentMessage {
    let content = InputContent::from(vec![InputBlock::from(TextContent::new(text.into()))]);
    message(&DeveloperMessage::new(content, now))
}

/// Creates a message with the files that a prompt mentions.
pub fn file_mention_message(files: Vec<MentionedFile>, now: i64) -> AgentMessage {
    message(&FileMentionMessage::new(files, now))
}

/// Creates the system message of a conversation, with the sections of the prompt by name, and the tools.
pub fn system_message(
    sections: Vec<(&'static str, String)>,
    tools: Vec<ToolDeclaration>,
    now: i64,
) -> AgentMessage {
    let mut message = SystemMessage::new(String::new(), now);
    let named = sections.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
    message.sections = Some(named.collect());
    message.tools_added = Some(tools);
    message.into()
}

/// Returns the content for the model and the time of a message of an unknown role. Returns `None` if this module does
/// not know the role.
pub fn content_of(unknown: &UnknownVariant) -> Option<(InputContent, i64)> {
    if let Some(message) = read::<DeveloperMessage>(unknown) {
        return Some((message.content, message.timestamp));
    }
    let message = read::<FileMentionMessage>(unknown)?;
    let texts =
        message.files.iter().map(|file| format!("<file path=\"{}\">\n{}\n</file>", file.path, file.content));
    let mut blocks: Vec<InputBlock> = vec![TextContent::new(texts.collect::<Vec<_>>().join("\n\n")).into()];
    blocks.extend(message.files.into_iter().filter_map(|file| file.image).map(InputBlock::from));
    Some((blocks.into(), message.timestamp))
}

fn message<T: Record + Serialize>(record: &T) -> AgentMessage {
    let tag = role::<T>().unwrap_or_default().to_owned();
    let members = match serde_json::to_value(record) {
        Ok(Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    AgentMessage::Unknown(UnknownVariant { tag, members })
}

fn read<T: Record + DeserializeOwned>(unknown: &UnknownVariant) -> Option<T> {
    let known = role::<T>() == Some(&unknown.tag);
    known.then(|| serde_json::from_value(Value::Object(unknown.members.clone())).ok()).flatten()
}

fn role<T: Record>() -> Option<&'static str> {
    match T::CONSTANTS {
        [(_, ConstantValue::String(role)), ..] => Some(role),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_messages_are_read_back() {
        let message = developer_message("Go on.", 7);
        assert_eq!(
            serde_json::to_string(&message).unwrap(),
            r#"{"role":"developer","content":[{"type":"text","text":"Go on."}],"timestamp":7}"#
        );
        let AgentMessage::Unknown(unknown) = &message else { panic!("{message:?}") };
        assert!(matches!(content_of(unknown), Some((InputContent::Blocks(blocks), 7)) if blocks.len() == 1));
        let mentioned = file_mention_message(vec![MentionedFile::new("a.txt", "alpha")], 8);
        let AgentMessage::Unknown(unknown) = &mentioned else { panic!("{mentioned:?}") };
        let Some((InputContent::Blocks(blocks), 8)) = content_of(unknown) else { panic!("{unknown:?}") };
        assert!(
            matches!(&blocks[0], InputBlock::Text(text) if text.text == "<file path=\"a.txt\">\nalpha\n</file>")
        );
        let other = UnknownVariant { tag: "dreams".to_owned(), members: unknown.members.clone() };
        assert_eq!(content_of(&other), None);
    }
}
