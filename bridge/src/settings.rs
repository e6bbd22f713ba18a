//! Settings of a client on their way to the agent, after earlier input and before the next prompt.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::any::{Intent, carries};
use agentese::spec::Spec;
use agentese::types::QueueMode;
use agentese_server_base::config::{Change, Persist};

use super::remote::Remote;

/// The time limit for the restoration of a setting.
const BACK: Duration = Duration::from_secs(3);

/// Applies a client's settings to the agent.
pub(super) struct Settings {
    remote: Arc<Remote>,
    /// The agent's own follow-up mode, if the front's client cannot set it.
    own: Option<QueueMode>,
    /// The agent's own follow-up mode, after the front has changed it for the time of the connection.
    lent: Mutex<Option<QueueMode>>,
}

impl Settings {
    /// Creates the settings of an agent with that follow-up mode, behind a front of that dialect.
    pub fn new(remote: Arc<Remote>, front: &Spec, follow_up: QueueMode) -> Self {
        let own = (!carries(front, Intent::SetFollowUpMode)).then_some(follow_up);
        Self { remote, own, lent: Mutex::default() }
    }

    /// Restores the mode from before the front's change, because agents store their settings.
    pub async fn give_back(&self) {
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mode) = lent.filter(|_| self.remote.gone().is_none()) else { return };
        let set = async {
            self.remote.behind_settings().await;
            self.remote.agent.set_follow_up_mode(mode.as_str()).await
        };
        match tokio::time::timeout(BACK, set).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the agent did not take its follow-up mode back"),
            Err(_) => tracing::warn!("the agent did not take its follow-up mode back in time"),
        }
    }
}

impl Persist for Settings {
    fn save(&self, change: Change) {
        let intent = match change {
            Change::DefaultModel { .. } => Intent::SetModel,
            Change::DefaultThinkingLevel(_) => Intent::SetThinking,
            Change::SteeringMode(_) => Intent::SetSteeringMode,
            Change::FollowUpMode(_) => Intent::SetFollowUpMode,
            Change::RetryEnabled(_) => Intent::SetAutoRetry,
            Change::CompactionEnabled(_) => Intent::SetAutoCompaction,
            _ => return,
        };
        // Commands without a counterpart were rejected before. Other changes need no report.
        if !self.remote.agent.can(intent) {
            return;
        }
        if let (Change::FollowUpMode(mode), Some(own)) = (&change, &self.own) {
            let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
            let is_lent = std::mem::replace(&mut *lent, (mode != own).then_some(*own)).is_some();
            if mode == own && !is_lent {
                return;
            }
        }
        match change {
            Change::DefaultModel { provider, id } => {
                self.remote.later("the model", |agent| async move { agent.set_model(&provider, &id).await });
            }
            Change::DefaultThinkingLevel(level) => {
                self.remote.later("the thinking level", move |agent| async move {
                    agent.set_thinking(level.as_str()).await
                });
            }
            Change::SteeringMode(mode) => {
                self.remote.later("the steering mode", move |agent| async move {
                    agent.set_steering_mode(mode.as_str()).await
                });
            }
            Change::FollowUpMode(mode) => {
                self.remote.later("the follow-up mode", move |agent| async move {
                    agent.set_follow_up_mode(mode.as_str()).await
                });
            }
            Change::RetryEnabled(on) => {
                self.remote.later("retries", move |agent| async move { agent.set_auto_retry(on).await });
            }
            Change::CompactionEnabled(on) => {
                self.remote
                    .later("compaction", move |agent| async move { agent.set_auto_compaction(on).await });
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
    use crate::far::Far;
    use crate::person::Person;

    #[tokio::test]
    async fn a_mode_that_the_front_takes_back_itself_is_set_at_the_agent() {
        let (near, far) = memory_pair(1 << 16);
        let agent = Agent::over(near, Options::new().dialect("pi")).await.unwrap();
        let remote = Arc::new(Remote::new(agent, Person::new()));
        let front = agentese::dynamic::spec("opal").unwrap();
        let settings = Settings::new(remote, front, QueueMode::OneAtATime);
        let mut far = Far::of(far);
        // The agent has this mode already.
        settings.save(Change::FollowUpMode(QueueMode::OneAtATime));
        for mode in [QueueMode::All, QueueMode::OneAtATime] {
            settings.save(Change::FollowUpMode(mode));
            let set = far.hears("set_follow_up_mode").await;
            assert_eq!(set["mode"], mode.as_str());
            let answer = serde_json::json!({
                "type": "response", "id": set["id"], "command": "set_follow_up_mode", "success": true,
            });
            far.says(answer).await;
        }
        assert!(settings.lent.lock().unwrap().is_none(), "nothing is to be given back");
    }
}
