//! The scripted model, which needs no key and no network.
//!
//! It plays a [`ModelScript`], the format of model answers in the project's scenarios. Without a script,
//! it plays a small plan that surveys the working directory with the tools and reports the result.

mod files;
mod plan;
mod report;
mod steps;
mod workspace;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::types::{
    AgentMessage, InputKind, Model, ModelBuilder, ModelCostBuilder, ModelScript, ScriptResponse,
};
use agentese_script::{Playlist, RequestProperties};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::{Provider, Request, StreamEvent, number};
use crate::runtime::{Clock, SystemClock};
use steps::ScriptStep;

/// Size of the context of the scripted model in tokens.
pub const CONTEXT_WINDOW: u64 = 200_000;

/// Name of the provider and of its only model.
pub const NAME: &str = "scripted";

/// A provider whose model takes its answers from a script.
pub struct ScriptedProvider {
    models: [Model; 1],
    source: AnswerSource,
    clock: Arc<dyn Clock>,
}

enum AnswerSource {
    Plan {
        pace: Duration,
        /// Number of requests so far.
        requests: AtomicU64,
    },
    Script(Box<Mutex<Playlist>>),
}

impl ScriptedProvider {
    /// Creates a model that answers with the built-in plan.
    pub fn built_in() -> Self {
        Self::new(AnswerSource::Plan { pace: Duration::ZERO, requests: AtomicU64::new(0) })
    }

    /// Creates a model that answers from a script. Each request gets the next answer that fits it, regardless
    /// of its session. After the last answer, the model returns the script's default answer. Without a
    /// default, it returns a text about the missing answer.
    pub fn from_script(script: ModelScript) -> Self {
        Self::new(AnswerSource::Script(Box::new(Mutex::new(Playlist::new(script)))))
    }

    /// Sets the pause before each chunk of text of the built-in plan, rounded down to milliseconds. A script
    /// has its own pauses.
    pub fn with_pace(mut self, pace: Duration) -> Self {
        if let AnswerSource::Plan { pace: current, .. } = &mut self.source {
            *current = pace;
        }
        self
    }

    /// Sets the clock that measures the pauses.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    fn new(source: AnswerSource) -> Self {
        Self { models: [model()], source, clock: Arc::new(SystemClock) }
    }

    /// Returns the answer to a request, and the number of the request.
    fn answer(&self, request: &Request) -> (ScriptResponse, u64) {
        match &self.source {
            AnswerSource::Plan { pace, requests } => {
                let mut answer = plan::answer(request);
                answer.delay_ms = u64::try_from(pace.as_millis()).ok();
                (answer, requests.fetch_add(1, Ordering::Relaxed))
            }
            AnswerSource::Script(playlist) => {
                let (question, work) = plan::last_turn(request);
                let properties = RequestProperties {
                    user: &question,
                    system: &request.system_prompt,
                    model: &request.model.id,
                    tool_results: work.iter().any(|message| matches!(**message, AgentMessage::ToolResult(_))),
                    body: &|| {
                        let messages: Vec<_> = request.messages.iter().collect();
                        let messages: Vec<_> = messages.iter().map(|message| &**message).collect();
                        let history = serde_json::to_string(&messages).unwrap_or_default();
                        format!("{}\n{history}", request.system_prompt)
                    },
                };
                let turn = playlist.lock().unwrap_or_else(PoisonError::into_inner).next(&properties);
                (turn.answer, turn.number)
            }
        }
    }
}

fn model() -> Model {
    let free = || number(0.0);
    ModelBuilder {
        id: NAME.into(),
        name: "Scripted (embedded)".to_owned(),
        api: NAME.into(),
        provider: NAME.into(),
        base_url: "embedded:".to_owned(),
        reasoning: true,
        input: vec![InputKind::Text, InputKind::Image],
        context_window: CONTEXT_WINDOW,
        max_tokens: 16_384,
        cost: ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() }
            .build(),
    }
    .build()
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        let (answer, position) = self.answer(&request);
        let cues: VecDeque<ScriptStep> = steps::script_steps(&answer, position).into();
        let clock = self.clock.clone();
        stream::unfold((cues, clock), |(mut cues, clock)| async move {
            loop {
                match cues.pop_front()? {
                    ScriptStep::Emit(event) => return Some((event, (cues, clock))),
                    ScriptStep::Wait(pause) => clock.sleep(pause).await,
                    ScriptStep::Hang => futures::future::pending().await,
                }
            }
        })
        .boxed()
    }
}
