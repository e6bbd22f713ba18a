//! Tests of tools whose names or schemas an API rejects: they are changed in the request, and calls of them are
//! restored.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock};
use agentese_server::providers::{Assembler, Request, StreamEvent, ToolDescription, history};
use serde_json::{Value, json};

use crate::support::{APIS, Reply, Server, TestHome, answer_events, definition, hello, model, question};

fn tool(name: &str, parameters: Value) -> ToolDescription {
    ToolDescription { name: name.to_owned(), description: "Does it.".to_owned(), parameters }
}

/// Returns tools with unusual names and schemas, as MCP servers and extensions have them.
fn odd_tools() -> Vec<ToolDescription> {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}});
    vec![
        tool("bash", json!({"type": "object", "properties": {"command": {"type": "string"}}})),
        tool(
            "1starts digit",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": {"weird key$": {"type": "string"}, "in": {"type": "object", "properties": {"ü": {}}}},
                "required": ["weird key$"],
            }),
        ),
        tool(
            "forms",
            json!({"anyOf": [
                {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
                {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            ]}),
        ),
        tool(
            "tree",
            json!({"type": "object", "properties": {"root": {"$ref": "#/definitions/node"}},
                            "definitions": {"node": node}}),
        ),
        tool("null", json!(null)),
        tool("text", json!({"type": "string"})),
    ]
}

/// Returns the name and the schema of each tool in a request.
fn tools_of(api: &str, body: &Value) -> Vec<(String, Value)> {
    let (list, schema) = match api {
        "anthropic-messages" => (&body["tools"], "/input_schema"),
        "openai-completions" => (&body["tools"], "/function/parameters"),
        "openai-responses" => (&body["tools"], "/parameters"),
        _ => (&body["tools"][0]["functionDeclarations"], "/parametersJsonSchema"),
    };
    let name = if api == "openai-completions" { "/function/name" } else { "/name" };
    let tool = |tool: &Value| {
        (tool.pointer(name).unwrap().as_str().unwrap().to_owned(), tool.pointer(schema).unwrap().clone())
    };
    list.as_array().unwrap().iter().map(tool).collect()
}

/// Returns an answer that calls the tool `name` in two pieces, in the format of an API.
fn calling(api: &str, name: &str, arguments: &Value) -> String {
    let text = arguments.to_string();
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap();
    let (one, two) = text.split_at(middle);
    let events = match api {
        "anthropic-messages" => vec![
            json!({"type": "content_block_start", "index": 0, "content_block":
                   {"type": "tool_use", "id": "c", "name": name, "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": one}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": two}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
        "openai-completions" => vec![
            json!({"choices": [{"delta": {"tool_calls": [
                {"index": 0, "id": "c", "function": {"name": name, "arguments": one}}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": two}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        "openai-responses" => vec![
            json!({"type": "response.output_item.added", "item":
                   {"type": "function_call", "id": "f", "call_id": "c", "name": name}}),
            json!({"type": "response.function_call_arguments.delta", "delta": one}),
            json!({"type": "response.function_call_arguments.delta", "delta": two}),
            json!({"type": "response.output_item.done", "item":
                   {"type": "function_call", "id": "f", "call_id": "c", "name": name, "arguments": text}}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
        _ => vec![json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"id": "c", "name": name, "args": arguments}}]}, "finishReason": "STOP"}]})],
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn takes_name(api: &str, name: &str) -> bool {
    let first = name.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_');
    let usual = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-');
    name.chars().all(usual) && (api != "google-generative-ai" || first)
}

#[tokio::test]
async fn a_tool_that_an_api_refuses_is_sent_in_another_form_and_called_by_its_own_names() {
    for api in APIS {
        let home = |url: &str| TestHome::with_models(definition(api, url)).load().0;
        let server = Server::start([Reply::events(&hello(api))]).await;
        let catalog = home(&server.url());
        let mut request = Request { tools: odd_tools(), ..question(model(&catalog), "hi") };
        answer_events(&catalog, request.clone()).await;
        let sent = tools_of(api, &server.received()[0].body);
        assert_eq!(sent.len(), 4, "{api}: {sent:?}");
        assert!(sent.iter().all(|(name, _)| takes_name(api, name)), "{api}: {sent:?}");
        assert_eq!(sent[0], ("bash".to_owned(), odd_tools()[0].parameters.clone()));
        for (_, schema) in &sent {
            assert_eq!(schema["type"], "object", "{api}");
            let text = schema.to_string();
            for keyword in ["anyOf", "$ref", "$schema", "definitions"] {
                assert!(!text.contains(&format!("\"{keyword}\"")), "{api}: {text}");
            }
        }
        assert_eq!(sent[2].1["properties"], json!({"id": {"type": "integer"}, "name": {"type": "string"}}));
        let properties = sent[1].1["properties"].as_object().unwrap();
        let weird = properties.keys().next().unwrap().clone();
        assert_eq!(weird == "weird key$", api != "anthropic-messages", "{api}: {properties:?}");
        assert_eq!(sent[1].1["required"], json!([weird]));

        // The model calls the tool by the name in the request.
        let inner = sent[1].1["properties"]["in"]["properties"].as_object().unwrap().keys().next().unwrap();
        let arguments = json!({&weird: "x", "in": {inner: 1}});
        let body = calling(api, &sent[1].0, &arguments);
        let server = Server::start([Reply::events(&body), Reply::events(&hello(api))]).await;
        let catalog = home(&server.url());
        request.model = model(&catalog);
        let mut assembler = Assembler::new(&request.model, 0);
        let mut answer = None;
        for event in answer_events(&catalog, request.clone()).await {
            if let StreamEvent::Done(reason) = event {
                answer = Some(assembler.done(reason));
                break;
            }
            assembler.apply(event);
        }
        let answer = answer.expect("the answer is whole");
        let [AssistantBlock::ToolCall(call)] = answer.message.content.as_slice() else {
            panic!("{answer:?}")
        };
        assert_eq!(call.name, "1starts digit", "{api}");
        assert_eq!(
            Value::Object(call.arguments.clone()),
            json!({"weird key$": "x", "in": {"ü": 1}}),
            "{api}"
        );
        assert_eq!(answer.unusable, []);

        // The next request contains the call as the model made it.
        let result = json!({"role": "toolResult", "toolCallId": call.id, "toolName": call.name, "isError": false,
                            "timestamp": 1, "content": [{"type": "text", "text": "ok"}]});
        let answer: AgentMessage = answer.message.into();
        let result = Arc::new(serde_json::from_value(result).unwrap());
        let messages = request.messages.iter().chain([Arc::new(answer), result]);
        request.messages = history::for_model(messages).collect::<Vec<_>>().into();
        answer_events(&catalog, request).await;
        let again = server.received()[1].body.to_string();
        assert!(!again.contains("1starts digit") && again.contains(&sent[1].0), "{api}: {again}");
        assert!(again.contains(weird.as_str()), "{api}: {again}");
    }
}
