//! Tests of requests in the form that a host accepts.

use agentese_server::providers::ProviderErrorKind;
use serde_json::{Value, json};

use crate::support::{
    APIS, ReceivedRequest, Reply, Server, TestHome, answer_events, definition, failure, hello, model,
    question, text,
};

const COMPLETIONS: &str = "openai-completions";

/// Sends a request to a host with this value of `compat`. Returns the request as the host received it.
async fn sent_request(api: &str, compat: Value) -> ReceivedRequest {
    let server = Server::start([Reply::events(&hello(api))]).await;
    let mut providers = definition(api, &server.url());
    providers["fake"]["compat"] = compat;
    let (catalog, _) = TestHome::with_models(providers).load();
    assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello", "{api}");
    server.received()[0].clone()
}

/// Returns the parts of a request that differ between hosts: the role of the system prompt and some members.
fn form(body: &Value) -> Value {
    let names = ["store", "max_tokens", "max_completion_tokens"];
    let members: Vec<&str> = names.into_iter().filter(|name| body.get(*name).is_some()).collect();
    json!([body["messages"][0]["role"], members, body["tools"][0]["function"].get("strict").is_some()])
}

#[tokio::test]
async fn third_party_host_receives_the_most_compatible_form() {
    let all = json!({"supportsStore": true, "supportsDeveloperRole": true, "supportsStrictMode": true,
                     "maxTokensField": "max_completion_tokens"});
    for (compat, expected) in [
        (json!({}), json!(["system", ["max_tokens"], false])),
        (json!({"supportsDeveloperRole": true}), json!(["developer", ["max_tokens"], false])),
        (json!({"supportsStore": true}), json!(["system", ["store", "max_tokens"], false])),
        (all, json!(["developer", ["store", "max_completion_tokens"], true])),
    ] {
        assert_eq!(form(&sent_request(COMPLETIONS, compat.clone()).await.body), expected, "{compat}");
    }
    for (compat, role) in [(json!({}), "system"), (json!({"supportsDeveloperRole": true}), "developer")] {
        assert_eq!(sent_request("openai-responses", compat).await.body["input"][0]["role"], role);
    }
}

#[tokio::test]
async fn a_history_with_calls_is_sent_without_an_empty_list_of_tools() {
    for (compat, tools) in
        [(json!({}), None), (json!({"requiresToolsWithToolHistory": true}), Some(json!([])))]
    {
        let server = Server::start([Reply::events(&hello(COMPLETIONS))]).await;
        let mut providers = definition(COMPLETIONS, &server.url());
        providers["fake"]["compat"] = compat;
        let (catalog, _) = TestHome::with_models(providers).load();
        let mut request = question(model(&catalog), "hi");
        let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": false, "timestamp": 1,
                            "content": [{"type": "text", "text": "x"}]});
        let result = std::sync::Arc::new(serde_json::from_value(result).unwrap());
        request.messages = request.messages.iter().chain([result]).collect::<Vec<_>>().into();
        request.tools.clear();
        answer_events(&catalog, request).await;
        assert_eq!(server.received()[0].body.get("tools").cloned(), tools);
    }
}

fn refusal(status: u16, body: &str) -> Reply {
    Reply::new(status, &[("content-type", "application/json")], body)
}

