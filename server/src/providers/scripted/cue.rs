//! From a scripted answer to what is said, and when.

use std::time::Duration;

use agentese::types::{
    Chunks, ScriptArguments, ScriptBlock, ScriptError, ScriptRepeat, ScriptResponse, ScriptStop, ScriptUsage,
};
use serde_json::json;

use crate::providers::{Done, Failure, StreamEvent, TokenCounts};

/// One step of a performance.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cue {
    /// Wait.
    Wait(Duration),
    /// Say it.
    Say(StreamEvent),
    /// Nothing more comes, and no end either.
    Hang,
}

/// What a connection that breaks in the middle of an answer is called, as pi 0.55 does.
const BROKEN: &str = "terminated";

/// The tokens that an answer without figures reports.
const INPUT: u64 = 100;
const OUTPUT: u64 = 20;

/// The performance of one answer. `position` is the number of the request, for ids that are made up.
pub(super) fn cues(answer: &ScriptResponse, position: u64) -> Vec<Cue> {
    let mut cues = vec![Cue::Say(StreamEvent::Start)];
    if let Some(pause) = answer.first_ms.filter(|pause| *pause > 0) {
        cues.push(Cue::Wait(Duration::from_millis(pause)));
    }
    if let Some(error) = &answer.empty_error {
        cues.push(fail(format!("{} status code (no body)", error.status.unwrap_or(500))));
        return cues;
    }
    if let (Some(error), None) = (&answer.error, answer.stream_error_after) {
        cues.push(fail(format!("{} {}", error.status.unwrap_or(500), body(error, "api_error", ""))));
        return cues;
    }
    if answer.hang_after == Some(-1) {
        cues.push(Cue::Hang);
        return cues;
    }
    let usage = answer.usage.as_ref();
    cues.push(say_usage(usage, 1));
    let (blocks, has_call) = blocks(answer, position);
    let pause = answer.delay_ms.filter(|pause| *pause > 0).map(Duration::from_millis);
    let mut pieces = 0;
    for block in blocks {
        for event in block {
            let ends_before = |limit: Option<i64>| limit.is_some_and(|limit| pieces >= limit);
            if is_piece(&event) {
                if ends_before(answer.hang_after) {
                    cues.push(Cue::Hang);
                    return cues;
                }
                if ends_before(answer.drop_after) || ends_before(answer.fin_after) {
                    cues.push(fail(BROKEN.to_owned()));
                    return cues;
                }
                if ends_before(answer.stream_error_after) {
                    let error = answer.error.clone().unwrap_or_default();
                    cues.push(fail(body(&error, "overloaded_error", "Overloaded")));
                    return cues;
                }
                pieces += 1;
                cues.extend(pause.map(Cue::Wait));
            } else if pieces > 0 && ends_before(answer.hang_after) {
                cues.push(Cue::Hang);
                return cues;
            }
            cues.push(Cue::Say(event));
        }
    }
    if answer.hang_after.is_some() {
        cues.push(Cue::Hang);
        return cues;
    }
    cues.push(say_usage(usage, usage.and_then(|usage| usage.output).unwrap_or(OUTPUT)));
    let stop = answer.stop.clone().unwrap_or(if has_call { ScriptStop::ToolUse } else { ScriptStop::Stop });
    cues.push(match stop {
        ScriptStop::Stop => Cue::Say(StreamEvent::Done(Done::Stop)),
        ScriptStop::Length => Cue::Say(StreamEvent::Done(Done::Length)),
        ScriptStop::ToolUse => Cue::Say(StreamEvent::Done(Done::ToolUse)),
        other => fail(format!("Unhandled stop reason: {other}")),
    });
    cues
}

fn fail(reason: String) -> Cue {
    Cue::Say(StreamEvent::Error(Failure::from_text(reason)))
}

fn say_usage(usage: Option<&ScriptUsage>, output: u64) -> Cue {
    let count = |pick: fn(&ScriptUsage) -> Option<u64>| usage.and_then(pick);
    Cue::Say(StreamEvent::Usage(TokenCounts {
        input: count(|usage| usage.input).unwrap_or(INPUT),
        output,
        cache_read: count(|usage| usage.cache_read).unwrap_or_default(),
        cache_write: count(|usage| usage.cache_write).unwrap_or_default(),
    }))
}

