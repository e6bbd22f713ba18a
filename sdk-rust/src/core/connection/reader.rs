//! The reader: every line is looked at once and goes where it belongs.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::events::Pace;
use super::{EventFrame, RawAnswer, Shared, Waiter};
use crate::chunks::{Assembler, Step};
use crate::error::{Error, Refused};
use crate::failure;
use crate::framing::{FrameReader, FrameText, Incoming};
use crate::redact::{redact, redact_beginning, sealed};
use crate::route::{Routed, route};
use crate::run_tracker::Input;
use crate::scan;
use crate::spec::{HandlerFailure, RunRole, Spec};
use crate::tap::{Diagnostic, Direction};
use crate::termination::{Cause, RECENT_FRAMES, Termination};
use crate::transport::BoxReader;
use crate::transport::Exit;

/// How long nothing may be read from a process that has ended until it is taken to have said everything: its children
/// may hold the pipe open for ever.
const SILENCE: Duration = Duration::from_millis(100);

/// How long a process that has ended is read at most: its children may go on writing.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the end of a stream, or a broken pipe, waits for the exit of the process behind it, which says more. On a
/// busy machine the one is heard of well after the other.
pub(super) const EXIT_WITHIN: Duration = Duration::from_secs(2);

pub(super) async fn run(
    shared: Arc<Shared>,
    mut frames: FrameReader<BoxReader>,
    exit: Option<impl Future<Output = Exit> + Send + 'static>,
) {
    let _settles = super::SettlesOnPanic(shared.clone());
    // The exit is watched beside the reader: a reader that waits for a subscriber must not hold up
    // the end of every call.
    let exited = exit.map(|exit| {
        let shared = shared.clone();
        tokio::spawn(async move {
            let exit = tokio::select! {
                exit = exit => exit,
                () = shared.stop.cancelled() => return,
            };
            shared.read_last_words().await;
            let tail = exit.stderr_tail.clone();
            shared.settle(Termination::new(Cause::Exited(exit)).with_stderr_tail(tail));
        })
    });
    let mut batch = Vec::new();
    let mut pieces = Assembler::default();
    let mut pace = Pace::default();
    let cause = loop {
        let read = tokio::select! {
            read = frames.next_batch(&mut batch) => read,
            () = shared.stop.cancelled() => return,
        };
        match read {
            Ok(0) => break Cause::EndOfStream,
            Ok(_) => {}
            Err(error) => break Cause::Io { kind: error.kind(), text: error.to_string() },
        }
        shared.reads.fetch_add(1, Ordering::Relaxed);
        // Who listens is woken once for everything that one read brought, and before anything else that came
        // with it is acted on.
        let mut wake_pending = false;
        let mut left = batch.len();
        for incoming in batch.drain(..) {
            left -= 1;
            match incoming {
                // Of many frames the first ones are not among the last.
                Incoming::Frame(frame) => {
                    wake_pending = shared.take(frame, &mut pieces, wake_pending, left < RECENT_FRAMES).await;
                }
                Incoming::Fault(fault) => shared.diagnose(Diagnostic::Framing(fault)),
            }
        }
        if wake_pending {
            shared.wake_listeners();
        }
        shared.keep_pace(&mut pace).await;
    };
    if let Some(reason) = pieces.interrupted("the end of the connection") {
        shared.diagnose(Diagnostic::Chunks { reason });
    }
    shared.read_to_end.cancel();
    // A process closes its stdout when it ends: its exit code says more than the end of the stream.
    if let Some(exited) = exited
        && tokio::time::timeout(EXIT_WITHIN, exited).await.is_ok()
    {
        return;
    }
    shared.settle(Termination::new(cause));
}

