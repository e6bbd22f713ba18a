//! Event order of an agent that the tests play line by line.

use agentese::transport::memory_pair;
use agentese::types::StopReason;
use agentese_server_base::config::Change;
use agentese_server_base::ui::{self, Ui};
use agentese_server_engine::engine::{Deed, Lead as _, Manner};
use agentese_server_models::StreamEvent;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::*;
use crate::far::{Far, soon};

impl Far {
    async fn answers(&mut self, request: &Value, result: Value) {
        self.says(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    /// Requests permission.
    async fn asks(&mut self, session: &str, id: u64) {
        let call = json!({"toolCallId": "c", "title": "Run it?"});
        let choices = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
        let params = json!({"sessionId": session, "toolCall": call, "options": choices});
        self.says(
            json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )
        .await;
    }

    async fn tells(&mut self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.says(json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).await;
    }
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn ended(reason: &str) -> Value {
    json!({"stopReason": reason})
}

/// Returns the options of a session with that model.
fn options(model: &str) -> Value {
    json!([{"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}])
}

/// Returns an agent that has opened the session `one`.
fn stage() -> (Arc<Behind>, Far) {
    let (near, far) = memory_pair(1 << 22);
    let (peer, heard) = Peer::over(near, Arc::<Heard>::default());
    let told = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}});
    let opened = json!({"sessionId": "one", "configOptions": options("small")});
    let opened = (serde_json::from_value(told).unwrap(), serde_json::from_value(opened).unwrap());
    let agent = Behind::new(peer, heard, opened, Person::new());
    (agent, Far::of(far))
}

/// A user interface that answers every question in the same way.
struct Screen;

impl Ui for Screen {
    fn room(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn show(&self, _: &ui::Notice) {}

    fn ask(&self, dialog: &ui::Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
        let answer = match dialog {
            ui::Dialog::Select(select, _) => ui::Answer::Value(select.options.last()?.clone()),
            ui::Dialog::Confirm(_) => ui::Answer::Confirmed(true),
            ui::Dialog::Input(_) => ui::Answer::Value("moss".to_owned()),
            ui::Dialog::Editor(editor) => ui::Answer::Value(format!("{}!", editor.prefill.as_deref()?)),
        };
        Some(futures::future::ready(Some(answer)).boxed())
    }
}

async fn say(agent: &Behind, words: &str) {
    soon("the words", agent.say(words, &[], Manner::Prompt(None))).await.unwrap();
}

/// Collects deeds until the agent rests.
async fn until_rest(agent: &Behind) -> Vec<Deed> {
    let mut deeds = Vec::new();
    while !matches!(deeds.last(), Some(Deed::Rested { .. })) {
        deeds.push(soon("a deed", agent.next()).await);
    }
    deeds
}

/// Returns the text deltas of the deeds.
fn grown(deeds: &[Deed]) -> String {
    let text = |deed: &Deed| match deed {
        Deed::Grew(StreamEvent::TextDelta(text)) => Some(text.clone()),
        _ => None,
    };
    deeds.iter().filter_map(text).collect()
}

#[tokio::test]
async fn a_session_that_is_begun_during_a_turn_ends_that_turn_first() {
    let (agent, mut far) = stage();
    say(&agent, "hang").await;
    let prompt = far.hears("session/prompt").await;
    say(&agent, "later").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    assert_eq!(far.hears("session/cancel").await["params"]["sessionId"], "one");
    far.tells("one", chunk("so far")).await;
    far.answers(&prompt, ended("cancelled")).await;
    let new = far.hears("session/new").await;
    far.tells("one", chunk("late")).await;
    far.answers(&new, json!({"sessionId": "two"})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    let deeds = until_rest(&agent).await;
    assert_eq!((grown(&deeds), deeds.last()), ("so far".to_owned(), Some(&Deed::Rested { aborted: true })));
    // The queued input belonged to the previous session.
    say(&agent, "next").await;
    let prompt = far.hears("session/prompt").await;
    assert_eq!(
        (&prompt["params"]["sessionId"], &prompt["params"]["prompt"][0]["text"]),
        (&json!("two"), &json!("next"))
    );
    far.tells("one", chunk("later still")).await;
    far.tells("two", chunk("hello")).await;
    far.answers(&prompt, ended("end_turn")).await;
    assert_eq!(grown(&until_rest(&agent).await), "hello");
    assert_eq!(agent.history().await.unwrap(), Some(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_never_ends_keeps_nobody_out_of_another_session() {
    let (agent, mut far) = stage();
    say(&agent, "hang").await;
    let prompt = far.hears("session/prompt").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.switch_session("kept".as_ref()).await }
    });
    far.hears("session/cancel").await;
    let load = far.hears("session/load").await;
    far.tells("one", chunk("late")).await;
    far.tells(
        "kept",
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "before"}}),
    )
    .await;
    far.tells("kept", chunk("said")).await;
    far.answers(&load, json!({})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(agent.history().await.unwrap().unwrap().len(), 2);
    say(&agent, "next").await;
    let next = far.hears("session/prompt").await;
    assert_eq!(next["params"]["sessionId"], "kept");
    // The end of the abandoned turn must not end this turn.
    far.answers(&prompt, ended("end_turn")).await;
    far.tells("kept", chunk("hello")).await;
    far.answers(&next, ended("end_turn")).await;
    assert_eq!(grown(&until_rest(&agent).await), "");
    assert_eq!(grown(&until_rest(&agent).await), "hello");
}

#[tokio::test]
async fn updates_and_questions_of_another_session_are_not_taken() {
    let (agent, mut far) = stage();
    say(&agent, "go").await;
    let prompt = far.hears("session/prompt").await;
    far.tells("other", chunk("not for you")).await;
    far.asks("other", 7).await;
    let answer = far.hears("").await;
    assert_eq!((&answer["id"], &answer["result"]["outcome"]["outcome"]), (&json!(7), &json!("cancelled")));
    far.tells("one", chunk("for you")).await;
    far.answers(&prompt, ended("end_turn")).await;
    let deeds = until_rest(&agent).await;
    assert_eq!(grown(&deeds), "for you");
    assert_eq!(deeds.iter().filter(|deed| matches!(deed, Deed::Answered(_))).count(), 1, "{deeds:#?}");
}

#[tokio::test]
async fn what_is_told_outside_of_a_turn_begins_no_run() {
    let (agent, mut far) = stage();
    far.tells("one", chunk("early")).await;
    far.asks("other", 1).await;
    far.hears("").await;
    for words in ["first", "second"] {
        say(&agent, words).await;
        let prompt = far.hears("session/prompt").await;
        far.tells("one", chunk(words)).await;
        far.answers(&prompt, ended("end_turn")).await;
        far.tells("one", chunk("late")).await;
        far.asks("other", 1).await;
        far.hears("").await;
        let deeds = until_rest(&agent).await;
        assert_eq!((&deeds[0], grown(&deeds)), (&Deed::RunBegan, words.to_owned()));
        let Some(Deed::Answered(answer)) = deeds.iter().rev().nth(2) else { panic!("{deeds:#?}") };
        assert_eq!(answer.stop_reason, StopReason::Stop);
    }
}

#[tokio::test]
async fn what_a_tool_showed_does_not_pile_up_before_a_slow_client() {
    let (agent, mut far) = stage();
    say(&agent, "go").await;
    let prompt = far.hears("session/prompt").await;
    let call = |kind: &str, shown: &str| {
        json!({"sessionUpdate": kind, "toolCallId": "c", "title": "c", "status": "in_progress",
            "content": [{"type": "content", "content": {"type": "text", "text": shown}}]})
    };
    far.tells("one", call("tool_call", "")).await;
    for number in 0..2_000 {
        far.tells("one", call("tool_call_update", &format!("{number} {}", "x".repeat(1_000)))).await;
        far.tells("one", json!({"sessionUpdate": "usage_update", "used": number, "size": 9_000})).await;
    }
    far.answers(&prompt, ended("end_turn")).await;
    // The answer to this request proves that the previous frames were processed.
    far.asks("other", 1).await;
    far.hears("").await;
    let deeds = until_rest(&agent).await;
    let showed: Vec<_> = deeds.iter().filter(|deed| matches!(deed, Deed::ToolShowed(..))).collect();
    assert_eq!(showed.len(), 1, "{}", showed.len());
    assert!(format!("{showed:?}").contains("1999 "));
}

#[tokio::test]
async fn what_is_set_is_with_the_agent_before_the_prompt_that_follows() {
    let (agent, mut far) = stage();
    let model = Change::DefaultModel { provider: "agent".to_owned(), id: "large".to_owned() };
    agent.persist().save(model);
    say(&agent, "go").await;
    let set = far.hears("session/set_config_option").await;
    assert_eq!((&set["params"]["configId"], &set["params"]["value"]), (&json!("model"), &json!("large")));
    far.hears("session/prompt").await;
}

/// Returns the first `count` models and levels among the deeds.
async fn models(agent: &Behind, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        if let Deed::Asks(model) = soon("a model", agent.next()).await {
            told.push(model.id);
        }
    }
    told
}

#[tokio::test]
async fn the_model_that_the_agent_has_is_told() {
    let (agent, mut far) = stage();
    let changed = json!({"sessionUpdate": "config_option_update", "configOptions": options("large")});
    far.tells("one", changed).await;
    assert_eq!(models(&agent, 1).await, ["large"]);
    for model in ["small", "large"] {
        agent.persist().save(Change::DefaultModel { provider: "agent".to_owned(), id: model.to_owned() });
    }
    let (first, second) =
        (far.hears("session/set_config_option").await, far.hears("session/set_config_option").await);
    // Its options in the response to the first request are outdated.
    far.answers(&first, json!({"configOptions": options("small")})).await;
    let refusal = json!({"code": -32603, "message": "no"});
    far.says(json!({"jsonrpc": "2.0", "id": second["id"], "error": refusal})).await;
    assert_eq!(models(&agent, 1).await, ["small"]);
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = far.hears("session/new").await;
    let commands = json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": "Plans."}]});
    far.tells("two", commands).await;
    far.answers(&new, json!({"sessionId": "two", "configOptions": options("large")})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(models(&agent, 1).await, ["large"]);
    assert_eq!(agent.session().await.elsewhere.id.as_deref(), Some("two"));
    assert_eq!(agent.commands().await[0].name, "plan");
}

#[tokio::test]
async fn forms_are_asked_member_by_member() {
    let (agent, mut far) = stage();
    agent.connect(Arc::new(Screen));
    let fields = json!({"go": {"type": "boolean"}, "name": {"type": "string"},
        "text": {"type": "string", "default": "hi"}, "way": {"type": "string", "enum": ["left", "right"]}});
    let schema = json!({"type": "object", "properties": fields});
    for (session, mode, action) in
        [("one", "form", "accept"), ("other", "form", "cancel"), ("one", "url", "cancel")]
    {
        let params =
            json!({"sessionId": session, "mode": mode, "message": "Where?", "requestedSchema": schema});
        far.says(json!({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": params})).await;
        let answer = far.hears("").await;
        assert_eq!(answer["result"]["action"], action, "{answer}");
        if action == "accept" {
            let content = json!({"go": true, "name": "moss", "text": "hi!", "way": "right"});
            assert_eq!(answer["result"]["content"], content);
        }
    }
}

#[tokio::test]
async fn what_waits_when_a_turn_is_stopped_waits_for_the_next_prompt() {
    let (agent, mut far) = stage();
    say(&agent, "hang").await;
    let prompt = far.hears("session/prompt").await;
    say(&agent, "waits").await;
    agent.abort().await;
    far.hears("session/cancel").await;
    far.answers(&prompt, ended("cancelled")).await;
    until_rest(&agent).await;
    say(&agent, "next").await;
    for words in ["next", "waits"] {
        let prompt = far.hears("session/prompt").await;
        assert_eq!(prompt["params"]["prompt"][0]["text"], words);
        far.answers(&prompt, ended("end_turn")).await;
    }
    let runs = until_rest(&agent).await.into_iter().filter(|deed| *deed == Deed::RunBegan).count();
    assert_eq!(runs, 2);
}

#[tokio::test]
async fn images_go_to_agents_that_take_them() {
    let (agent, _far) = stage();
    let image = [agentese::types::ImageContent::new("aGk=", "image/png")];
    let refused = soon("the words", agent.say("look", &image, Manner::Prompt(None))).await;
    assert_eq!(refused, Err("the agent takes no images".to_owned()));
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_told_why() {
    let (_agent, mut far) = stage();
    let params = json!({"sessionId": 3});
    far.says(json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params}))
        .await;
    let answer = far.hears("").await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    far.says(json!({"jsonrpc": "2.0", "id": 8, "method": "no/such", "params": {}})).await;
    assert_eq!(far.hears("").await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_answered_is_taken_back() {
    let (agent, mut far) = stage();
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = far.hears("session/new").await;
    assert_eq!(far.hears("$/cancel_request").await["params"]["requestId"], new["id"]);
    let trouble = soon("the trouble", moving).await.unwrap().unwrap_err();
    assert!(trouble.contains("did not answer `session/new`"), "{trouble}");
    // A late response changes nothing.
    far.answers(&new, json!({"sessionId": "two"})).await;
    say(&agent, "go").await;
    assert_eq!(far.hears("session/prompt").await["params"]["sessionId"], "one");
}
