//! Tests of a single step that aborts the current work and starts other work.

use std::sync::{Arc, Mutex};

use agentese_server::conversation::{
    AgentComponents, ConversationService, PromptOutcome, PromptRequest, RequestContext, UpdateContent,
};
use agentese_server::engine::{Engine, Event, EventSink, PromptError, UserInput};
use agentese_server::ui::{Answer, Dialog, Notice, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::link::builder;
use crate::support::soon;

/// Records starts and ends of runs, and user input.
#[derive(Default)]
struct EventLog(Mutex<Vec<String>>);

impl EventLog {
    fn record(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for EventLog {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn push(&self, event: Event<'_>) {
        match event {
            Event::RunStarted => self.record("run"),
            Event::RunEnded { .. } => self.record("/run"),
            _ => {}
        }
    }
}

/// A client without a user: it displays nothing.
struct NullUi;

impl Ui for NullUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn show(&self, _: &Notice) {}

    fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        None
    }
}

/// Starts an agent with a first answer that does not end by itself.
async fn busy_conversation() -> (ConversationService, Arc<EventLog>, tempfile::TempDir) {
    let script = json!({"responses": [{"hang_after": 0}], "default": {"text": "ok"}});
    let (builder, place) = builder(script);
    let (options, session) = builder.build_engine_options();
    let log = Arc::new(EventLog::default());
    let components = AgentComponents {
        options,
        session,
        extensions: Default::default(),
        mcp: Default::default(),
        pending_trust: None,
        updates: UpdateContent::default(),
        has_default_tools: true,
        components_factory: None,
        remote_agents: None,
    };
    let conversation = ConversationService::new(components, log.clone(), CancellationToken::new());
    conversation.connect(Arc::new(NullUi));
    let outcome = conversation.prompt(request("go"), detached_context()).await.unwrap();
    assert!(matches!(outcome, PromptOutcome::Run(_)));
    let started = async {
        while log.read().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon("the run to begin", started).await;
    (conversation, log, place)
}

fn request(text: &str) -> PromptRequest {
    PromptRequest::new(text.to_owned(), None)
}

fn detached_context() -> RequestContext {
    RequestContext::new(|_| {}, std::future::pending())
}

fn is_busy(engine: &Engine) -> bool {
    engine.status().streaming
        && matches!(engine.accept_prompt(UserInput::text("other"), None), Err(PromptError::Busy))
}

fn user_texts(engine: &Engine) -> Vec<String> {
    let messages = engine.messages();
    let texts = messages.iter().map(|message| serde_json::to_value(&**message).unwrap());
    let of_user = texts.filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn no_work_starts_between_the_aborted_run_and_its_replacement() {
    let (conversation, log, _place) = busy_conversation().await;
    let engine = conversation.engine();
    let mut reserving = Box::pin(engine.abort_and_reserve());
    assert!((&mut reserving).now_or_never().is_none(), "the run has to end first");
    assert!(is_busy(engine));
    let reservation = soon("the run to end", reserving).await.unwrap();
    assert_eq!(log.read(), ["run", "/run"]);
    assert!(is_busy(engine));
    soon("the prompt", reservation.submit(UserInput::text("instead"))).await.unwrap().start();
    soon("the next run", engine.wait_until_idle()).await;
    assert_eq!(log.read(), ["run", "/run", "run", "/run"]);
    assert_eq!(user_texts(engine), ["go", "instead"]);
}

#[tokio::test]
async fn a_prompt_in_place_of_a_run_is_accepted_between_their_events() {
    let (conversation, log, _place) = busy_conversation().await;
    let request_log = log.clone();
    let caller = RequestContext::new(move |_| request_log.record("accepted"), std::future::pending());
    let outcome =
        soon("the prompt", conversation.abort_and_prompt(request("instead"), caller)).await.unwrap();
    let PromptOutcome::Run(running) = outcome else { panic!("{outcome:?}") };
    soon("the run to end", running.ended()).await;
    assert_eq!(log.read(), ["run", "/run", "accepted", "run", "/run"]);
    assert!(!conversation.engine().status().streaming);
    // In an idle agent, the command is a normal prompt.
    soon("the prompt", conversation.abort_and_prompt(request("again"), detached_context())).await.unwrap();
    soon("the run to end", conversation.wait_until_idle()).await;
    assert_eq!(user_texts(conversation.engine()), ["go", "instead", "again"]);
}

#[tokio::test]
async fn queued_input_continues_with_the_replacing_run() {
    let (conversation, _, _place) = busy_conversation().await;
    conversation.steer("too".to_owned(), None).await.unwrap();
    soon("the prompt", conversation.abort_and_prompt(request("instead"), detached_context())).await.unwrap();
    soon("the run to end", conversation.engine().wait_until_idle()).await;
    assert_eq!(user_texts(conversation.engine()), ["go", "instead", "too"]);
}

#[tokio::test]
async fn dropped_or_aborted_reservation_leaves_an_idle_engine() {
    let (conversation, log, _place) = busy_conversation().await;
    let engine = conversation.engine();
    drop(soon("the reservation", engine.abort_and_reserve()).await.unwrap());
    assert!(!engine.status().streaming);
    let reservation = soon("the reservation", engine.abort_and_reserve()).await.unwrap();
    let aborted = reservation.abort_token();
    let give_up = async {
        aborted.cancelled().await;
        drop(reservation);
    };
    soon("the abort", async { tokio::join!(engine.abort(), give_up) }).await;
    assert!(!engine.status().streaming);
    assert_eq!(log.read(), ["run", "/run"]);
    engine.accept_prompt(UserInput::text("again"), None).unwrap().start();
    soon("the next run", engine.wait_until_idle()).await;
    assert_eq!(user_texts(engine), ["go", "again"]);
}
