//! Tests of credentials: a login server on loopback, keys, settings.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese_server::Server;
use agentese_server::config::Login;
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{Catalog, Sources, load};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::rpc::Rpc;
use crate::support::clock::ImpatientClock;

/// Returns the catalogue for an agent directory, with a login at the server `domain`.
pub fn catalog(directory: &Path, domain: Option<String>) -> Catalog {
    load(sources(directory, domain)).0
}

fn sources(directory: &Path, domain: Option<String>) -> Sources {
    let environment = move |name: &str| domain.clone().filter(|_| name == "DOMAIN").map(OsString::from);
    let mut sources = Sources::new(Some(directory.to_owned()), Arc::new(environment));
    sources.login = Some(Login { domain: "DOMAIN", client: "CLIENT" });
    sources
}

/// Starts a login server that returns these responses to token requests, one after the other. Returns its domain.
async fn login_server(answers: Vec<Value>, status: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let domain = listener.local_addr().unwrap().to_string();
    let address = format!("http://{domain}");
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answers, address) = (answers.clone(), address.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let count = stream.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..count]).into_owned();
                let (code, body) = match head.split_whitespace().nth(1).unwrap_or_default() {
                    "/login/device/code" => (
                        200,
                        json!({
                            "device_code": "dc-1", "user_code": "ABCD-1234", "interval": 5, "expires_in": 899,
                            "verification_uri": "https://login.example.test/device",
                        }),
                    ),
                    "/login/oauth/access_token" => {
                        let next = answers.lock().unwrap().next();
                        (200, next.unwrap_or_else(|| json!({"access_token": "gho_canary"})))
                    }
                    _ if status != 200 => (status, json!({"message": "Bad credentials"})),
                    _ => (
                        200,
                        json!({
                            "token": "tid=canary", "expires_at": 4_102_444_800_i64, "endpoints": {"api": address},
                        }),
                    ),
                };
                let body = body.to_string();
                let answer = format!(
                    "HTTP/1.1 {code} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    domain
}

fn served(directory: &Path, domain: Option<String>) -> Rpc {
    let agent_dir = Some(directory.to_owned());
    let extensions = agentese_server::extensions::HostOptions { agent_dir, ..Default::default() };
    Rpc::serving(Server::builder().cwd(directory).catalog(catalog(directory, domain)).extensions(extensions))
}

#[tokio::test]
async fn a_user_logs_in_with_a_device_code() {
    let place = tempfile::tempdir().unwrap();
    let domain = login_server(vec![json!({"error": "authorization_pending"})], 200).await;
    let mut rpc = served(place.path(), Some(domain));
    let status = rpc.result("auth/status", json!({})).await;
    assert_eq!(
        (&status["authenticated"], &status["auth"]["status"]),
        (&json!(false), &json!("setup_required"))
    );
    let code = rpc.result("auth/login", json!({})).await;
    assert_eq!(
        code,
        json!({"user_code": "ABCD-1234", "verification_uri": "https://login.example.test/device", "device_code": "dc-1", "interval": 5})
    );
    let poll = rpc.send("auth/poll", json!({"device_code": "dc-1", "interval": 1})).await;
    // A pending login delays no other request.
    assert_eq!(rpc.request("opal/ping", json!({})).await["result"], json!({}));
    assert_eq!(rpc.answer(poll).await["result"], json!({"authenticated": true}));
    let status = rpc.result("auth/status", json!({})).await;
    assert_eq!((&status["authenticated"], &status["auth"]["provider"]), (&json!(true), &json!("copilot")));
    let file = place.path().join("auth.json");
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        (&stored["github_token"], &stored["copilot_token"]),
        (&json!("gho_canary"), &json!("tid=canary"))
    );
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let frames = format!("{:?}", rpc.link.seen);
    assert!(!frames.contains("canary"), "a token was shown");
}

#[tokio::test]
async fn an_answer_of_a_login_server_has_an_end() {
    let place = tempfile::tempdir().unwrap();
    let long = json!({"error": "authorization_pending", "error_description": "x".repeat(1 << 20)});
    let domain = login_server(vec![long], 200).await;
    let mut rpc = served(place.path(), Some(domain));
    rpc.result("auth/login", json!({})).await;
    let error = rpc.error("auth/poll", json!({"device_code": "dc-1", "interval": 1})).await;
    assert!(error["data"].as_str().unwrap().contains("longer than 1 MiB"), "{error}");
}

