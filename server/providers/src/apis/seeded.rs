//! Seeded defects: for each reader and each rule there is a defect that breaks the rule. Only the cases of that rule
//! may detect it.

use agentese::types::{AssistantBlock, Model};
use serde_json::{Map, Value, json};

use super::*;
use crate::http::{self, SseParser};
use crate::{Assembler, FinishReason, ProviderError, StreamEvent};

/// Rules that every reader of streams must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The parts of a call are assembled by its key, even if other events are between them.
    Slots,
    /// A call with incomplete arguments is not executed.
    WholeArguments,
    /// An error in the stream becomes a failure with the text of the error.
    Errors,
    /// Content is read in each of its forms.
    Content,
}

const RULES: [Rule; 4] = [Rule::Slots, Rule::WholeArguments, Rule::Errors, Rule::Content];

/// Events that test a rule, and the expected result.
struct Case {
    rule: Rule,
    events: Vec<Value>,
    read: &'static [&'static str],
}

fn case(rule: Rule, events: Vec<Value>, read: &'static [&'static str]) -> Case {
    Case { rule, events, read }
}

/// Expected results: two calls, a call that is cut off, an error, and text in a list of parts.
const TWO: &[&str] = &["a bash {\"x\":1}", "b bash {\"x\":2}", "ToolUse"];
const CUT: &[&str] = &["a write unusable", "ToolUse"];
const LATE: &[&str] = &["hm", "Overloaded"];
const TEXT: &[&str] = &["hi", "Stop"];
const PART: &str = "{\"path\":\"f\",\"content\":\"hello wor";

fn anthropic() -> Vec<Case> {
    let call = |index: u64, id: &str, name: &str| {
        json!({"type": "content_block_start", "index": index, "content_block":
               {"type": "tool_use", "id": id, "name": name, "input": {}}})
    };
    let input = |index: u64, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}});
    let text = |text: Value| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let start =
        || json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let end = |reason: &str| {
        [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
    };
    let with_end = |events: Vec<Value>, reason: &str| events.into_iter().chain(end(reason)).collect();
    let alternate = vec![
        call(0, "a", "bash"),
        call(1, "b", "bash"),
        input(0, "{\"x\":"),
        input(1, "{\"x\":"),
        input(0, "1}"),
        input(1, "2}"),
    ];
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    vec![
        case(Rule::Slots, with_end(alternate, "tool_use"), TWO),
        case(Rule::WholeArguments, with_end(vec![call(0, "a", "write"), input(0, PART)], "tool_use"), CUT),
        case(Rule::Errors, vec![start(), text(json!("hm")), error], LATE),
        case(
            Rule::Content,
            with_end(vec![start(), text(json!([{"type": "text", "text": "hi"}]))], "end_turn"),
            TEXT,
        ),
    ]
}

