//! Several conversations behind one connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;

use super::ConversationService;

/// The conversations of a process, by the id of their session. Each has its own engine, extensions, command queue
/// and storage. They share the models, settings and tools.
#[derive(Debug, Default)]
pub struct ConversationRegistry(Mutex<BTreeMap<String, Arc<ConversationService>>>);

impl ConversationRegistry {
    fn conversations(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ConversationService>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a conversation under the id of its session. If the id was in use, returns the conversation that had it;
    /// that one keeps running.
    pub fn add(&self, conversation: Arc<ConversationService>) -> Option<Arc<ConversationService>> {
        self.conversations().insert(conversation.engine().status().session_id, conversation)
    }

    /// Returns the conversation of a session.
    pub fn get(&self, id: &str) -> Option<Arc<ConversationService>> {
        self.conversations().get(id).cloned()
    }

    /// Returns all conversations, in the order of their ids.
    pub fn all(&self) -> Vec<Arc<ConversationService>> {
        self.conversations().values().cloned().collect()
    }

    /// Removes a conversation and shuts it down. Returns false if no conversation has this id.
    pub async fn close(&self, id: &str) -> bool {
        let Some(conversation) = self.conversations().remove(id) else { return false };
        conversation.shut_down().await;
        true
    }

    /// Shuts down all conversations concurrently.
    pub async fn shut_down(&self) {
        join_all(self.all().iter().map(|conversation| conversation.shut_down())).await;
    }

    /// Waits until all conversations are idle, concurrently.
    pub async fn wait_until_idle(&self) {
        join_all(self.all().iter().map(|conversation| conversation.wait_until_idle())).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use futures::FutureExt;
    use futures::future::BoxFuture;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::Server;
    use crate::conversation::{AgentComponents, UpdateContent};
    use crate::engine::{Event, EventSink, UserInput};
    use crate::extensions;
    use crate::runtime::{RandomIds, SystemClock};
    use crate::session::{DeleteError, Session, SessionOptions, Store};

    const SOON: Duration = Duration::from_secs(60);

    struct NullSink;

    impl EventSink for NullSink {
        fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }
        fn push(&self, _: Event<'_>) {}
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(SOON, future).await.expect("it does not take that long")
    }

    /// Returns components with a scripted model: it answers `ok` to every prompt, except that it never answers
    /// `hang`.
    fn components(directory: &Path) -> AgentComponents {
        let script = json!({"responses": [
            {"when": {"user": "hang"}, "keep": true, "hang_after": 0},
        ], "default": {"text": "ok"}});
        let script = serde_json::from_value(script).unwrap();
        let mut options = Server::builder().cwd(directory).script(script).build_engine_options().0;
        options.store = Some(Store::at(directory, directory));
        let extensions = extensions::HostOptions::default();
        AgentComponents {
            options,
            session: None,
            extensions,
            mcp: crate::mcp::McpOptions::default(),
            pending_trust: None,
            updates: UpdateContent::default(),
            has_default_tools: true,
            components_factory: None,
            remote_agents: None,
        }
    }

    /// Adds another conversation with the same components. Returns its id and the conversation.
    fn add(
        registry: &ConversationRegistry,
        components: &AgentComponents,
    ) -> (String, Arc<ConversationService>) {
        let conversation = Arc::new(ConversationService::new(
            components.for_session(None),
            Arc::new(NullSink),
            CancellationToken::new(),
        ));
        assert!(registry.add(conversation.clone()).is_none());
        (conversation.engine().status().session_id, conversation)
    }

    fn start_prompt(conversation: &ConversationService, text: &str) {
        conversation.engine().accept_prompt(UserInput::text(text), None).unwrap().start();
    }

    #[tokio::test]
    async fn sessions_have_separate_conversations_and_run_concurrently() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, components) = (ConversationRegistry::default(), components(directory.path()));
        let (first, busy) = add(&registry, &components);
        let (second, other) = add(&registry, &components);
        assert_ne!(first, second);
        assert!(Arc::ptr_eq(&registry.get(&first).unwrap(), &busy));
        assert!(Arc::ptr_eq(&registry.get(&second).unwrap(), &other));
        assert!(registry.get("unknown").is_none() && registry.get(&first[..8]).is_none());
        start_prompt(&busy, "hang");
        for number in 1..4 {
            start_prompt(&other, "go");
            soon(other.engine().wait_until_idle()).await;
            assert_eq!(other.engine().status().messages, 2 * number);
        }
        assert!(busy.engine().status().streaming && !other.engine().status().streaming);
        // Each conversation counts only its own usage.
        assert_eq!(
            (busy.engine().stats().2.assistant_messages, other.engine().stats().2.assistant_messages),
            (0, 3)
        );
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn idle_session_keeps_only_message_texts() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, components) = (ConversationRegistry::default(), components(directory.path()));
        let (_, conversation) = add(&registry, &components);
        for number in 1..4 {
            start_prompt(&conversation, "go");
            soon(conversation.engine().wait_until_idle()).await;
            assert_eq!(conversation.engine().decoded(), 0);
            let messages = conversation.engine().messages();
            assert_eq!(messages.len(), 2 * number);
            // These queries keep no decoded messages.
            let _ = (
                conversation.engine().conversation(),
                conversation.engine().stats(),
                conversation.engine().context_tokens(),
            );
            assert_eq!(conversation.engine().last_assistant_text().as_deref(), Some("ok"));
            assert_eq!(conversation.engine().fork_messages().len(), number);
            let texts: Vec<_> = conversation.engine().message_texts();
            assert_eq!(conversation.engine().decoded(), 0);
            for (text, message) in texts.iter().zip(&messages) {
                assert_eq!(text.as_str(), serde_json::to_string(&**message).unwrap());
            }
        }
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn closing_a_busy_session_ends_it_and_permits_deletion() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, components) = (ConversationRegistry::default(), components(directory.path()));
        let store = components.options.store.clone().unwrap();
        let (id, conversation) = add(&registry, &components);
        let (other, _) = add(&registry, &components);
        start_prompt(&conversation, "go");
        soon(conversation.engine().wait_until_idle()).await;
        start_prompt(&conversation, "hang");
        assert!(matches!(store.delete(&id), Err(DeleteError::Locked { .. })));
        let file = conversation.engine().status().session_file.unwrap();
        assert!(soon(registry.close(&id)).await);
        assert!(registry.get(&id).is_none() && !conversation.engine().status().streaming);
        assert!(!registry.close(&id).now_or_never().unwrap(), "it is closed already");
        assert!(conversation.engine().accept_prompt(UserInput::text("late"), None).is_err());
        drop(conversation);
        store.delete(&id).unwrap();
        assert!(!file.exists());
        assert_eq!(registry.all().len(), 1);
        assert!(registry.get(&other).is_some());
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn shut_down_ends_every_session_and_idle_wait_covers_every_session() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, components) = (ConversationRegistry::default(), components(directory.path()));
        let conversations: Vec<_> = (0..3).map(|_| add(&registry, &components).1).collect();
        conversations.iter().for_each(|conversation| start_prompt(conversation, "go"));
        soon(registry.wait_until_idle()).await;
        assert!(conversations.iter().all(|conversation| conversation.engine().status().messages == 2));
        conversations.iter().for_each(|conversation| start_prompt(conversation, "hang"));
        soon(registry.shut_down()).await;
        assert!(conversations.iter().all(|conversation| !conversation.engine().status().streaming));
        assert!(
            conversations.iter().all(|conversation| conversation
                .engine()
                .accept_prompt(UserInput::text("late"), None)
                .is_err())
        );
    }

    #[tokio::test]
    async fn reopened_session_replaces_its_conversation() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, components) = (ConversationRegistry::default(), components(directory.path()));
        let (id, conversation) = add(&registry, &components);
        start_prompt(&conversation, "go");
        soon(conversation.engine().wait_until_idle()).await;
        let file = conversation.engine().status().session_file.unwrap();
        assert!(soon(registry.close(&id)).await);
        drop(conversation);
        let start = SessionOptions::new(directory.path(), Arc::new(SystemClock), Arc::new(RandomIds));
        let session = Session::open(&file, start).unwrap();
        let again = ConversationService::new(
            components.for_session(Some(session)),
            Arc::new(NullSink),
            CancellationToken::new(),
        );
        assert!(registry.add(Arc::new(again)).is_none());
        assert_eq!(registry.get(&id).unwrap().engine().status().messages, 2);
        soon(registry.shut_down()).await;
    }
}
