//! Tests with third-party servers, from the project that develops MCP.
//!
//! `npm ci` in `server/tests/mcp` installs them; `make test` runs it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agentese::opal::Opal;
use agentese_server::mcp;
use serde_json::{Value, json};

use crate::harness::{
    agent, calling, command, finish, one_by_one, result_text, results, run, texts, until_prompt_is_listed,
};
use crate::support::LONG;
use crate::support::link::{Link, builder};
use crate::support::process::{Agent, Place};

fn program(name: &str) -> PathBuf {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/node_modules/@modelcontextprotocol").join(name);
    assert!(
        path.is_dir(),
        "the servers are not set up: run `make test-mcp-setup` (npm ci in server/tests/mcp)"
    );
    path.join("dist/index.js")
}

fn everything() -> Value {
    json!({"command": "node", "args": [program("server-everything"), "stdio"], "env": {"ZOO_KEY": "canary-of-the-file"}})
}

/// The same server over streamable HTTP. The process is killed when this value is dropped.
struct HttpServerProcess {
    child: Child,
    port: u16,
    url: String,
}

impl HttpServerProcess {
    fn start() -> Self {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Another process may take the port first, which causes another attempt.
        Self::start_at(free)
    }

    fn start_at(port: impl Fn() -> u16) -> Self {
        for _ in 0..20 {
            let port = port();
            let mut command = Command::new("node");
            command.arg(program("server-everything")).arg("streamableHttp").env("PORT", port.to_string());
            let mut child =
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let started = lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening on port"));
            if started {
                // The output is read to the end, so that the server never blocks.
                std::thread::spawn(move || lines.for_each(drop));
                return Self { child, port, url: format!("http://127.0.0.1:{port}/mcp") };
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("the server does not start");
    }
}

impl Drop for HttpServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Uses the tools of the server with all features.
fn use_everything(place: &Place, definition: Value) {
    let calls = [
        ("echo", json!({"message": "hello"})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({"location": "New York"})),
        ("get-sum", json!({"a": "two"})),
        ("get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})),
        ("trigger-long-running-operation", json!({"duration": 0.4, "steps": 4})),
    ];
    let mut agent = agent(place, json!({"everything": definition}), json!({}), &calls);
    let frames = run(&mut agent);
    let ends = results(&frames);
    assert_eq!(ends.len(), calls.len());
    assert_eq!(result_text(ends[0]), "Echo: hello");
    assert_eq!(ends[0]["result"]["details"], json!({"server": "everything", "tool": "echo"}));
    assert!(result_text(ends[1]).contains("42"), "{}", ends[1]);
    let image =
        ends[2]["result"]["content"].as_array().unwrap().iter().find(|block| block["type"] == "image");
    assert_eq!(image.unwrap_or_else(|| panic!("{}", ends[2]))["mimeType"], "image/png");
    let structure = &ends[3]["result"]["details"]["structuredContent"];
    assert_eq!((&structure["temperature"], &structure["conditions"]), (&json!(33), &json!("Cloudy")));
    // Arguments that do not match the declaration are not sent.
    assert!(ends[4]["isError"] == true && result_text(ends[4]).contains("must be number"), "{}", ends[4]);
    assert!(ends[5]["result"]["content"].to_string().contains("demo://resource/"), "{}", ends[5]);
    assert!(result_text(ends[6]).starts_with("Long running operation completed"), "{}", ends[6]);
    let progress: Vec<_> = frames
        .iter()
        .filter(|frame| frame["type"] == "tool_execution_update" && frame["toolCallId"] == "call6")
        .map(|frame| frame["partialResult"]["content"][0]["text"].clone())
        .collect();
    // Steps that arrive together are one update.
    assert!(
        !progress.is_empty() && progress.iter().all(|text| text.as_str().unwrap().ends_with("/4")),
        "{progress:?}"
    );
    use_prompts(&mut agent);
    let stderr = finish(agent);
    assert!(!stderr.contains("canary"), "{stderr}");
}

/// Checks that the prompts of the server are commands.
fn use_prompts(agent: &mut Agent) {
    let commands = agent.request(json!({"type": "get_commands"}))["data"]["commands"].clone();
    let known = commands.as_array().unwrap().iter().find(|command| command["name"] == "args-prompt");
    let known = known.unwrap_or_else(|| panic!("{commands}"));
    assert_eq!((&known["source"], known["description"].is_string()), (&json!("prompt"), true));
    agent.send(json!({"type": "prompt", "message": "/args-prompt Oslo Norway"}));
    let frames = agent.until_event("agent_end");
    let user =
        frames.iter().find(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "user");
    assert_eq!(user.unwrap()["message"]["content"][0]["text"], "What's weather in Oslo, Norway?");
    let refused = agent.request(json!({"type": "prompt", "message": "/args-prompt"}));
    let error = refused["error"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(error.contains("\"city\" is missing; expected: <city> [state]"), "{error}");
}

#[test]
fn a_server_with_everything_is_used_over_stdio() {
    use_everything(&Place::new(), everything());
}

#[test]
fn a_server_with_everything_is_used_over_streamable_http() {
    let server = HttpServerProcess::start();
    let headers = json!({"Authorization": "Bearer canary-of-the-header"});
    use_everything(&Place::new(), json!({"type": "http", "url": server.url, "headers": headers}));
}

/// Uses servers with an agent in the Opal dialect. Returns the results of the calls.
async fn opal_call_results(place: &Path, servers: &[Value], calls: &[(&str, Value)]) -> Vec<Value> {
    let given: Vec<_> = servers.iter().map(|server| server.as_object().unwrap().clone()).collect();
    let (builder, _place) = builder(calling(calls));
    let places = mcp::McpPaths { cwd: place, home: None, agent_dir: None };
    let options = mcp::McpOptions {
        definitions: mcp::parse_client_servers(&given, places, &|_: &str| None).unwrap(),
        limits: mcp::McpLimits { wait: LONG, ..mcp::McpLimits::default() },
        ..mcp::McpOptions::default()
    };
    let mut link = Link::for_dialect::<Opal>(builder.mcp(options));
    link.send(json!({"jsonrpc": "2.0", "id": 1, "method": "session/start", "params": {}})).await;
    let started = link.next().await.unwrap()["result"].clone();
    let names: Vec<_> = servers.iter().map(|server| &server["name"]).collect();
    assert_eq!(started["mcp_servers"], json!(names));
    let params = json!({"session_id": started["session_id"], "text": "go"});
    link.send(json!({"jsonrpc": "2.0", "id": 2, "method": "agent/prompt", "params": params})).await;
    let frames = link.until("the end", |frame| frame["params"]["type"] == "agent_end").await;
    link.finish().await;
    let ends =
        frames.iter().map(|frame| &frame["params"]).filter(|event| event["type"] == "tool_execution_end");
    ends.map(|event| event["result"].clone()).collect()
}

#[tokio::test]
async fn third_party_servers_are_used_in_opal() {
    let listening = HttpServerProcess::start();
    let place = Place::new();
    let work = place.work().canonicalize().unwrap();
    place.put("work/note.txt", "from the file");
    let files = json!({"name": "files", "command": "node", "args": [program("server-filesystem"), work]});
    let calls = [
        ("echo", json!({"message": "hello"})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-sum", json!({"a": "two"})),
        ("read_text_file", json!({"path": work.join("note.txt")})),
        ("read_text_file", json!({"path": "/etc/passwd"})),
    ];
    for mut everything in [everything(), json!({"type": "http", "url": listening.url})] {
        everything["name"] = json!("everything");
        let ends = opal_call_results(&work, &[everything, files.clone()], &calls).await;
        assert_eq!(ends[0], json!({"ok": true, "output": "Echo: hello"}));
        assert!(ends[1]["output"].as_str().unwrap().contains("42"), "{}", ends[1]);
        assert!(ends[2]["error"].as_str().unwrap().contains("must be number"), "{}", ends[2]);
        assert_eq!(ends[3], json!({"ok": true, "output": "from the file"}));
        assert!(ends[4]["error"].as_str().unwrap().contains("Access denied"), "{}", ends[4]);
    }
}

#[test]
fn fm_f91_unreachable_server_is_reported_and_reconnected() {
    let server = HttpServerProcess::start();
    let place = Place::new();
    let servers = json!({"everything": {"url": server.url}});
    let script = one_by_one(&[
        ("echo", json!({"message": "1"})),
        ("echo", json!({"message": "2"})),
        ("echo", json!({"message": "3"})),
    ]);
    let settings = json!({"restartPauseMs": 20, "restarts": 1000});
    let mut agent = Agent::start(command(&place, servers, settings, script, &[]));
    assert_eq!(texts(&run(&mut agent)), ["Echo: 1"]);
    let port = server.port;
    drop(server);
    let frames = run(&mut agent);
    let text = texts(&frames)[0];
    assert!(
        text.starts_with("The MCP server everything has disconnected: it cannot be reached")
            || text == "Tool echo not found",
        "{text}"
    );
    let _again = HttpServerProcess::start_at(|| port);
    until_prompt_is_listed(&mut agent, "args-prompt");
    assert_eq!(texts(&run(&mut agent)), ["Echo: 3"]);
    assert!(
        agent
            .seen
            .iter()
            .any(|frame| frame["type"] == "extension_error" && frame["extensionPath"] == "mcp:everything")
    );
    finish(agent);
}

#[test]
fn a_server_of_files_is_used_beside_the_agents_own_tools() {
    let place = Place::new();
    let work = place.work().canonicalize().unwrap();
    place.put("work/note.txt", "from the file");
    let files = json!({"command": "node", "args": [program("server-filesystem"), "${workspaceFolder}"]});
    let path = |name: &str| work.join(name);
    let calls = [
        ("list_directory", json!({"path": work})),
        ("read_text_file", json!({"path": path("note.txt")})),
        ("write_file", json!({"path": path("new.txt"), "content": "written"})),
        ("read", json!({"path": "new.txt"})),
        ("read_text_file", json!({"path": "/etc/passwd"})),
    ];
    let mut agent = agent(&place, json!({"files": files}), json!({}), &calls);
    let frames = run(&mut agent);
    let ends = results(&frames);
    assert!(result_text(ends[0]).contains("[FILE] note.txt"), "{}", ends[0]);
    assert_eq!((result_text(ends[1]), result_text(ends[3])), ("from the file", "written"));
    assert!(ends[4]["isError"] == true && result_text(ends[4]).contains("Access denied"), "{}", ends[4]);
    finish(agent);
}

#[test]
fn fm_f118_provider_keys_are_not_passed_to_servers_and_configured_keys_are() {
    let place = Place::new();
    let zoo = |more: Value| {
        let mut server = crate::harness::zoo(&[]);
        server["env"] = more;
        server
    };
    let calls = [
        ("variable", json!({"name": "ANTHROPIC_API_KEY"})),
        ("variable", json!({"name": "GIVEN"})),
        ("variable", json!({"name": "HOME"})),
    ];
    let servers = json!({"zoo": zoo(json!({"GIVEN": "${ANTHROPIC_API_KEY} and more"}))});
    let mut command = command(&place, servers, json!({}), calling(&calls), &[]);
    command.env("ANTHROPIC_API_KEY", "canary-key");
    let mut agent = Agent::start(command);
    let frames = run(&mut agent);
    let texts = texts(&frames);
    assert_eq!(texts[..2], ["not set", "canary-key and more"]);
    assert!(texts[2].ends_with("/home"), "{texts:?}");
    let stderr = finish(agent);
    assert!(!stderr.contains("canary"), "{stderr}");
}

#[test]
fn no_known_provider_key_is_passed_to_servers() {
    let place = Place::new();
    let names: Vec<_> = agentese_server::providers::key_variables().collect();
    for name in ["AZURE_OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GOOGLE_API_KEY", "GH_TOKEN", "HF_TOKEN"] {
        assert!(names.contains(&name), "{name}");
    }
    let calls: Vec<_> = names.iter().map(|name| ("variable", json!({"name": name}))).collect();
    let servers = json!({"zoo": crate::harness::zoo(&[])});
    let mut command = command(&place, servers, json!({}), calling(&calls), &[]);
    command.envs(names.iter().map(|name| (name, "canary-key")));
    let mut agent = Agent::start(command);
    let frames = run(&mut agent);
    for (name, text) in names.iter().zip(texts(&frames)) {
        assert_eq!(text, "not set", "{name}");
    }
    finish(agent);
}
