//! Tests with the published Operator program and a pi client.

use std::sync::{Arc, Mutex};

use agentese::any::{Agent, Answer, Event, Intent, Question, QuestionHandler};
use agentese::view::ToolState;
use futures::FutureExt;
use serde_json::{Value, json};

use super::live_operator::{COMMAND, KEY};
use super::raw_client::RawClient;
use super::{Pair, dismiss_all, run_prompt, soon};

/// Returns the arguments of a bridge to the agent; `from` is its dialect, if named.
fn bridge_arguments(pair: &Pair, from: Option<&str>) -> Vec<String> {
    let report = pair.report();
    let mut words = vec!["bridge", "--to", "pi", "--report", report.to_str().unwrap()];
    words.extend(from.iter().flat_map(|from| ["--from", from]));
    words.push("--");
    words.extend(COMMAND);
    words.into_iter().map(str::to_owned).collect()
}

/// Connects a client to the bridge.
async fn bridge(from: Option<&str>, handler: impl QuestionHandler) -> (Agent, Pair) {
    let pair = Pair::new("pi", "operator");
    (pair.connect_with(bridge_arguments(&pair, from), handler).await, pair)
}

#[tokio::test]
async fn a_live_operator_works_behind_a_front_of_pi() {
    for from in [Some("operator@live"), Some("operator"), None] {
        let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
        let heard = asked.clone();
        let handler = move |question: Question| {
            let chosen = question.options.first().cloned();
            heard.lock().unwrap().push(question);
            async { chosen.map(Answer::Text) }.boxed()
        };
        let (agent, pair) = bridge(from, handler).await;
        let (text, events) = run_prompt(&agent, "hello").await;
        assert_eq!(text, "Hello there.", "{from:?}");
        let grown = events.iter().filter_map(|event| match event {
            Event::TextGrew { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert!(grown.collect::<String>().ends_with("Hello there."), "{from:?}: {events:#?}");

        let (text, events) = run_prompt(&agent, "tool retry").await;
        assert_eq!(text, "Hello there.", "{from:?}");
        let done = |event: &Event| matches!(event, Event::ToolEnded { state: ToolState::Done, result, .. } if format!("{result:?}").contains("out"));
        assert!(events.iter().any(done), "{from:?}: {events:#?}");

        assert_eq!(run_prompt(&agent, "ask").await.0, "You said left.", "{from:?}");
        assert_eq!(asked.lock().unwrap()[0].title, "Which one?", "{from:?}");

        let mut run = soon("the prompt", agent.prompt("wait")).await.unwrap();
        while !matches!(
            soon("its answer", run.next()).await,
            Some(Ok(Event::MessageStarted { .. }) | Err(_)) | None
        ) {}
        soon("the abort", agent.abort()).await.unwrap();
        let _ = soon("the end", run.result()).await;
        assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there.", "{from:?}");
        soon("the end", agent.close()).await;
        let report = std::fs::read_to_string(pair.report()).unwrap();
        assert!(!report.contains(KEY), "{from:?}: {report}");
    }
}

#[tokio::test]
async fn the_key_of_a_live_operator_stays_behind_the_bridge() {
    for from in [Some("operator@live"), Some("operator"), None] {
        let pair = Pair::new("pi", "operator");
        let mut client = RawClient::of(pair.command_with(bridge_arguments(&pair, from)));
        for (prompt, runs) in [("hello", 1), ("tool retry", 2), ("fail", 1)] {
            client.send(json!({"type": "prompt", "message": prompt})).await;
            for _ in 0..runs {
                client.until("agent_end").await;
            }
        }
        let all = client.disconnect().await;
        assert!(all.contains("Hello there.") && all.contains("no such model"), "{from:?}: {all}");
        assert!(!all.contains(KEY), "{from:?}: {all}");
    }
}

/// Commands of pi change settings that only the published agent has.
#[tokio::test]
async fn settings_of_a_live_operator_are_set_through_the_front() {
    let (agent, pair) = bridge(Some("operator@live"), dismiss_all).await;
    run_prompt(&agent, "hello").await;
    soon("the name", agent.set_session_name("One")).await.unwrap();
    soon("the level", agent.set_thinking("high")).await.unwrap();
    soon("the setting", agent.set_auto_compaction(true)).await.unwrap();
    assert!(agent.supports(Intent::Messages));
    let messages = soon("the messages", agent.messages()).await.unwrap();
    assert_eq!(messages.last().unwrap().text(), "Hello there.");
    // The agent's answer contains its own settings.
    assert_eq!(run_prompt(&agent, "given").await.0, "Name One, level high, compaction True.");
    soon("another name", agent.set_session_name("Two")).await.unwrap();
    soon("another level", agent.set_thinking("low")).await.unwrap();
    soon("another setting", agent.set_auto_compaction(false)).await.unwrap();
    assert_eq!(run_prompt(&agent, "given").await.0, "Name Two, level low, compaction False.");
    soon("the end", agent.close()).await;
    let report: Value = serde_json::from_str(&std::fs::read_to_string(pair.report()).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let of = |row: &str| {
        rows.iter().find(|told| told["row"] == row).unwrap_or_else(|| panic!("{row}: {report:#}"))
    };
    for row in ["set_session_name", "set_thinking_level", "set_auto_compaction"] {
        assert_eq!((&of(row)["fate"] == "lost", &of(row)["count"]), (false, &json!(2)), "{row}: {report:#}");
    }
}

/// The agent accepts a model but continues with its own, so the bridge rejects the change.
#[tokio::test]
async fn an_unsupported_model_of_a_live_operator_is_rejected() {
    let (agent, _pair) = bridge(Some("operator@live"), dismiss_all).await;
    let refused = soon("the model", agent.set_model("openai", "gpt-x")).await.unwrap_err().to_string();
    assert!(refused.contains("the agent's model cannot be changed"), "{refused}");
    soon("the end", agent.close()).await;
}
