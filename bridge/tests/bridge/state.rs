//! Tests of the state that the client receives: name and thinking level of the session, and queued input.

use agentese::any::{Event, Intent};
use agentese::view::{Block, MessageState, Role};
use serde_json::json;

use super::{Pair, dismiss_all, run_prompt, soon};

/// The bridge sends held prompts one after the other to an agent without queues. Steering input precedes
/// other input, as in an agent with queues.
#[tokio::test]
async fn held_input_is_reported_once_and_steering_is_sent_first() {
    let pair = Pair::new("pi", "operator");
    let agent = pair.connect(dismiss_all).await;
    let mut run = soon("the prompt", agent.prompt("slow")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    for words in ["hello", "Not asked for"] {
        soon("the input", agent.follow_up(words)).await.unwrap();
    }
    soon("the input", agent.steer("second")).await.unwrap();
    soon("the end", run.result()).await.unwrap();
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let told: Vec<(Role, String)> = messages.iter().map(|one| (one.role, one.text())).collect();
    let words = [
        (Role::User, "slow"),
        (Role::Assistant, "abcdef"),
        (Role::User, "second"),
        (Role::Assistant, "To the second."),
        (Role::User, "hello"),
        (Role::Assistant, "Hello there"),
        (Role::User, "Not asked for"),
        (Role::Assistant, "Not asked for."),
    ];
    assert_eq!(told, words.map(|(role, text)| (role, text.to_owned())));
    soon("the end", agent.close()).await;
}

/// Opal agents drop an aborted answer, so the bridge itself reports that the answer was aborted.
#[tokio::test]
async fn a_stopped_answer_is_reported_as_aborted() {
    let pair = Pair::new("pi", "opal");
    let agent = pair.connect(dismiss_all).await;
    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    soon("the abort", agent.abort()).await.unwrap();
    let _ = soon("the end", run.result()).await;
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let stopped = messages.last().unwrap();
    assert_eq!((stopped.state, stopped.text().as_str()), (MessageState::Aborted, "so far "), "{stopped:?}");
    soon("the end", agent.close()).await;
}

/// Agents of Opal report the tokens of the session on request, but not those of an answer.
#[tokio::test]
async fn session_tokens_are_those_of_the_agent() {
    for behind in ["opal", "omp"] {
        let pair = Pair::new("pi", behind);
        let script = json!({"responses": [{"text": "Hi.", "usage": {"input": 120, "output": 8}}]});
        std::fs::write(pair.place.path().join("script.json"), script.to_string()).unwrap();
        let agent = pair.connect(dismiss_all).await;
        run_prompt(&agent, "hello").await;
        let told = soon("the statistics", agent.stats()).await.unwrap().usage;
        assert_eq!((told.input, told.output, told.total), (Some(120), Some(8), Some(128)), "{behind}");
        soon("the end", agent.close()).await;
    }
}

/// Opal clients cannot set the delivery of queued input. The bridge sets it for them, and restores the agent's setting
/// after the client disconnects.
#[tokio::test]
async fn the_follow_up_mode_is_restored_when_an_opal_client_disconnects() {
    for behind in ["pi", "omp", "pisces"] {
        let pair = Pair::new("opal", behind);
        let client = pair.connect(dismiss_all).await;
        let mut run = soon("the prompt", client.prompt("slow")).await.unwrap();
        while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None)
        {
        }
        for words in ["hello", "second"] {
            soon("the input", client.follow_up(words)).await.unwrap();
        }
        soon("the end of the run", run.result()).await.unwrap();
        // The agent read all queued input at once, and gave a single answer.
        let messages = soon("the messages", client.messages()).await.unwrap();
        let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
        let wanted = [Role::User, Role::Assistant, Role::User, Role::User, Role::Assistant];
        assert_eq!(roles, wanted, "{behind}: {messages:#?}");
        soon("the end", client.close()).await;
        let words = ["--mode", "rpc", "--dialect", behind, "--no-session"].map(str::to_owned);
        let agent = pair.agent(behind, words.into(), dismiss_all).await;
        let state = soon("the state", agent.state()).await.unwrap();
        assert_eq!(state.settings["followUpMode"], "one-at-a-time", "{behind}");
        soon("the end", agent.close()).await;
    }
}

