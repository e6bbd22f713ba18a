//! Check that the model's answers reach the client.
//!
//! The loss report permits some answers to differ from the recording. So this check compares the answers
//! with the model script instead.

use agentese::types::{ModelRequest, ModelScript, Scenario, ScriptResponse};
use agentese_conformance::transcript::Transcript;
use agentese_script::{Kind, Playlist, RequestProperties};
use serde_json::Value;

use crate::front_output::{FrontFrame, front_frames};
use crate::loss_report::UnexplainedDifference;

/// Name of the check that each answer arrives complete and in order, and again in the history.
const ANSWERED: &str = "answered";

/// Texts of the model's answers, and names of the tools that they call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    texts: Vec<String>,
    calls: Vec<String>,
}

/// Returns a difference if the answers that the client received are not the answers of the model.
pub fn missing_answers(
    case: &Scenario,
    requests: &[ModelRequest],
    observed: &Transcript,
) -> Vec<UnexplainedDifference> {
    let given = scripted_answers(case, requests);
    let (told, mut left) = received_answers(observed);
    if told != given {
        left.push(of("message_end", format!("{told:?} is told, and the model gave {given:?}")));
    }
    left
}

fn of(row: &str, message: String) -> UnexplainedDifference {
    let says = format!("{ANSWERED}: {message}");
    UnexplainedDifference {
        check: ANSWERED.to_owned(),
        row: row.to_owned(),
        path: String::new(),
        message: says,
    }
}

/// Returns the model's answers in the order of the requests. Requests without tools are omitted: they are
/// for a summary, and their answers are not messages.
fn scripted_answers(case: &Scenario, requests: &[ModelRequest]) -> Answers {
    let mut given = Answers::default();
    let Some(model) = &case.model else { return given };
    for request in requests.iter().filter(|request| !request.tools.is_empty()) {
        let place = request.answer.and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| model.responses.get(place)) {
            Some(response) => given.take(response),
            None => given.take(&exhausted_answer(model)),
        }
    }
    given
}

/// Returns the answer to a request for which the script has no response left.
fn exhausted_answer(model: &ModelScript) -> ScriptResponse {
    let mut rest = ModelScript::new(Vec::new());
    rest.default.clone_from(&model.default);
    let asked =
        RequestProperties { user: "", system: "", model: "", tool_results: false, body: &String::new };
    Playlist::new(rest).next(&asked).answer
}

impl Answers {
    fn take(&mut self, response: &ScriptResponse) {
        let blocks = agentese_script::blocks(response);
        let of_text = blocks.iter().filter(|block| block.kind == Kind::Text);
        self.add_text(of_text.flat_map(|block| &block.pieces).map(String::as_str).collect());
        self.calls.extend(blocks.into_iter().filter_map(|block| match block.kind {
            Kind::ToolCall { name, .. } => Some(name),
            _ => None,
        }));
    }

    /// Adds a text, unless it is empty. An answer that consists of calls has no text.
    fn add_text(&mut self, text: String) {
        self.texts.extend(Some(text).filter(|text| !text.is_empty()));
    }
}

/// Returns the answers that the client received. Also returns a difference for each history whose answers
/// differ.
fn received_answers(observed: &Transcript) -> (Answers, Vec<UnexplainedDifference>) {
    let (mut heard, mut left) = (Answers::default(), Vec::new());
    // Text of the growing answer, for dialects in which the end of a message does not contain the text.
    let mut grows = String::new();
    for frame in front_frames(observed) {
        match frame {
            FrontFrame::Event(kind, event) => match kind.as_str() {
                "message_end" if event["message"]["role"] == "assistant" => {
                    heard.add_text(text(&event["message"]))
                }
                "message_delta" => grows.push_str(event["delta"].as_str().unwrap_or_default()),
                "message_start" | "turn_end" | "agent_end" => heard.add_text(std::mem::take(&mut grows)),
                "tool_execution_start" => {
                    let name = ["toolName", "tool"].iter().find_map(|member| event[member].as_str());
                    heard.calls.extend(name.map(str::to_owned));
                }
                _ => {}
            },
            FrontFrame::Answer(data) => {
                let Some(messages) = data["messages"].as_array() else { continue };
                let of_model = messages.iter().filter(|message| message["role"] == "assistant");
                let texts: Vec<String> = of_model.map(text).filter(|text| !text.is_empty()).collect();
                if texts != heard.texts {
                    left.push(of(
                        "get_messages",
                        format!("{texts:?} is given, and {:?} was told", heard.texts),
                    ));
                }
            }
        }
    }
    heard.add_text(grows);
    (heard, left)
}

