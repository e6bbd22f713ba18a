//! Tests of a client that reads more slowly than the model writes.

use agentese::serve::Options;
use agentese_server::conversation::UpdateContent;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

const PIECE: usize = 1 << 10;
const PIECES: usize = 400;

/// Returns the pieces of a call with long arguments that a client receives if it is always behind.
async fn pieces(updates: UpdateContent) -> Vec<String> {
    let piece = "x".repeat(PIECE);
    let begin = format!("{{\"path\":\"{piece}");
    let args = [vec![begin.as_str()], vec![piece.as_str(); PIECES - 2], vec!["\"}"]].concat();
    let script = json!({"responses": [{"blocks": [{"tool": {"id": "c", "name": "read", "args": args}}]}],
                        "default": {"text": "ok"}});
    let (builder, _place) = builder(script);
    let mut options = Options::default();
    options.outbox_bytes = 4 << 10;
    let mut link = Link::serving_with(builder.updates(updates).build(), options, 4 << 10);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_end").await;
    let piece = |frame: &Value| frame["assistantMessageEvent"]["delta"].as_str().map(str::to_owned);
    let of_call = |frame: &&Value| frame["assistantMessageEvent"]["type"] == "toolcall_delta";
    let pieces: Vec<String> = frames.iter().filter(of_call).filter_map(piece).collect();
    assert_eq!(pieces.concat(), args.concat());
    pieces
}

#[tokio::test]
async fn pieces_of_a_long_answer_are_merged_for_a_slow_client() {
    let pieces = pieces(UpdateContent::Snapshots).await;
    assert!(pieces.len() < PIECES / 2, "{}", pieces.len());
    // A short answer arrives in the pieces of the model.
    assert!(pieces[1..64].iter().all(|piece| piece.len() == PIECE));
    assert!(pieces.iter().all(|piece| piece.len() <= (64 << 10) + PIECE));
}

#[tokio::test]
async fn delta_pieces_are_never_merged() {
    assert_eq!(pieces(UpdateContent::Delta).await.len(), PIECES);
}
