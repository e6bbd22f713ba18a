//! Conversion of a scripted answer to timed events.

use std::time::Duration;

use agentese::types::{ScriptError, ScriptResponse, ScriptStop};
use agentese_script::{Block, Interruption, Kind, Tokens};
use serde_json::json;

use crate::{FinishReason, ProviderError, StreamEvent, TokenCounts};

/// A step of a scripted answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptStep {
    /// The script waits for this time.
    Wait(Duration),
    /// The script emits this event.
    Emit(StreamEvent),
    /// The script stays silent without end; no further event follows.
    Hang,
}

/// The error for a connection that breaks during an answer, with the text of pi 0.55.
const CONNECTION_BROKEN: &str = "terminated";

/// Returns the steps of one answer. Generated ids contain `position`, the number of the request.
pub(super) fn script_steps(answer: &ScriptResponse, position: u64) -> Vec<ScriptStep> {
    let mut steps = vec![ScriptStep::Emit(StreamEvent::Start)];
    if let Some(pause) = answer.first_ms.filter(|pause| *pause > 0) {
        steps.push(ScriptStep::Wait(Duration::from_millis(pause)));
    }
    if answer.raw.is_some() || answer.cut_after_bytes.is_some() || answer.no_end == Some(true) {
        // These members concern bytes of a connection, and there is no connection here.
        steps.push(error_step(CONNECTION_BROKEN.to_owned()));
        return steps;
    }
    if let Some(error) = &answer.empty_error {
        steps.push(error_step(format!("{} status code (no body)", error.status.unwrap_or(500))));
        return steps;
    }
    if let (Some(error), None) = (&answer.error, answer.stream_error_after) {
        steps.push(error_step(format!(
            "{} {}",
            error.status.unwrap_or(500),
            error_body(error, "api_error", "")
        )));
        return steps;
    }
    if answer.hang_after == Some(-1) {
        steps.push(ScriptStep::Hang);
        return steps;
    }
    let tokens = agentese_script::tokens_of(answer);
    let reports = answer.no_usage != Some(true);
    steps.extend(reports.then(|| usage_step(Tokens { output: 1, ..tokens })));
    let blocks = agentese_script::blocks(answer);
    let stop = agentese_script::stop_of(answer, &blocks);
    let broken = agentese_script::interruption_of(answer);
    let ends_by =
        |kind: Interruption, pieces: i64| broken.is_some_and(|(it, after)| it == kind && pieces >= after);
    let pause = answer.delay_ms.filter(|pause| *pause > 0).map(Duration::from_millis);
    let mut pieces = 0;
    for (index, block) in blocks.into_iter().enumerate() {
        for event in events(block, format!("toolu_{position}_{index}")) {
            if is_piece(&event) {
                if ends_by(Interruption::Hang, pieces) {
                    steps.push(ScriptStep::Hang);
                    return steps;
                }
                if ends_by(Interruption::Reset, pieces) || ends_by(Interruption::Close, pieces) {
                    steps.push(error_step(CONNECTION_BROKEN.to_owned()));
                    return steps;
                }
                if ends_by(Interruption::Error, pieces) {
                    let error = answer.error.clone().unwrap_or_default();
                    steps.push(error_step(error_body(&error, "overloaded_error", "Overloaded")));
                    return steps;
                }
                pieces += 1;
                steps.extend(pause.map(ScriptStep::Wait));
            } else if pieces > 0 && ends_by(Interruption::Hang, pieces) {
                steps.push(ScriptStep::Hang);
                return steps;
            }
            steps.push(ScriptStep::Emit(event));
        }
    }
    if answer.hang_after.is_some() {
        steps.push(ScriptStep::Hang);
        return steps;
    }
    steps.extend(reports.then(|| usage_step(tokens)));
    steps.push(match stop {
        ScriptStop::Stop => ScriptStep::Emit(StreamEvent::Done(FinishReason::Stop)),
        ScriptStop::Length => ScriptStep::Emit(StreamEvent::Done(FinishReason::Length)),
        ScriptStop::ToolUse => ScriptStep::Emit(StreamEvent::Done(FinishReason::ToolUse)),
        other => error_step(format!("Unhandled stop reason: {other}")),
    });
    steps
}

fn error_step(reason: String) -> ScriptStep {
    ScriptStep::Emit(StreamEvent::Error(ProviderError::from_text(reason)))
}

fn usage_step(tokens: Tokens) -> ScriptStep {
    ScriptStep::Emit(StreamEvent::Usage(TokenCounts {
        input: tokens.input,
        output: tokens.output,
        cache_read: tokens.cache_read,
        cache_write: tokens.cache_write,
        ..TokenCounts::default()
    }))
}

