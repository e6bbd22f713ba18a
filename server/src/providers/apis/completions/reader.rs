//! From the chunks of a completion to what is said.

use std::collections::HashMap;

use serde_json::Value;

use super::super::said::count;
use super::super::{Reader, Said};
use super::REASONING;
use crate::providers::{Done, Failure, FailureKind, TokenCounts};

/// The state of a completion.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    call: Option<Call>,
    /// Indexes of calls that are closed.
    closed: Vec<u64>,
    /// Reasoning that belongs to a call and cannot be read, by the call's id, until the call opens.
    details: HashMap<String, String>,
    finish: Option<String>,
}

/// The call that is open.
#[derive(Debug)]
struct Call {
    index: Option<u64>,
    id: String,
}

impl Reader for Chunks {
    fn event(&mut self, data: &str, said: &mut Said) {
        if data == "[DONE]" {
            self.complete(said, true);
            return;
        }
        let Some(chunk) = said.json(data) else { return };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            said.fail(stream_error(error));
            return;
        }
        said.id(&chunk["id"]);
        let choice = &chunk["choices"][0];
        // Most hosts report usage at the top, some in the choice.
        for usage in [&choice["usage"], &chunk["usage"]] {
            if usage.is_object() {
                said.usage(counts(usage));
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
            said.stop_word(&choice["finish_reason"]);
        }
        let delta = &choice["delta"];
        for name in ["content", "refusal"] {
            if let Some(text) = delta[name].as_str().filter(|text| !text.is_empty()) {
                self.leave_call();
                said.text(text);
            }
        }
        let reasoning = REASONING.iter().find_map(|name| Some((*name, delta[*name].as_str()?)));
        if let Some((name, text)) = reasoning.filter(|(_, text)| !text.is_empty()) {
            self.leave_call();
            said.thinking(text, Some(name));
        }
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(part, said);
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.detail(detail, said);
        }
    }

    fn end(&mut self, said: &mut Said) {
        self.complete(said, false);
    }
}

impl Chunks {
    fn leave_call(&mut self) {
        if let Some(index) = self.call.take().and_then(|call| call.index) {
            self.closed.push(index);
        }
    }

    /// Part of a call. A new one begins where the id or the index is another than that of the open one;
    /// hosts differ in which of them they send.
    fn call(&mut self, part: &Value, said: &mut Said) {
        let index = part["index"].as_u64();
        let id = part["id"].as_str().filter(|id| !id.is_empty());
        let function = &part["function"];
        let continues = self.call.as_ref().is_some_and(|open| match (id, index) {
            (Some(id), _) => id == open.id,
            (None, Some(_)) => index == open.index,
            (None, None) => true,
        });
        if !continues {
            self.leave_call();
            if id.is_none() && index.is_some_and(|index| self.closed.contains(&index)) {
                let text = "The provider sent a part of a tool call that is closed.";
                said.fail(Failure::new(FailureKind::Protocol, text));
                return;
            }
            let id = id.unwrap_or_default();
            said.call(id, function["name"].as_str().unwrap_or_default());
            if let Some(detail) = self.details.remove(id) {
                said.signature(&detail);
            }
            self.call = Some(Call { index, id: id.to_owned() });
        }
        match &function["arguments"] {
            Value::String(text) => said.arguments(text),
            // A host that does not stream sends the object itself.
            Value::Object(members) => said.arguments(&Value::Object(members.clone()).to_string()),
            _ => {}
        }
    }

    fn detail(&mut self, detail: &Value, said: &mut Said) {
        let (Some("reasoning.encrypted"), Some(id)) = (detail["type"].as_str(), detail["id"].as_str()) else {
            return;
        };
        if detail["data"].as_str().is_none_or(str::is_empty) {
            return;
        }
        match &self.call {
            Some(call) if call.id == id => said.signature(&detail.to_string()),
            _ => {
                let detail = detail.to_string();
                if said.hold(id.len() + detail.len()) {
                    self.details.insert(id.to_owned(), detail);
                }
            }
        }
    }

