//! Conversion of the chunks of a candidate to stream events.

use std::collections::HashSet;

use serde_json::Value;

use super::super::api::Reader;
use super::super::block_sequencer::BlockPart;
use super::super::content::{arguments, parts};
use super::super::errors::error_in;
use super::super::stream_event_builder::{StreamEventBuilder, is_retryable_reason, token_count};
use crate::{FinishReason, ProviderError, ProviderErrorKind, TokenCounts};

/// Stop reasons of a withheld answer.
const REFUSED: &[&str] = &[
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
];

/// The state of a candidate.
#[derive(Debug)]
pub(super) struct CandidateReader {
    /// Time of the request, for ids that the provider does not send.
    now: i64,
    ids: HashSet<String>,
    calls: u64,
    finish: Option<String>,
}

impl CandidateReader {
    pub fn new(now: i64) -> Self {
        Self { now, ids: HashSet::new(), calls: 0, finish: None }
    }
}

impl Reader for CandidateReader {
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder) {
        let Some(chunk) = builder.json(data) else { return };
        if let Some(failure) = error_in(&chunk) {
            builder.fail(failure);
            return;
        }
        builder.id(&chunk["responseId"]);
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, builder);
        }
        let usage = &chunk["usageMetadata"];
        if usage.is_object() {
            builder.usage(counts(usage));
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
            builder.raw_stop_reason(&candidate["finishReason"]);
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            builder.fail(refused(reason));
        }
    }

    fn end(&mut self, builder: &mut StreamEventBuilder) {
        match self.finish.as_deref() {
            None => builder.cut_off(),
            Some("MAX_TOKENS") => builder.done(FinishReason::Length),
            Some(reason) if REFUSED.contains(&reason) => builder.fail(refused(reason)),
            Some(reason) if is_retryable_reason(reason) => builder.unhandled_stop(reason),
            // Hosts with a compatible API have their own names for this.
            Some(_) if builder.has_call() => builder.done(FinishReason::ToolUse),
            Some("STOP") => builder.done(FinishReason::Stop),
            Some(reason) => builder.unhandled_stop(reason),
        }
    }
}

impl CandidateReader {
    fn part(&mut self, part: &Value, builder: &mut StreamEventBuilder) {
        let signature = part["thoughtSignature"].as_str().filter(|mark| !mark.is_empty());
        // An empty part may have only a mark. The mark belongs to the open block of the same kind, else to a new block.
        if signature.is_some() && part["text"].as_str().is_some_and(str::is_empty) {
            if part["thought"] == true { builder.ensure_thinking() } else { builder.ensure_text() }
        }
        for piece in parts(&part["text"]) {
            match piece {
                BlockPart::Text(text) if part["thought"] != true => builder.text(&text),
                BlockPart::Text(text) | BlockPart::Thinking(text) => builder.thinking(&text, None),
                _ => {}
            }
        }
        let call = &part["functionCall"];
        if call.is_object() {
            let name = call["name"].as_str().unwrap_or_default();
            let id = self.id(call["id"].as_str().unwrap_or_default(), name);
            builder.call(&id, name);
            builder.arguments(&arguments(&call["args"]).unwrap_or_else(|| "{}".to_owned()));
        }
        if let Some(signature) = signature {
            builder.signature(signature);
        }
        if call.is_object() {
            builder.close();
        }
    }

    fn id(&mut self, given: &str, name: &str) -> String {
        if !given.is_empty() && self.ids.insert(given.to_owned()) {
            return given.to_owned();
        }
        self.calls += 1;
        let id = format!("{name}_{}_{}", self.now, self.calls);
        self.ids.insert(id.clone());
        id
    }
}

fn refused(reason: &str) -> ProviderError {
    ProviderError::new(
        ProviderErrorKind::Refused,
        format!("The answer was held back by the provider ({reason})."),
    )
}

