//! The request of a client: user input, or answers to questions, without I/O.

use agentese::any::Words;
use agentese::types::{AguiContent, AguiMessage, AguiPart, AguiResume, AguiRunInput, AguiSource};
use agentese::wire::Maybe;
use agentese_server_models::is_blank;
use serde_json::{Map, Value, json};

/// The work of a run.
pub(super) enum Wanted {
    /// New user input.
    Said {
        /// The client's id of the message.
        id: String,
        words: Words,
    },
    /// Answers that continue a waiting run.
    Answers(Vec<AguiResume>),
}

/// Returns the request of the client, or the reason why it is invalid.
pub(super) fn wanted(input: &AguiRunInput) -> Result<Wanted, String> {
    if let Some(answers) = input.resume.as_ref().filter(|answers| !answers.is_empty()) {
        return Ok(Wanted::Answers(answers.clone()));
    }
    let Some(AguiMessage::User(message)) = input.messages.last() else {
        return Err(
            "the last message has to be the user's: an agent keeps the conversation itself".to_owned()
        );
    };
    let words = match &message.content {
        AguiContent::Text(text) => Words::from(text.as_str()),
        AguiContent::Parts(parts) => {
            let mut texts = Vec::new();
            let mut images = Vec::new();
            for part in parts {
                match part {
                    AguiPart::Text(text) => texts.push(text.text.as_str()),
                    AguiPart::Image(image) => {
                        let bytes = bytes(&image.source).ok_or("an image has to come with its bytes")?;
                        images.push(bytes);
                    }
                    AguiPart::Unknown(part) => {
                        return Err(format!("a part of the kind `{}` cannot be said to an agent", part.tag));
                    }
                    _ => return Err("a part of the message cannot be said to an agent".to_owned()),
                }
            }
            let words = Words::from(texts.join("\n"));
            images.into_iter().fold(words, |words, (mime_type, data)| words.image(mime_type, data))
        }
    };
    if is_blank(&words.text) && words.images.is_empty() {
        return Err("the last message is blank: it has neither visible text nor an image".to_owned());
    }
    Ok(Wanted::Said { id: message.id.clone(), words })
}

/// Returns the MIME type of an image and its bytes in base64. Returns `None` if the request does not contain
/// the bytes.
fn bytes(source: &AguiSource) -> Option<(&str, &str)> {
    match source {
        AguiSource::Data(data) => Some((&data.mime_type, &data.value)),
        AguiSource::Url(url) => {
            let (head, data) = url.value.strip_prefix("data:")?.split_once(',')?;
            let head = head.strip_suffix(";base64")?;
            Some((head.split(';').next().filter(|kind| !kind.is_empty())?, data))
        }
        _ => None,
    }
}

/// Returns the parts of a request that do not reach the agent, by the members of the request and `images`.
/// Returns `None` if all parts reach the agent.
pub(super) fn unheard(
    input: &AguiRunInput,
    wanted: &Wanted,
    takes_images: bool,
    knows: impl Fn(&str) -> bool,
) -> Option<Value> {
    let mut unheard = Map::new();
    let mut add = |name: &str, items: Vec<Value>| {
        if !items.is_empty() {
            unheard.insert(name.to_owned(), items.into());
        }
    };
    let is_new = matches!(wanted, Wanted::Said { .. });
    let before = &input.messages[..input.messages.len().saturating_sub(usize::from(is_new))];
    let unknown = before.iter().filter_map(name).filter(|name| !knows(name));
    add("messages", unknown.map(Value::from).collect());
    let tools = input.tools.iter().flatten().map(|tool| tool.name.as_str().into());
    add("tools", tools.collect());
    let context = input.context.iter().flatten().map(|item| item.description.as_str().into());
    add("context", context.collect());
    if matches!(wanted, Wanted::Said { words, .. } if !takes_images && !words.images.is_empty()) {
        unheard.insert("images".to_owned(), true.into());
    }
    let says = |value: &Value| !matches!(value, Value::Null) && *value != json!({}) && *value != json!("");
    if matches!(&input.state, Maybe::Value(state) if says(state)) {
        unheard.insert("state".to_owned(), true.into());
    }
    if input.forwarded_props.as_ref().is_some_and(says) {
        unheard.insert("forwardedProps".to_owned(), true.into());
    }
    (!unheard.is_empty()).then_some(Value::Object(unheard))
}

