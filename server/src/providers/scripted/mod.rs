//! The embedded model: it needs no key and no network.
//!
//! It plays a [`ModelScript`], the format in which the project's scenarios say what a model answers;
//! without one it plays a small plan that looks at the working directory with the tools and tells
//! what it found.

mod cue;
mod files;
mod plan;
mod report;
mod survey;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentese::types::{InputKind, Model, ModelCost, ModelScript, ScriptResponse};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::{Provider, Request, StreamEvent, number};
use crate::world::{Clock, SystemClock};
use cue::Cue;

/// The tokens that fit into the context of the embedded model.
pub const CONTEXT_WINDOW: u64 = 200_000;

/// The name of the provider, and of its one model.
pub const NAME: &str = "scripted";

/// What it says once a script has run out and has no default.
const EXHAUSTED: &str = "(script exhausted)";

/// The embedded model.
pub struct Scripted {
    models: [Model; 1],
    source: Source,
    clock: Arc<dyn Clock>,
    /// How many requests there were.
    requests: AtomicU64,
}

enum Source {
    Plan { pace: Duration },
    Script(Box<ModelScript>),
}

impl Scripted {
    /// Plays the built-in plan.
    pub fn built_in() -> Self {
        Self::new(Source::Plan { pace: Duration::ZERO })
    }

    /// Plays a script: the n-th request gets the n-th answer, whatever session it belongs to. When
    /// there are none left, the script's default is the answer, or else a text that says so.
    pub fn script(script: ModelScript) -> Self {
        Self::new(Source::Script(Box::new(script)))
    }

    /// Pauses that long before each piece of the built-in plan, in whole milliseconds. A script
    /// has pauses of its own.
    pub fn paced(mut self, pace: Duration) -> Self {
        if let Source::Plan { pace: current } = &mut self.source {
            *current = pace;
        }
        self
    }

    /// Takes pauses from that clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    fn new(source: Source) -> Self {
        Self { models: [model()], source, clock: Arc::new(SystemClock), requests: AtomicU64::new(0) }
    }

    fn answer(&self, request: &Request, position: u64) -> ScriptResponse {
        match &self.source {
            Source::Plan { pace } => {
                let mut answer = plan::answer(request);
                answer.delay_ms = u64::try_from(pace.as_millis()).ok();
                answer
            }
            Source::Script(script) => {
                let scripted = usize::try_from(position).ok().and_then(|at| script.responses.get(at));
                scripted.or(script.default.as_ref()).cloned().unwrap_or_else(|| {
                    let mut answer = ScriptResponse::new();
                    answer.text = Some(EXHAUSTED.to_owned());
                    answer
                })
            }
        }
    }
}

fn model() -> Model {
    let free = || number(0.0);
    Model::new(
        NAME,
        "Scripted (embedded)",
        NAME,
        NAME,
        "embedded:",
        true,
        vec![InputKind::Text, InputKind::Image],
        CONTEXT_WINDOW,
        16_384,
        ModelCost::new(free(), free(), free(), free()),
    )
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        NAME
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        let position = self.requests.fetch_add(1, Ordering::Relaxed);
        let cues: VecDeque<Cue> = cue::cues(&self.answer(&request, position), position).into();
        let clock = self.clock.clone();
        stream::unfold((cues, clock), |(mut cues, clock)| async move {
            loop {
                match cues.pop_front()? {
                    Cue::Say(event) => return Some((event, (cues, clock))),
                    Cue::Wait(pause) => clock.sleep(pause).await,
                    Cue::Hang => futures::future::pending().await,
                }
            }
        })
        .boxed()
    }
}
