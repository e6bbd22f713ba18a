//! Setting changes of a client. They are passed to the agent after earlier input and before the next prompt.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::any::{Intent, supports};
use agentese::spec::Spec;
use agentese::types::QueueMode;
use agentese_server_base::config::{SettingsChange, SettingsStore};

use super::remote_agent::DialectRemoteAgent;

/// The time limit for restoring a setting when the client disconnects.
const RESTORE_LIMIT: Duration = Duration::from_secs(3);

/// Forwarder of a client's setting changes to the agent.
pub(super) struct SettingsForwarder {
    remote: Arc<DialectRemoteAgent>,
    /// The agent's own follow-up mode, if the client's dialect has no command for it.
    own_follow_up: Option<QueueMode>,
    /// The agent's follow-up mode before the bridge changed it for this connection. `None` if the bridge has not
    /// changed it.
    replaced_follow_up: Mutex<Option<QueueMode>>,
}

impl SettingsForwarder {
    /// Creates the forwarder for an agent with the follow-up mode `follow_up`, and a client of the dialect `front`.
    pub fn new(remote: Arc<DialectRemoteAgent>, front: &Spec, follow_up: QueueMode) -> Self {
        let own_follow_up = (!supports(front, Intent::SetFollowUpMode)).then_some(follow_up);
        Self { remote, own_follow_up, replaced_follow_up: Mutex::default() }
    }

    /// Restores the agent's follow-up mode if the bridge has changed it, because agents store their settings
    /// permanently.
    pub async fn restore(&self) {
        let lent = self.replaced_follow_up.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mode) = lent.filter(|_| self.remote.disconnect_reason().is_none()) else { return };
        let set = async {
            self.remote.wait_for_settings().await;
            self.remote.agent.set_follow_up_mode(mode.as_str()).await
        };
        match tokio::time::timeout(RESTORE_LIMIT, set).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot restore the follow-up mode of the agent"),
            Err(_) => tracing::warn!("cannot restore the follow-up mode of the agent in time"),
        }
    }
}

impl SettingsStore for SettingsForwarder {
    fn save(&self, change: SettingsChange) {
        let intent = match change {
            SettingsChange::DefaultModel { .. } => Intent::SetModel,
            SettingsChange::DefaultThinkingLevel(_) => Intent::SetThinking,
            SettingsChange::SteeringMode(_) => Intent::SetSteeringMode,
            SettingsChange::FollowUpMode(_) => Intent::SetFollowUpMode,
            SettingsChange::RetryEnabled(_) => Intent::SetAutoRetry,
            SettingsChange::CompactionEnabled(_) => Intent::SetAutoCompaction,
            _ => return,
        };
        // A change without a corresponding command of the agent was rejected before, or has no effect on the
        // agent.
        if !self.remote.agent.supports(intent) {
            return;
        }
        if let (SettingsChange::FollowUpMode(mode), Some(own)) = (&change, &self.own_follow_up) {
            let mut replaced = self.replaced_follow_up.lock().unwrap_or_else(PoisonError::into_inner);
            let was_replaced = std::mem::replace(&mut *replaced, (mode != own).then_some(*own)).is_some();
            if mode == own && !was_replaced {
                return;
            }
        }
        match change {
            SettingsChange::DefaultModel { provider, id } => {
                self.remote.queue_change("cannot set the model", |agent| async move {
                    agent.set_model(&provider, &id).await
                });
            }
            SettingsChange::DefaultThinkingLevel(level) => {
                self.remote.queue_change("cannot set the thinking level", move |agent| async move {
                    agent.set_thinking(level.as_str()).await
                });
            }
            SettingsChange::SteeringMode(mode) => {
                self.remote.queue_change("cannot set the steering mode", move |agent| async move {
                    agent.set_steering_mode(mode.as_str()).await
                });
            }
            SettingsChange::FollowUpMode(mode) => {
                self.remote.queue_change("cannot set the follow-up mode", move |agent| async move {
                    agent.set_follow_up_mode(mode.as_str()).await
                });
            }
            SettingsChange::RetryEnabled(on) => {
                self.remote.queue_change("cannot set automatic retries", move |agent| async move {
                    agent.set_auto_retry(on).await
                });
            }
            SettingsChange::CompactionEnabled(on) => {
                self.remote.queue_change("cannot set automatic compaction", move |agent| async move {
                    agent.set_auto_compaction(on).await
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use agentese::any::{Agent, Options};
    use agentese::transport::memory_pair;

    use super::*;
    use crate::client_ui::ClientUi;
    use crate::fake_agent::FakeAgent;

    #[tokio::test]
    async fn a_mode_that_the_front_resets_is_set_at_the_agent() {
        let (near, fake) = memory_pair(1 << 16);
        let agent = Agent::from_transport(near, Options::new().dialect("pi")).await.unwrap();
        let remote = Arc::new(DialectRemoteAgent::new(agent, ClientUi::new()));
        let front = agentese::dynamic::spec("opal").unwrap();
        let settings = SettingsForwarder::new(remote, front, QueueMode::OneAtATime);
        let mut fake = FakeAgent::of(fake);
        // The agent already has this mode.
        settings.save(SettingsChange::FollowUpMode(QueueMode::OneAtATime));
        for mode in [QueueMode::All, QueueMode::OneAtATime] {
            settings.save(SettingsChange::FollowUpMode(mode));
            let set = fake.receive("set_follow_up_mode").await;
            assert_eq!(set["mode"], mode.as_str());
            let answer = serde_json::json!({
                "type": "response", "id": set["id"], "command": "set_follow_up_mode", "success": true,
            });
            fake.send(answer).await;
        }
        assert!(settings.replaced_follow_up.lock().unwrap().is_none(), "nothing is to be given back");
    }
}