/// Returns the JSON text of an error in the form of a provider's API.
fn error_body(error: &ScriptError, kind: &str, message: &str) -> String {
    let kind = error.r#type.as_deref().unwrap_or(kind);
    let message = error.message.as_deref().unwrap_or(message);
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

fn is_piece(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::TextDelta(_) | StreamEvent::ThinkingDelta(_) | StreamEvent::ToolCallDelta(_))
}

/// Returns the events of a block. A tool call without an id in the script gets `id`.
fn events(block: Block, id: String) -> Vec<StreamEvent> {
    let Block { kind, pieces } = block;
    let (start, piece, end): (_, fn(String) -> StreamEvent, _) = match kind {
        Kind::Text => (StreamEvent::TextStart, StreamEvent::TextDelta, StreamEvent::TextEnd),
        Kind::Thinking { signature } => {
            (StreamEvent::ThinkingStart, StreamEvent::ThinkingDelta, StreamEvent::ThinkingEnd { signature })
        }
        Kind::ToolCall { id: given, name } => (
            StreamEvent::ToolCallStart { id: given.unwrap_or(id), name },
            StreamEvent::ToolCallDelta,
            StreamEvent::ToolCallEnd,
        ),
    };
    std::iter::once(start).chain(pieces.into_iter().map(piece)).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one line of text for each step.
    fn outline(answer: serde_json::Value) -> Vec<String> {
        let answer = serde_json::from_value(answer).unwrap();
        let line = |step: &ScriptStep| match step {
            ScriptStep::Wait(pause) => format!("wait {}", pause.as_millis()),
            ScriptStep::Hang => "hang".to_owned(),
            ScriptStep::Emit(StreamEvent::Usage(counts)) => {
                format!("usage {} {}", counts.input, counts.output)
            }
            ScriptStep::Emit(StreamEvent::TextDelta(delta) | StreamEvent::ThinkingDelta(delta)) => {
                delta.clone()
            }
            ScriptStep::Emit(StreamEvent::ToolCallDelta(delta)) => delta.clone(),
            ScriptStep::Emit(StreamEvent::Error(failure)) => format!("error {}", failure.text),
            ScriptStep::Emit(event) => format!("{event:?}"),
        };
        script_steps(&answer, 3).iter().map(line).collect()
    }

    #[test]
    fn an_answer_is_played_in_order_with_its_pauses() {
        assert_eq!(
            outline(json!({
                "blocks": [
                    {"thinking_repeat": {"chunk": "t{i}", "n": 2}, "signature": "s"},
                    {"text": "whole"},
                    {"tool": {"name": "bash", "args": {"command": "ls"}}},
                ],
                "usage": {"input": 7, "output": 9}, "delay_ms": 5, "first_ms": 3,
            })),
            [
                "Start",
                "wait 3",
                "usage 7 1",
                "ThinkingStart",
                "wait 5",
                "t0",
                "wait 5",
                "t1",
                "ThinkingEnd { signature: Some(\"s\") }",
                "TextStart",
                "wait 5",
                "whole",
                "TextEnd",
                "ToolCallStart { id: \"toolu_3_2\", name: \"bash\" }",
                "wait 5",
                "{\"command\":\"ls\"}",
                "ToolCallEnd",
                "usage 7 9",
                "Done(ToolUse)",
            ]
        );
    }

    #[test]
    fn failures_occur_at_their_place_in_the_script() {
        let text = json!([{"text": ["a", "b", "c"]}]);
        let start = ["Start", "usage 100 1", "TextStart", "a", "b"];
        let with = |last: &'static str| [&start[..], &[last]].concat();
        assert_eq!(outline(json!({"blocks": text, "hang_after": 2})), with("hang"));
        assert_eq!(outline(json!({"blocks": text, "drop_after": 2})), with("error terminated"));
        assert_eq!(outline(json!({"blocks": text, "fin_after": 2})), with("error terminated"));
        assert_eq!(
            outline(json!({"blocks": text, "stream_error_after": 2})),
            with(r#"error {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)
        );
        assert_eq!(outline(json!({"hang_after": -1})), ["Start", "hang"]);
        assert_eq!(
            outline(json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}})),
            [
                "Start",
                r#"error 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#
            ]
        );
        assert_eq!(
            outline(json!({"empty_error": {"status": 413}})),
            ["Start", "error 413 status code (no body)"]
        );
        assert_eq!(
            outline(json!({"text": "x", "stop": "refusal"})).last().unwrap(),
            "error Unhandled stop reason: refusal"
        );
    }
}
