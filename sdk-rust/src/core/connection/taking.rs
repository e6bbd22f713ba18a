//! Processing of the agent's output: each line is classified once and dispatched.

use std::collections::VecDeque;
use std::sync::Arc;

use super::answers::refusal;
use super::event_queue::EventFrame;
use super::other_dialect::{beginning, is_own};
use super::shared::{RawAnswer, Shared};
use crate::chunks::{Assembler, Step};
use crate::framing::{FrameText, Incoming};
use crate::redact::{sealed, sealed_by};
use crate::route::{Routed, Router};
use crate::run_tracker::Input;
use crate::tap::{Diagnostic, Direction};
use crate::termination::RECENT_FRAMES;

/// Maximum length of a reported line that is not a frame, in characters.
const NOISE_SHOWN: usize = 200;

/// Maximum number of plain events queued at once: a concurrent receiver gets its first events soon.
const PLAIN: usize = 128;

/// Remaining work for a line after its classification.
enum Sorted {
    /// The maximum number of plain events is ready.
    Plain,
    /// An event with its session.
    Event { event: EventFrame, session: Option<String> },
    /// An answer or a question.
    Other { frame: FrameText, routed: Routed },
    /// A line that is no frame.
    Unreadable { frame: FrameText, reason: String },
}

/// Processor of the lines of one connection.
pub(super) struct Taking {
    shared: Arc<Shared>,
    router: Router,
    /// Assembler for the pieces of a frame.
    pieces: Assembler,
    /// Events to be queued together, oldest first; empty between two reads.
    plain: VecDeque<EventFrame>,
    /// `true` if events were queued and their receivers not yet woken.
    wake_pending: bool,
    /// `true` after a frame of the client's dialect.
    is_own: bool,
}

impl Taking {
    pub fn new(shared: Arc<Shared>) -> Self {
        let router = Router::new(shared.spec);
        Taking {
            shared,
            router,
            pieces: Assembler::default(),
            plain: VecDeque::new(),
            wake_pending: false,
            is_own: false,
        }
    }

    /// Processes all lines of one read. Receivers are woken once for all events, and before any other frame takes
    /// effect. `heads` are the beginnings of undelivered lines. `may_be_sealed` is `true` if one of the lines may be a
    /// frame whose type alone may be shown.
    pub async fn take_all(&mut self, batch: &mut Vec<Incoming>, heads: Vec<String>, may_be_sealed: bool) {
        let mut heads = heads.into_iter();
        let mut left = batch.len();
        for incoming in batch.drain(..) {
            left -= 1;
            match incoming {
                // The first of many frames are not among the last ones.
                Incoming::Frame(frame) => {
                    let recent = left < RECENT_FRAMES;
                    if let Some(sorted) = self.sort(frame, recent, may_be_sealed) {
                        self.act(sorted, recent).await;
                    }
                }
                Incoming::Fault(fault) => {
                    // A run is notified of the fault after the events before it.
                    self.queue_plain().await;
                    let reason = fault.to_string();
                    self.shared.diagnose(Diagnostic::Framing(fault));
                    self.shared.lost_line(&heads.next().unwrap_or_default(), &reason);
                }
            }
        }
        self.queue_plain().await;
        self.wake();
    }

    /// Handles the end of the connection.
    pub fn end(&mut self) {
        if let Some(reason) = self.pieces.interrupted("the end of the connection") {
            self.shared.diagnose(Diagnostic::Chunks { reason });
        }
    }

    fn wake(&mut self) {
        if std::mem::take(&mut self.wake_pending) {
            self.shared.wake_listeners();
        }
    }

    async fn queue_plain(&mut self) {
        if self.plain.is_empty() {
            return;
        }
        self.wake_pending = true;
        loop {
            self.shared.plain_events(&mut self.plain);
            let Some(event) = self.plain.pop_front() else { return };
            self.shared.event(event, None, false).await;
        }
    }

