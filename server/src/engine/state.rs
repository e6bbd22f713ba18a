//! What an engine knows besides the run that is going on.

use std::sync::Arc;

use agentese::types::{AgentMessage, Model, ThinkingLevel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::queue::Queues;
use crate::providers::nearest_level;
use crate::session::Session;

/// The run that is going on, as others see it.
pub(super) struct Running {
    /// Tells it from every other run of the engine.
    pub number: u64,
    /// Cancelled when the run is to stop.
    pub abort: CancellationToken,
    /// Cancelled when it has ended.
    pub ended: CancellationToken,
    /// Its task, once it was started.
    pub task: Option<AbortHandle>,
}

impl Running {
    /// Gives the task up, however far it is.
    pub fn detach(self) {
        if let Some(task) = self.task {
            task.abort();
        }
    }
}

/// The state of an engine.
pub(super) struct State {
    pub session: Session,
    pub queues: Queues,
    pub model: Option<Model>,
    pub thinking: ThinkingLevel,
    pub run: Option<Running>,
    /// How many runs there were.
    pub runs: u64,
    /// Commands of the user that ended during a run: they join the session before the next prompt,
    /// so that they never stand between a call and its result.
    pub deferred: Vec<Arc<AgentMessage>>,
    /// Stops all commands of the user that are running.
    pub bash: CancellationToken,
    pub closing: bool,
}

/// What models think unless somebody says otherwise.
const DEFAULT_THINKING: ThinkingLevel = ThinkingLevel::Medium;

impl State {
    pub fn new(options: &Options) -> Self {
        let chosen = options.model.as_ref();
        let wanted =
            options.thinking.or(chosen.and_then(|chosen| chosen.thinking)).unwrap_or(DEFAULT_THINKING);
        let thinking = chosen.map_or(ThinkingLevel::Off, |chosen| nearest_level(&chosen.model, wanted));
        let mut queues = Queues::default();
        queues.set_steering_mode(options.settings.steering_mode);
        queues.set_follow_up_mode(options.settings.follow_up_mode);
        Self {
            session: Session::new(options.ids.uuid(), None),
            queues,
            model: chosen.map(|chosen| chosen.model.clone()),
            thinking,
            run: None,
            runs: 0,
            deferred: Vec::new(),
            bash: CancellationToken::new(),
            closing: false,
        }
    }
}