/// An error in the form in which a provider's API sends it.
fn body(error: &ScriptError, kind: &str, message: &str) -> String {
    let kind = error.r#type.as_deref().unwrap_or(kind);
    let message = error.message.as_deref().unwrap_or(message);
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

fn is_piece(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::TextDelta(_) | StreamEvent::ThinkingDelta(_) | StreamEvent::ToolCallDelta(_))
}

/// The events of each block, and whether one of them is a tool call.
fn blocks(answer: &ScriptResponse, position: u64) -> (Vec<Vec<StreamEvent>>, bool) {
    let mut has_call = false;
    let mut all = Vec::new();
    match (&answer.blocks, &answer.text) {
        (Some(blocks), _) => {
            for (index, block) in blocks.iter().enumerate() {
                has_call |= matches!(block, ScriptBlock::Tool(_));
                all.push(events(block, position, index));
            }
        }
        (None, Some(text)) => all.push(text_events(vec![text.clone()])),
        (None, None) => {}
    }
    (all, has_call)
}

fn events(block: &ScriptBlock, position: u64, index: usize) -> Vec<StreamEvent> {
    match block {
        ScriptBlock::Text(block) => text_events(pieces(&block.text)),
        ScriptBlock::TextRepeat(block) => text_events(repeated(&block.text_repeat)),
        ScriptBlock::Thinking(block) => thinking_events(pieces(&block.thinking), block.signature.clone()),
        ScriptBlock::ThinkingRepeat(block) => {
            thinking_events(repeated(&block.thinking_repeat), block.signature.clone())
        }
        ScriptBlock::Tool(block) => {
            let call = &block.tool;
            let id = call.id.clone().unwrap_or_else(|| format!("toolu_{position}_{index}"));
            let pieces = match &call.args {
                None => vec!["{}".to_owned()],
                Some(ScriptArguments::Object(members)) => {
                    vec![serde_json::Value::Object(members.clone()).to_string()]
                }
                Some(ScriptArguments::Whole(text)) => vec![text.clone()],
                Some(ScriptArguments::Pieces(pieces)) => pieces.clone(),
            };
            let start = StreamEvent::ToolCallStart { id, name: call.name.clone() };
            around(start, pieces.into_iter().map(StreamEvent::ToolCallDelta), StreamEvent::ToolCallEnd)
        }
    }
}

fn text_events(pieces: Vec<String>) -> Vec<StreamEvent> {
    around(StreamEvent::TextStart, pieces.into_iter().map(StreamEvent::TextDelta), StreamEvent::TextEnd)
}

fn thinking_events(pieces: Vec<String>, signature: Option<String>) -> Vec<StreamEvent> {
    around(
        StreamEvent::ThinkingStart,
        pieces.into_iter().map(StreamEvent::ThinkingDelta),
        StreamEvent::ThinkingEnd { signature },
    )
}

fn around(
    start: StreamEvent,
    pieces: impl Iterator<Item = StreamEvent>,
    end: StreamEvent,
) -> Vec<StreamEvent> {
    std::iter::once(start).chain(pieces).chain([end]).collect()
}

fn pieces(chunks: &Chunks) -> Vec<String> {
    match chunks {
        Chunks::Whole(text) => vec![text.clone()],
        Chunks::Pieces(pieces) => pieces.clone(),
    }
}

fn repeated(repeat: &ScriptRepeat) -> Vec<String> {
    (0..repeat.n).map(|number| repeat.chunk.replace("{i}", &number.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line per step.
    fn outline(answer: serde_json::Value) -> Vec<String> {
        let answer = serde_json::from_value(answer).unwrap();
        let line = |cue: &Cue| match cue {
            Cue::Wait(pause) => format!("wait {}", pause.as_millis()),
            Cue::Hang => "hang".to_owned(),
            Cue::Say(StreamEvent::Usage(counts)) => format!("usage {} {}", counts.input, counts.output),
            Cue::Say(StreamEvent::TextDelta(delta) | StreamEvent::ThinkingDelta(delta)) => delta.clone(),
            Cue::Say(StreamEvent::ToolCallDelta(delta)) => delta.clone(),
            Cue::Say(StreamEvent::Error(failure)) => format!("error {}", failure.text),
            Cue::Say(event) => format!("{event:?}"),
        };
        cues(&answer, 3).iter().map(line).collect()
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
    fn failures_come_where_the_script_says() {
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
