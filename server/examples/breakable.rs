//! An agent with an internal error on the prompt `break`. Tests use it to check the messages to clients after such an
//! error.
//!
//! ```text
//! breakable DIALECT SCRIPT.json
//! ```

use std::sync::Arc;

use agentese::types::{AgentMessage, Model};
use agentese_server::Server;
use agentese_server::dialects::DialectEntry;
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{Provider, Request, StreamEvent};
use agentese_server::session::Store;
use futures::stream::BoxStream;

struct Breakable(ScriptedProvider);

impl Provider for Breakable {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn models(&self) -> &[Model] {
        self.0.models()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        let words = |message: Arc<AgentMessage>| match &*message {
            AgentMessage::User(user) => Some(serde_json::to_string(&user.content).unwrap_or_default()),
            _ => None,
        };
        let last = request.messages.iter().filter_map(words).last();
        assert!(!last.is_some_and(|text| text.contains("\"break\"")), "the prompt is `break`");
        self.0.stream(request)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (dialect, script) = arguments.next().zip(arguments.next()).ok_or("breakable DIALECT SCRIPT.json")?;
    let script = serde_json::from_str(&std::fs::read_to_string(script)?)?;
    let cwd = std::env::current_dir()?;
    let server = Server::builder()
        .with_provider(Arc::new(Breakable(ScriptedProvider::from_script(script))))
        .store(Store::at(&cwd.join("sessions"), &cwd))
        .cwd(cwd)
        .dialect(DialectEntry::find(&dialect)?)
        .build();
    server.serve(agentese::transport::stdio()?).await;
    Ok(())
}
