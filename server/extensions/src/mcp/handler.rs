//! Handling of the notifications of servers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ServerNotification,
};
use rmcp::service::NotificationContext;
use tokio::sync::{Notify, watch};

/// Receives the notifications of one server.
#[derive(Clone)]
pub(super) struct Handler {
    pub progress: ProgressRouter,
    /// Notified when the tools or the prompts change.
    pub changed: Arc<Notify>,
}

/// Progress subscriptions of all calls. Clones share them.
#[derive(Clone, Default)]
pub(super) struct ProgressRouter(
    Arc<Mutex<HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>>>,
);

impl ProgressRouter {
    /// Subscribes to the progress of one call until the subscription is dropped. Of several unread steps, only the
    /// newest is kept.
    pub fn subscribe(&self, token: ProgressToken) -> ProgressSubscription {
        let (sender, receiver) = watch::channel(None);
        self.all().insert(token.clone(), sender);
        ProgressSubscription { progress: self.clone(), token, receiver }
    }

    fn all(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>>
    {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, step: ProgressNotificationParam) {
        if let Some(waiting) = self.all().get(&step.progress_token) {
            waiting.send_replace(Some(step));
        }
    }
}

/// Subscription to the progress of one call.
pub(super) struct ProgressSubscription {
    progress: ProgressRouter,
    token: ProgressToken,
    receiver: watch::Receiver<Option<ProgressNotificationParam>>,
}

impl ProgressSubscription {
    /// Waits for the next step of progress. If no further step arrives, never completes.
    pub async fn next(&mut self) -> ProgressNotificationParam {
        loop {
            match self.receiver.changed().await {
                Ok(()) => {
                    if let Some(step) = self.receiver.borrow_and_update().clone() {
                        return step;
                    }
                }
                Err(_) => std::future::pending::<()>().await,
            }
        }
    }
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        self.progress.all().remove(&self.token);
    }
}

impl Handler {
    /// Handles a notification that arrived through a subscription. Newer servers report changes in this way.
    pub fn handle_notification(&self, notification: &ServerNotification) {
        if matches!(
            notification,
            ServerNotification::ToolListChangedNotification(_)
                | ServerNotification::PromptListChangedNotification(_)
        ) {
            self.changed.notify_one();
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        // No capabilities: the client uses tools and prompts, and offers nothing to servers.
        let me = Implementation::new("agentese", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), me)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(&self, step: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.publish(step);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
