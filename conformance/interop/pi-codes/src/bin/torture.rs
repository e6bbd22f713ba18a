//! Driver of the crate pi-codes for `agentese-conformance torture --client`: instructions on stdin, reports
//! on stdout, as in docs/conformance-clients.md. `conformance/interop/torture/pi-codes` starts it, with the agent as `pi`
//! on PATH.

use std::process::ExitCode;
use std::time::Duration;

use pi_codes::rpc::RpcCommand;
use pi_codes::{PiCliBuilder, PiEvent, PiRpcClient};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

/// Time for which the driver waits for further output before it closes.
const REST: Duration = Duration::from_millis(300);

fn report(kind: &str, members: Value) {
    let mut frame = json!({"report": kind});
    if let (Some(frame), Value::Object(members)) = (frame.as_object_mut(), members) {
        frame.extend(members);
    }
    println!("{frame}");
}

/// Returns all members of an event in the crate's own type.
fn event_json(event: PiEvent) -> Value {
    let named = |kind: &str, members: Value| {
        let mut event = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        event.extend(
            members
                .as_object()
                .cloned()
                .unwrap_or_default()
                .into_iter()
                .filter(|(_, value)| !value.is_null()),
        );
        Value::Object(event)
    };
    match event {
        PiEvent::AgentStart => named("agent_start", json!({})),
        PiEvent::AgentEnd { messages } => named("agent_end", json!({"messages": messages})),
        PiEvent::TurnStart => named("turn_start", json!({})),
        PiEvent::TurnEnd { message, tool_results } => {
            named("turn_end", json!({"message": message, "toolResults": tool_results}))
        }
        PiEvent::MessageStart { message } => named("message_start", json!({"message": message})),
        PiEvent::MessageUpdate { message, usage, assistant_message_event } => named(
            "message_update",
            json!({"message": message, "usage": usage, "assistantMessageEvent": assistant_message_event}),
        ),
        PiEvent::MessageEnd { message } => named("message_end", json!({"message": message})),
        PiEvent::ToolExecutionStart { tool_call_id, tool_name, args, parent_tool_call_id: parent } => named(
            "tool_execution_start",
            json!({"toolCallId": tool_call_id, "toolName": tool_name, "args": args, "parentToolCallId": parent}),
        ),
        PiEvent::ToolExecutionUpdate {
            tool_call_id,
            tool_name,
            args,
            partial_result,
            parent_tool_call_id: parent,
        } => named(
            "tool_execution_update",
            json!({"toolCallId": tool_call_id, "toolName": tool_name, "args": args, "partialResult": partial_result, "parentToolCallId": parent}),
        ),
        PiEvent::ToolExecutionEnd {
            tool_call_id,
            tool_name,
            result,
            is_error,
            parent_tool_call_id: parent,
        } => named(
            "tool_execution_end",
            json!({"toolCallId": tool_call_id, "toolName": tool_name, "result": result, "isError": is_error, "parentToolCallId": parent}),
        ),
        PiEvent::Unknown { payload, .. } => payload,
    }
}

fn handle_event(event: PiEvent, dialogs: &mut u64) {
    let event = event_json(event);
    if event["type"] != "extension_ui_request" {
        return report("event", json!({"event": event}));
    }
    *dialogs += 1;
    let mut params = event.as_object().cloned().unwrap_or_default();
    params.remove("type");
    let method = params.get("method").cloned().unwrap_or_default();
    report("dialog", json!({"dialog": dialogs.to_string(), "method": method, "params": params}));
}

async fn call(client: &mut PiRpcClient, instruction: &Value) {
    let call = &told["call"];
    let mut command = told["params"].as_object().cloned().unwrap_or_default();
    command.insert("type".to_owned(), told["command"].clone());
    let command: RpcCommand = match serde_json::from_value(command.into()) {
        Ok(command) => command,
        Err(error) => return report("unsupported", json!({"reason": error.to_string()})),
    };
    match client.request_ok(command).await {
        Ok(answer) => report("result", json!({"call": call, "value": answer.data})),
        Err(error) => {
            let (kind, message) = match error {
                pi_codes::Error::CommandFailed(message) => ("refused", message),
                error @ (pi_codes::Error::ProcessExited(_) | pi_codes::Error::Io(_)) => {
                    ("terminated", error.to_string())
                }
                error => ("failed", error.to_string()),
            };
            report("error", json!({"call": call, "kind": kind, "message": message}));
        }
    }
}

/// Writes the command line of the agent into the script that is found as `pi`.
fn write_agent_script(told: &Value) -> std::io::Result<()> {
    let quoted = |word: &Value| format!("'{}'", word.as_str().unwrap_or_default().replace('\'', r"'\''"));
    let words: Vec<String> = told["command"].as_array().into_iter().flatten().map(quoted).collect();
    let place = std::env::var_os("TORTURE_AGENT").unwrap_or_default();
    std::fs::write(place, format!("exec {}\n", words.join(" ")))
}

async fn drive(mut inbox: mpsc::UnboundedReceiver<Value>) -> Result<(), Box<dyn std::error::Error>> {
    let Some(start) = inbox.recv().await else { return Ok(()) };
    write_agent_script(&start)?;
    let mut client = PiRpcClient::spawn(PiCliBuilder::new()).await?;
    report("ready", json!({"driver": 1, "library": "pi-codes 1.4.0"}));
    let (mut dialogs, mut is_over) = (0, false);
    loop {
        tokio::select! {
            biased;
            event = client.next_event(), if !is_over => match event {
                Ok(Some(event)) => handle_event(event, &mut dialogs),
                // An unreadable event is lost, but the client continues.
                Err(pi_codes::Error::Deserialization { source, .. }) => eprintln!("an event is lost: {source}"),
                Ok(None) | Err(_) => {
                    is_over = true;
                    // The crate reports neither the exit code nor the signal.
                    report("terminated", json!({"code": null, "signal": null}));
                }
            },
            told = inbox.recv() => match told {
                Some(told) if told["instruction"] == "call" => call(&mut client, &told).await,
                Some(told) if told["instruction"] == "answer" => {
                    report("unsupported", json!({"reason": "the client has no method that answers a dialog"}));
                }
                _ => break,
            },
        }
    }
    while let Ok(event) = tokio::time::timeout(REST, client.next_event()).await {
        match event {
            Ok(Some(event)) => handle_event(event, &mut dialogs),
            // Events after an unreadable one are still received.
            Err(pi_codes::Error::Deserialization { source, .. }) => eprintln!("an event is lost: {source}"),
            Ok(None) | Err(_) => break,
        }
    }
    client.shutdown().await?;
    report("closed", json!({}));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (sender, inbox) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let Ok(told) = serde_json::from_str(&line) else { continue };
            if sender.send(told).is_err() {
                return;
            }
        }
    });
    match drive(inbox).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
