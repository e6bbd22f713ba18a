//! Tests of all four APIs against a third-party mock.
//!
//! `npm ci` in `server/tests/aimock` installs it; `make test` runs it.

use std::path::Path;
use std::process::Stdio;

use agentese::types::AssistantBlock;
use agentese_server::Server;
use agentese_server::providers::{Answer, Assembler, ProviderErrorKind, StreamEvent};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::served::link::Link;
use crate::served::trace::{check_history, outline};
use crate::support::{APIS, TestHome, answer_events, definition, model, question, soon, text};

/// A mock server. It ends when its stdin is closed, at the latest when this value is dropped.
struct Mock {
    _child: Child,
    port: u16,
}

impl Mock {
    async fn start() -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aimock");
        assert!(
            directory.join("node_modules/@copilotkit/aimock").is_dir(),
            "the mock is not set up: run `make test-providers-setup` (npm ci in server/tests/aimock)"
        );
        let mut child = Command::new("node")
            .arg("serve.mjs")
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node is there");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = soon(lines.next_line()).await.unwrap().expect("the mock prints its port");
        Self { port: line.trim().parse().expect("the mock prints its port"), _child: child }
    }

    fn url(&self, api: &str) -> String {
        let path = match api {
            "anthropic-messages" => "",
            "google-generative-ai" => "/v1beta",
            _ => "/v1",
        };
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

async fn answer(mock: &Mock, api: &str, text: &str) -> (Answer, Vec<StreamEvent>) {
    let (catalog, warnings) = TestHome::with_models(definition(api, &mock.url(api))).load();
    assert_eq!(warnings, []);
    let model = model(&catalog);
    let events = answer_events(&catalog, question(model.clone(), text)).await;
    let mut assembler = Assembler::new(&model, 1);
    for event in &events {
        match event {
            StreamEvent::Done(reason) => return (assembler.done(*reason), events.clone()),
            StreamEvent::Error(failure) => return (assembler.failed(failure.clone()), events.clone()),
            event => drop(assembler.apply(event.clone())),
        }
    }
    panic!("the answer does not end: {events:?}");
}

#[tokio::test]
async fn all_apis_work_with_a_third_party_mock() {
    let mock = Mock::start().await;
    for api in APIS {
        let (_, events) = answer(&mock, api, "say it").await;
        assert_eq!(text(&events), "Good morning, ö.", "{api}");
        let deltas = events.iter().filter(|event| matches!(event, StreamEvent::TextDelta(_))).count();
        assert!(deltas > 1, "{api} streams");

        let (called, _) = answer(&mock, api, "call it").await;
        let calls = called.message.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some((call.name.as_str(), json!(call.arguments))),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        assert_eq!(calls, [("bash", json!({"command": "ls -l"})), ("bash", json!({}))], "{api}");
        assert_eq!(called.message.stop_reason.as_str(), "toolUse", "{api}");

        let (thought, events) = answer(&mock, api, "think it").await;
        let thinking = thought.message.content.iter().find_map(|block| match block {
            AssistantBlock::Thinking(block) => Some(block.thinking.as_str()),
            _ => None,
        });
        assert_eq!((thinking, text(&events).as_str()), (Some("Let me think."), "Forty-two."), "{api}");

        let (failed, _) = answer(&mock, api, "fail it").await;
        let failure = failed.error.expect("a failure");
        assert_eq!(failure.kind, ProviderErrorKind::BadRequest, "{api}");
        assert!(
            failure.text.starts_with("400 ") && failure.text.contains("Mocked refusal"),
            "{}",
            failure.text
        );
    }
}

/// Returns the content of a message without values that differ between APIs: ids, usage, signatures, times.
fn neutral_content(message: &Value) -> Value {
    let block = |block: &Value| match block["type"].as_str() {
        Some("toolCall") => json!([block["name"], block["arguments"]]),
        Some("thinking") => json!([block["thinking"]]),
        _ => block["text"].clone(),
    };
    // In one of its formats, the mock sends empty thinking by default.
    let is_thought_of_nothing = |block: &&Value| block["thinking"] == "";
    let blocks = message["content"].as_array().unwrap().iter();
    let blocks: Vec<_> = blocks.filter(|block| !is_thought_of_nothing(block)).map(block).collect();
    json!([message["role"], message["stopReason"], blocks])
}

#[tokio::test]
async fn agent_sends_the_same_events_for_all_apis() {
    let mock = Mock::start().await;
    let mut stories = Vec::new();
    for api in APIS {
        let (catalog, _) = TestHome::with_models(definition(api, &mock.url(api))).load();
        let name = model(&catalog);
        let place = tempfile::tempdir().unwrap();
        let builder = Server::builder().cwd(place.path()).temp_dir(place.path());
        let builder = builder.catalog(catalog).model(format!("{}/{}", name.provider, name.id));
        let mut link = Link::serving(builder.build());
        let mut story = Vec::new();
        for prompt in ["work it", "say it", "think it", "fail it"] {
            let frames = link.run(prompt).await;
            let messages = frames.last().unwrap()["messages"].as_array().unwrap();
            story.push((outline(&frames), messages.iter().map(neutral_content).collect::<Vec<_>>()));
        }
        check_history(&link.messages().await);
        stories.push((api, story));
    }
    let (_, first) = &stories[0];
    assert_eq!(first[0].1[2], json!(["toolResult", null, ["done by hand\n"]]));
    assert_eq!(first[3].1[1][1], "error");
    for (api, story) in &stories {
        assert_eq!(story, first, "{api}");
    }
}
