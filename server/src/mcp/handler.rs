//! What servers tell without being asked.

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

/// Takes notifications of one server.
#[derive(Clone)]
pub(super) struct Handler {
    pub progress: Progress,
    /// The tools or the prompts are others now.
    pub changed: Arc<Notify>,
}

/// Who waits for the progress of which call. Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Progress(
    Arc<Mutex<HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>>>,
);

impl Progress {
    /// Hears of the progress of one call, the newest of it, until this is dropped.
    pub fn listen(&self, token: ProgressToken) -> Listening {
        let (sender, news) = watch::channel(None);
        self.all().insert(token.clone(), sender);
        Listening { progress: self.clone(), token, news }
    }

    fn all(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>>
    {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, step: ProgressNotificationParam) {
        if let Some(waiting) = self.all().get(&step.progress_token) {
            waiting.send_replace(Some(step));
        }
    }
}

/// Hears of the progress of one call.
pub(super) struct Listening {
    progress: Progress,
    token: ProgressToken,
    news: watch::Receiver<Option<ProgressNotificationParam>>,
}

impl Listening {
    /// The next step; never where there is none.
    pub async fn next(&mut self) -> ProgressNotificationParam {
        loop {
            match self.news.changed().await {
                Ok(()) => {
                    if let Some(step) = self.news.borrow_and_update().clone() {
                        return step;
                    }
                }
                Err(_) => std::future::pending::<()>().await,
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.progress.all().remove(&self.token);
    }
}

impl Handler {
    /// What came over a subscription, which is how newer servers tell of changes.
    pub fn heard(&self, notification: &ServerNotification) {
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
        // No capabilities: servers are asked for tools and prompts, and ask for nothing.
        let me = Implementation::new("agentese", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), me)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(&self, step: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.tell(step);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
