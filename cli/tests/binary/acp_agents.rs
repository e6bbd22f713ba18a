//! Agents of ACP behind `agentese call`, `agentese web` and a bridge without `--from`.

use agentese::any::{Agent, Options};
use agentese::view::Role;
use agentese::{ChildOptions, Error, pi, websocket};
use serde_json::{Value, json};

use super::any::child_of;
use super::web_client::Web;
use crate::support::process::Place;
use crate::support::{LONG, agentese};

/// Path of an ACP agent that is not made of agentese.
const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/foreign_acp_agent.py");

/// Instruction in the errors about agents that need a bridge.
const INSTRUCTION: &str = "agentese bridge --to pi@1.5 --from acp --";

/// Runs `agentese call` against the foreign agent. Returns stdout and stderr.
fn call(words: &[&str]) -> (Option<i32>, String, String) {
    let (status, stdout, stderr) =
        Place::new().output(&[&["call"], words, &["--", "python3", FOREIGN]].concat());
    (status.code(), stdout, stderr)
}

#[test]
fn a_call_prompts_an_agent_of_acp() {
    let (code, stdout, stderr) = call(&["--dialect", "acp", "prompt", "--message", "Hello"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "You wrote: Hello\n"), "{stderr}");
    let place = Place::new();
    let (program, script) = (agentese(), place.script(json!({"responses": [{"text": "Here."}]})));
    let agent = ["--", program.to_str().unwrap(), "--mode", "acp", "--script", &script];
    let words = ["call", "--dialect", "acp", "--output", "json", "prompt", "--message", "Hello"];
    let (status, stdout, stderr) = place.output(&[&words[..], &agent].concat());
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["text"], "Here.");
}

#[test]
fn a_call_answers_a_permission_that_shows_the_change() {
    let prompt = ["prompt", "--message", "edit"];
    let answer = ["--answer", r#"select={"value":"Allow once"}"#];
    for (words, expected) in [(&answer[..], "Changed.\n"), (&[], "Kept.\n")] {
        let (code, stdout, stderr) = call(&[&["--dialect", "acp"], words, &prompt].concat());
        assert_eq!((code, stdout.as_str()), (Some(0), expected), "{stderr}");
        for line in ["- old line", "+ new line", "/work/a.txt"] {
            assert!(stderr.contains(line), "{line} is not in {stderr}");
        }
    }
}

#[test]
fn a_call_of_acp_has_the_commands_of_its_bridge() {
    let (code, help, _) = call(&["--dialect", "acp", "--help"]);
    assert_eq!(code, Some(0));
    let (_, of_front, _) = call(&["--dialect", "pi@1.5", "--help"]);
    assert!(help == of_front && help.contains("get_state"), "{help}");
    let (code, state, stderr) = call(&["--dialect", "acp", "get_state"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&state).unwrap()["sessionId"], "s1");
    let (code, _, stderr) = call(&["--dialect", "acp", "bash", "--command", "ls"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("acp"), "{stderr}");
}

#[test]
fn a_call_of_another_dialect_explains_the_bridge() {
    let (code, _, stderr) = call(&["get_state"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains(INSTRUCTION), "{stderr}");
}

#[tokio::test]
async fn the_page_shows_an_agent_of_acp() {
    let place = Place::new();
    let web = Web::start_with(&place, "acp", &["python3", FOREIGN]);
    let talk = async {
        let client = pi::Client::connect(websocket::connect(&web.address).await.unwrap());
        client.prompt("Hello").await.unwrap().result().await.unwrap();
        client.get_messages().await.unwrap()
    };
    let messages = tokio::time::timeout(LONG, talk).await.unwrap().messages;
    assert!(serde_json::to_string(&messages).unwrap().contains("You wrote: Hello"), "{messages:?}");
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("takes too long")
}

#[tokio::test]
async fn detection_finds_agents_of_acp_and_explains_the_bridge() {
    let place = Place::new();
    let script = place.script(json!({"responses": []}));
    let own = child_of(&place, &["--mode", "acp", "--script", &script]);
    for child in [ChildOptions::new("python3").arg(FOREIGN), own] {
        let error = within(Agent::spawn(child.clone(), Options::new())).await.unwrap_err();
        assert!(matches!(error, Error::BridgeNeeded { .. }), "{error}");
        assert!(error.to_string().contains(INSTRUCTION), "{error}");
        for name in ["acp", "acp@1"] {
            let named = Agent::spawn(child.clone(), Options::new().dialect(name)).await.unwrap_err();
            assert!(matches!(named, Error::BridgeNeeded { .. }), "{named}");
        }
    }
}

#[tokio::test]
async fn a_bridge_detects_an_agent_of_acp() {
    let place = Place::new();
    let words = ["bridge", "--to", "pi@1.5", "--", "python3", FOREIGN];
    let named = Options::new().dialect("pi@1.5");
    let agent = within(Agent::spawn(child_of(&place, &words), named)).await.unwrap();
    let run = within(agent.prompt("Hello")).await.unwrap();
    assert_eq!(within(run.result()).await.unwrap().text(), "You wrote: Hello");
    assert!(within(agent.open_session("old")).await.unwrap());
    let messages = within(agent.messages()).await.unwrap();
    let of_user = messages.iter().filter(|message| message.role == Role::User);
    let texts: Vec<_> = of_user.map(|message| message.text()).collect();
    assert_eq!(texts, ["First words.", "Second words."]);
    within(agent.close()).await;
}
