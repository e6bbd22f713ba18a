//! Drives any revision of a dialect: `revisions DIALECT PROGRAM ARGUMENTS…`. Prints the result as JSON.

use std::sync::{Arc, Mutex};

use agentese::tap::{Diagnostic, Tap};
use agentese::transport::ChildOptions;
use agentese::{Error, omp, pi};
use serde_json::json;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Diagnostics of the client, except for unanswered questions.
#[derive(Clone, Default)]
struct DiagnosticTap(Arc<Mutex<Vec<String>>>);

impl Tap for DiagnosticTap {
    fn wants_frames(&self) -> bool {
        false
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        if !matches!(diagnostic, Diagnostic::DialogByPolicy { .. }) {
            self.0.lock().unwrap_or_else(|error| error.into_inner()).push(format!("{diagnostic:?}"));
        }
    }
}

/// Describes the result of a command that only some revisions have.
fn newer<T>(answer: Result<T, Error>) -> Result<String, BoxError> {
    match answer {
        Ok(_) => Ok("answered".to_owned()),
        Err(Error::NotInRevision { revision, .. }) => Ok(format!("not in {revision}")),
        Err(error) => Err(error.into()),
    }
}

macro_rules! speak {
    ($dialect:ident, $arguments:expr, $newer:ident) => {{
        let diagnostics = DiagnosticTap::default();
        let mut arguments = $arguments;
        let program = arguments.next().unwrap_or_default();
        let options = ChildOptions::new(program).args(arguments);
        let client = $dialect::Client::builder().tap(diagnostics.clone()).spawn(options)?;
        let mut texts = Vec::new();
        for prompt in ["hello there", "use a tool"] {
            let mut run = client.prompt(prompt).await?;
            let mut text = String::new();
            while let Some(event) = run.next().await {
                match event? {
                    $dialect::Event::MessageStart(_) => text.clear(),
                    $dialect::Event::MessageUpdate(update) => {
                        if let $dialect::AssistantMessageEvent::TextDelta(piece) = update.assistant_message_event {
                            text.push_str(&piece.delta);
                        }
                    }
                    _ => {}
                }
            }
            run.result().await?;
            texts.push(text);
        }
        let newer = newer(client.$newer().await)?;
        let busy = client.get_state().await?.is_streaming;
        let revision = client.revision().map(|spec| spec.id());
        client.close().await;
        let diagnostics = diagnostics.0.lock().unwrap_or_else(|error| error.into_inner()).clone();
        json!({"revision": revision, "texts": texts, "newer": newer, "busy": busy, "odd": diagnostics})
    }};
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let report = match arguments.next().as_deref() {
        Some("pi") => speak!(pi, arguments, get_tree),
        Some("omp") => speak!(omp, arguments, get_subagents),
        other => return Err(format!("unknown dialect {other:?}; known: pi, omp").into()),
    };
    println!("{report}");
    Ok(())
}
