//! Tests of MCP servers in every dialect.

use agentese::omp::Omp;
use agentese::opal::Opal;
use agentese::operator::Operator;
use agentese::pi::Pi;
use agentese::pisces::Pisces;
use agentese::spec::Dialect;
use agentese_server::config::{ApprovalSettings, Settings};
use agentese_server::mcp::{self, McpLimits};
use serde_json::{Value, json};

use crate::harness::{calling, result_text, results, zoo};
use crate::support::LONG;
use crate::support::link::{Link, builder};

/// Returns options with the test server, which behaves correctly here.
fn servers(place: &std::path::Path) -> mcp::McpOptions {
    let mut server = zoo(&[]);
    server["name"] = json!("zoo");
    let Value::Object(server) = server else { unreachable!() };
    let places = mcp::McpPaths { cwd: place, home: None, agent_dir: None };
    mcp::McpOptions {
        definitions: mcp::parse_client_servers(&[server], places, &|_: &str| None).unwrap(),
        limits: McpLimits { wait: LONG, ..McpLimits::default() },
        ..mcp::McpOptions::default()
    }
}

/// Runs a prompt in which one tool reports progress and another returns its input. Checks every frame against the
/// dialect's schema as it arrives.
async fn check_dialect<D: Dialect>(prompt: Value) {
    let calls = [("works", json!({"steps": 3})), ("echo", json!({"text": "everywhere"}))];
    let (builder, place) = builder(calling(&calls));
    let mut link = Link::for_dialect::<D>(builder.mcp(servers(place.path())));
    link.send(prompt).await;
    let is_end = |frame: &Value| frame.to_string().contains("\"type\":\"agent_end\"");
    let frames = link.until("the end", is_end).await;
    let text = Value::from(frames).to_string();
    assert!(text.contains("works is done") && text.contains("zoo: everywhere"), "{}: {text}", D::SPEC.name);
    link.finish().await;
}

#[tokio::test]
async fn tools_of_servers_are_called_in_every_dialect() {
    let pi = json!({"type": "prompt", "id": "p", "message": "go"});
    check_dialect::<Pi>(pi.clone()).await;
    check_dialect::<Omp>(pi.clone()).await;
    check_dialect::<Pisces>(pi).await;
    check_dialect::<Operator>(json!({"type": "prompt", "id": "p", "text": "go"})).await;
}

#[tokio::test]
async fn tools_of_servers_are_called_in_opal_and_switched_off() {
    let calls = [("works", json!({"steps": 3})), ("echo", json!({"text": "everywhere"}))];
    let (builder, place) = builder(calling(&calls));
    let mut link = Link::for_dialect::<Opal>(builder.mcp(servers(place.path())));
    let send = |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    link.send(send(1, "session/start", json!({}))).await;
    let session = link.next().await.unwrap()["result"].clone();
    assert_eq!(session["mcp_servers"], json!(["zoo"]));
    let id = &session["session_id"];
    link.send(send(2, "agent/prompt", json!({"session_id": id, "text": "go"}))).await;
    let frames = link.until("the end", |frame| frame["params"]["type"] == "agent_end").await;
    let text = Value::from(frames).to_string();
    assert!(text.contains("works is done") && text.contains("zoo: everywhere"), "{text}");
    for (number, on) in [(3, true), (4, false), (5, true)] {
        link.send(send(number, "opal/config/set", json!({"session_id": id, "features": {"mcp": on}}))).await;
        let answer = link.until("the answer", |frame| frame["id"] == number).await.pop().unwrap();
        assert_eq!(answer["result"]["features"]["mcp"], on);
        let has = answer["result"]["tools"]["all"].as_array().unwrap().iter().any(|tool| tool == "echo");
        // A server that is enabled again must start first.
        assert!(has == on || number == 5, "{answer}");
    }
    link.finish().await;
}

#[tokio::test]
async fn calls_of_servers_tools_wait_for_approval_like_others() {
    for (yes, expected) in [(true, "zoo: allowed"), (false, "refused")] {
        let (builder, place) = builder(calling(&[("echo", json!({"text": "allowed"}))]));
        let approval = ApprovalSettings { tools: vec!["echo".to_owned()], timeout_ms: 60_000 };
        let settings = Settings { approval, ..Settings::default() };
        let mut link = Link::serving(builder.settings(settings).mcp(servers(place.path())).build());
        link.send(json!({"id": "run", "type": "prompt", "message": "go"})).await;
        let question = link.until_event("extension_ui_request").await.pop().unwrap();
        assert_eq!(question["title"], "Allow echo?");
        link.send(json!({"type": "extension_ui_response", "id": question["id"], "confirmed": yes})).await;
        let frames = link.until_event("agent_end").await;
        let end = results(&frames)[0];
        assert_eq!(end["isError"], !yes, "{end}");
        assert!(yes == (result_text(end) == expected), "{end}");
        link.finish().await;
    }
}
