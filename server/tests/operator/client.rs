//! Tests of an agent with the typed client.

use agentese::operator::{Client, Event, Operator, OperatorContent, OperatorPhase};
use agentese::serve::ServeEnd;
use agentese::spec::Dialect;
use agentese::transport::memory_pair;
use agentese_server::dialects::DialectEntry;
use serde_json::json;

use crate::support::link::builder;
use crate::support::soon;

#[tokio::test]
async fn a_turn_through_the_typed_client() {
    let (builder, _place) = builder(json!({"responses": [{"blocks": [{"text": ["Found", " it."]}]}]}));
    let (ours, theirs) = memory_pair(1 << 16);
    let server = builder.dialect(DialectEntry::find(&Operator::SPEC.id()).unwrap()).build();
    let served = tokio::spawn(server.serve(theirs));
    let client = Client::connect(ours);
    assert_eq!(soon("the state", client.get_state()).await.unwrap().phase, OperatorPhase::Idle);
    let mut run = soon("the prompt", client.prompt("go")).await.unwrap();
    let mut text = String::new();
    while let Some(event) = soon("an event", run.next()).await {
        if let Event::MessageUpdate(update) = event.unwrap() {
            for content in update.message.contents {
                if let OperatorContent::Text(piece) = content {
                    text.push_str(&piece.content);
                }
            }
        }
    }
    assert_eq!(text, "Found it.");
    soon("the end", client.close()).await;
    assert_eq!(soon("serving", served).await.unwrap(), ServeEnd::EndOfInput);
}
