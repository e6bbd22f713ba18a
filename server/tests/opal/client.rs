//! Tests of an agent with the typed client.

use agentese::opal::{Client, Event, Opal, OpalStatus};
use agentese::serve::ServeEnd;
use agentese::spec::Dialect;
use agentese::transport::memory_pair;
use agentese_server::dialects::DialectEntry;
use serde_json::json;

use crate::support::link::builder;
use crate::support::soon;

#[tokio::test]
async fn every_method_through_the_typed_client() {
    let (builder, place) = builder(json!({"responses": [{"blocks": [{"text": ["Found", " it."]}]}]}));
    let agent_dir = Some(place.path().to_owned());
    let extensions = agentese_server::extensions::HostOptions { agent_dir, ..Default::default() };
    let (ours, theirs) = memory_pair(1 << 16);
    let server =
        builder.extensions(extensions).dialect(DialectEntry::find(&Opal::SPEC.id()).unwrap()).build();
    let served = tokio::spawn(server.serve(theirs));
    let client = Client::connect(ours);
    let version = soon("the version", client.opal_version()).await.unwrap();
    assert_eq!(version.protocol_version, "0.1.0");
    soon("the ping", client.opal_ping()).await.unwrap();
    let session = soon("the session", client.session_start()).await.unwrap().session_id;
    let id = session.as_str();
    assert_eq!(soon("the state", client.agent_state(id)).await.unwrap().status, OpalStatus::Idle);
    let mut run = soon("the prompt", client.agent_prompt(id, "go")).await.unwrap();
    let mut text = String::new();
    while let Some(event) = soon("an event", run.next()).await {
        if let Event::MessageDelta(delta) = event.unwrap() {
            text.push_str(&delta.delta);
        }
    }
    assert_eq!(text, "Found it.");
    assert_eq!(soon("the history", client.session_history(id)).await.unwrap().messages.len(), 2);
    soon("the abort", client.agent_abort(id)).await.unwrap();
    assert!(soon("the list", client.session_list()).await.unwrap().sessions.is_empty());
    assert!(soon("a branch", client.session_branch(id, "x")).await.is_err());
    assert!(soon("compacting", client.session_compact(id)).await.is_err());
    assert!(soon("deleting", client.session_delete("x")).await.is_err());
    let models = soon("the models", client.models_list()).await.unwrap().models;
    let model = models.first().unwrap();
    let name = format!("{}:{}", model.provider, model.id);
    assert_eq!(soon("the model", client.model_set(id, name)).await.unwrap().model.id, model.id);
    assert_eq!(soon("the level", client.thinking_set(id, "max")).await.unwrap().thinking_level, "max");
    assert!(soon("the level", client.thinking_set(id, "bogus")).await.is_err());
    assert!(soon("the tasks", client.tasks_list(id)).await.unwrap().tasks.is_empty());
    assert!(soon("the settings", client.settings_get()).await.unwrap().settings.is_empty());
    let settings = json!({"theme": "dark"}).as_object().unwrap().clone();
    assert_eq!(
        soon("the settings", client.settings_save(settings.clone())).await.unwrap().settings,
        settings
    );
    let config = soon("the configuration", client.opal_config_get(id)).await.unwrap();
    assert_eq!(soon("the configuration", client.opal_config_set(id)).await.unwrap(), config);
    soon("the credentials", client.auth_status()).await.unwrap();
    assert!(soon("a login", client.auth_login()).await.is_err());
    assert!(soon("a poll", client.auth_poll("x", 1)).await.is_err());
    assert!(soon("a key", client.auth_set_key("anthropic", "")).await.is_err());
    soon("the end", client.close()).await;
    assert_eq!(soon("serving", served).await.unwrap(), ServeEnd::EndOfInput);
}