    fn complete(&mut self, said: &mut Said, marked: bool) {
        if self.finish.is_some() {
            // Whatever the reason is, what the model said is complete.
            said.close();
        }
        match self.finish.as_deref() {
            Some("stop" | "end") => said.done(if said.has_call() { Done::ToolUse } else { Done::Stop }),
            Some("length") => said.done(Done::Length),
            Some("tool_calls" | "function_call") => said.done(Done::ToolUse),
            Some("content_filter") => {
                let text = "The answer was held back by the provider's content filter.";
                said.fail(Failure::new(FailureKind::Refused, text));
            }
            Some("network_error") => {
                said.fail(Failure::new(
                    FailureKind::Network,
                    "The provider lost its connection to the model.",
                ));
            }
            Some(reason) => said.unhandled_stop(reason),
            // Some hosts give no reason, but say that they are done.
            None if marked => said.done(if said.has_call() { Done::ToolUse } else { Done::Stop }),
            None => said.cut_off(),
        }
    }
}

/// An error in the stream: its message, else all of it.
fn stream_error(error: &Value) -> Failure {
    let text = match error {
        Value::String(message) => message.clone(),
        error => error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned),
    };
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let kind = match status.filter(|status| (400..600).contains(status)) {
        Some(status) => FailureKind::of_status(status, &text),
        None => FailureKind::of_text(&error.to_string()),
    };
    Failure::new(kind, text)
}

