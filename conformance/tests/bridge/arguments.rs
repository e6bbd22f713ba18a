//! Adaptation of recordings: the text of streamed tool arguments.
//!
//! Agents with snapshots send the arguments as parsed so far, and a bridge writes them without white space.
//! The recordings are rewritten in the same way, because otherwise the texts could not be compared.

use serde_json::Value;

/// Type of an event with a piece of a message; `PIECE` is the type of a piece of a tool call's arguments.
const UPDATE: &str = "message_update";
const PIECE: &str = "toolcall_delta";

/// Path of a piece's text in its event.
const TEXT: &str = "/assistantMessageEvent/delta";

/// Pieces of one tool call.
struct Call {
    block: Value,
    /// Indexes of the records with the call's pieces.
    lines: Vec<usize>,
    text: String,
}

/// Rewrites a recording: the arguments of each call have no white space, and the first piece contains all of
/// them. Incomplete arguments are not JSON, and stay unchanged.
pub fn without_white_space(recording: &str) -> String {
    let mut records: Vec<String> = recording.lines().map(str::to_owned).collect();
    let mut call: Option<Call> = None;
    for place in 0..records.len() {
        let Some((_, event)) = update(&records[place]) else { continue };
        let piece = &event["assistantMessageEvent"];
        if piece["type"] == PIECE {
            if call.as_ref().is_none_or(|call| call.block != piece["contentIndex"]) {
                write(&mut records, call.take());
            }
            let block = piece["contentIndex"].clone();
            let open = call.get_or_insert_with(|| Call { block, lines: Vec::new(), text: String::new() });
            open.lines.push(place);
            open.text.push_str(piece["delta"].as_str().unwrap_or_default());
        } else {
            write(&mut records, call.take());
        }
    }
    write(&mut records, call);
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Parses a record with a piece of a growing message. Returns `None` for any other record.
fn update(record: &str) -> Option<(Value, Value)> {
    let record: Value = serde_json::from_str(Some(record).filter(|record| record.contains(UPDATE))?).ok()?;
    let event: Value =
        serde_json::from_str(record["line"].as_str().filter(|_| record["dir"] == "s2c")?).ok()?;
    (event["type"] == UPDATE).then_some((record, event))
}

fn write(records: &mut [String], call: Option<Call>) {
    let Some(Call { lines, text, .. }) = call else { return };
    let Ok(arguments) = serde_json::from_str::<Value>(&text) else { return };
    let mut text = arguments.to_string();
    for place in lines {
        let Some((mut record, mut event)) = update(&records[place]) else { continue };
        if let Some(piece) = event.pointer_mut(TEXT) {
            *piece = std::mem::take(&mut text).into();
        }
        record["line"] = event.to_string().into();
        records[place] = record.to_string();
    }
}

#[test]
fn arguments_of_a_recording_are_written_without_white_space() {
    let piece = |block: u64, text: &str| {
        let told = serde_json::json!({"type": PIECE, "contentIndex": block, "delta": text});
        let event = serde_json::json!({"type": UPDATE, "assistantMessageEvent": told});
        format!("{}\n", serde_json::json!({"t": 1, "dir": "s2c", "line": event.to_string()}))
    };
    let header = "{\"transcript\":1,\"agent\":\"pi\"}\n";
    let given = [piece(0, "{\"a\": "), piece(0, "[1, 2]}"), piece(1, "{\"b\": \"broken")];
    let wanted = [piece(0, "{\"a\":[1,2]}"), piece(0, ""), piece(1, "{\"b\": \"broken")];
    let text = |pieces: &[String]| format!("{header}{}", pieces.concat());
    let told = without_white_space(&text(&given));
    let values = |text: &str| {
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(values(&told), values(&text(&wanted)));
}
