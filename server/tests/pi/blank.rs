//! Tests of messages without visible content. All dialects of the pi family reject them before they are stored.

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::pisces::Pisces;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

const BLANK: &str =
    "The message is blank: it has neither visible text nor an image. Send some text or an image";
const TEXTS: [&str; 6] = [" ", "  \n\t", "\u{a0}\u{2003}", "\u{200b}", "\u{feff}\n", "\u{2060}\u{ad}"];

/// The smallest possible PNG.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn links_of_the_family(script: &Value) -> Vec<(&'static str, Link, tempfile::TempDir)> {
    let make = |revision: &'static str| {
        let (builder, place) = builder(script.clone());
        let link = match revision {
            "omp" => Link::for_dialect::<Omp>(builder),
            "pisces" => Link::for_dialect::<Pisces>(builder),
            pi => Link::for_revision::<Pi>(pi, builder),
        };
        (revision, link, place)
    };
    ["pi@0.55", "pi@1.5", "omp", "pisces"].map(make).into()
}

/// Returns the roles of all messages except the system prompt.
async fn roles(link: &mut Link) -> Vec<String> {
    let roles = link.messages().await.into_iter().map(|message| message["role"].as_str().unwrap().to_owned());
    roles.filter(|role| role != "system").collect()
}

/// Reads until the failure with the given id. Returns the frames before it, which may include
/// acknowledgements, and the failure.
async fn failure(link: &mut Link, id: &str) -> (Vec<Value>, Value) {
    let mut frames = link.until(id, |frame| frame["id"] == id && frame["success"] == false).await;
    let last = frames.pop().unwrap();
    (frames, last)
}

#[tokio::test]
async fn blank_prompts_are_refused_and_leave_no_trace() {
    for (revision, mut link, _place) in
        links_of_the_family(&json!({"responses": [], "default": {"text": "ok"}}))
    {
        for text in TEXTS {
            link.send(json!({"id": "b", "type": "prompt", "message": text})).await;
            let (before, refused) = failure(&mut link, "b").await;
            assert_eq!(
                (&refused["command"], &refused["error"]),
                (&json!("prompt"), &json!(BLANK)),
                "{revision}"
            );
            assert!(before.iter().all(|frame| frame["type"] != "agent_start"), "{revision} {before:?}");
        }
        for kind in ["steer", "follow_up"] {
            for text in ["\u{200b}", " \n"] {
                link.send(json!({"id": "q", "type": kind, "message": text})).await;
                // The agent omp reports failures of handlers without an id.
                let refused =
                    link.until("the refusal", |frame| frame["type"] == "response").await.pop().unwrap();
                assert_eq!(refused["success"], false, "{revision} {kind}");
                assert!(refused["error"].as_str().unwrap().ends_with(BLANK), "{revision} {refused}");
            }
        }
        assert_eq!(roles(&mut link).await, [""; 0], "{revision}");
        let state = link.state().await;
        let waiting = state.get("pendingMessageCount").or_else(|| state.get("queuedMessageCount"));
        assert_eq!(waiting, Some(&json!(0)), "{revision}");
        link.send(json!({"type": "prompt", "message": "hello"})).await;
        link.until_event("agent_end").await;
        assert_eq!(roles(&mut link).await, ["user", "assistant"], "{revision}");
    }
}

#[tokio::test]
async fn a_blank_prompt_neither_joins_nor_ends_a_run() {
    for (revision, mut link, _place) in
        links_of_the_family(&json!({"responses": [{"hang_after": -1}], "default": {"text": "ok"}}))
    {
        link.send(json!({"type": "prompt", "message": "go"})).await;
        link.until_event("turn_start").await;
        for behavior in ["steer", "followUp"] {
            for text in [" ", "\n"] {
                link.send(
                    json!({"id": "b", "type": "prompt", "message": text, "streamingBehavior": behavior}),
                )
                .await;
                assert_eq!(failure(&mut link, "b").await.1["error"], BLANK, "{revision}");
            }
        }
        if !revision.starts_with("pi@") {
            link.send(json!({"id": "b", "type": "abort_and_prompt", "message": " "})).await;
            assert_eq!(failure(&mut link, "b").await.1["error"], BLANK, "{revision}");
        }
        assert_eq!(link.state().await["isStreaming"], true, "{revision}");
        link.data(json!({"type": "abort"})).await;
    }
}

#[tokio::test]
async fn a_blank_text_with_an_image_is_a_message() {
    for (revision, mut link, _place) in
        links_of_the_family(&json!({"responses": [], "default": {"text": "seen"}}))
    {
        let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
        link.send(json!({"id": "i", "type": "prompt", "message": " ", "images": [image]})).await;
        link.until_event("agent_end").await;
        assert_eq!(roles(&mut link).await, ["user", "assistant"], "{revision}");
    }
}

/// In the recordings, these agents start a run. The model then receives a note about the empty message, because APIs
/// would reject the message itself.
#[tokio::test]
async fn empty_prompt_reaches_the_model_as_a_notice() {
    let script = json!({"responses": [
        {"when": {"user": "[The user sent an empty message.]"}, "text": "you said nothing"},
    ], "default": {"text": "something was said"}});
    for (revision, mut link, _place) in links_of_the_family(&script) {
        link.send(json!({"id": "e", "type": "prompt", "message": ""})).await;
        link.until_event("agent_end").await;
        let messages = link.messages().await;
        let [.., message, answer] = &messages[..] else { panic!("{revision} {messages:?}") };
        assert_eq!(message["content"], json!([{"type": "text", "text": ""}]), "{revision}");
        assert_eq!(answer["content"][0]["text"], "you said nothing", "{revision}");
    }
}

#[tokio::test]
async fn empty_steering_message_reaches_the_model_as_a_notice() {
    let script = json!({"responses": [
        {"when": {"user": "[The user sent an empty message.]"}, "text": "you said nothing"},
    ], "default": {"text": "something was said"}});
    for (revision, mut link, _place) in links_of_the_family(&script) {
        link.data(json!({"type": "steer", "message": ""})).await;
        link.send(json!({"type": "prompt", "message": "hello"})).await;
        link.until_event("agent_end").await;
        assert_eq!(roles(&mut link).await, ["user", "user", "assistant"], "{revision}");
        let answer = link.messages().await.pop().unwrap();
        assert_eq!(answer["content"][0]["text"], "you said nothing", "{revision}");
    }
}