/// Tokens as the API counts them: input with what came from caches, output mostly with reasoning.
fn counts(usage: &Value) -> TokenCounts {
    let number = |value: &Value| count(value).unwrap_or_default();
    let prompt = number(&usage["prompt_tokens"]);
    let completion = number(&usage["completion_tokens"]);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
    let written = number(&usage["prompt_tokens_details"]["cache_write_tokens"]);
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    // Some hosts count reasoning beside the completion; their total shows it.
    let all = prompt.saturating_add(completion).saturating_add(reasoning);
    let beside = reasoning > 0 && count(&usage["total_tokens"]) == Some(all);
    TokenCounts {
        input: prompt.saturating_sub(cached).saturating_sub(written),
        output: if beside { completion.saturating_add(reasoning) } else { completion },
        cache_read: cached,
        cache_write: written,
        cache_write_hour: None,
        reasoning: Some(reasoning),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Completions;
    use super::*;
    use crate::providers::apis::testing::{check_cuts, outline};

    fn chunk(delta: Value) -> String {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }

    fn end(reason: &str) -> String {
        let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 130, "completion_tokens": 20, "total_tokens": 150,
                           "prompt_tokens_details": {"cached_tokens": 30}}});
        format!("data: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
    }

    fn everything() -> String {
        [
            chunk(json!({"role": "assistant", "content": ""})),
            chunk(json!({"reasoning_content": "hm ö"})),
            chunk(json!({"reasoning_content": "."})),
            chunk(json!({"content": "Hello"})),
            chunk(json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": ""}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"command\":"}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"ls\"}"}}],
                         "reasoning_details": [{"type": "reasoning.encrypted", "id": "c1", "data": "x"}]})),
            chunk(json!({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "read", "arguments": {"path": "x"}}}]})),
        ]
        .concat()
    }

    #[test]
    fn a_completion_is_told_block_by_block() {
        assert_eq!(
            outline(&Completions, &(everything() + &end("tool_calls"))),
            [
                "thinking(",
                "signed reasoning_content",
                "hm ö",
                ".",
                ")",
                "text(",
                "Hello",
                ")",
                "call c1 bash(",
                "",
                "{\"command\":",
                "\"ls\"}",
                r#"signed {"type":"reasoning.encrypted","id":"c1","data":"x"}"#,
                ")",
                "call c2 read(",
                "{\"path\":\"x\"}",
                "usage 100 20 30 0",
                ")",
                "done ToolUse",
            ]
        );
    }

    #[test]
    fn fm_f63_a_completion_that_is_cut_anywhere_is_an_error() {
        // What follows the reason to stop adds figures only; the answer is complete before it.
        let whole = everything() + "data: [DONE]\n\n";
        check_cuts(&Completions, &whole);
    }

    #[test]
    fn a_completion_ends_as_its_finish_reason_says() {
        for (reason, last) in [
            ("stop", "done Stop"),
            ("end", "done Stop"),
            ("length", "done Length"),
            ("function_call", "done ToolUse"),
            ("content_filter", "Refused The answer was held back by the provider's content filter."),
            ("network_error", "Network The provider lost its connection to the model."),
            ("novel", "BadRequest Unhandled stop reason: novel"),
        ] {
            assert_eq!(outline(&Completions, &end(reason)).last().unwrap(), last);
        }
        assert_eq!(outline(&Completions, &(everything() + &end("stop"))).last().unwrap(), "done ToolUse");
        assert_eq!(
            outline(&Completions, &(chunk(json!({"content": "x"})) + "data: [DONE]\n\n")).last().unwrap(),
            "done Stop"
        );
    }

    #[test]
    fn what_was_held_back_is_closed_before_the_failure_is_told() {
        let body = chunk(json!({"content": "x"})) + &end("content_filter");
        let outline = outline(&Completions, &body);
        assert_eq!(outline[..3], ["text(", "x", "usage 100 20 30 0"]);
        assert_eq!(outline[3], ")");
        assert!(outline[4].starts_with("Refused "), "{outline:?}");
    }

    #[test]
    fn calls_are_told_apart_by_what_the_host_sends() {
        let call = |part: Value| chunk(json!({"tool_calls": [part]}));
        let function = json!({"name": "bash", "arguments": "{}"});
        let with_ids = call(json!({"index": 0, "id": "a", "function": function}))
            + &call(json!({"index": 0, "id": "b", "function": function}));
        let without_ids = call(json!({"index": 0, "function": function}))
            + &call(json!({"index": 1, "function": function}));
        for body in [with_ids, without_ids] {
            let calls = outline(&Completions, &body).iter().filter(|line| line.starts_with("call ")).count();
            assert_eq!(calls, 2, "{body}");
        }
        let back = call(json!({"index": 0, "id": "a", "function": function}))
            + &call(json!({"index": 1, "id": "b", "function": function}))
            + &call(json!({"index": 0, "function": {"arguments": "more"}}));
        assert_eq!(
            outline(&Completions, &back).last().unwrap(),
            "Protocol The provider sent a part of a tool call that is closed."
        );
    }

    #[test]
    fn fm_f65_an_error_in_the_stream_is_the_answer_s_error() {
        for (error, line) in [
            (json!({"message": "server error", "type": "server_error", "code": null}), "Server server error"),
            (json!({"message": "slow down", "code": 429}), "RateLimited slow down"),
            (json!("plain"), "BadRequest plain"),
            (json!({"type": "overloaded_error"}), r#"Overloaded {"type":"overloaded_error"}"#),
        ] {
            let body = format!("data: {}\n\n", json!({"error": error}));
            assert_eq!(outline(&Completions, &body), [line]);
        }
    }

    #[test]
    fn fm_f68_odd_figures_are_no_negative_ones() {
        let counted = |usage: Value| {
            let counts = counts(&usage);
            [counts.input, counts.output, counts.cache_read, counts.cache_write]
        };
        assert_eq!(counted(json!({})), [0, 0, 0, 0]);
        assert_eq!(counted(json!({"prompt_tokens": -5, "completion_tokens": null})), [0, 0, 0, 0]);
        let cached = json!({"cached_tokens": 30});
        assert_eq!(counted(json!({"prompt_tokens": 10, "prompt_tokens_details": cached})), [0, 0, 30, 0]);
        let reasoning = json!({"reasoning_tokens": 7});
        let usage = |total: u64| {
            json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": total,
                   "completion_tokens_details": reasoning})
        };
        assert_eq!(counted(usage(30)), [10, 20, 0, 0]);
        assert_eq!(counted(usage(37)), [10, 27, 0, 0]);
    }
}