    /// Classifies a line. Returns the remaining work; most lines are plain events without any.
    fn sort(&mut self, frame: FrameText, recent: bool, may_be_sealed: bool) -> Option<Sorted> {
        if frame.as_str().trim_ascii().is_empty() {
            return None;
        }
        let (frame, routed) = self.route(frame, may_be_sealed);
        // Assembly precedes the tap, because a key in a piece would not be recognized.
        let (frame, routed) = self.put_together(frame, routed)?;
        self.shared.tap_frame(Direction::Received, frame.as_str());
        self.shared.watch(Direction::Received, frame.as_str());
        if !self.is_own {
            if self.shared.is_of_other_dialect(&frame) {
                return None;
            }
            self.is_own = routed.as_ref().is_ok_and(|routed| is_own(self.shared.spec, routed));
            if self.is_own {
                self.shared.speaks_own_dialect();
            }
        }
        if routed.is_ok() {
            self.shared.report_inexact(frame.as_str());
        }
        match routed {
            Ok(Routed::Event { kind, body, session, outline }) => {
                let event = EventFrame { kind, inner: body, outline, frame };
                if recent || session.is_some() || !self.shared.is_plain(&event) {
                    return Some(Sorted::Event { event, session });
                }
                self.plain.push_back(event);
                (self.plain.len() >= PLAIN).then_some(Sorted::Plain)
            }
            Ok(routed) => Some(Sorted::Other { frame, routed }),
            Err(reason) => Some(Sorted::Unreadable { frame, reason }),
        }
    }

    /// Routes a line. Removes the members of an event with a key, so that no receiver can show the key. This applies in
    /// all dialects, because the agent may speak another than expected.
    fn route(&mut self, frame: FrameText, may_be_sealed: bool) -> (FrameText, Result<Routed, String>) {
        let routed = self.router.route(&frame);
        let shown = match &routed {
            _ if !may_be_sealed => None,
            Ok(Routed::Event { outline: Some(outline), .. }) => sealed_by(frame.as_str(), outline),
            _ => sealed(frame.as_str()),
        };
        match shown.map(FrameText::from) {
            Some(shown) => {
                let routed = self.router.route(&shown);
                (shown, routed)
            }
            None => (frame, routed),
        }
    }

    async fn act(&mut self, sorted: Sorted, recent: bool) {
        self.queue_plain().await;
        match sorted {
            Sorted::Plain => {}
            Sorted::Event { event, session } => {
                self.shared.event(event, session.as_deref(), recent).await;
                self.wake_pending = true;
            }
            Sorted::Other { frame, routed } => self.take_other(&frame, routed, recent),
            Sorted::Unreadable { frame, reason } => {
                self.shared.lost_line(frame.as_str(), &reason);
                let text = beginning(frame.as_str(), NOISE_SHOWN);
                self.shared.diagnose(Diagnostic::Noise { text, reason });
            }
        }
    }

    /// Returns a frame on one line, or the frame whose last piece this line is; `None` for other pieces.
    fn put_together(
        &mut self,
        frame: FrameText,
        routed: Result<Routed, String>,
    ) -> Option<(FrameText, Result<Routed, String>)> {
        let Some(chunks) = &self.shared.spec.chunks else { return Some((frame, routed)) };
        let is_piece = matches!(&routed, Ok(Routed::Event { kind, .. }) if **kind == *chunks.event);
        if !is_piece {
            if let Some(reason) = self.pieces.interrupted("another frame") {
                self.lost_pieces(reason);
            }
            return Some((frame, routed));
        }
        let Step { whole, fault } = self.pieces.take(chunks, frame.as_str());
        if let Some(reason) = fault {
            self.lost_pieces(reason);
        }
        Some(self.route(whole?, true))
    }

    /// Reports a frame that could not be assembled from its pieces.
    fn lost_pieces(&self, reason: String) {
        self.shared.diagnose(Diagnostic::Chunks { reason });
        self.shared.feed_runs(None, Input::Lost);
    }

    /// Processes a frame that is no event.
    fn take_other(&mut self, frame: &FrameText, routed: Routed, recent: bool) {
        // The events before an answer or a question are delivered first.
        self.wake();
        let shared = &self.shared;
        if recent {
            shared.state().recent.push(frame.as_str());
        }
        match routed {
            Routed::Answer { id, command, success, data, error } => {
                let result = match success {
                    true => Ok(RawAnswer { data }),
                    false => Err(refusal(shared.spec, command.clone(), error.as_ref())),
                };
                shared.answer(id.as_ref(), command, result, frame);
            }
            Routed::Dialog { id, method, params } => shared.dialog(id, method, params),
            Routed::Event { .. } => {}
        }
    }
}