/// Opal agents announce the calls of an answer only after that answer, but the client receives an answer with
/// its calls.
#[tokio::test]
async fn an_answer_has_its_calls() {
    let pair = Pair::new("pi", "opal");
    let agent = pair.connect(dismiss_all).await;
    run_prompt(&agent, "tool").await;
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant], "{messages:#?}");
    let calls = messages[1].blocks.iter().filter_map(|block| match block {
        Block::Tool(tool) => Some((tool.call_id.as_str(), tool.name.as_str())),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [("c1", "shell")]);
    soon("the end", agent.close()).await;
}

/// After the client has set a new name, the agent may still report an old one.
#[tokio::test]
async fn the_name_that_was_set_last_stays() {
    let pair = Pair::new("pi", "pisces");
    let agent = pair.connect(dismiss_all).await;
    let names = (0..40).map(|number| format!("name {number}"));
    for name in names.chain(["  padded  ".to_owned()]) {
        soon("the name", agent.set_session_name(&name)).await.unwrap();
        let state = soon("the state", agent.state()).await.unwrap();
        assert_eq!(state.session.name.as_deref(), Some(name.trim()));
    }
    // The name stays the same after the agent has reported all names.
    soon("the prompt", soon("the prompt", agent.prompt("hello")).await.unwrap().result()).await.unwrap();
    let state = soon("the state", agent.state()).await.unwrap();
    assert_eq!(state.session.name.as_deref(), Some("padded"));
    soon("the end", agent.close()).await;
}

/// When the client opens a session, it receives the thinking level and the model of that session.
#[tokio::test]
async fn an_opened_session_reports_its_level_and_model() {
    for behind in ["omp", "pisces"] {
        let mut pair = Pair::new("pi", behind);
        let model = |id: &str| {
            json!({
                "id": id, "name": id, "reasoning": true, "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
                "cost": {"input": 1, "output": 2, "cacheRead": 0.5, "cacheWrite": 0.25},
            })
        };
        let models = json!({"providers": {"loopback": {
            "baseUrl": "http://127.0.0.1:9", "auth": "none", "api": "openai-completions",
            "models": [model("one"), model("two")],
        }}});
        let folder = pair.place.path().join("home/.omp/agent");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("models.yml"), models.to_string()).unwrap();
        pair.agent_arguments = ["--model", "loopback/one"].map(str::to_owned).into();
        pair.scripted = false;
        let time = "2026-01-02T03:04:05.678Z";
        let entries = [
            json!({"type": "session", "version": 3, "id": "11111111-2222-3333-4444-555555555555", "timestamp": time, "cwd": "/"}),
            json!({"type": "model_change", "id": "a1", "parentId": null, "timestamp": time, "model": "loopback/two",
                "provider": "loopback", "modelId": "two"}),
            json!({"type": "thinking_level_change", "id": "a2", "parentId": "a1", "timestamp": time, "thinkingLevel": "low"}),
            json!({"type": "message", "id": "a3", "parentId": "a2", "timestamp": time,
                "message": {"role": "user", "content": "before", "timestamp": 1}}),
        ];
        let kept = pair.place.path().join("kept.jsonl");
        std::fs::write(&kept, entries.map(|entry| format!("{entry}\n")).concat()).unwrap();

        let agent = pair.connect(dismiss_all).await;
        assert!(agent.supports(Intent::State), "{behind}");
        soon("the level", agent.set_thinking("high")).await.unwrap();
        let before = soon("the state", agent.state()).await.unwrap();
        assert_eq!(before.thinking_level.as_deref(), Some("high"), "{behind}");
        assert!(soon("the session", agent.open_session(kept.to_str().unwrap())).await.unwrap(), "{behind}");
        let state = soon("the state", agent.state()).await.unwrap();
        assert_eq!(state.messages, Some(1), "{behind}");
        assert_eq!(state.thinking_level.as_deref(), Some("low"), "{behind}");
        assert_eq!(state.model.unwrap().id, "two", "{behind}");
        soon("the end", agent.close()).await;
    }
}
