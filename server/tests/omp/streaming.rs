//! Tests of the times at which pieces of an answer are sent. Time is simulated: the clock of the runtime advances only
//! when the test waits.

use std::sync::Arc;
use std::time::Duration;

use agentese::omp::Omp;
use agentese::serve::Options;
use agentese::types::Model;
use agentese_server::Server;
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{FinishReason, Provider, Request, StreamEvent};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::support::link::Link;

/// A piece, with its time in milliseconds since the start of the answer.
type Piece = (u64, String);

/// A model with one answer in these pieces. The answer starts when the test permits it, and may hang at its end.
struct TimedProvider {
    model: ScriptedProvider,
    permits: Arc<Semaphore>,
    pieces: Vec<Piece>,
    hangs: bool,
}

impl Provider for TimedProvider {
    fn name(&self) -> &str {
        self.model.name()
    }
    fn models(&self) -> &[Model] {
        self.model.models()
    }
    fn stream(&self, _: Request) -> BoxStream<'static, StreamEvent> {
        let begins = self.permits.clone();
        let begin = stream::once(async move {
            begins.acquire().await.unwrap().forget();
            StreamEvent::TextStart
        });
        let (pieces, mut began) = (self.pieces.clone(), None);
        let pieces = stream::iter(pieces).then(move |(at, text)| {
            let began: Instant = *began.get_or_insert_with(Instant::now);
            async move {
                if at > 0 {
                    tokio::time::sleep_until(began + Duration::from_millis(at)).await;
                }
                StreamEvent::TextDelta(text)
            }
        });
        let answer = begin.chain(pieces);
        match self.hangs {
            true => answer.chain(stream::pending()).boxed(),
            false => {
                let end = [StreamEvent::TextEnd, StreamEvent::Done(FinishReason::Stop)];
                answer.chain(stream::iter(end)).boxed()
            }
        }
    }
}

/// Sends a prompt, waits for its turn, stops the clock of the runtime and lets the answer start.
async fn prompted(
    revision: &str,
    pieces: Vec<Piece>,
    hangs: bool,
    options: Options,
) -> (Link, tempfile::TempDir) {
    let (place, begins) = (tempfile::tempdir().unwrap(), Arc::new(Semaphore::new(0)));
    let model = TimedProvider { model: ScriptedProvider::built_in(), permits: begins.clone(), pieces, hangs };
    let builder = Server::builder().cwd(place.path()).with_provider(Arc::new(model));
    let mut link = Link::for_revision_with::<Omp>(revision, builder, options, 4096);
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("turn_start").await;
    tokio::time::pause();
    begins.add_permits(1);
    (link, place)
}

fn piece(frame: &Value) -> Option<&str> {
    frame["assistantMessageEvent"]["delta"].as_str()
}

/// Checks the pieces that a revision sends, with their times in milliseconds after the first piece. A time may be a few
/// milliseconds late, because timers round up.
async fn check_pieces(revision: &str, pieces: &[(u64, &str)], hangs: bool, expected: &[(u64, &str)]) {
    let pieces = pieces.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
    let (mut link, _place) = prompted(revision, pieces, hangs, Options::default()).await;
    let mut first = None;
    for (at, text) in expected {
        let frame = link.until("a piece", |frame| piece(frame).is_some()).await.pop().unwrap();
        let now = Instant::now();
        let passed = now - *first.get_or_insert(now);
        assert_eq!(piece(&frame), Some(*text), "{revision}, {passed:?}");
        let at = Duration::from_millis(*at);
        assert!(passed >= at && passed < at + Duration::from_millis(4), "{revision}, {text}: {passed:?}");
    }
    tokio::time::resume();
}

#[tokio::test]
async fn since_13_19_pieces_are_sent_twenty_times_a_second() {
    let pieces = [(0, "a"), (20, "b"), (45, "c"), (56, "d"), (91, "e"), (156, "f"), (163, "g")];
    for hangs in [false, true] {
        check_pieces("omp@12.7", &pieces, hangs, &pieces).await;
        // The end of an answer flushes its last piece. In an answer that hangs, no piece is held back.
        let last = if hangs { 206 } else { 163 };
        let joined = [(0, "a"), (50, "bc"), (100, "de"), (156, "f"), (last, "g")];
        check_pieces("omp@13.19", &pieces, hangs, &joined).await;
    }
}

#[tokio::test]
async fn a_long_answer_to_a_client_that_reads_nothing_loses_neither_its_end_nor_a_piece() {
    let pieces: Vec<Piece> = (0..40).map(|at| (0, format!("{at:04}").repeat(1 << 10))).collect();
    let whole: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
    let mut options = Options::default();
    options.outbox_bytes = 300 << 10;
    let (mut link, _place) = prompted("omp@13.19", pieces, false, options).await;
    // After this time, the agent has no pending work.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let frames = link.until_event("agent_end").await;
    let pieces: Vec<&str> = frames.iter().filter_map(piece).collect();
    assert_eq!(pieces.concat(), whole);
    assert!(pieces.len() < 40, "pieces are joined");
    let updates = frames.iter().filter_map(|frame| frame["assistantMessageEvent"]["type"].as_str());
    assert_eq!(updates.filter(|kind| *kind == "text_end").count(), 1);
    let answer = &frames.last().unwrap()["messages"][1];
    assert_eq!((&answer["stopReason"], &answer["content"][0]["text"]), (&json!("stop"), &json!(whole)));
    assert_eq!(answer["errorMessage"], Value::Null);
}