fn completions() -> Vec<Case> {
    let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
    let begin = |index: u64, id: &str, name: &str, text: &str| {
        delta(
            json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": text}}]}),
        )
    };
    let more = |index: u64, text: &str| {
        delta(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    };
    let end = |reason: &str| json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let alternate = vec![
        begin(0, "a", "bash", "{\"x\":"),
        begin(1, "b", "bash", "{\"x\":"),
        more(0, "1}"),
        more(1, "2}"),
        end("tool_calls"),
    ];
    let parts = json!({"content": [{"type": "text", "text": "hi"}]});
    let error = json!({"object": "error", "message": "Overloaded", "code": 503});
    vec![
        case(Rule::Slots, alternate, TWO),
        case(Rule::WholeArguments, vec![begin(0, "a", "write", PART), end("tool_calls")], CUT),
        case(Rule::Errors, vec![delta(json!({"content": "hm"})), error], LATE),
        case(Rule::Content, vec![delta(parts), end("stop")], TEXT),
    ]
}

fn responses() -> Vec<Case> {
    let added = |index: u64, item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
    let call = |index: u64, id: &str, name: &str| {
        added(index, json!({"type": "function_call", "call_id": id, "name": name}))
    };
    let input = |index: u64, text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": text});
    let text = |text: Value| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    let end = || json!({"type": "response.completed", "response": {"status": "completed"}});
    let alternate = vec![
        call(0, "a", "bash"),
        call(1, "b", "bash"),
        input(0, "{\"x\":"),
        input(1, "{\"x\":"),
        input(0, "1}"),
        input(1, "2}"),
        end(),
    ];
    let message = || added(0, json!({"type": "message", "id": "m"}));
    let error = json!({"type": "error", "message": "Overloaded"});
    vec![
        case(Rule::Slots, alternate, TWO),
        case(Rule::WholeArguments, vec![call(0, "a", "write"), input(0, PART), end()], CUT),
        case(Rule::Errors, vec![message(), text(json!("hm")), error], LATE),
        case(Rule::Content, vec![message(), text(json!([{"type": "text", "text": "hi"}])), end()], TEXT),
    ]
}

fn google() -> Vec<Case> {
    let parts = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
    let call =
        |id: &str, name: &str, args: Value| json!({"functionCall": {"id": id, "name": name, "args": args}});
    let end = || json!({"candidates": [{"finishReason": "STOP"}]});
    let two = parts(json!([call("a", "bash", json!({"x": 1})), call("b", "bash", json!({"x": 2}))]));
    let error = json!({"error": {"code": 503, "message": "Overloaded"}});
    vec![
        case(Rule::Slots, vec![two, end()], TWO),
        case(Rule::WholeArguments, vec![parts(json!([call("a", "write", json!(PART))])), end()], CUT),
        case(Rule::Errors, vec![parts(json!([{"text": "hm"}])), error], LATE),
        case(Rule::Content, vec![parts(json!([{"text": [{"type": "text", "text": "hi"}]}])), end()], TEXT),
    ]
}

/// A change to an event before a reader receives it.
type Change = Box<dyn FnMut(&mut Value) + Send + Sync>;

/// A defect of a reader, simulated by changes to its input events and its output events.
#[derive(Default)]
struct Defect {
    input: Option<Change>,
    output: Option<fn(Vec<StreamEvent>) -> Vec<StreamEvent>>,
}

fn on_input(change: impl FnMut(&mut Value) + Send + Sync + 'static) -> Defect {
    Defect { input: Some(Box::new(change)), output: None }
}

/// Returns the defect that breaks a rule in the reader of an API.
fn defect(api: &str, rule: Rule) -> Defect {
    match (rule, api) {
        // Parts belong to the block that began last.
        (Rule::Slots, "anthropic-messages") => {
            let mut last = Value::Null;
            on_input(move |event| match event["type"].as_str() {
                Some("content_block_start") => last = event["index"].clone(),
                Some("content_block_delta") => event["index"] = last.clone(),
                _ => {}
            })
        }
        (Rule::Slots, "openai-completions") => on_input(|event| {
            if let Some(call) = event.pointer_mut("/choices/0/delta/tool_calls/0") {
                call["index"] = Value::Null;
            }
        }),
        (Rule::Slots, "openai-responses") => on_input(|event| event["output_index"] = Value::Null),
        // Calls of one tool are one call.
        (Rule::Slots, _) => on_input(|event| {
            let mut names = Vec::new();
            if let Some(Value::Array(parts)) = event.pointer_mut("/candidates/0/content/parts") {
                parts.retain(|part| match part["functionCall"]["name"].as_str() {
                    Some(name) if names.iter().any(|known| known == name) => false,
                    Some(name) => {
                        names.push(name.to_owned());
                        true
                    }
                    None => true,
                });
            }
        }),
        (Rule::WholeArguments, _) => Defect { input: None, output: Some(repaired) },
        (Rule::Errors, _) => Defect { input: None, output: Some(without_errors) },
        (Rule::Content, _) => on_input(without_lists),
    }
}

/// Defect: a call with incomplete arguments is closed as if it were complete.
fn repaired(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut text = String::new();
    let mut found = Vec::new();
    for event in events {
        match &event {
            StreamEvent::ToolCallStart { .. } => text.clear(),
            StreamEvent::ToolCallDelta(delta) => text.push_str(delta),
            StreamEvent::ToolCallEnd if serde_json::from_str::<Value>(&text).is_err() => {
                found.push(StreamEvent::ToolCallDelta("\"}".to_owned()));
            }
            _ => {}
        }
        found.push(event);
    }
    found
}

/// Defect: an error becomes the normal end of an answer.
fn without_errors(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let other = |event| match event {
        StreamEvent::Error(_) => StreamEvent::Done(FinishReason::Stop),
        event => event,
    };
    events.into_iter().map(other).collect()
}

/// Defect: text is read only if it is a string.
fn without_lists(event: &mut Value) {
    match event {
        Value::Object(members) => {
            for (name, value) in members {
                let is_text = ["text", "content", "delta"].contains(&name.as_str());
                if is_text
                    && value.as_array().is_some_and(|list| list.iter().any(|part| part["text"].is_string()))
                {
                    *value = json!("");
                } else {
                    without_lists(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_lists),
        _ => {}
    }
}

struct DefectiveReader {
    reader: Box<dyn Reader>,
    input: Box<dyn FnMut(&mut Value) + Send + Sync>,
}

impl Reader for DefectiveReader {
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder) {
        match serde_json::from_str::<Value>(data) {
            Ok(mut event) => {
                (self.input)(&mut event);
                self.reader.event(&event.to_string(), builder);
            }
            Err(_) => self.reader.event(data, builder),
        }
    }

    fn end(&mut self, builder: &mut StreamEventBuilder) {
        self.reader.end(builder);
    }
}

/// Reads an answer. Returns a line for each block, and one for the end of the answer.
fn read(api: &dyn Api, events: &[Value], defect: Defect) -> Vec<String> {
    let mut reader = testing::context_of("fake", "", Map::new().into(), |context| api.reader(context));
    if let Some(input) = defect.input {
        reader = Box::new(DefectiveReader { reader, input });
    }
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let (mut events, mut builder) = (SseParser::default(), StreamEventBuilder::default());
    http::read(&mut events, body.as_bytes(), &mut *reader, &mut builder).unwrap();
    if !builder.has_ended() {
        http::finish(&mut events, &mut *reader, &mut builder);
    }
    let output_events: Vec<StreamEvent> = std::iter::from_fn(|| builder.take()).collect();
    let output_events =
        defect.output.map_or_else(|| output_events.clone(), |output| output(output_events.clone()));
    assembled(
        testing::context_of("fake", "", Map::new().into(), |context| context.model().clone()),
        output_events,
    )
}

fn assembled(model: Model, events: Vec<StreamEvent>) -> Vec<String> {
    let mut assembler = Assembler::new(&model, 0);
    let mut end = None;
    for event in events {
        match event {
            StreamEvent::Done(reason) => end = Some(Ok(reason)),
            StreamEvent::Error(failure) => end = Some(Err(failure)),
            event => drop(assembler.apply(event)),
        }
    }
    let (last, answer) = match end.expect("each answer ends") {
        Ok(reason) => (format!("{reason:?}"), assembler.done(reason)),
        Err(failure) => (named(&failure), assembler.failed(failure)),
    };
    let line = |block: &AssistantBlock| match block {
        AssistantBlock::Text(text) => text.text.clone(),
        AssistantBlock::ToolCall(call) => {
            let id = call.id.split('|').next().unwrap_or_default();
            match answer.unusable.iter().any(|unusable| unusable.id == call.id) {
                true => format!("{id} {} unusable", call.name),
                false => format!("{id} {} {}", call.name, json!(call.arguments)),
            }
        }
        other => format!("{other:?}"),
    };
    answer.message.content.iter().map(line).chain([last]).collect()
}

/// Returns the kind of a failure. Adds its text unless that is the text used in the cases.
fn named(failure: &ProviderError) -> String {
    match failure.text.contains("Overloaded") {
        true => format!("{:?}", failure.kind),
        false => format!("{:?}: {}", failure.kind, failure.text),
    }
}

#[test]
fn a_defect_of_a_reader_is_noticed_by_the_case_of_its_rule_alone() {
    for (api, cases) in APIS.iter().zip([anthropic(), completions(), responses(), google()]) {
        for Case { rule, events, read: expected } in &cases {
            assert_eq!(read(*api, events, Defect::default()), *expected, "{} {rule:?}", api.name());
        }
        for broken in RULES {
            let notices = |case: &&Case| read(*api, &case.events, defect(api.name(), broken)) != case.read;
            let noticed: Vec<_> = cases.iter().filter(notices).map(|case| case.rule).collect();
            assert_eq!(noticed, [broken], "{}", api.name());
        }
    }
}
