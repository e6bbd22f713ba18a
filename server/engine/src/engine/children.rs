//! Subagents: engines with their own conversation and history, within the limits of their parent. An abort reaches all
//! of them, and the parent counts their usage.

use std::sync::{Arc, Weak};
use std::time::Duration;

use agentese::types::{AgentMessage, StopReason, ToolCall};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::bounds::Place;
use super::{ChildEvent, Engine, Event, EventSink, Hooks as _, Input, Ledger, Options, Shared};
use crate::session::{Session, Start};
use crate::tools::{Agents, AgentsError, Child, ChildAnswer, ChildNews, ChildStep, Order, Parent, Watch};

/// Starts children for one tool call.
pub(super) struct Children {
    pub shared: Weak<Shared>,
    /// Cancelled when the call must stop.
    pub stop: CancellationToken,
}

impl Agents for Children {
    fn parent(&self) -> Option<Parent> {
        let shared = self.shared.upgrade()?;
        let tools = shared.tools();
        let state = shared.state();
        Some(Parent {
            tools,
            model: state.model.as_ref().map(|model| format!("{}/{}", model.provider, model.id)),
            session_file: state.session.file().map(Into::into),
            generations: shared.options.bounds.left(),
        })
    }

    fn tell(&self, id: &str, agent: &str, news: ChildNews<'_>) {
        let Some(shared) = self.shared.upgrade() else { return };
        let event = match news {
            ChildNews::VerificationStarted(started) => ChildEvent::VerificationStarted(started),
            ChildNews::VerificationCommandStarted(started) => ChildEvent::VerificationCommandStarted(started),
            ChildNews::VerificationCommandEnded(ended) => ChildEvent::VerificationCommandEnded(ended),
            ChildNews::VerificationEnded(ended) => ChildEvent::VerificationEnded(ended),
            ChildNews::Ended { exit_code, verification } => ChildEvent::Ended { exit_code, verification },
        };
        shared.sink.push(Event::Child { id, agent, event });
    }

    fn now_ms(&self) -> i64 {
        self.shared.upgrade().map_or(0, |shared| shared.options.clock.now_ms())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        match self.shared.upgrade() {
            Some(shared) => shared.options.clock.sleep(duration),
            None => futures::future::ready(()).boxed(),
        }
    }

    fn may<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let shared = self.shared.upgrade().ok_or("The agent has ended.")?;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err("The operation was aborted.".to_owned()),
                said = shared.options.hooks.tool_call(call) => said,
            }
        }
        .boxed()
    }

    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Child>, AgentsError>> {
        async move {
            let gone = || AgentsError::Unusable("the agent has ended".to_owned());
            let parent = self.shared.upgrade().ok_or_else(gone)?;
            let now = || parent.options.clock.now_ms();
            parent.options.ledger.may_start(now()).map_err(AgentsError::Budget)?;
            let (bounds, place) = parent.options.bounds.enter()?;
            let mut options = child_options(&parent, &order)?;
            options.bounds = bounds;
            let session = history(&options, &order).await?;
            let Order { id, agent, watch, .. } = order;
            let sink = Told { parent: self.shared.clone(), id, agent, watch };
            if !order.resumes {
                parent.options.ledger.start_child(now()).map_err(AgentsError::Budget)?;
                let told = ChildEvent::Started { isolated: order.isolated };
                parent.sink.push(Event::Child { id: &sink.id, agent: &sink.agent, event: told });
                parent.tell_what_is_due();
            }
            let engine = Engine::with_session(options, Some(session), Arc::new(sink));
            let child = Started { engine, stop: self.stop.clone(), _place: place };
            Ok(Box::new(child) as Box<dyn Child>)
        }
        .boxed()
    }
}