/// Returns the tokens as the API counts them: the prompt includes cached tokens, and reasoning is counted beside the
/// answer.
fn counts(usage: &Value) -> TokenCounts {
    let number = |name: &str| token_count(&usage[name]).unwrap_or_default();
    let cached = number("cachedContentTokenCount");
    TokenCounts {
        input: number("promptTokenCount").saturating_sub(cached),
        output: number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount")),
        cache_read: cached,
        cache_write: 0,
        cache_write_hour: None,
        reasoning: Some(number("thoughtsTokenCount")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Google;
    use super::*;
    use crate::apis::testing::{check_cuts, outline};

    fn chunk(parts: Value) -> String {
        format!("data: {}\r\n\r\n", json!({"candidates": [{"content": {"role": "model", "parts": parts}}]}))
    }

    fn end(reason: &str) -> String {
        let usage = json!({"promptTokenCount": 130, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
                           "cachedContentTokenCount": 30});
        format!("data: {}\n\n", json!({"candidates": [{"finishReason": reason}], "usageMetadata": usage}))
    }

    fn everything() -> String {
        [
            chunk(json!([{"text": "hm ö", "thought": true}])),
            chunk(json!([{"text": "", "thought": true, "thoughtSignature": "c2ln"}])),
            chunk(json!([{"text": "Hel"}, {"text": "lo"}])),
            chunk(json!([{"functionCall": {"name": "bash", "args": {"command": "ls"}}, "thoughtSignature": "eA=="}])),
            chunk(json!([{"functionCall": {"id": "x", "name": "read"}}, {"functionCall": {"id": "x", "name": "read"}}])),
        ]
        .concat()
    }

    #[test]
    fn a_candidate_is_emitted_part_by_part() {
        assert_eq!(
            outline(&Google, &(everything() + &end("STOP"))),
            [
                "thinking(",
                "hm ö",
                "signed c2ln",
                ")",
                "text(",
                "Hel",
                "lo",
                ")",
                "call bash_0_1 bash(",
                "{\"command\":\"ls\"}",
                "signed eA==",
                ")",
                "call x read(",
                "{}",
                ")",
                "call read_0_2 read(",
                "{}",
                ")",
                "usage 100 20 30 0",
                "done ToolUse",
            ]
        );
    }

    #[test]
    fn fm_f63_a_candidate_that_is_cut_anywhere_is_an_error() {
        check_cuts(&Google, &(everything() + &end("STOP")));
    }

    #[test]
    fn the_finish_reason_decides_the_end_of_a_candidate() {
        for (reason, last) in [
            ("STOP", "done Stop"),
            ("MAX_TOKENS", "done Length"),
            ("SAFETY", "Refused The answer was held back by the provider (SAFETY)."),
            (
                "MALFORMED_FUNCTION_CALL",
                "Server The model stopped without an answer (stop reason MALFORMED_FUNCTION_CALL).",
            ),
            ("OTHER", "BadRequest Unhandled stop reason: OTHER"),
        ] {
            let body = chunk(json!([{"text": "x"}])) + &end(reason);
            assert_eq!(outline(&Google, &body).last().unwrap(), last);
        }
        let call = chunk(json!([{"functionCall": {"name": "bash", "args": {}}}]));
        let malformed = outline(&Google, &(call + &end("MALFORMED_FUNCTION_CALL")));
        assert!(malformed.last().unwrap().starts_with("Server "), "{malformed:?}");
        assert_eq!(
            outline(&Google, &end("STOP")).last().unwrap(),
            "Protocol The provider's answer has no content."
        );
        let blocked = format!("data: {}\n\n", json!({"promptFeedback": {"blockReason": "OTHER"}}));
        assert_eq!(outline(&Google, &blocked), ["Refused The answer was held back by the provider (OTHER)."]);
        let error =
            format!("data: {}\n\n", json!({"error": {"code": 503, "message": "The model is overloaded."}}));
        assert_eq!(outline(&Google, &error), ["Overloaded The model is overloaded."]);
    }

    #[test]
    fn arguments_and_text_come_in_any_form() {
        let body = chunk(json!([
            {"text": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]},
            {"functionCall": {"id": "a", "name": "bash", "args": "{\"command\":\"ls\"}"}},
            {"functionCall": {"id": "b", "name": "bash", "args": [1]}},
            {"functionCall": {"id": "c", "name": "bash", "args": null}},
        ]));
        assert_eq!(
            outline(&Google, &(body + &end("STOP")))[..15],
            [
                "thinking(",
                "hm",
                ")",
                "text(",
                "hi",
                ")",
                "call a bash(",
                "{\"command\":\"ls\"}",
                ")",
                "call b bash(",
                "[1]",
                ")",
                "call c bash(",
                "{}",
                ")"
            ]
        );
    }

    #[test]
    fn an_error_in_the_stream_is_the_candidates_error() {
        for (body, last) in [
            ("event: error\ndata: {\"message\":\"Quota exceeded\"}\n\n", "Quota Quota exceeded"),
            ("data: {\"object\":\"error\",\"message\":\"slow\",\"code\":429}\n\n", "RateLimited slow"),
            (
                "error: {\"code\":400,\"message\":\"exceeds the available context size\"}\n\n",
                "Overflow exceeds the available context size",
            ),
            ("[{\"error\":{\"code\":503,\"message\":\"overloaded\"}}]", "Overloaded overloaded"),
            ("no healthy upstream", "Network no healthy upstream"),
        ] {
            assert_eq!(outline(&Google, body).last().unwrap(), last);
        }
    }
}
