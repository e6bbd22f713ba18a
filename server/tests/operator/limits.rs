//! Tests of rejected prompts, and of turns that a limit ends.

use agentese::operator::Operator;
use agentese_server::config::{RunLimits, Settings};
use serde_json::{Value, json};

use crate::scripted;
use crate::support::link::{Link, builder};

async fn prompt(link: &mut Link, text: &str) -> Value {
    link.send(json!({"type": "prompt", "id": "p", "text": text})).await;
    link.until("the answer", |frame| frame["type"] == "response").await.pop().unwrap()
}

#[tokio::test]
async fn a_blank_prompt_is_refused_and_no_turn_begins() {
    let (mut link, _place) = scripted(json!({"responses": [], "default": {"text": "ok"}}));
    for text in ["", " \n", "\u{feff}"] {
        let answer = prompt(&mut link, text).await;
        assert_eq!((&answer["id"], &answer["success"]), (&json!("p"), &json!(false)), "{answer}");
        assert!(answer["error"].as_str().unwrap().starts_with("The message is blank"), "{answer}");
    }
    assert!(link.seen.iter().all(|frame| frame["type"] != "event"), "{:?}", link.seen);
    assert_eq!(prompt(&mut link, "hello").await["success"], true);
}

#[tokio::test]
async fn a_turn_that_reaches_a_limit_fails_with_its_reason() {
    let reads = json!({"blocks": [{"tool": {"name": "read", "args": {"path": "nope"}}}]});
    let defaults = RunLimits::default();
    for (limits, answer, reason) in [
        (defaults, reads.clone(), "has failed 8 times with the same error"),
        (RunLimits { max_turns: 2, ..defaults }, reads, "it has had 2 turns"),
        (RunLimits { max_time_ms: 200, ..defaults }, json!({"hang_after": -1}), "it has lasted 0.2 s"),
    ] {
        let script = json!({"responses": [{"when": {"user": "again"}, "text": "fine"}], "default": answer});
        let (builder, _place) = builder(script);
        let mut settings = Settings { limits, ..Settings::default() };
        settings.retry.enabled = false;
        let mut link = Link::for_dialect::<Operator>(builder.settings(settings));
        let answer = prompt(&mut link, "go").await;
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(reason), "{answer}");
        assert_eq!(prompt(&mut link, "again").await["success"], true);
    }
}