/// Returns the text of a message.
fn text(message: &Value) -> String {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case() -> Scenario {
        serde_json::from_value(json!({
            "scenario": 1, "name": "c", "dialect": "pi@0.55", "title": "t", "steps": [],
            "model": {"responses": [
                {"blocks": [{"text": ["o", "ne"]}, {"tool": {"name": "bash"}}]},
                {"blocks": [{"text": ["two"]}]},
            ]},
        }))
        .unwrap()
    }

    fn model_request(answer: Option<u64>, tools: &[&str]) -> ModelRequest {
        let mut request = json!({
            "n": 0, "api": "anthropic-messages", "path": "/", "messages": [], "tools": tools, "options": {},
        });
        if let Some(answer) = answer {
            request["answer"] = answer.into();
        }
        serde_json::from_value(request).unwrap()
    }

    fn end(text: &str) -> Value {
        let said = json!([{"type": "text", "text": text}]);
        json!({"type": "message_end", "message": {"role": "assistant", "content": said}})
    }

    fn history(texts: &[&str]) -> Value {
        let messages: Vec<Value> = texts.iter().map(|text| end(text)["message"].clone()).collect();
        json!({"type": "response", "command": "get_messages", "success": true, "data": {"messages": messages}})
    }

    fn left(frames: &[Value]) -> Vec<String> {
        let left = missing_answers(
            &case(),
            &[model_request(Some(0), &["bash"]), model_request(Some(1), &["bash"])],
            &crate::front_output::session_of(frames),
        );
        left.into_iter().map(|left| left.row).collect()
    }

    #[test]
    fn each_answer_arrives_whole_and_in_order() {
        let call = json!({"type": "tool_execution_start", "toolCallId": "1", "toolName": "bash"});
        let whole = [end("one"), call.clone(), end("two"), history(&["one", "two"])];
        assert!(left(&whole).is_empty());
        for (says, frames) in [
            ("one is missing", vec![end("one"), call.clone()]),
            ("one is cut", vec![end("one"), call.clone(), end("tw")]),
            ("they are exchanged", vec![end("two"), call.clone(), end("one")]),
            ("one comes twice", vec![end("one"), call.clone(), end("two"), end("two")]),
            ("a call is missing", vec![end("one"), end("two")]),
        ] {
            assert_eq!(left(&frames), ["message_end"], "{says}");
        }
        let forgets = [end("one"), call, end("two"), history(&["one"])];
        assert_eq!(left(&forgets), ["get_messages"]);
    }

    #[test]
    fn pieces_make_an_answer_without_message_ends() {
        let event = |told: Value| json!({"jsonrpc": "2.0", "method": "agent/event", "params": told});
        let frames = |last: &str| {
            [
                event(json!({"type": "message_delta", "delta": "one"})),
                event(json!({"type": "tool_execution_start", "tool": "bash"})),
                event(json!({"type": "turn_end"})),
                event(json!({"type": "message_delta", "delta": last})),
                event(json!({"type": "agent_end"})),
            ]
        };
        assert!(left(&frames("two")).is_empty());
        assert_eq!(left(&frames("tw")), ["message_end"]);
    }

    #[test]
    fn requests_beyond_the_script_need_answers_and_summaries_do_not() {
        let said = |requests: &[ModelRequest]| scripted_answers(&case(), requests).texts;
        assert_eq!(
            said(&[model_request(Some(1), &["bash"]), model_request(None, &["bash"])]),
            ["two", "(script exhausted)"]
        );
        assert_eq!(said(&[model_request(Some(0), &[]), model_request(Some(1), &["bash"])]), ["two"]);
    }
}
