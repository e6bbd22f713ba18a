//! Abort of the current work and start of other work, in one step.

use std::sync::{Arc, Mutex};

use agentese_server::desk::{Caller, Desk, Parts, Said, Taken, Updates};
use agentese_server::engine::{Engine, Event, EventSink, Input, PromptError};
use agentese_server::ui::{Answer, Dialog, Notice, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::link::builder;
use crate::support::soon;

/// The record of the starts and ends of runs, and of user input.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Diary {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for Diary {
    fn room(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn push(&self, event: Event<'_>) {
        match event {
            Event::RunStarted => self.write("run"),
            Event::RunEnded { .. } => self.write("/run"),
            _ => {}
        }
    }
}

/// A client that is absent.
struct Nobody;

impl Ui for Nobody {
    fn room(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn show(&self, _: &Notice) {}

    fn ask(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        None
    }
}

/// Starts an agent that works on a first answer without end.
async fn at_work() -> (Desk, Arc<Diary>, tempfile::TempDir) {
    let script = json!({"responses": [{"hang_after": 0}], "default": {"text": "ok"}});
    let (builder, place) = builder(script);
    let (options, session) = builder.parts();
    let diary = Arc::new(Diary::default());
    let parts = Parts {
        options,
        session,
        extensions: Default::default(),
        mcp: Default::default(),
        undecided: None,
        updates: Updates::default(),
        usual_tools: true,
        elsewhere: None,
        agents: None,
    };
    let desk = Desk::new(parts, diary.clone(), CancellationToken::new());
    desk.connect(Arc::new(Nobody));
    let taken = desk.prompt(said("go"), nobody()).await.unwrap();
    assert!(matches!(taken, Taken::Run(_)));
    let begun = async {
        while diary.read().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon("the run to begin", begun).await;
    (desk, diary, place)
}

fn said(text: &str) -> Said {
    Said::new(text.to_owned(), None)
}

fn nobody() -> Caller {
    Caller::new(|_| {}, std::future::pending())
}

fn is_busy(engine: &Engine) -> bool {
    engine.view().streaming && matches!(engine.begin(Input::text("other"), None), Err(PromptError::Busy))
}

fn words(engine: &Engine) -> Vec<String> {
    let messages = engine.messages();
    let texts = messages.iter().map(|message| serde_json::to_value(&**message).unwrap());
    let of_user = texts.filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn nothing_begins_between_the_end_of_a_run_and_what_takes_its_place() {
    let (desk, diary, _place) = at_work().await;
    let engine = desk.engine();
    let mut taking = Box::pin(engine.take_over());
    assert!((&mut taking).now_or_never().is_none(), "the run has to end first");
    assert!(is_busy(engine));
    let seat = soon("the run to end", taking).await.unwrap();
    assert_eq!(diary.read(), ["run", "/run"]);
    assert!(is_busy(engine));
    seat.begin(Input::text("instead")).unwrap().start();
    soon("the next run", engine.wait_until_idle()).await;
    assert_eq!(diary.read(), ["run", "/run", "run", "/run"]);
    assert_eq!(words(engine), ["go", "instead"]);
}

#[tokio::test]
async fn a_prompt_in_place_of_a_run_is_accepted_between_their_events() {
    let (desk, diary, _place) = at_work().await;
    let told = diary.clone();
    let caller = Caller::new(move |_| told.write("accepted"), std::future::pending());
    let taken = soon("the prompt", desk.abort_and_prompt(said("instead"), caller)).await.unwrap();
    let Taken::Run(running) = taken else { panic!("{taken:?}") };
    soon("the run to end", running.ended()).await;
    assert_eq!(diary.read(), ["run", "/run", "accepted", "run", "/run"]);
    assert!(!desk.engine().view().streaming);
    // In an idle agent, the command is a normal prompt.
    soon("the prompt", desk.abort_and_prompt(said("again"), nobody())).await.unwrap();
    soon("the run to end", desk.wait_until_idle()).await;
    assert_eq!(words(desk.engine()), ["go", "instead", "again"]);
}

#[tokio::test]
async fn what_waits_in_the_queues_goes_on_with_what_takes_the_place() {
    let (desk, _, _place) = at_work().await;
    desk.steer("too".to_owned(), None).await.unwrap();
    soon("the prompt", desk.abort_and_prompt(said("instead"), nobody())).await.unwrap();
    soon("the run to end", desk.engine().wait_until_idle()).await;
    assert_eq!(words(desk.engine()), ["go", "instead", "too"]);
}

#[tokio::test]
async fn a_seat_that_is_given_up_or_aborted_leaves_an_idle_engine() {
    let (desk, diary, _place) = at_work().await;
    let engine = desk.engine();
    drop(soon("the seat", engine.take_over()).await.unwrap());
    assert!(!engine.view().streaming);
    let seat = soon("the seat", engine.take_over()).await.unwrap();
    let aborted = seat.aborted();
    let give_up = async {
        aborted.cancelled().await;
        drop(seat);
    };
    soon("the abort", async { tokio::join!(engine.abort(), give_up) }).await;
    assert!(!engine.view().streaming);
    assert_eq!(diary.read(), ["run", "/run"]);
    engine.begin(Input::text("again"), None).unwrap().start();
    soon("the next run", engine.wait_until_idle()).await;
    assert_eq!(words(engine), ["go", "again"]);
}
