//! The agent itself: prompts, runs, queues, commands. It knows models, tools and a session, and no
//! wire format: what happens goes to an [`EventSink`] as [`Event`]s.
//!
//! | file | concept |
//! |---|---|
//! | `agent_loop` | what a run does next; a state machine without I/O |
//! | `queue` | messages that wait for a run; also without I/O |
//! | `run`, `ask`, `call` | the thin shell that carries out what the state machine says |
//! | `state` | what there is besides a run: session, model, modes |
//! | `prompt`, `control`, `bash`, `models` | what an engine is asked to do |

mod agent_loop;
mod ask;
mod bash;
mod call;
mod control;
mod error;
mod event;
mod models;
mod options;
mod prompt;
mod queue;
mod run;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use call::blocks;
pub use control::View;
pub use error::PromptError;
pub use event::{Event, EventSink};
pub use options::Options;
pub use prompt::{Begun, Input, StreamingBehavior};

use state::State;

/// One agent with one conversation. Dropping it aborts what it does.
pub struct Engine {
    shared: Arc<Shared>,
}

/// What an engine and its run have in common.
struct Shared {
    options: Options,
    sink: Arc<dyn EventSink>,
    state: Mutex<State>,
}

impl Shared {
    /// The state. Held for moments only, and never across an await.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// An idle engine with an empty session.
    pub fn new(options: Options, sink: Arc<dyn EventSink>) -> Self {
        let state = Mutex::new(State::new(&options));
        Self { shared: Arc::new(Shared { options, sink, state }) }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let run = {
            let mut state = self.shared.state();
            state.bash.cancel();
            state.run.take()
        };
        if let Some(run) = run {
            run.abort.cancel();
            run.detach();
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("session", &self.shared.state().session.id())
            .finish_non_exhaustive()
    }
}
