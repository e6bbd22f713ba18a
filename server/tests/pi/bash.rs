//! Tests of commands that the user runs beside the agent.

use std::sync::{Arc, Mutex};

use agentese::types::{AgentMessage, InputBlock, InputContent, Model};
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{Provider, Request, StreamEvent};
use futures::stream::BoxStream;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};
use crate::support::{script, soon};

/// A scripted model that records its requests.
struct RecordingProvider {
    inner: ScriptedProvider,
    requests: Mutex<Vec<Request>>,
}

impl RecordingProvider {
    fn new(answers: Value) -> Arc<Self> {
        Arc::new(Self { inner: ScriptedProvider::from_script(script(answers)), requests: Mutex::default() })
    }

    /// Returns the user's texts in the last request.
    fn texts(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let texts = requests.last().unwrap().messages.iter().filter_map(|message| match &*message {
            AgentMessage::User(message) => match &message.content {
                InputContent::Blocks(blocks) => match &blocks[..] {
                    [InputBlock::Text(block), ..] => Some(block.text.clone()),
                    _ => None,
                },
                InputContent::Text(text) => Some(text.clone()),
            },
            _ => None,
        });
        texts.collect()
    }
}

impl RecordingProvider {
    /// Returns the texts of the tools' results in the last request.
    fn results(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let texts = requests.last().unwrap().messages.iter().filter_map(|message| match &*message {
            AgentMessage::ToolResult(result) => match &result.content[..] {
                [InputBlock::Text(block)] => Some(block.text.clone()),
                _ => None,
            },
            _ => None,
        });
        texts.collect()
    }
}

struct SharedProvider(Arc<RecordingProvider>);

impl Provider for SharedProvider {
    fn name(&self) -> &str {
        self.0.inner.name()
    }
    fn models(&self) -> &[Model] {
        self.0.inner.models()
    }
    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        self.0.requests.lock().unwrap().push(request.clone());
        self.0.inner.stream(request)
    }
}

fn link_with_recording(answers: Value) -> (Link, Arc<RecordingProvider>, tempfile::TempDir) {
    let model = RecordingProvider::new(answers);
    let place = tempfile::tempdir().unwrap();
    let server = agentese_server::Server::builder()
        .cwd(place.path())
        .temp_dir(place.path())
        .with_provider(Arc::new(SharedProvider(model.clone())))
        .build();
    (Link::serving(server), model, place)
}

#[tokio::test]
async fn results_have_the_documented_shape() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let data = link.data(json!({"type": "bash", "command": "echo out; echo err >&2; exit 3"})).await;
    assert_eq!(data, json!({"output": "out\nerr\n", "exitCode": 3, "cancelled": false, "truncated": false}));
    let big = link.data(json!({"type": "bash", "command": "seq 1 5000"})).await;
    assert_eq!(big["truncated"], true);
    let whole = std::fs::read_to_string(big["fullOutputPath"].as_str().unwrap()).unwrap();
    assert_eq!(whole.lines().count(), 5000);
    let killed = link.request(json!({"type": "bash", "command": "echo partial; kill -9 $$"})).await;
    assert_eq!(killed["success"], false);
    assert!(killed["error"].as_str().unwrap().contains("SIGKILL"), "{killed}");
    let messages = link.messages().await;
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0]["role"], "bashExecution");
    assert_eq!((&messages[2]["output"], &messages[2]["cancelled"]), (&json!("partial\n"), &json!(true)));
    // These commands cause no events.
    assert!(link.seen.iter().all(|frame| frame["type"] == "response"));
}

