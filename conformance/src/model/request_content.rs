//! Content of a request to the model, in one form for all APIs.

use agentese::types::{
    ModelApi, ModelRequest, ModelRequestBuilder, RequestCall, RequestMessage, RequestResult, RequestRole,
};
use serde_json::{Map, Value};

/// Length in bytes up to which a text is logged unshortened.
const SHOWN: usize = 4000;

/// Reads the content of a request. Parts that do not fit the API are omitted, so that the log contains
/// everything readable.
pub(super) fn read(api: ModelApi, path: &str, body: &Value) -> ModelRequest {
    let (system, messages) = match api {
        ModelApi::AnthropicMessages => anthropic(body),
        ModelApi::OpenaiCompletions => completions(body),
        ModelApi::OpenaiResponses => responses(body),
        ModelApi::GoogleGenerativeAi => google(body),
    };
    let mut request = ModelRequestBuilder {
        n: 0,
        api,
        path: path.to_owned(),
        messages: merged(messages),
        tools: tools(body),
        options: options(body),
    }
    .build();
    request.system = Some(system).filter(|system| !system.is_empty());
    request.model = match api {
        // The path ends in `NAME:streamGenerateContent`.
        ModelApi::GoogleGenerativeAi => {
            path.rsplit('/').next().and_then(|last| last.split(':').next()).map(str::to_owned)
        }
        _ => body["model"].as_str().map(str::to_owned),
    };
    request
}

/// Returns the text of the user's last message.
pub(super) fn last_user(request: &ModelRequest) -> String {
    let last = request.messages.iter().rev().find(|message| message.role == RequestRole::User);
    last.and_then(|message| message.text.clone()).unwrap_or_default()
}

/// Returns `true` if results of tools follow the user's last message.
pub(super) fn has_results(request: &ModelRequest) -> bool {
    let behind = request.messages.iter().rev().take_while(|message| message.role != RequestRole::User);
    behind.into_iter().any(|message| message.results.is_some())
}

