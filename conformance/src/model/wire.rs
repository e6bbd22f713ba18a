//! Answers in the streaming formats of the providers, one file for each.

mod anthropic;
mod completions;
mod google;
mod responses;

use agentese::types::{ModelApi, ModelRequest, ScriptError, ScriptStop};
use agentese_script::{Block, Tokens, Turn, blocks, stop_of, tokens_of};
use serde_json::{Value, json};

/// Part of a stream, sent in a single write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamPart {
    /// One or more server-sent events.
    pub bytes: String,
    /// `true` if scripts count this part as a streamed piece of the response.
    pub is_piece: bool,
}

/// Content of an answer, independent of the streaming format.
struct Answer<'a> {
    number: u64,
    model: &'a str,
    blocks: Vec<Block>,
    stop: ScriptStop,
    /// The reported usage; `None` if the script suppresses the report.
    tokens: Option<Tokens>,
    /// `true` if the stream includes its closing events.
    ends: bool,
}

/// Returns the whole stream of an answer, in order.
pub(super) fn parts(turn: &Turn, request: &ModelRequest) -> Vec<StreamPart> {
    let blocks = blocks(&turn.answer);
    let stop = stop_of(&turn.answer, &blocks);
    let answer = Answer {
        number: turn.number,
        model: request.model.as_deref().unwrap_or("?"),
        blocks,
        stop,
        tokens: (turn.answer.no_usage != Some(true)).then(|| tokens_of(&turn.answer)),
        ends: turn.answer.no_end != Some(true),
    };
    let mut out = StreamParts(Vec::new());
    match request.api {
        ModelApi::AnthropicMessages => anthropic::write(&mut out, &answer),
        ModelApi::OpenaiCompletions => completions::write(&mut out, &answer),
        ModelApi::OpenaiResponses => responses::write(&mut out, &answer),
        ModelApi::GoogleGenerativeAi => google::write(&mut out, &answer),
    }
    out.0
}

/// Returns the body of an error response, sent instead of a stream.
pub(super) fn error_body(api: &ModelApi, error: &ScriptError, status: u16) -> Value {
    let message = error.message.as_deref().unwrap_or_default();
    let kind = error.r#type.as_deref().unwrap_or("api_error");
    match api {
        ModelApi::AnthropicMessages => {
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        ModelApi::OpenaiCompletions | ModelApi::OpenaiResponses => {
            json!({"error": {"type": kind, "message": message, "code": error.code}})
        }
        ModelApi::GoogleGenerativeAi => {
            let name = error.r#type.as_deref().unwrap_or("INTERNAL");
            json!({"error": {"code": status, "message": message, "status": name}})
        }
    }
}

/// Returns the bytes of an error within a stream.
pub(super) fn error_in_stream(api: &ModelApi, error: &ScriptError) -> String {
    let or = |given: &Option<String>, default: &str| given.as_deref().unwrap_or(default).to_owned();
    match api {
        ModelApi::AnthropicMessages => {
            let (kind, message) = (or(&error.r#type, "overloaded_error"), or(&error.message, "Overloaded"));
            named("error", &json!({"type": "error", "error": {"type": kind, "message": message}}))
        }
        ModelApi::OpenaiCompletions => {
            let (kind, message) = (or(&error.r#type, "server_error"), or(&error.message, "server error"));
            unnamed(&json!({"error": {"type": kind, "message": message, "code": error.code}}))
        }
        ModelApi::OpenaiResponses => {
            let (code, message) = (or(&error.code, "server_error"), or(&error.message, "server error"));
            named("error", &json!({"type": "error", "code": code, "message": message, "param": null}))
        }
        ModelApi::GoogleGenerativeAi => {
            let (name, message) =
                (or(&error.r#type, "UNAVAILABLE"), or(&error.message, "The model is overloaded."));
            let code = error.status.unwrap_or(503);
            unnamed(&json!({"error": {"code": code, "message": message, "status": name}}))
        }
    }
}

fn named(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The stream under construction.
struct StreamParts(Vec<StreamPart>);

impl StreamParts {
    /// Adds an event whose name is taken from the member `type` of its data.
    fn event(&mut self, is_piece: bool, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.0.push(StreamPart { bytes: named(name, data), is_piece });
    }

    /// Adds an event that has data but no name.
    fn data(&mut self, is_piece: bool, data: &Value) {
        self.0.push(StreamPart { bytes: unnamed(data), is_piece });
    }

    /// Adds a line that is not JSON.
    fn text(&mut self, text: &str) {
        self.0.push(StreamPart { bytes: format!("data: {text}\n\n"), is_piece: false });
    }
}
