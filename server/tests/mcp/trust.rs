//! Tests of servers that a working directory defines.

use serde_json::{Value, json};

use crate::harness::{calling, command, finish, run, texts, zoo};
use crate::support::process::{Agent, Place};

const QUESTION: &str = "extension_ui_request";

/// Creates a working directory that defines a server. The server records its starts.
fn repository(path: &str) -> (Place, std::path::PathBuf) {
    let place = Place::new();
    let pids = place.work().parent().unwrap().join("pids");
    place.put(
        &format!("work/{path}"),
        json!({"servers": {"zoo": zoo(&["--pid", pids.to_str().unwrap()])}}).to_string(),
    );
    (place, pids)
}

fn start(place: &Place, options: &[&str]) -> Agent {
    let calls = [("echo", json!({"text": "trusted"})), ("bash", json!({"command": "echo end"}))];
    Agent::start(command(place, json!({}), json!({}), calling(&calls), options))
}

/// Answers the question of the agent about trust in the directory.
fn answer(agent: &mut Agent, answer: &str) -> Value {
    agent.send(json!({"type": "prompt", "message": "go"}));
    let question = agent.until_event(QUESTION).pop().unwrap();
    agent.send(json!({"type": "extension_ui_response", "id": question["id"], "value": answer}));
    question
}

#[test]
fn fm_f116_a_server_of_the_directory_is_never_started_without_trust() {
    for path in [".mcp.json", ".vscode/mcp.json", ".github/mcp.json", ".opal/mcp.json"] {
        let (place, pids) = repository(path);
        let mut agent = start(&place, &[]);
        let question = answer(&mut agent, "Do not trust it");
        assert!(question["title"].as_str().unwrap().contains(&format!("It contains {path}.")), "{question}");
        let frames = agent.until_event("agent_end");
        assert_eq!(texts(&frames), ["Tool echo not found", "end\n"]);
        let stderr = finish(agent);
        assert!(
            stderr.contains(&format!("{path} is not read because the directory is not trusted")),
            "{stderr}"
        );
        assert!(!pids.exists(), "{path} was obeyed");
    }
    let (place, pids) = repository(".mcp.json");
    let mut agent = start(&place, &["--no-trust"]);
    assert_eq!(texts(&run(&mut agent))[0], "Tool echo not found");
    finish(agent);
    assert!(!pids.exists());
}

#[test]
fn fm_f116_a_yes_starts_it_for_the_prompt_that_waits() {
    let (place, pids) = repository(".mcp.json");
    let mut agent = start(&place, &[]);
    answer(&mut agent, "Trust it for now");
    let frames = agent.until_event("agent_end");
    assert_eq!(texts(&frames), ["zoo: trusted", "end\n"]);
    finish(agent);
    assert!(pids.exists());
    let (place, _) = repository(".vscode/mcp.json");
    let mut agent = start(&place, &["--trust"]);
    assert_eq!(texts(&run(&mut agent))[0], "zoo: trusted");
    assert!(!agent.seen.iter().any(|frame| frame["type"] == QUESTION));
    finish(agent);
}
