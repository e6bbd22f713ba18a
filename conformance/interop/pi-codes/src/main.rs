//! Runs a prompt to its end with the crate pi-codes, which finds the reference agent as `pi` on PATH.

use std::time::Duration;

use pi_codes::rpc::RpcCommand;
use pi_codes::{PiEvent, PiRpcClient};

type BoxError = Box<dyn std::error::Error>;

async fn run() -> Result<(), BoxError> {
    let mut client = PiRpcClient::start().await?;
    let command: RpcCommand = serde_json::from_value(serde_json::json!({
        "type": "prompt", "message": "What is in this repository?"
    }))?;
    client.request_ok(command).await?;
    let mut events = 0;
    loop {
        let event = client.next_event().await?.ok_or("the agent ended before its run")?;
        events += 1;
        if matches!(event, PiEvent::AgentEnd { .. }) {
            break;
        }
    }
    let state: RpcCommand = serde_json::from_value(serde_json::json!({"type": "get_state"}))?;
    let state = client.request_ok(state).await?;
    println!("the crate pi-codes: {events} events, then {}", state.command);
    client.shutdown().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    tokio::time::timeout(Duration::from_secs(60), run()).await?
}