/// Returns the id of a message that the agent should know. Thoughts belong to the agent, and activities to
/// the client.
fn name(message: &AguiMessage) -> Option<&str> {
    Some(match message {
        AguiMessage::Developer(message) => &message.id,
        AguiMessage::System(message) => &message.id,
        AguiMessage::User(message) => &message.id,
        AguiMessage::Assistant(message) => &message.id,
        AguiMessage::Tool(message) => &message.id,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(value: Value) -> AguiRunInput {
        let mut input = json!({"threadId": "t", "runId": "r", "messages": []});
        input.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        serde_json::from_value(input).unwrap()
    }

    #[test]
    fn the_last_message_is_said_with_its_images() {
        let image =
            json!({"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}});
        let parts = json!([{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]);
        let read = |content: Value| {
            wanted(&input(json!({"messages": [{"id": "m", "role": "user", "content": content}]})))
        };
        let Ok(Wanted::Said { id, words }) = read(parts) else { panic!() };
        assert_eq!((id.as_str(), words), ("m", Words::from("a\nb").image("image/png", "AA==")));
        let here = json!({"type": "url", "value": "data:image/png;name=a;base64,AA=="});
        let Ok(Wanted::Said { words, .. }) = read(json!([{"type": "image", "source": here}])) else {
            panic!()
        };
        assert_eq!(words, Words::from("").image("image/png", "AA=="));
        for part in [
            json!({"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}),
            json!({"type": "image", "source": {"type": "url", "value": "data:image/svg+xml,%3Csvg/%3E"}}),
            json!({"type": "audio", "source": {"type": "data", "value": "AA==", "mimeType": "audio/wav"}}),
        ] {
            assert!(read(json!([part])).is_err(), "{part}");
        }
        let others = json!({"messages": [{"id": "m", "role": "tool", "toolCallId": "c", "content": "no"}]});
        assert!(wanted(&input(others)).is_err());
        for blank in [json!(""), json!(" \n\u{200b}"), json!([]), json!([{"type": "text", "text": "\t"}])] {
            let Err(reason) = read(blank) else { panic!() };
            assert_eq!(reason, "the last message is blank: it has neither visible text nor an image");
        }
        assert!(wanted(&input(json!({}))).is_err());
    }

    #[test]
    fn what_the_agent_does_not_hear_is_named() {
        let messages = json!([
            {"id": "s", "role": "system", "content": "Be short."}, {"id": "old", "role": "user", "content": "Hi"},
            {"id": "a", "role": "activity", "activityType": "x", "content": {}},
            {"id": "new", "role": "user", "content": "Go on"},
        ]);
        let tools = json!([{"name": "show_map", "description": ""}]);
        let asked = input(
            json!({"messages": messages, "tools": tools, "context": [], "state": {}, "forwardedProps": {"a": 1}}),
        );
        let hears = |input: &AguiRunInput, takes_images: bool| {
            let wanted = wanted(input).unwrap_or_else(|reason| panic!("{reason}"));
            unheard(input, &wanted, takes_images, |name| name == "old")
        };
        let told = hears(&asked, true).unwrap();
        assert_eq!(told, json!({"messages": ["s"], "tools": ["show_map"], "forwardedProps": true}));
        let image =
            json!({"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}});
        let seen = input(json!({"messages": [{"id": "n", "role": "user", "content": [image]}]}));
        assert_eq!(hears(&seen, true), None);
        assert_eq!(hears(&seen, false), Some(json!({"images": true})));
    }
}