#[tokio::test]
async fn login_polls_less_often_after_slow_down() {
    let place = tempfile::tempdir().unwrap();
    let errors = ["authorization_pending", "slow_down", "authorization_pending", "slow_down"];
    let answers = errors.map(|error| json!({"error": error, "error_description": "wait"}));
    let mut sources = sources(place.path(), Some(login_server(answers.to_vec(), 200).await));
    let clock = ImpatientClock::default();
    sources.clock = Arc::new(clock.clone());
    let builder = Server::builder().cwd(place.path()).catalog(load(sources).0);
    let mut rpc = Rpc::serving(builder);
    let done = rpc.result("auth/poll", json!({"device_code": "dc-1", "interval": 2})).await;
    assert_eq!(done, json!({"authenticated": true}));
    assert_eq!(clock.pauses().iter().map(Duration::as_secs).collect::<Vec<_>>(), [2, 7, 7, 12]);
}

#[tokio::test]
async fn a_session_streams_to_its_end_while_a_login_waits() {
    let place = tempfile::tempdir().unwrap();
    let pending = vec![json!({"error": "authorization_pending"}); 100];
    let mut sources = sources(place.path(), Some(login_server(pending, 200).await));
    let script = serde_json::from_value(json!({"responses": [], "default": {"text": "quick"}})).unwrap();
    sources.others.push(Arc::new(ScriptedProvider::from_script(script)));
    let builder = Server::builder().cwd(place.path()).catalog(load(sources).0).provider("scripted");
    let mut rpc = Rpc::serving(builder);
    let session = rpc.start(json!({"model": {"provider": "scripted", "id": "scripted"}})).await;
    let poll = rpc.send("auth/poll", json!({"device_code": "dc-1", "interval": 3600})).await;
    let events = rpc.run(&session, "go").await;
    assert_eq!(events.last().unwrap()["type"], "agent_end");
    assert!(rpc.link.seen.iter().all(|frame| frame["id"] != poll));
}

#[tokio::test]
async fn failed_login_has_its_reason() {
    let place = tempfile::tempdir().unwrap();
    let mut rpc = served(place.path(), None);
    let error = rpc.error("auth/login", json!({})).await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("Login flow failed")));
    assert!(error["data"].as_str().unwrap().contains("DOMAIN"), "{error}");
    for (answers, status, reason) in [
        (vec![json!({"error": "expired_token"})], 200, "expired_token"),
        (vec![json!({"error": "access_denied"})], 200, "access_denied"),
        (vec![json!({"error": "incorrect_device_code"})], 200, "incorrect_device_code"),
        (vec![], 401, "401"),
    ] {
        let domain = login_server(answers, status).await;
        let mut rpc = served(place.path(), Some(domain));
        let error = rpc.error("auth/poll", json!({"device_code": "dc-1", "interval": 1})).await;
        assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("Auth polling failed")));
        assert!(error["data"].as_str().unwrap().contains(reason), "{error}");
        assert!(!place.path().join("auth.json").exists());
    }
}

#[tokio::test]
async fn fm_f118_keys_are_in_the_key_store_and_masked_for_clients() {
    let place = tempfile::tempdir().unwrap();
    let mut rpc = served(place.path(), None);
    rpc.result("auth/set_key", json!({"provider": "anthropic", "api_key": "sk-canary-1"})).await;
    for wrong in [json!({"provider": "anthropic", "api_key": ""}), json!({"provider": "anthropic"})] {
        assert_eq!(
            rpc.error("auth/set_key", wrong).await["message"],
            "Missing required params: provider, api_key"
        );
    }
    let status = rpc.result("auth/status", json!({})).await;
    assert_eq!((&status["authenticated"], &status["auth"]["provider"]), (&json!(true), &json!("anthropic")));
    let saved = rpc
        .result(
            "settings/save",
            json!({"settings": {"theme": "dark", "openai_api_key": "sk-canary-2", "nested": {"a": null}}}),
        )
        .await;
    let masked = json!({"theme": "dark", "nested": {"a": null}, "anthropic_api_key": "********", "openai_api_key": "********"});
    assert_eq!(saved["settings"], masked);
    // A masked value that the client sends back changes no setting.
    rpc.result("settings/save", json!({"settings": masked})).await;
    assert_eq!(rpc.result("settings/get", json!({})).await["settings"], masked);
    let auth: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("auth.json")).unwrap()).unwrap();
    assert_eq!(
        (&auth["anthropic"]["key"], &auth["openai"]["key"]),
        (&json!("sk-canary-1"), &json!("sk-canary-2"))
    );
    let settings = std::fs::read_to_string(place.path().join("settings.json")).unwrap();
    assert!(!settings.contains("canary") && !settings.contains("api_key"), "{settings}");
    assert!(!format!("{:?}", rpc.link.seen).contains("canary"), "a key was shown");
}