/// Returns the parent's options with the parts that the order replaces.
fn child_options(parent: &Shared, order: &Order) -> Result<Options, AgentsError> {
    let mut options = parent.options.clone();
    {
        let state = parent.state();
        let level = order.thinking.unwrap_or(state.thinking);
        options.thinking = Some(level);
        let chosen = match &order.model {
            Some(pattern) => options.catalog.find(pattern),
            None => state.model.clone().map(|model| crate::providers::Chosen { model, thinking: None }),
        };
        let missing = || match &order.model {
            Some(pattern) => AgentsError::Unusable(format!("no model matches {pattern}")),
            None => AgentsError::Unusable(options.no_model.clone()),
        };
        options.model = Some(chosen.ok_or_else(missing)?);
    }
    options.context = parent.context().clone();
    if let Some(cwd) = &order.cwd {
        options.context.cwd.clone_from(cwd);
    }
    if let Some(tools) = &order.tools {
        options.tools = tools.clone();
        options.only_these_tools = true;
    }
    (options.store, options.session_name) = (None, None);
    options.system_prompt =
        parent.prompt().for_another(order.instructions.clone(), options.context.cwd.clone());
    options.afterwards = Vec::new();
    options.hooks = parent.options.hooks.of_child(&mut options.afterwards);
    options.ledger = Arc::new(Ledger::within(parent.options.ledger.clone()));
    Ok(options)
}

async fn history(options: &Options, order: &Order) -> Result<Session, AgentsError> {
    let start = Start::new(&options.context.cwd, options.clock.clone(), options.ids.clone()).beside();
    let Some(path) = order.history.clone() else { return Ok(Session::in_memory(start)) };
    let opened = tokio::task::spawn_blocking(move || Session::create_at(&path, start)).await;
    let opened = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    opened.map_err(|error| AgentsError::Unusable(error.to_string()))
}

/// Forwards the events of a child to the subscribers of its parent.
struct Told {
    parent: Weak<Shared>,
    id: String,
    agent: String,
    watch: Option<Watch>,
}

impl Told {
    fn watched(&self, event: &Event<'_>) {
        let Some(watch) = &self.watch else { return };
        match event {
            Event::ToolStarted(call) => watch(ChildStep::Called(call)),
            Event::ToolEnded(call, output) => watch(ChildStep::Returned(call, output)),
            Event::MessageEnded { message: AgentMessage::Assistant(answer), .. } => {
                watch(ChildStep::Answered(answer));
            }
            _ => {}
        }
    }
}

impl EventSink for Told {
    fn room(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(parent) = self.parent.upgrade() {
                parent.sink.room().await;
            }
        }
        .boxed()
    }

    fn push(&self, event: Event<'_>) {
        self.watched(&event);
        if let Some(parent) = self.parent.upgrade() {
            let event = ChildEvent::Did(&event);
            parent.sink.push(Event::Child { id: &self.id, agent: &self.agent, event });
        }
    }
}

struct Started {
    engine: Engine,
    stop: CancellationToken,
    _place: Place,
}

impl Child for Started {
    fn say<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, AgentsError>> {
        async move {
            let begun = self.engine.begin(Input::text(text), None);
            let begun = begun.map_err(|error| AgentsError::Refused(error.to_string()))?;
            begun.start();
            let guard = Stopped(Some(&self.engine));
            tokio::select! {
                biased;
                () = self.engine.wait_until_idle() => {}
                () = self.stop.cancelled() => self.engine.abort().await,
            }
            guard.done();
            Ok(answer(&self.engine))
        }
        .boxed()
    }
}

/// Stops a child on drop, unless its answer was returned.
struct Stopped<'a>(Option<&'a Engine>);

impl Stopped<'_> {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        if let Some(engine) = self.0 {
            // One poll is enough to request the abort; its end needs no wait.
            let _ = engine.abort().now_or_never();
        }
    }
}

fn answer(engine: &Engine) -> ChildAnswer {
    let messages = engine.messages();
    let last = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some((answer.stop_reason, answer.error_message.clone())),
        _ => None,
    });
    let (stop, error) = last.unwrap_or((StopReason::Aborted, None));
    ChildAnswer { text: engine.last_assistant_text().unwrap_or_default(), stop, error, messages }
}