#[tokio::test]
async fn a_part_that_a_server_refuses_is_sent_in_its_other_form_and_that_is_remembered() {
    let owner = json!({"supportsStore": true, "supportsDeveloperRole": true, "supportsStrictMode": true});
    for (api, compat, status, body, pointer, before, after) in [
        (
            COMPLETIONS,
            &owner,
            400,
            r#"{"error":{"message":"Unexpected message role."}}"#,
            "/messages/0/role",
            json!("developer"),
            json!("system"),
        ),
        (
            COMPLETIONS,
            &owner,
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: store","param":null}}"#,
            "/store",
            json!(false),
            Value::Null,
        ),
        (
            COMPLETIONS,
            &json!({}),
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#,
            "/max_completion_tokens",
            Value::Null,
            json!(16_384),
        ),
        (
            COMPLETIONS,
            &json!({}),
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"store":1}}]}"#,
            "/stream_options",
            json!({"include_usage": true}),
            Value::Null,
        ),
        (
            COMPLETIONS,
            &owner,
            400,
            r#"{"error":{"message":"Unknown field","param":"tools[0].function.strict"}}"#,
            "/tools/0/function/strict",
            json!(false),
            Value::Null,
        ),
        (
            "openai-responses",
            &json!({}),
            400,
            r#"{"error":{"message":"unknown parameter: prompt_cache_key"}}"#,
            "/prompt_cache_key",
            json!("session"),
            Value::Null,
        ),
        (
            "openai-responses",
            &json!({}),
            400,
            r#"{"error":{"message":"bad","param":"store"}}"#,
            "/store",
            json!(false),
            Value::Null,
        ),
        (
            "anthropic-messages",
            &json!({}),
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"system.0.cache_control: Extra inputs are not permitted"}}"#,
            "/system/0/cache_control",
            json!({"type": "ephemeral"}),
            Value::Null,
        ),
        (
            "google-generative-ai",
            &json!({}),
            400,
            r#"{"error":{"code":400,"message":"Unknown name \"parametersJsonSchema\" at 'tools[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}"#,
            "/tools/0/functionDeclarations/0/parameters",
            Value::Null,
            json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        ),
    ] {
        let ok = || Reply::events(&hello(api));
        let server = Server::start([refusal(status, body), ok(), ok()]).await;
        let mut providers = definition(api, &server.url());
        providers["fake"]["compat"] = compat.clone();
        let (catalog, _) = TestHome::with_models(providers).load();
        for _ in 0..2 {
            assert_eq!(
                text(&answer_events(&catalog, question(model(&catalog), "hi")).await),
                "hello",
                "{body}"
            );
        }
        let found: Vec<Value> = server
            .received()
            .iter()
            .map(|request| request.body.pointer(pointer).cloned().unwrap_or_default())
            .collect();
        assert_eq!(found, [before, after.clone(), after], "{body}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_several_parts_one_by_one_is_asked_until_it_takes_the_request() {
    let refused = |name: &str| {
        refusal(400, &json!({"error": {"message": format!("{name} is not supported")}}).to_string())
    };
    let server = Server::start([
        refused("store"),
        refused("strict"),
        refused("developer"),
        Reply::events(&hello(COMPLETIONS)),
    ])
    .await;
    let mut providers = definition(COMPLETIONS, &server.url());
    providers["fake"]["compat"] =
        json!({"supportsStore": true, "supportsDeveloperRole": true, "supportsStrictMode": true});
    let (catalog, _) = TestHome::with_models(providers).load();
    assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello");
    assert_eq!(form(&server.received()[3].body), json!(["system", ["max_tokens"], false]));
}

#[tokio::test]
async fn a_part_that_is_refused_in_both_forms_fails_with_the_first_refusal_and_is_not_remembered() {
    let first = r#"{"error":{"message":"max_tokens is not known here"}}"#;
    let second = r#"{"error":{"message":"max_completion_tokens is not known here"}}"#;
    let server =
        Server::start([refusal(400, first), refusal(400, second), Reply::events(&hello(COMPLETIONS))]).await;
    let (catalog, _) = TestHome::with_models(definition(COMPLETIONS, &server.url())).load();
    let refused = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
    assert_eq!(
        (refused.kind, refused.text.as_str()),
        (ProviderErrorKind::BadRequest, "400 max_tokens is not known here")
    );
    answer_events(&catalog, question(model(&catalog), "hi")).await;
    let forms: Vec<bool> =
        server.received().iter().map(|request| request.body.get("max_tokens").is_some()).collect();
    assert_eq!(forms, [true, false, true]);
}

#[tokio::test]
async fn a_refusal_that_names_no_part_is_not_answered_with_another_request() {
    for api in APIS {
        for (status, message) in [
            (400, "messages: bad"),
            (400, "prompt is too long: store"),
            (401, "store"),
            (404, "store"),
            (400, "The developer of this app has run out of credit"),
            (400, "This developer account is not supported in your region"),
            (400, "Contact the store in which the tools were bought, or the developer: reasoning ended"),
            (400, "Your role in this organization does not include access to the model"),
            (400, "Unsupported value: 'reasoning_effort' and thinking_level do not support 'minimal'"),
        ] {
            let server =
                Server::start([refusal(status, &json!({"error": {"message": message}}).to_string())]).await;
            let mut providers = definition(api, &server.url());
            providers["fake"]["compat"] = json!({"supportsStore": true, "supportsDeveloperRole": true});
            let (catalog, _) = TestHome::with_models(providers).load();
            failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
            assert_eq!(server.received().len(), 1, "{api} {message}");
        }
    }
}

#[tokio::test]
async fn model_without_images_receives_a_placeholder() {
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let user = |content: Value| json!({"role": "user", "content": content, "timestamp": 1});
    let text_block = |text: &str| json!({"type": "text", "text": text});
    let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": false, "timestamp": 1,
                        "content": [text_block("Read image file"), image]});
    let call = json!({"role": "assistant", "api": "x", "provider": "x", "model": "x", "stopReason": "toolUse", "timestamp": 1,
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        "content": [{"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]});
    for api in APIS {
        for (messages, notes) in [
            (vec![user(json!([text_block("look"), image]))], 1),
            (vec![user(json!([image]))], 1),
            (vec![user(json!([image, image, text_block("and"), image]))], 2),
            (vec![user(json!("read it")), call.clone(), result.clone()], 1),
        ] {
            let server = Server::start([Reply::events(&hello(api))]).await;
            let mut providers = definition(api, &server.url());
            providers["fake"]["models"][0]["input"] = json!(["text"]);
            let (catalog, _) = TestHome::with_models(providers).load();
            let mut request = question(model(&catalog), "hi");
            let message = |value: &Value| std::sync::Arc::new(serde_json::from_value(value.clone()).unwrap());
            request.messages = messages.iter().map(message).collect::<Vec<_>>().into();
            answer_events(&catalog, request).await;
            let sent = &server.received()[0].text;
            let found = sent.matches("image omitted: this model does not support images)").count();
            assert_eq!((found, sent.contains("aGk=")), (notes, false), "{api} {sent}");
        }
    }
}
