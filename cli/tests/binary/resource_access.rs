//! Tests of the agent's access: it can use all resources of the user, and downloads nothing.

use std::net::TcpListener;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};

/// Returns the texts of the tool results in a run.
fn results(frames: &[Value]) -> Vec<String> {
    let ends = frames.iter().filter(|frame| frame["type"] == "tool_execution_end");
    ends.map(|frame| frame["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Commands and file tools are not sandboxed, as the documentation states.
#[test]
fn fm_f126_tools_have_the_access_of_the_user_as_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Commands and file tools are not confined"));
    let place = Place::new();
    place.put("outside/text", "out of the working directory");
    symlink(place.work().join("../outside"), place.work().join("link")).unwrap();
    let call = |name: &str, args: Value| json!({"tool": {"name": name, "args": args}});
    let mut agent = place.scripted(json!({"responses": [{"blocks": [
        call("read", json!({"path": "../outside/text"})),
        call("read", json!({"path": "link/text"})),
        call("bash", json!({"command": "cat ../outside/text"})),
        call("write", json!({"path": "../outside/new", "content": "x"})),
    ]}], "default": {"text": "over"}}));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let told = results(&agent.until_event("agent_end"));
    assert_eq!(told.len(), 4);
    assert_eq!(told[..3], ["out of the working directory"; 3]);
    assert_eq!(std::fs::read_to_string(place.work().join("../outside/new")).unwrap(), "x");
}

/// Settings of pi may name packages, skills and extensions on the network. The agent fetches neither these
/// nor any other resource, so a proxy for all network access receives no request.
#[test]
fn fm_f130_nothing_is_downloaded() {
    let network = TcpListener::bind("127.0.0.1:0").unwrap();
    network.set_nonblocking(true).unwrap();
    let address = network.local_addr().unwrap();
    let place = Place::new();
    let there = |name: &str| format!("http://{address}/{name}");
    let settings = json!({
        "packages": ["npm:agentese-nowhere", format!("git:{address}/package"), there("package.tgz")],
        "extensions": [there("extension.ts")],
        "skills": [there("skill.tar.gz")],
        "prompts": [there("prompt.md")],
    });
    place.put("home/.pi/agent/settings.json", settings.to_string());
    place.put("work/.pi/settings.json", settings.to_string());
    let script = place.script(json!({"responses": [], "default": {"text": "over"}}));
    let mut command = place.command(&["--mode", "rpc", "--script", &script, "--trust"]);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, format!("http://{address}"));
    }
    let mut agent = Agent::start(command);
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("agent_end");
    let commands = agent.request(json!({"type": "get_commands"}));
    assert_eq!(commands["success"], true, "{commands}");
    let (status, _, _) = agent.finish();
    assert!(status.success(), "{status}");
    let heard = network.accept().map(|(_, peer)| peer);
    assert_eq!(heard.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
}
