//! An agent that repeats each prompt until an abort. Any client of pi can control it.
use agentese::pi::{self, AgentEnd, AgentStart, Event, MessageUpdate, Pi, PromptParams, TextDelta};
use agentese::serve::{Call, CommandError, Emitter};
use agentese::wire::NoParams;
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

type Receipt = Option<pi::InputReceipt>;
#[derive(Default)]
struct Parrot(Mutex<CancellationToken>, TaskTracker);

async fn repeat(text: String, stop: CancellationToken, client: Emitter<Pi>) {
    client.emit(&Event::AgentStart(AgentStart::new())).await;
    for word in text.split(' ') {
        let pause = tokio::time::sleep(std::time::Duration::from_millis(10));
        if stop.run_until_cancelled(pause).await.is_none() {
            break;
        }
        client.emit(&Event::MessageUpdate(MessageUpdate::new(TextDelta::new(0, format!("{word} "))))).await;
    }
    client.emit(&Event::AgentEnd(AgentEnd::new(vec![]))).await;
}

impl pi::Service for Parrot {
    async fn prompt(&self, params: PromptParams, call: Call<Pi, Receipt>) -> Result<Receipt, CommandError> {
        if !self.1.is_empty() {
            return Err(CommandError::new("Agent is busy"));
        }
        let stop = CancellationToken::new();
        *self.0.lock().await = stop.clone();
        self.1.spawn(repeat(params.message, stop, call.emitter().clone()));
        Ok(None)
    }
    async fn abort(&self, _: NoParams, _: Call<Pi>) -> Result<(), CommandError> {
        self.0.lock().await.cancel();
        Ok(())
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    agentese::serve(agentese::transport::stdio()?, Parrot::default()).await;
    Ok(())
}
