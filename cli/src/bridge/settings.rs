//! What a client sets is set at the agent, behind what was said before and before the next prompt.

use std::sync::Arc;

use agentese::any::Intent;
use agentese_server::config::{Change, Persist};

use super::remote::Remote;

/// What a client sets is set at the agent.
pub(super) struct Settings(pub Arc<Remote>);

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
        // Commands that the agent has nothing for were refused before; what changes beside others is not worth a word.
        if !self.0.agent.can(intent) {
            return;
        }
        match change {
            Change::DefaultModel { provider, id } => {
                self.0.later("the model", |agent| async move { agent.set_model(&provider, &id).await });
            }
            Change::DefaultThinkingLevel(level) => {
                self.0.later("the thinking level", move |agent| async move {
                    agent.set_thinking(level.as_str()).await
                });
            }
            Change::SteeringMode(mode) => {
                self.0.later("the steering mode", move |agent| async move {
                    agent.set_steering_mode(mode.as_str()).await
                });
            }
            Change::FollowUpMode(mode) => {
                self.0.later("the follow-up mode", move |agent| async move {
                    agent.set_follow_up_mode(mode.as_str()).await
                });
            }
            Change::RetryEnabled(on) => {
                self.0.later("retries", move |agent| async move { agent.set_auto_retry(on).await });
            }
            Change::CompactionEnabled(on) => {
                self.0.later("compaction", move |agent| async move { agent.set_auto_compaction(on).await });
            }
            _ => {}
        }
    }
}
