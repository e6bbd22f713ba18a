//! Several conversations behind one connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;

use super::Desk;

/// The desks of a process, by the ids of their sessions. Each desk has its own engine, extensions, command
/// queue and storage. Models, settings and tools are shared, because their parts are.
#[derive(Debug, Default)]
pub struct Registry(Mutex<BTreeMap<String, Arc<Desk>>>);

impl Registry {
    fn desks(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Desk>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a desk under the id of its session. Returns the previous desk with this id, unchanged.
    pub fn add(&self, desk: Arc<Desk>) -> Option<Arc<Desk>> {
        self.desks().insert(desk.engine().view().session_id, desk)
    }

    /// Returns the desk of a session.
    pub fn get(&self, id: &str) -> Option<Arc<Desk>> {
        self.desks().get(id).cloned()
    }

    /// Returns all desks, in the order of their ids.
    pub fn all(&self) -> Vec<Arc<Desk>> {
        self.desks().values().cloned().collect()
    }

    /// Removes a desk and shuts it down. Returns false if no desk has this id.
    pub async fn close(&self, id: &str) -> bool {
        let Some(desk) = self.desks().remove(id) else { return false };
        desk.shut_down().await;
        true
    }

    /// Shuts down all desks concurrently.
    pub async fn shut_down(&self) {
        join_all(self.all().iter().map(|desk| desk.shut_down())).await;
    }

    /// Waits until all desks are idle, concurrently.
    pub async fn wait_until_idle(&self) {
        join_all(self.all().iter().map(|desk| desk.wait_until_idle())).await;
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
    use crate::desk::{Parts, Updates};
    use crate::engine::{Event, EventSink, Input};
    use crate::extensions;
    use crate::session::{DeleteError, Session, Start, Store};
    use crate::world::{RandomIds, SystemClock};

    const SOON: Duration = Duration::from_secs(60);

    struct Deaf;

    impl EventSink for Deaf {
        fn room(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }
        fn push(&self, _: Event<'_>) {}
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(SOON, future).await.expect("it does not take that long")
    }

    /// Returns parts with a model that answers `ok` to every prompt, but never answers `hang`.
    fn parts(place: &Path) -> Parts {
        let script = json!({"responses": [
            {"when": {"user": "hang"}, "keep": true, "hang_after": 0},
        ], "default": {"text": "ok"}});
        let script = serde_json::from_value(script).unwrap();
        let mut options = Server::builder().cwd(place).script(script).parts().0;
        options.store = Some(Store::at(place, place));
        let extensions = extensions::Options::default();
        Parts {
            options,
            session: None,
            extensions,
            mcp: crate::mcp::Options::default(),
            undecided: None,
            updates: Updates::default(),
            usual_tools: true,
            elsewhere: None,
            agents: None,
        }
    }

    /// Adds another conversation with the same parts. Returns its id and its desk.
    fn add(registry: &Registry, parts: &Parts) -> (String, Arc<Desk>) {
        let desk = Arc::new(Desk::new(parts.with(None), Arc::new(Deaf), CancellationToken::new()));
        assert!(registry.add(desk.clone()).is_none());
        (desk.engine().view().session_id, desk)
    }

    fn say(desk: &Desk, text: &str) {
        desk.engine().begin(Input::text(text), None).unwrap().start();
    }

    #[tokio::test]
    async fn each_session_has_its_own_desk_and_none_waits_for_another() {
        let place = tempfile::tempdir().unwrap();
        let (registry, parts) = (Registry::default(), parts(place.path()));
        let (first, busy) = add(&registry, &parts);
        let (second, other) = add(&registry, &parts);
        assert_ne!(first, second);
        assert!(Arc::ptr_eq(&registry.get(&first).unwrap(), &busy));
        assert!(Arc::ptr_eq(&registry.get(&second).unwrap(), &other));
        assert!(registry.get("nobody").is_none() && registry.get(&first[..8]).is_none());
        say(&busy, "hang");
        for number in 1..4 {
            say(&other, "go");
            soon(other.engine().wait_until_idle()).await;
            assert_eq!(other.engine().view().messages, 2 * number);
        }
        assert!(busy.engine().view().streaming && !other.engine().view().streaming);
        // Each desk counts only its own usage.
        assert_eq!(
            (busy.engine().stats().2.assistant_messages, other.engine().stats().2.assistant_messages),
            (0, 3)
        );
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn an_idle_session_keeps_the_texts_of_its_messages_alone() {
        let place = tempfile::tempdir().unwrap();
        let (registry, parts) = (Registry::default(), parts(place.path()));
        let (_, desk) = add(&registry, &parts);
        for number in 1..4 {
            say(&desk, "go");
            soon(desk.engine().wait_until_idle()).await;
            assert_eq!(desk.engine().decoded(), 0);
            let messages = desk.engine().messages();
            assert_eq!(messages.len(), 2 * number);
            // These queries keep no decoded messages.
            let _ = (desk.engine().conversation(), desk.engine().stats(), desk.engine().context_tokens());
            assert_eq!(desk.engine().last_assistant_text().as_deref(), Some("ok"));
            assert_eq!(desk.engine().fork_messages().len(), number);
            let texts: Vec<_> = desk.engine().message_texts();
            assert_eq!(desk.engine().decoded(), 0);
            for (text, message) in texts.iter().zip(&messages) {
                assert_eq!(text.as_str(), serde_json::to_string(&**message).unwrap());
            }
        }
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn a_session_that_is_closed_while_it_works_ends_and_can_be_deleted() {
        let place = tempfile::tempdir().unwrap();
        let (registry, parts) = (Registry::default(), parts(place.path()));
        let store = parts.options.store.clone().unwrap();
        let (id, desk) = add(&registry, &parts);
        let (other, _) = add(&registry, &parts);
        say(&desk, "go");
        soon(desk.engine().wait_until_idle()).await;
        say(&desk, "hang");
        assert!(matches!(store.delete(&id), Err(DeleteError::Locked { .. })));
        let file = desk.engine().view().session_file.unwrap();
        assert!(soon(registry.close(&id)).await);
        assert!(registry.get(&id).is_none() && !desk.engine().view().streaming);
        assert!(!registry.close(&id).now_or_never().unwrap(), "it is gone already");
        assert!(desk.engine().begin(Input::text("late"), None).is_err());
        drop(desk);
        store.delete(&id).unwrap();
        assert!(!file.exists());
        assert_eq!(registry.all().len(), 1);
        assert!(registry.get(&other).is_some());
        soon(registry.shut_down()).await;
    }

    #[tokio::test]
    async fn the_end_of_all_ends_each_and_settling_waits_for_each() {
        let place = tempfile::tempdir().unwrap();
        let (registry, parts) = (Registry::default(), parts(place.path()));
        let desks: Vec<_> = (0..3).map(|_| add(&registry, &parts).1).collect();
        desks.iter().for_each(|desk| say(desk, "go"));
        soon(registry.wait_until_idle()).await;
        assert!(desks.iter().all(|desk| desk.engine().view().messages == 2));
        desks.iter().for_each(|desk| say(desk, "hang"));
        soon(registry.shut_down()).await;
        assert!(desks.iter().all(|desk| !desk.engine().view().streaming));
        assert!(desks.iter().all(|desk| desk.engine().begin(Input::text("late"), None).is_err()));
    }

    #[tokio::test]
    async fn a_session_that_is_opened_again_takes_the_place_of_its_desk() {
        let place = tempfile::tempdir().unwrap();
        let (registry, parts) = (Registry::default(), parts(place.path()));
        let (id, desk) = add(&registry, &parts);
        say(&desk, "go");
        soon(desk.engine().wait_until_idle()).await;
        let file = desk.engine().view().session_file.unwrap();
        assert!(soon(registry.close(&id)).await);
        drop(desk);
        let start = Start::new(place.path(), Arc::new(SystemClock), Arc::new(RandomIds));
        let session = Session::open(&file, start).unwrap();
        let again = Desk::new(parts.with(Some(session)), Arc::new(Deaf), CancellationToken::new());
        assert!(registry.add(Arc::new(again)).is_none());
        assert_eq!(registry.get(&id).unwrap().engine().view().messages, 2);
        soon(registry.shut_down()).await;
    }
}