impl Shared {
    /// Waits until what a process wrote before its end has been read. Nobody who does not read holds that up: queues
    /// take more than they hold from now on.
    pub(super) async fn read_last_words(&self) {
        self.exited.cancel();
        let silence = async {
            loop {
                let before = self.reads.load(Ordering::Relaxed);
                tokio::time::sleep(SILENCE).await;
                if self.reads.load(Ordering::Relaxed) == before {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.read_to_end.cancelled() => {}
            () = self.stop.cancelled() => {}
            () = silence => {}
            () = tokio::time::sleep(LAST_WORDS) => {}
        }
    }

    /// Takes a frame. `wake_pending` says whether events were queued that nobody was woken for; gives whether that is
    /// so now.
    async fn take(
        self: &Arc<Self>,
        frame: FrameText,
        pieces: &mut Assembler,
        wake_pending: bool,
        recent: bool,
    ) -> bool {
        if frame.as_str().trim_ascii().is_empty() {
            return wake_pending;
        }
        let frame = seal(frame);
        self.tap_frame(Direction::Received, frame.as_str());
        match self.put_together(frame, pieces) {
            Some(frame) => {
                self.watch(Direction::Received, frame.as_str());
                self.take_whole(frame, wake_pending, recent).await
            }
            None => wake_pending,
        }
    }

    /// A frame that stands on one line, or the one whose last piece this line is; none for other pieces.
    fn put_together(&self, frame: FrameText, pieces: &mut Assembler) -> Option<FrameText> {
        let Some(chunks) = &self.spec.chunks else { return Some(frame) };
        let is_piece =
            matches!(route(self.spec, &frame), Ok(Routed::Event { kind, .. }) if *kind == *chunks.event);
        let Step { whole, fault } = match is_piece {
            true => {
                let Step { whole, fault } = pieces.take(chunks, frame.as_str());
                Step { whole: whole.map(seal), fault }
            }
            false => Step { whole: Some(frame), fault: pieces.interrupted("another frame") },
        };
        if let Some(reason) = fault {
            self.diagnose(Diagnostic::Chunks { reason });
        }
        whole
    }

    async fn take_whole(self: &Arc<Self>, frame: FrameText, wake_pending: bool, recent: bool) -> bool {
        let routed = match route(self.spec, &frame) {
            Ok(routed) => routed,
            Err(reason) => {
                let text: String = frame.as_str().chars().take(200).collect();
                let shown =
                    if text.len() < frame.as_str().len() { redact_beginning(&text) } else { redact(&text) };
                self.diagnose(Diagnostic::Noise { text: shown.into_owned(), reason });
                return wake_pending;
            }
        };
        // What an answer or a question follows is told before it.
        let before_others = || {
            if wake_pending {
                self.wake_listeners();
            }
            if recent {
                self.state().recent.push(frame.as_str());
            }
        };
        match routed {
            Routed::Event { kind, body, session, outline } => {
                self.event(EventFrame { kind, inner: body, outline, frame }, session.as_deref(), recent)
                    .await;
                return true;
            }
            Routed::Answer { id, command, success, data, error } => {
                before_others();
                let result = if success {
                    Ok(RawAnswer { data })
                } else {
                    Err(refusal(self.spec, command.clone(), error.as_ref()))
                };
                self.answer(id.as_ref(), command, result);
            }
            Routed::Dialog { id, method, params } => {
                before_others();
                self.dialog(id, method, params);
            }
        }
        false
    }

    /// Gives an answer to the call that it belongs to.
    fn answer(
        self: &Arc<Self>,
        id: Option<&FrameText>,
        command: Option<String>,
        result: Result<RawAnswer, Refused>,
    ) {
        let key = id.map(|id| {
            scan::string(id.as_str()).map_or_else(|| id.as_str().to_owned(), |text| text.into_owned())
        });
        let settled = {
            let mut state = self.state();
            match &key {
                Some(key) => state.pending.settle(key),
                None if result.is_err() => {
                    let unlikely = |command: &str, waiter: Option<&Waiter>| self.keeps_id(command, waiter);
                    state.pending.attribute(command.as_deref(), self.spec.edges.parse_command, unlikely)
                }
                None => None,
            }
        };
        let Some(settled) = settled else {
            // A failure after the acknowledgement belongs to the run that the command started.
            if let (Some(key), Err(refused)) = (&key, &result)
                && let Some(token) = self.run_of_command(key)
            {
                return self.finish_run(token, Err(Error::Refused(Box::new(refused.clone()))));
            }
            return self.diagnose(Diagnostic::UnmatchedAnswer { id: key, command });
        };
        let result = result.map_err(|mut refused| {
            refused.attributed = settled.attributed;
            refused.command.get_or_insert_with(|| settled.command.clone());
            if refused.attributed {
                refused.command = Some(settled.command.clone());
            }
            refused
        });
        if let Ok(answer) = &result {
            self.look_at_answer(&settled.command, answer.data.as_ref().map(FrameText::as_str));
        }
        let result = result.map_err(|refused| self.failure(&settled.command, refused));
        let role = self.spec.command(&settled.command).map_or(RunRole::None, |spec| spec.run);
        // Real agents swallow the closing events of a run that is replaced: look whether it goes on.
        if role == RunRole::Replaces && result.is_ok() && self.run_end().barrier.is_some() {
            self.feed_runs(None, Input::MayEnd);
        }
        if role == RunRole::Starts
            && let Some(token) = self.run_of_command(&settled.id)
        {
            self.hold_run(token);
            match &result {
                Ok(_) => self.feed_run(token, Input::Answered),
                Err(error) => self.finish_run(token, Err(error.clone())),
            }
        }
        match settled.waiter {
            // It timed out, or its caller is gone: the answer is late.
            None => self.diagnose(Diagnostic::UnmatchedAnswer { id: key, command }),
            Some(Waiter::Caller(caller)) => {
                let _ = caller.send(result);
            }
            Some(Waiter::Run { token }) => {
                let busy = result.ok().and_then(|answer| {
                    let member = self.run_end().barrier?.busy;
                    crate::route::flag(answer.data?.as_str(), member)
                });
                self.state_came(token, busy.map_or(Input::NoState, |busy| Input::State { busy }));
            }
        }
    }

    /// Whether a failure of that call carries its id, by the document.
    fn keeps_id(&self, command: &str, waiter: Option<&Waiter>) -> bool {
        let excepted = match self.spec.edges.handler_failure {
            HandlerFailure::ParseWithoutId { except, .. } => except.contains(&command),
            _ => false,
        };
        excepted || matches!(waiter, Some(Waiter::Run { .. }))
    }
}

/// Drops what an event carries beside a key where it is read, so that nobody can show it: in all dialects, for the agent may
/// speak another than it was taken to.
fn seal(frame: FrameText) -> FrameText {
    sealed(frame.as_str()).map_or(frame, FrameText::from)
}

fn refusal(spec: &Spec, command: Option<String>, error: Option<&FrameText>) -> Refused {
    let error = error.map(|error| serde_json::from_str(error.as_str()).unwrap_or(serde_json::Value::Null));
    let (message, code, data) = match error {
        Some(serde_json::Value::String(message)) => (message, None, None),
        Some(serde_json::Value::Object(mut members)) => (
            members.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned(),
            members.get("code").and_then(serde_json::Value::as_i64),
            members.remove("data"),
        ),
        _ => ("the agent gave no reason".to_owned(), None, None),
    };
    let failure = failure::kind_of(spec, command.as_deref(), code, &message);
    Refused { command, message, code, data, attributed: false, failure }
}
