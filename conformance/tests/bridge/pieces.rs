//! What streams of an answer: its pieces are its text, however many they are.

use std::collections::BTreeMap;

use agentese_conformance::transcript::{Record, Transcript};
use serde_json::Value;

use crate::excuse::Left;

/// The check that the pieces of an answer are its text.
const PIECES: &str = "pieces";

/// The event that tells a piece, the one that ends a message.
const ROWS: (&str, &str) = ("message_update", "message_end");

/// The pieces of a kind, and the block that they are of: its type, and the member that has its text.
const KINDS: &[(&str, &str, &str)] =
    &[("text_delta", "text", "text"), ("thinking_delta", "thinking", "thinking")];

/// Blocks of ended answers that have a text which the pieces before did not tell, in dialects that number the blocks.
pub fn untold(observed: &Transcript) -> Vec<Left> {
    let mut told: BTreeMap<(&str, u64), String> = BTreeMap::new();
    let mut left = Vec::new();
    for record in &observed.records {
        let Record::Received(line) = record else { continue };
        let frame: Value = serde_json::from_str(line.as_str()).unwrap_or_default();
        match frame["type"].as_str() {
            Some(kind) if kind == ROWS.0 => {
                let piece = &frame["assistantMessageEvent"];
                let known = KINDS.iter().find(|(kind, ..)| piece["type"] == *kind);
                if let (Some((_, block, _)), Some(at)) = (known, piece["contentIndex"].as_u64()) {
                    let text = piece["delta"].as_str().unwrap_or_default();
                    told.entry((block, at)).or_default().push_str(text);
                }
            }
            Some(kind) if kind == ROWS.1 && frame["message"]["role"] == "assistant" => {
                let told = std::mem::take(&mut told);
                let blocks = frame["message"]["content"].as_array().into_iter().flatten();
                for (at, block) in (0..).zip(blocks) {
                    let Some((_, kind, member)) = KINDS.iter().find(|(_, kind, _)| block["type"] == *kind)
                    else {
                        continue;
                    };
                    let (whole, pieces) =
                        (block[member].as_str().unwrap_or_default(), told.get(&(*kind, at)));
                    let pieces = pieces.map_or("", String::as_str);
                    if whole != pieces {
                        left.push(Left {
                            check: PIECES.to_owned(),
                            row: ROWS.0.to_owned(),
                            path: format!("{kind}_delta"),
                            says: format!(
                                "the pieces of block {at} are {pieces:?}, and its text is {whole:?}"
                            ),
                        });
                    }
                }
            }
            _ => {}
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use agentese::framing::FrameText;
    use agentese::types::TranscriptHeader;
    use serde_json::json;

    use super::*;

    fn played(pieces: &[&str]) -> Transcript {
        let piece = |text: &&str| {
            let told = json!({"type": "text_delta", "contentIndex": 0, "delta": text});
            json!({"type": "message_update", "assistantMessageEvent": told})
        };
        let mut frames: Vec<Value> = pieces.iter().map(piece).collect();
        let content = json!([{"type": "text", "text": "one two"}]);
        frames.push(json!({"type": "message_end", "message": {"role": "assistant", "content": content}}));
        let records =
            frames.iter().map(|frame| Record::Received(FrameText::from(frame.to_string()))).collect();
        Transcript { header: TranscriptHeader::new(1, "pi"), records }
    }

    #[test]
    fn the_pieces_of_a_block_are_its_text_however_many_they_are() {
        for pieces in [&["one two"][..], &["one", " ", "two"]] {
            assert_eq!(untold(&played(pieces)), [], "{pieces:?}");
        }
        for pieces in [&[][..], &["one"], &["one two", "one two"], &["two", "one"]] {
            assert_eq!(untold(&played(pieces)).len(), 1, "{pieces:?}");
        }
    }
}
