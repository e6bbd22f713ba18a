//! Parsing of a client's request: user input, or answers to questions. Without I/O.

use agentese::any::UserInput;
use agentese::types::{AguiContent, AguiMessage, AguiPart, AguiResume, AguiRunInput, AguiSource};
use agentese::wire::Maybe;
use agentese_server_models::is_blank;
use serde_json::{Map, Value, json};

/// The purpose of a requested run.
pub(super) enum RunRequest {
    /// New user input.
    Input {
        /// The id that the client gave to the user message.
        id: String,
        user_input: UserInput,
    },
    /// Answers to questions, which continue a suspended run.
    Answers(Vec<AguiResume>),
}

/// Returns the request of the client, or the reason why it is invalid.
pub(super) fn parse(input: &AguiRunInput) -> Result<RunRequest, String> {
    if let Some(answers) = input.resume.as_ref().filter(|answers| !answers.is_empty()) {
        return Ok(RunRequest::Answers(answers.clone()));
    }
    let Some(AguiMessage::User(message)) = input.messages.last() else {
        return Err(
            "the last message must be a user message; the agent keeps the conversation itself".to_owned()
        );
    };
    let user_input = match &message.content {
        AguiContent::Text(text) => UserInput::from(text.as_str()),
        AguiContent::Parts(parts) => {
            let mut texts = Vec::new();
            let mut images = Vec::new();
            for part in parts {
                match part {
                    AguiPart::Text(text) => texts.push(text.text.as_str()),
                    AguiPart::Image(image) => {
                        let bytes = image_data(&image.source)
                            .ok_or("unsupported image source; send the bytes in base64")?;
                        images.push(bytes);
                    }
                    AguiPart::Unknown(part) => {
                        return Err(format!("unsupported message part `{}`", part.tag));
                    }
                    _ => return Err("unsupported message part".to_owned()),
                }
            }
            let user_input = UserInput::from(texts.join("\n"));
            images.into_iter().fold(user_input, |words, (mime_type, data)| words.image(mime_type, data))
        }
    };
    if is_blank(&user_input.text) && user_input.images.is_empty() {
        return Err("the last message is blank: it has neither visible text nor an image".to_owned());
    }
    Ok(RunRequest::Input { id: message.id.clone(), user_input })
}

/// Returns the MIME type and the base64 data of an image. Returns `None` if the source has no data, for example only an
/// address.
fn image_data(source: &AguiSource) -> Option<(&str, &str)> {
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

/// Returns the parts of a request that are not passed to the agent, by the name of the request's member, and `images`.
/// Returns `None` if there are no such parts.
pub(super) fn ignored_parts(
    input: &AguiRunInput,
    request: &RunRequest,
    takes_images: bool,
    knows: impl Fn(&str) -> bool,
) -> Option<Value> {
    let mut ignored = Map::new();
    let mut add = |name: &str, items: Vec<Value>| {
        if !items.is_empty() {
            ignored.insert(name.to_owned(), items.into());
        }
    };
    let is_new = matches!(request, RunRequest::Input { .. });
    let before = &input.messages[..input.messages.len().saturating_sub(usize::from(is_new))];
    let unknown = before.iter().filter_map(message_id).filter(|name| !knows(name));
    add("messages", unknown.map(Value::from).collect());
    let tools = input.tools.iter().flatten().map(|tool| tool.name.as_str().into());
    add("tools", tools.collect());
    let context = input.context.iter().flatten().map(|item| item.description.as_str().into());
    add("context", context.collect());
    if matches!(request, RunRequest::Input { user_input, .. } if !takes_images && !user_input.images.is_empty())
    {
        ignored.insert("images".to_owned(), true.into());
    }
    let has_content =
        |value: &Value| !matches!(value, Value::Null) && *value != json!({}) && *value != json!("");
    if matches!(&input.state, Maybe::Value(state) if has_content(state)) {
        ignored.insert("state".to_owned(), true.into());
    }
    if input.forwarded_props.as_ref().is_some_and(has_content) {
        ignored.insert("forwardedProps".to_owned(), true.into());
    }
    (!ignored.is_empty()).then_some(Value::Object(ignored))
}

/// Returns the id of a message if the agent should know that message. Returns `None` for thoughts and activities.
fn message_id(message: &AguiMessage) -> Option<&str> {
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
    fn the_last_message_becomes_input_with_its_images() {
        let image =
            json!({"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}});
        let parts = json!([{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]);
        let read = |content: Value| {
            parse(&input(json!({"messages": [{"id": "m", "role": "user", "content": content}]})))
        };
        let Ok(RunRequest::Input { id, user_input: words }) = read(parts) else { panic!() };
        assert_eq!((id.as_str(), words), ("m", UserInput::from("a\nb").image("image/png", "AA==")));
        let here = json!({"type": "url", "value": "data:image/png;name=a;base64,AA=="});
        let Ok(RunRequest::Input { user_input: words, .. }) =
            read(json!([{"type": "image", "source": here}]))
        else {
            panic!()
        };
        assert_eq!(words, UserInput::from("").image("image/png", "AA=="));
        for part in [
            json!({"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}),
            json!({"type": "image", "source": {"type": "url", "value": "data:image/svg+xml,%3Csvg/%3E"}}),
            json!({"type": "audio", "source": {"type": "data", "value": "AA==", "mimeType": "audio/wav"}}),
        ] {
            assert!(read(json!([part])).is_err(), "{part}");
        }
        let others = json!({"messages": [{"id": "m", "role": "tool", "toolCallId": "c", "content": "no"}]});
        assert!(parse(&input(others)).is_err());
        for blank in [json!(""), json!(" \n\u{200b}"), json!([]), json!([{"type": "text", "text": "\t"}])] {
            let Err(reason) = read(blank) else { panic!() };
            assert_eq!(reason, "the last message is blank: it has neither visible text nor an image");
        }
        assert!(parse(&input(json!({}))).is_err());
    }

    #[test]
    fn ignored_parts_are_listed_by_name() {
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
            let wanted = parse(input).unwrap_or_else(|reason| panic!("{reason}"));
            ignored_parts(input, &wanted, takes_images, |name| name == "old")
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
