//! A client that reads slower than the model writes.

use agentese::serve::Options;
use agentese_server::desk::Updates;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

const PIECE: usize = 1 << 10;
const PIECES: usize = 400;

/// Returns the pieces of a call with long arguments, for a client that is always behind.
async fn pieces(updates: Updates) -> Vec<String> {
    let piece = "x".repeat(PIECE);
    let begin = format!("{{\"path\":\"{piece}");
    let args = [vec![begin.as_str()], vec![piece.as_str(); PIECES - 2], vec!["\"}"]].concat();
    let script = json!({"responses": [{"blocks": [{"tool": {"id": "c", "name": "read", "args": args}}]}],
                        "default": {"text": "ok"}});
    let (builder, _place) = builder(script);
    let mut options = Options::default();
    options.outbox_bytes = 4 << 10;
    let mut link = Link::with(builder.updates(updates).build(), options, 4 << 10);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_end").await;
    let piece = |frame: &Value| frame["assistantMessageEvent"]["delta"].as_str().map(str::to_owned);
    let of_call = |frame: &&Value| frame["assistantMessageEvent"]["type"] == "toolcall_delta";
    let pieces: Vec<String> = frames.iter().filter(of_call).filter_map(piece).collect();
    assert_eq!(pieces.concat(), args.concat());
    pieces
}

#[tokio::test]
async fn pieces_of_a_long_answer_are_joined_while_the_client_is_behind() {
    let pieces = pieces(Updates::Snapshots).await;
    assert!(pieces.len() < PIECES / 2, "{}", pieces.len());
    // A short answer arrives in the pieces of the model.
    assert!(pieces[1..64].iter().all(|piece| piece.len() == PIECE));
    assert!(pieces.iter().all(|piece| piece.len() <= (64 << 10) + PIECE));
}

#[tokio::test]
async fn pieces_that_are_sent_alone_are_never_joined() {
    assert_eq!(pieces(Updates::Delta).await.len(), PIECES);
}
