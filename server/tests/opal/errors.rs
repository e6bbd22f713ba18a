//! Tests of edge cases of JSON-RPC.

use serde_json::{Value, json};

use crate::rpc::Rpc;

async fn send_line(rpc: &mut Rpc, text: &str) -> Value {
    rpc.link.send_raw(format!("{text}\n").as_bytes()).await;
    rpc.link.next().await.unwrap()
}

#[tokio::test]
async fn ids_of_any_kind_come_back_and_bad_frames_have_none() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": []}));
    for id in ["1", "0", "-7", "\"x\"", "null", "{\"a\":1}", "[1,2]", "1.5", "12345678901234567890"] {
        let answer =
            send_line(&mut rpc, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"opal/ping\"}}"))
                .await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap(), "{answer}");
        assert_eq!(answer["result"], json!({}));
    }
    for (text, code) in [
        ("no json", -32700),
        ("{\"id\":3}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"opal/ping\"}", -32600),
        ("{\"id\":4,\"method\":\"opal/ping\"}", -32600),
        ("[]", -32600),
        ("42", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"opal/ping\"}]", -32600),
    ] {
        let answer = send_line(&mut rpc, text).await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{text}: {answer}"
        );
    }
    let answer = send_line(&mut rpc, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"no/such\"}").await;
    assert_eq!(answer["error"], json!({"code": -32601, "message": "Method not found: no/such"}));
    let answer = send_line(&mut rpc, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":42}").await;
    assert_eq!(answer["error"]["message"], "Method not found: 42");
    // Notifications, blank lines and answers without a question are ignored.
    for text in [
        "",
        "  ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"opal/ping\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"s2c-1\",\"result\":{}}",
    ] {
        rpc.link.send_raw(format!("{text}\n").as_bytes()).await;
    }
    assert_eq!(rpc.request("opal/ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn parameters_that_are_missing_are_named_as_the_document_does() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": []}));
    for (method, message) in [
        ("agent/prompt", "Missing required params: session_id, text"),
        ("agent/abort", "Missing required param: session_id"),
        ("session/branch", "Missing required params: session_id, entry_id"),
        ("model/set", "Missing required params: session_id, model_id"),
        ("auth/poll", "Missing required params: device_code, interval"),
        ("auth/set_key", "Missing required params: provider, api_key"),
        ("settings/save", "Missing required param: settings"),
    ] {
        assert_eq!(rpc.error(method, json!({})).await, json!({"code": -32602, "message": message}));
    }
    // A value of another type is treated as missing, or identifies no object.
    for (method, params, message) in [
        ("settings/save", json!({"settings": "dark"}), "Missing required param: settings"),
        (
            "auth/set_key",
            json!({"provider": "x", "api_key": 5}),
            "Missing required params: provider, api_key",
        ),
        ("agent/prompt", json!({"session_id": 5, "text": "x"}), "Session not found"),
        ("models/list", json!({"providers": ["nobody"]}), "Unknown provider in providers list"),
    ] {
        let error = rpc.error(method, params).await;
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(message)), "{method}");
    }
    // A method without parameters ignores them.
    for params in [json!("padding"), json!([1]), json!({"a": 1}), Value::Null] {
        assert_eq!(rpc.result("opal/ping", params).await, json!({}));
    }
    for method in [
        "agent/abort",
        "agent/state",
        "session/history",
        "session/compact",
        "tasks/list",
        "opal/config/get",
        "opal/config/set",
        "session/delete",
    ] {
        let error = rpc.error(method, json!({"session_id": "nope"})).await;
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!("Session not found")),
            "{method}"
        );
    }
}

#[tokio::test]
async fn session_start_rejects_unknown_models_features_and_tools() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": []}));
    for (params, message) in [
        (
            json!({"model": {"provider": "", "id": "x"}}),
            "model must be {provider, id} with non-empty strings",
        ),
        (json!({"model": {"provider": "nobody", "id": "x"}}), "Unknown provider"),
        (json!({"model": {"id": "x"}}), "model must be {provider, id} with non-empty strings"),
        (json!({"model": "x"}), "model must be {provider, id} with non-empty strings"),
        (json!({"features": {"telemetry": true}}), "Unknown feature keys"),
        (json!({"features": {"mcp": "yes"}}), "Invalid feature value"),
        (json!({"features": "all"}), "features must be an object"),
        (json!({"tools": "shell"}), "tools must be an array of strings"),
        (json!({"tools": [1]}), "tools must be an array of strings"),
        (json!({"tools": ["read_file", "teleport"]}), "Unknown tools in tools list"),
    ] {
        let error = rpc.error("session/start", params).await;
        let text = error["message"].as_str().unwrap();
        assert!(error["code"] == -32602 && text.starts_with(message), "{error}");
    }
    for params in [json!([1]), json!({"session_id": "../x"}), json!({"mcp_servers": [{"name": "x"}]})] {
        assert!(rpc.request("session/start", params.clone()).await.get("error").is_some(), "{params}");
    }
    // Null is equivalent to an absent member.
    let nothing =
        json!({"model": null, "tools": null, "features": null, "mcp_servers": null, "session_id": null});
    let session = rpc.start(nothing).await;
    rpc.result("opal/config/set", json!({"session_id": session, "features": null, "tools": null})).await;
    assert_eq!(
        rpc.error("settings/save", json!({"settings": null})).await["message"],
        "Missing required param: settings"
    );
    // Undocumented members may have any value.
    rpc.start(json!({"unknown_key": 1})).await;
}

#[tokio::test]
async fn arguments_of_another_kind_are_refused_by_name() {
    let (mut rpc, place) = Rpc::scripted(json!({"responses": []}));
    std::fs::write(place.path().join("file"), "").unwrap();
    let file = place.path().join("file");
    for (name, value) in [
        ("working_dir", json!(5)),
        ("working_dir", json!(["/"])),
        ("working_dir", json!("/no/such/dir")),
        ("working_dir", json!(file)),
        ("system_prompt", json!(5)),
        ("session", json!("yes")),
    ] {
        let error = rpc.error("session/start", json!({name: value})).await;
        assert!(error["code"] == -32602 && error.to_string().contains(name), "{name}: {error}");
    }
    let session = rpc.start(json!({"working_dir": place.path()})).await;
    rpc.result("thinking/set", json!({"session_id": session, "level": "high"})).await;
    for level in ["ultra", "", "HIGH", "xhigh"] {
        let error = rpc.error("thinking/set", json!({"session_id": session, "level": level})).await;
        assert!(error["code"] == -32602 && error.to_string().contains("level"), "{level}: {error}");
        let params = json!({"session_id": session, "model_id": "scripted:scripted", "thinking_level": level});
        let error = rpc.error("model/set", params).await;
        assert!(error["code"] == -32602 && error.to_string().contains("thinking_level"), "{level}: {error}");
    }
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!(state["model"]["thinking_level"], "high", "{state}");
}

#[tokio::test]
async fn a_last_line_that_is_not_finished_is_dropped() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": []}));
    assert_eq!(rpc.request("opal/ping", json!({})).await["result"], json!({}));
    rpc.link.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"opal/ping\"}").await;
    rpc.link.hang_up();
    assert!(rpc.link.next().await.is_none());
}