/// Returns the request with shortened texts, for the log.
pub(super) fn shortened(request: &ModelRequest) -> Value {
    fn shorten(value: &mut Value) {
        match value {
            Value::String(text) if text.len() > SHOWN => {
                let start: String = text.chars().take(200).collect();
                *text = format!("{start}…[{} characters]", text.chars().count());
            }
            Value::Array(items) => items.iter_mut().for_each(shorten),
            Value::Object(members) => members.values_mut().for_each(shorten),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(request).unwrap_or_default();
    shorten(&mut value);
    value
}

/// Returns the members of a request other than its model, prompts, messages and tools.
fn options(body: &Value) -> Map<String, Value> {
    const NO_OPTIONS: [&str; 8] =
        ["messages", "system", "tools", "input", "instructions", "contents", "systemInstruction", "model"];
    let members = body.as_object().into_iter().flatten();
    members
        .filter(|(name, _)| !NO_OPTIONS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn tools(body: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for tool in list(&body["tools"]) {
        let declared = list(&tool["functionDeclarations"]).map(|function| &function["name"]);
        let one = [&tool["name"], &tool["function"]["name"]];
        names.extend(one.into_iter().chain(declared).filter_map(Value::as_str).map(str::to_owned));
    }
    names
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a text, or the joined texts of text blocks.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        blocks => list(blocks).filter_map(|block| block["text"].as_str()).collect(),
    }
}

fn arguments(text: &Value) -> Value {
    let parsed = text.as_str().and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or_else(|| text.clone())
}

fn call(id: &Value, name: &Value, arguments: Value) -> RequestCall {
    let mut call = RequestCall::new(name.as_str().unwrap_or_default(), arguments);
    call.id = id.as_str().map(str::to_owned);
    call
}

/// A message under construction.
struct Draft(RequestMessage);

impl Draft {
    fn new(role: RequestRole) -> Self {
        Self(RequestMessage::new(role))
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.0.text.get_or_insert_default().push_str(text);
        }
    }

    fn thinking(&mut self, text: &str) {
        self.0.thinking.get_or_insert_default().push_str(text);
    }

    fn image(&mut self) {
        *self.0.images.get_or_insert_default() += 1;
    }

    fn call(&mut self, call: RequestCall) {
        self.0.calls.get_or_insert_default().push(call);
    }

    fn result(&mut self, id: &Value, text: String, is_error: Option<bool>) {
        let mut result = RequestResult::new(id.as_str().unwrap_or_default(), text);
        result.is_error = is_error;
        self.0.results.get_or_insert_default().push(result);
    }

    /// Returns the message. A user message with nothing but tool results gets the role of a tool.
    fn finish(mut self) -> RequestMessage {
        let message = &mut self.0;
        if message.results.is_some() && message.text.is_none() && message.images.is_none() {
            message.role = RequestRole::Tool;
        }
        self.0
    }
}

/// Merges consecutive messages with tool results into one message, because some APIs send each result
/// separately.
fn merged(messages: Vec<RequestMessage>) -> Vec<RequestMessage> {
    let mut merged: Vec<RequestMessage> = Vec::new();
    for mut message in messages {
        if let Some(last) = merged.last_mut()
            && last.role == RequestRole::Tool
            && message.role == RequestRole::Tool
        {
            last.results.get_or_insert_default().extend(message.results.take().unwrap_or_default());
        } else {
            merged.push(message);
        }
    }
    merged
}

fn role(name: &Value) -> RequestRole {
    match name.as_str() {
        Some("assistant" | "model") => RequestRole::Assistant,
        Some("tool" | "function") => RequestRole::Tool,
        _ => RequestRole::User,
    }
}

fn anthropic(body: &Value) -> (String, Vec<RequestMessage>) {
    let messages = list(&body["messages"]).map(|message| {
        let mut draft = Draft::new(role(&message["role"]));
        if let Some(text) = message["content"].as_str() {
            draft.text(text);
        }
        for block in list(&message["content"]) {
            match block["type"].as_str() {
                Some("text") => draft.text(block["text"].as_str().unwrap_or_default()),
                Some("thinking") => draft.thinking(block["thinking"].as_str().unwrap_or_default()),
                Some("image") => draft.image(),
                Some("tool_use") => draft.call(call(&block["id"], &block["name"], block["input"].clone())),
                Some("tool_result") => {
                    draft.result(
                        &block["tool_use_id"],
                        text_of(&block["content"]),
                        block["is_error"].as_bool(),
                    );
                }
                _ => {}
            }
        }
        draft.finish()
    });
    (text_of(&body["system"]), messages.collect())
}

fn completions(body: &Value) -> (String, Vec<RequestMessage>) {
    let (system, rest): (Vec<_>, Vec<_>) = list(&body["messages"])
        .partition(|message| matches!(message["role"].as_str(), Some("system" | "developer")));
    let messages = rest.into_iter().map(|message| {
        let mut draft = Draft::new(role(&message["role"]));
        if draft.0.role == RequestRole::Tool {
            draft.result(&message["tool_call_id"], text_of(&message["content"]), None);
            return draft.finish();
        }
        draft.text(&text_of(&message["content"]));
        for _ in list(&message["content"]).filter(|block| block["type"] == "image_url") {
            draft.image();
        }
        if let Some(text) = message["reasoning_content"].as_str() {
            draft.thinking(text);
        }
        for made in list(&message["tool_calls"]) {
            let function = &made["function"];
            draft.call(call(&made["id"], &function["name"], arguments(&function["arguments"])));
        }
        draft.finish()
    });
    (system.into_iter().map(|message| text_of(&message["content"])).collect(), messages.collect())
}

fn responses(body: &Value) -> (String, Vec<RequestMessage>) {
    let mut system = text_of(&body["instructions"]);
    let mut messages: Vec<RequestMessage> = Vec::new();
    if let Some(text) = body["input"].as_str() {
        let mut draft = Draft::new(RequestRole::User);
        draft.text(text);
        messages.push(draft.finish());
    }
    for item in list(&body["input"]) {
        match item["type"].as_str() {
            Some("function_call") => {
                let made = call(&item["call_id"], &item["name"], arguments(&item["arguments"]));
                assistant(&mut messages).calls.get_or_insert_default().push(made);
            }
            Some("reasoning") => {
                let text = text_of(&item["summary"]);
                assistant(&mut messages).thinking.get_or_insert_default().push_str(&text);
            }
            Some("function_call_output") => {
                let mut draft = Draft::new(RequestRole::Tool);
                draft.result(&item["call_id"], text_of(&item["output"]), None);
                messages.push(draft.finish());
            }
            _ if matches!(item["role"].as_str(), Some("system" | "developer")) => {
                system.push_str(&text_of(&item["content"]));
            }
            _ if item["role"] == "assistant" => {
                let text = text_of(&item["content"]);
                assistant(&mut messages).text.get_or_insert_default().push_str(&text);
            }
            _ => {
                let mut draft = Draft::new(RequestRole::User);
                draft.text(&text_of(&item["content"]));
                for _ in list(&item["content"]).filter(|block| block["type"] == "input_image") {
                    draft.image();
                }
                messages.push(draft.finish());
            }
        }
    }
    (system, messages)
}

/// Returns the last message if the assistant sent it, or adds one. In this API, each content block is a
/// separate item.
fn assistant(messages: &mut Vec<RequestMessage>) -> &mut RequestMessage {
    if messages.last().is_none_or(|message| message.role != RequestRole::Assistant) {
        messages.push(RequestMessage::new(RequestRole::Assistant));
    }
    let last = messages.len() - 1;
    &mut messages[last]
}

fn google(body: &Value) -> (String, Vec<RequestMessage>) {
    let messages = list(&body["contents"]).map(|content| {
        let mut draft = Draft::new(role(&content["role"]));
        for part in list(&content["parts"]) {
            let text = part["text"].as_str().unwrap_or_default();
            if part["thought"] == true {
                draft.thinking(text);
            } else {
                draft.text(text);
            }
            if !part["inlineData"].is_null() {
                draft.image();
            }
            let (made, answer) = (&part["functionCall"], &part["functionResponse"]);
            if !made.is_null() {
                draft.call(call(&made["id"], &made["name"], made["args"].clone()));
            }
            if !answer.is_null() {
                let id = if answer["id"].is_null() { &answer["name"] } else { &answer["id"] };
                let (output, error) = (&answer["response"]["output"], &answer["response"]["error"]);
                let text = if error.is_null() { output } else { error };
                draft.result(id, text_of(text), Some(!error.is_null()));
            }
        }
        draft.finish()
    });
    (text_of(&body["systemInstruction"]["parts"]), messages.collect())
}
