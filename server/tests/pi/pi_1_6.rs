//! Tests of frames whose content differs between pi 1.6 and pi 1.5.

use std::sync::Arc;

use agentese::pi::Pi;
use agentese_server::config::RetrySettings;
use serde_json::{Value, json};

use crate::support::clock::ImpatientClock;
use crate::support::link::{Link, builder};

fn link(dialect: &str, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let builder = builder.retry(RetrySettings::default()).clock(Arc::new(ImpatientClock::default()));
    (Link::for_revision::<Pi>(dialect, builder), place)
}

/// Sends a prompt and reads the frames up to the last one of its run.
async fn run(link: &mut Link, dialect: &str) -> Vec<Value> {
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event(if dialect == "pi@0.55" { "agent_end" } else { "agent_settled" }).await
}

fn refusal(text: &str) -> Value {
    json!({"error": {"status": 400, "type": "invalid_request_error", "message": text}})
}

#[tokio::test]
async fn the_last_text_is_that_of_the_newest_answer_with_text_since_pi_1_6() {
    let thoughts = json!({"blocks": [{"thinking": ["hm"]}]});
    let script = json!({"responses": [{"text": "one"}, refusal("bad request"), thoughts]});
    for (dialect, wanted) in [("pi@1.6", json!("one")), ("pi@1.5", Value::Null), ("pi@0.55", Value::Null)] {
        let (mut link, _place) = link(dialect, script.clone());
        for _ in 0..2 {
            run(&mut link, dialect).await;
        }
        let last = link.data(json!({"type": "get_last_assistant_text"})).await;
        assert_eq!(last["text"], wanted, "{dialect}");
        run(&mut link, dialect).await;
        let last = link.data(json!({"type": "get_last_assistant_text"})).await;
        assert_eq!(last["text"], Value::Null, "{dialect}: an answer that ended normally is the last one");
    }
}

#[tokio::test]
async fn a_refusal_that_names_a_broken_connection_is_tried_again_since_pi_1_6() {
    let refused = ["read ECONNRESET", "connect ETIMEDOUT", "write EPIPE", "bad request"];
    for (dialect, retries) in [("pi@1.6", [1, 1, 1, 0]), ("pi@1.5", [0; 4]), ("pi@0.55", [0; 4])] {
        for (text, retries) in refused.into_iter().zip(retries) {
            let script = json!({"responses": [refusal(text)], "default": {"text": "after"}});
            let (mut link, _place) = link(dialect, script);
            let frames = run(&mut link, dialect).await;
            let retry_count = frames.iter().filter(|frame| frame["type"] == "auto_retry_start").count();
            assert_eq!(retry_count, retries, "{dialect}: {text}");
        }
    }
}