#[tokio::test]
async fn commands_run_side_by_side() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    // Each command can only end while the other one runs.
    let command = |own: &str, other: &str| {
        format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo {own}")
    };
    link.send(json!({"id": "one", "type": "bash", "command": command("one", "two")})).await;
    link.send(json!({"id": "two", "type": "bash", "command": command("two", "one")})).await;
    for _ in 0..2 {
        let answer = link.next().await.unwrap();
        assert_eq!(answer["data"]["output"], format!("{}\n", answer["id"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn abort_bash_stops_only_all_commands() {
    let (mut link, place) = Link::scripted(json!({"responses": [{"hang_after": -1}]}));
    for id in ["one", "two"] {
        let command = format!("echo {id}; touch {id}; exec sleep 1000");
        link.send(json!({"id": id, "type": "bash", "command": command})).await;
    }
    let running = async {
        while !(place.path().join("one").exists() && place.path().join("two").exists()) {
            tokio::task::yield_now().await;
        }
    };
    soon("both to run", running).await;
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("agent_start").await;
    link.send(json!({"id": "stop", "type": "abort_bash"})).await;
    let mut missing = vec!["one", "two", "stop"];
    while !missing.is_empty() {
        let frame = link.next().await.unwrap();
        missing.retain(|id| frame["id"] != *id);
        if frame["id"] == "one" {
            assert_eq!(frame["data"], json!({"output": "one\n", "cancelled": true, "truncated": false}));
        }
    }
    assert_eq!(link.state().await["isStreaming"], true);
    // Later commands are unaffected, and an abort without a running command succeeds as well.
    assert_eq!(link.data(json!({"type": "bash", "command": "echo later"})).await["output"], "later\n");
    link.data(json!({"type": "abort_bash"})).await;
}

#[tokio::test]
async fn abort_does_not_stop_commands() {
    let (mut link, place) = Link::scripted(json!({"responses": []}));
    link.send(
        json!({"id": "b", "type": "bash", "command": "until [ -e go ]; do sleep 0.01; done; echo done"}),
    )
    .await;
    link.data(json!({"type": "abort"})).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(link.answer("b").await["data"]["output"], "done\n");
}

#[tokio::test]
async fn outputs_reach_the_model_with_the_next_prompt() {
    let (mut link, model, _place) = link_with_recording(json!({"responses": [], "default": {"text": "ok"}}));
    link.data(json!({"type": "bash", "command": "echo one"})).await;
    link.data(json!({"type": "bash", "command": "exit 4"})).await;
    assert_eq!(link.state().await["messageCount"], 2);
    let frames = link.run("look").await;
    assert_eq!(
        model.texts(),
        [
            "Ran `echo one`\n```\none\n\n```",
            "Ran `exit 4`\n(no output)\n\nCommand exited with code 4",
            "look"
        ]
    );
    // The commands are not part of the run.
    assert_eq!(frames.last().unwrap()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn commands_during_a_run_are_answered_at_once_and_recorded_before_the_next_prompt() {
    let (mut link, model, _place) = link_with_recording(
        json!({"responses": [{"blocks": [{"text": ["a", "b"]}], "hang_after": 1}], "default": {"text": "ok"}}),
    );
    link.send(json!({"type": "prompt", "message": "first"})).await;
    link.until_event("message_update").await;
    assert_eq!(link.data(json!({"type": "bash", "command": "echo during"})).await["output"], "during\n");
    link.data(json!({"type": "abort"})).await;
    let roles = |messages: &[Value]| {
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&link.messages().await), ["user", "assistant"]);
    link.run("second").await;
    assert_eq!(roles(&link.messages().await), ["user", "assistant", "bashExecution", "user", "assistant"]);
    assert_eq!(model.texts(), ["first", "Ran `echo during`\n```\nduring\n\n```", "second"]);
}

#[tokio::test]
async fn fm_f46_model_history_after_an_abort_is_complete() {
    let (mut link, model, _place) = link_with_recording(json!({"responses": [
        {"blocks": [
            {"tool": {"id": "x", "name": "bash", "args": {"command": "echo on; exec sleep 1000"}}},
            {"tool": {"id": "y", "name": "bash", "args": {"command": "true"}}},
        ]},
        {"blocks": [{"tool": {"id": "z", "name": "bash", "args": ["{\"comm", "and\": \"x\"}"]}}], "hang_after": 1},
    ], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "one"})).await;
    link.until_event("tool_execution_update").await;
    link.data(json!({"type": "abort"})).await;
    link.send(json!({"type": "prompt", "message": "two"})).await;
    link.until("half a call", |frame| frame["assistantMessageEvent"]["type"] == "toolcall_delta").await;
    link.data(json!({"type": "abort"})).await;
    link.run("three").await;
    let requests = model.requests.lock().unwrap();
    let messages: Vec<Value> = requests
        .last()
        .unwrap()
        .messages
        .iter()
        .map(|message| serde_json::to_value(&*message).unwrap())
        .collect();
    let outline: Vec<_> = messages
        .iter()
        .map(|message| message["toolCallId"].as_str().or(message["role"].as_str()).unwrap())
        .collect();
    assert_eq!(outline, ["user", "assistant", "x", "y", "user", "user"]);
    crate::support::trace::check_history(&messages);
}

#[tokio::test]
async fn a_wrong_command_is_refused_and_leaves_nothing() {
    let (builder, _place) = builder(json!({"responses": []}));
    let mut link = Link::serving(builder.build());
    for command in [json!({"type": "bash"}), json!({"type": "bash", "command": 7})] {
        let refused = link.request(command).await;
        assert_eq!(refused["success"], false);
        assert!(refused["error"].as_str().unwrap().contains("command"), "{refused}");
    }
    assert_eq!(link.state().await["messageCount"], 0);
}

#[tokio::test]
async fn model_reads_rendered_output_and_clients_receive_raw_output() {
    let bar = r"echo start; i=0; while [ $i -le 500 ]; do printf '\r\033[2K%d/500 \033[32m###\033[0m' $i; i=$((i+1)); done; echo";
    let commands = [
        (r"printf '\033]0;title\007\033[31mred\033[0m\rover\n'", "over\n"),
        (bar, "start\n500/500 ###\n"),
        (r"printf 'a\n\nb\tc\n'", "a\n\nb\tc\n"),
    ];
    let call = |(number, (command, _)): (usize, &(&str, &str))| json!({"blocks": [{"tool": {"id": format!("c{number}"), "name": "bash", "args": {"command": command}}}]});
    let answers: Vec<_> = commands.iter().enumerate().map(call).collect();
    let (mut link, model, _place) =
        link_with_recording(json!({"responses": answers, "default": {"text": "done"}}));
    let frames = link.run("go").await;
    let expected: Vec<_> = commands.iter().map(|(_, shown)| (*shown).to_owned()).collect();
    assert_eq!(model.results(), expected);
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "\u{1b}]0;title\u{7}\u{1b}[31mred\u{1b}[0m\rover\n");
}
