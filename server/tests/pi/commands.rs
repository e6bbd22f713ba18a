//! Tests of commands that start no run.

use agentese_server::Server;
use serde_json::{Value, json};

use crate::support::link::Link;

#[tokio::test]
async fn the_state_of_a_fresh_agent() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let state = link.state().await;
    assert_eq!(
        state,
        json!({
            "model": state["model"], "thinkingLevel": "medium", "isStreaming": false, "isCompacting": false,
            "steeringMode": "one-at-a-time", "followUpMode": "one-at-a-time", "sessionId": state["sessionId"],
            "autoCompactionEnabled": true, "messageCount": 0, "pendingMessageCount": 0,
        })
    );
    assert_eq!(state["model"]["provider"], "scripted");
    assert_eq!(link.messages().await, Vec::<Value>::new());
    let text = link.data(json!({"type": "get_last_assistant_text"})).await;
    assert_eq!(text, json!({"text": null}));
}

#[tokio::test]
async fn a_session_is_named_until_the_next_one() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    for name in ["", " \n\t"] {
        let refused = link.request(json!({"type": "set_session_name", "name": name})).await;
        assert_eq!(refused["error"], "Session name cannot be empty");
    }
    assert_eq!(link.state().await.get("sessionName"), None);
    link.data(json!({"type": "set_session_name", "name": "  my work "})).await;
    assert_eq!(link.state().await["sessionName"], "my work");
    link.data(json!({"type": "new_session"})).await;
    assert_eq!(link.state().await.get("sessionName"), None);
}

#[tokio::test]
async fn models_and_levels() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let models = link.data(json!({"type": "get_available_models"})).await;
    let model = models["models"][0].clone();
    assert_eq!(models["models"].as_array().unwrap().len(), 1);
    let set = link.data(json!({"type": "set_model", "provider": "scripted", "modelId": "scripted"})).await;
    assert_eq!(set, model);
    let refused = link.request(json!({"type": "set_model", "provider": "no", "modelId": "such"})).await;
    assert_eq!(refused["error"], "Model not found: no/such");
    let cycled = link.request(json!({"type": "cycle_model"})).await;
    assert_eq!(cycled.get("data"), Some(&Value::Null));
    link.data(json!({"type": "set_thinking_level", "level": "xhigh"})).await;
    assert_eq!(link.state().await["thinkingLevel"], "high");
    let next = link.data(json!({"type": "cycle_thinking_level"})).await;
    assert_eq!(next, json!({"level": "off"}));
}

#[tokio::test]
async fn nothing_can_be_invoked_by_name() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    assert_eq!(link.data(json!({"type": "get_commands"})).await, json!({"commands": []}));
}

#[tokio::test]
async fn without_a_model_it_serves_and_refuses_prompts() {
    let mut link = Link::serving(Server::builder().model("nosuch/model").build());
    assert_eq!(link.state().await["model"], Value::Null);
    let refused = link.request(json!({"type": "prompt", "message": "hi"})).await;
    assert_eq!(
        refused["error"],
        "No model is selected: Model \"nosuch/model\" not found. Use --list-models to see available models."
    );
    assert!(link.messages().await.is_empty());
    // A model can be selected.
    link.data(json!({"type": "set_model", "provider": "scripted", "modelId": "scripted"})).await;
    let place = link.data(json!({"type": "bash", "command": "pwd"})).await;
    assert_eq!(place["exitCode"], 0);
}

#[tokio::test]
async fn built_in_plan_describes_the_directory() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().file_name().unwrap().to_str().unwrap().to_owned();
    let server = || Server::builder().cwd(place.path()).build();
    // Empty directory.
    let mut link = Link::serving(server());
    link.run("What is here?").await;
    let text = |data: Value| data["text"].as_str().unwrap().to_owned();
    let answer = text(link.data(json!({"type": "get_last_assistant_text"})).await);
    assert!(answer.contains("“What is here?”") && answer.contains("is an empty directory."), "{answer}");
    // Small project.
    std::fs::create_dir(place.path().join("src")).unwrap();
    std::fs::write(place.path().join("src/main.rs"), "fn main() {}\n").unwrap();
    std::fs::write(place.path().join("README.md"), "# The Thing\n\nIt does what it does. And more.\n")
        .unwrap();
    std::fs::write(place.path().join("Cargo.toml"), "[package]\nname = \"thing\"\n").unwrap();
    std::fs::write(place.path().join("a b.txt"), "").unwrap();
    let frames = link.run("And now?").await;
    let tools: Vec<_> = frames
        .iter()
        .filter(|frame| frame["type"] == "tool_execution_start")
        .map(|frame| frame["toolName"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["bash", "read", "read"]);
    let thinking = frames.iter().any(|frame| frame["assistantMessageEvent"]["type"] == "thinking_delta");
    assert!(thinking);
    let answer = text(link.data(json!({"type": "get_last_assistant_text"})).await);
    for part in [
        "“And now?”",
        "**The Thing**",
        &name,
        "It does what it does.",
        "1 folder (`src/`) and 3 files (`Cargo.toml`, `README.md`, `a b.txt`)",
        "4 files in 2 folders",
        "Rust (1)",
        "`Cargo.toml` names the project “thing”",
    ] {
        assert!(answer.contains(part), "{part}\n---\n{answer}");
    }
    // Without thinking and without tools.
    link.data(json!({"type": "set_thinking_level", "level": "off"})).await;
    let frames = link.run("Quietly").await;
    assert!(!frames.iter().any(|frame| frame["assistantMessageEvent"]["type"] == "thinking_delta"));
    let bare = Server::builder().cwd(place.path()).tools(agentese_server::tools::ToolSet::none()).build();
    let mut link = Link::serving(bare);
    link.run("Anything?").await;
    let answer = text(link.data(json!({"type": "get_last_assistant_text"})).await);
    assert!(answer.contains("no tool to look with"), "{answer}");
}
