//! Check of streamed answers: the joined pieces equal the text. The number of pieces does not matter.

use std::collections::{BTreeMap, BTreeSet};

use agentese_conformance::transcript::Transcript;
use serde_json::Value;

use crate::front_output::{FrontFrame, front_frames};
use crate::loss_report::UnexplainedDifference;

/// Name of the check that the joined pieces of an answer are its text.
const PIECES: &str = "pieces";

/// A kind of content block: the type of its pieces, and the members of a block that may contain its text.
struct Kind {
    block: &'static str,
    piece: &'static str,
    texts: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind { block: "text", piece: "text_delta", texts: &["text", "content"] },
    Kind { block: "thinking", piece: "thinking_delta", texts: &["thinking", "content"] },
];

/// Text of the pieces so far, by the kind of block. If the dialect numbers its blocks, the key also contains
/// the number.
type PieceTexts = BTreeMap<(&'static str, Option<u64>), String>;

#[derive(Default)]
struct PieceChecker {
    /// `true` if the agent's events show the boundaries of blocks.
    shows_block_boundaries: bool,
    /// Type of a block and the index that its pieces name, if all pieces of a type are compared together.
    named: BTreeSet<(&'static str, usize)>,
    texts: PieceTexts,
    /// Complete answers so far, for dialects in which the end of a message does not contain its text; the
    /// next field is the growing answer.
    answers: BTreeSet<String>,
    answer: Option<String>,
    unexplained: Vec<UnexplainedDifference>,
}

/// Returns a difference for each answer whose text is not equal to its joined pieces. If the agent does not
/// show the boundaries of blocks, all pieces of a kind are compared with the text of all its blocks.
pub fn missing_texts(observed: &Transcript, shows_block_boundaries: bool) -> Vec<UnexplainedDifference> {
    let mut pieces = PieceChecker { shows_block_boundaries, ..PieceChecker::default() };
    for frame in front_frames(observed) {
        match frame {
            FrontFrame::Event(kind, event) => pieces.event(&kind, &event),
            FrontFrame::Answer(data) => pieces.history(&data),
        }
    }
    pieces.unexplained
}

impl PieceChecker {
    fn event(&mut self, kind: &str, event: &Value) {
        match kind {
            "message_start" => {
                self.texts.clear();
                self.named.clear();
                self.answers.extend(self.answer.take());
            }
            "message_update" => self.piece(event),
            "message_end" if event["message"]["role"] == "assistant" => {
                let said = std::mem::take(&mut self.texts);
                for (block, place) in std::mem::take(&mut self.named) {
                    let found = event["message"]["content"][place]["type"].as_str().unwrap_or_default();
                    self.compare("message_update", "contentIndex", Some(&found.to_owned()), block);
                }
                for (key, whole) in whole(&event["message"], self.shows_block_boundaries) {
                    self.compare("message_update", key.0, said.get(&key), &whole);
                }
            }
            "message_delta" => {
                let piece = event["delta"].as_str().unwrap_or_default();
                self.answer.get_or_insert_default().push_str(piece);
            }
            "turn_end" => {
                if let Some(whole) = event["message"].as_str() {
                    let said = self.answer.take();
                    self.compare("message_delta", "delta", said.as_ref(), whole);
                    self.answers.extend(said);
                }
            }
            _ => {}
        }
    }

    fn piece(&mut self, event: &Value) {
        let piece = &event["assistantMessageEvent"];
        if let Some(kind) = KINDS.iter().find(|kind| piece["type"] == kind.piece) {
            let text = piece["delta"].as_str().unwrap_or_default();
            let place = piece["contentIndex"].as_u64();
            let block = place.filter(|_| self.shows_block_boundaries);
            let place =
                place.filter(|_| !self.shows_block_boundaries).and_then(|place| usize::try_from(place).ok());
            self.named.extend(place.map(|place| (kind.block, place)));
            self.texts.entry((kind.piece, block)).or_default().push_str(text);
        }
        for part in event["message"]["contents"].as_array().into_iter().flatten() {
            if let Some(kind) = KINDS.iter().find(|kind| part["type"] == kind.block) {
                self.texts.entry((kind.piece, None)).or_default().push_str(text(kind, part));
            }
        }
    }

    /// Compares the pieces with the messages in an answer, for dialects in which the end of a message does
    /// not contain its text.
    fn history(&mut self, data: &Value) {
        let messages = data["messages"].as_array().into_iter().flatten();
        // A summary is not streamed, so it has no pieces.
        let is_answer =
            |message: &&Value| message["role"] == "assistant" && message.pointer("/metadata/type").is_none();
        let texts = messages.filter(is_answer).filter_map(|message| message["content"].as_str());
        for whole in texts.filter(|text| !text.is_empty()) {
            if !self.answers.contains(whole) && self.answer.as_deref() != Some(whole) {
                self.compare("message_delta", "delta", self.answer.clone().as_ref(), whole);
            }
        }
    }

    fn compare(&mut self, row: &str, path: &str, pieces: Option<&String>, whole: &str) {
        let pieces = pieces.map_or("", String::as_str);
        if pieces != whole {
            let says = format!("{PIECES} of {row}, {path}: they are {pieces:?}, and the text is {whole:?}");
            self.unexplained.push(UnexplainedDifference {
                check: PIECES.to_owned(),
                row: row.to_owned(),
                path: path.to_owned(),
                message: says,
            });
        }
    }
}

/// Returns the texts of an answer, by the kind of block. If the dialect numbers its blocks, the key also
/// contains the number.
fn whole(message: &Value, shows_block_boundaries: bool) -> PieceTexts {
    let numbered = shows_block_boundaries && message.get("content").is_some();
    let mut whole = PieceTexts::new();
    let blocks = [&message["content"], &message["contents"]];
    let blocks = blocks.into_iter().filter_map(Value::as_array).flatten();
    for (place, block) in (0..).zip(blocks) {
        if let Some(kind) = KINDS.iter().find(|kind| block["type"] == kind.block) {
            whole.entry((kind.piece, numbered.then_some(place))).or_default().push_str(text(kind, block));
        }
    }
    whole
}

fn text<'a>(kind: &Kind, block: &'a Value) -> &'a str {
    kind.texts.iter().find_map(|member| block[member].as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front_output::session_of;

    /// Creates the frames of an answer that is streamed in these pieces, for each kind of dialect.
    fn answers(pieces: &[&str]) -> [Vec<Value>; 4] {
        let whole = "one two";
        let frames = |piece: &dyn Fn(&str) -> Value, end: &dyn Fn(Value) -> Value| {
            let pieces = pieces.iter().map(|text| end(piece(text)));
            let begins = end(json!({"type": "message_start", "message": {"role": "assistant"}}));
            std::iter::once(begins).chain(pieces).collect::<Vec<_>>()
        };
        let numbered = |text: &str| {
            let told = json!({"type": "text_delta", "contentIndex": 0, "delta": text});
            json!({"type": "message_update", "assistantMessageEvent": told})
        };
        let mut flat = frames(&numbered, &|event| event);
        let content = json!([{"type": "text", "text": whole}]);
        flat.push(json!({"type": "message_end", "message": {"role": "assistant", "content": content}}));

        let enveloped = |event: Value| json!({"type": "event", "event": event});
        let part = |text: &str| {
            let contents = json!([{"type": "text", "content": text}]);
            json!({"type": "message_update", "message": {"role": "assistant", "contents": contents}})
        };
        let mut in_events = frames(&part, &enveloped);
        let contents = json!([{"type": "text", "content": whole}]);
        let message = json!({"role": "assistant", "contents": contents});
        in_events.push(enveloped(json!({"type": "message_end", "message": message})));

        let notified = |event: Value| json!({"jsonrpc": "2.0", "method": "agent/event", "params": event});
        let bare = |text: &str| json!({"type": "message_delta", "delta": text});
        let (mut turn, mut history) = (frames(&bare, &notified), frames(&bare, &notified));
        turn.push(notified(json!({"type": "turn_end", "message": whole})));
        let messages = json!([{"role": "assistant", "content": whole}]);
        history.push(json!({"jsonrpc": "2.0", "id": 1, "result": {"messages": messages}}));
        [flat, in_events, turn, history]
    }

    #[test]
    fn any_number_of_pieces_makes_up_the_text() {
        for pieces in [&["one two"][..], &["one", " ", "two"]] {
            for frames in answers(pieces) {
                assert_eq!(missing_texts(&session_of(&frames), true), [], "{pieces:?}");
            }
        }
        for pieces in [&[][..], &["one"], &["one two", "one two"], &["two", "one"]] {
            for frames in answers(pieces) {
                assert_eq!(missing_texts(&session_of(&frames), true).len(), 1, "{pieces:?} {frames:?}");
            }
        }
    }

    #[test]
    fn blocks_without_boundaries_are_compared_together() {
        let piece = |text: &str| {
            let told = json!({"type": "text_delta", "contentIndex": 0, "delta": text});
            json!({"type": "message_update", "assistantMessageEvent": told})
        };
        let blocks = |texts: &[&str]| {
            let content: Vec<Value> =
                texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            json!({"type": "message_end", "message": {"role": "assistant", "content": content}})
        };
        let frames = [piece("one"), piece("two"), blocks(&["one", "two"])];
        assert_eq!(missing_texts(&session_of(&frames), false), []);
        assert_eq!(missing_texts(&session_of(&frames), true).len(), 2);
        let cut = [piece("one"), blocks(&["one", "two"])];
        assert_eq!(missing_texts(&session_of(&cut), false).len(), 1);
        let mut elsewhere = piece("onetwo");
        elsewhere["assistantMessageEvent"]["contentIndex"] = 7.into();
        assert_eq!(missing_texts(&session_of(&[elsewhere, blocks(&["one", "two"])]), false).len(), 1);
    }
}
