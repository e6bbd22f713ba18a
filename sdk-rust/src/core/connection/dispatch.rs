//! Processing of the agent's output: each line is classified once and dispatched.

use std::collections::VecDeque;
use std::sync::Arc;

use super::answers::read_rejection;
use super::event_queue::EventFrame;
use super::other_dialect::{excerpt, is_own};
use super::shared::{RawAnswer, Shared};
use crate::chunks::{Assembler, AssemblyResult};
use crate::framing::{FrameText, Incoming};
use crate::redact::{strip_payload, strip_payload_by_outline};
use crate::route::{RoutedFrame, Router};
use crate::run_tracker::TrackerInput;
use crate::tap::{Diagnostic, Direction};
use crate::termination::RECENT_FRAMES;

/// Length in characters to which a reported line is shortened if it is not a frame.
const NOISE_EXCERPT: usize = 200;

/// Maximum number of plain events that are queued together. An event is plain if it only has to be queued.
/// The limit lets a receiver start before all of them are read.
const MAX_PLAIN_BATCH: usize = 128;

/// The remaining step for a line after its classification.
enum ClassifiedLine {
    /// No step for this line, but the collected plain events must be queued now.
    Plain,
    /// The line is an event. Contains its session.
    Event { event: EventFrame, session: Option<String> },
    /// The line is an answer or a question.
    Other { frame: FrameText, routed: RoutedFrame },
    /// The line is not a frame.
    Unreadable { frame: FrameText, reason: String },
}

/// Processor of the lines of one connection.
pub(super) struct InboundDispatcher {
    shared: Arc<Shared>,
    router: Router,
    /// Assembler for frames that are split across several lines.
    assembler: Assembler,
    /// Plain events that will be queued together, oldest first; empty between two reads.
    plain: VecDeque<EventFrame>,
    /// `true` if events were queued and their receivers have not been woken yet.
    wake_pending: bool,
    /// `true` after the first frame of the client's own dialect.
    is_own: bool,
}

impl InboundDispatcher {
    pub fn new(shared: Arc<Shared>) -> Self {
        let router = Router::new(shared.spec);
        InboundDispatcher {
            shared,
            router,
            assembler: Assembler::default(),
            plain: VecDeque::new(),
            wake_pending: false,
            is_own: false,
        }
    }

    /// Processes all lines of one read. Receivers are woken once for all events, but always before another kind
    /// of frame takes effect. `heads` are the beginnings of the lines that could not be delivered.
    /// `may_be_secret` is `true` if some frame may have to be reduced to its type because it contains a key.
    pub async fn dispatch_batch(
        &mut self,
        batch: &mut Vec<Incoming>,
        heads: Vec<String>,
        may_be_secret: bool,
    ) {
        let mut heads = heads.into_iter();
        let mut left = batch.len();
        for incoming in batch.drain(..) {
            left -= 1;
            match incoming {
                // The first of many frames are not among the last ones.
                Incoming::Frame(frame) => {
                    let recent = left < RECENT_FRAMES;
                    if let Some(sorted) = self.classify(frame, recent, may_be_secret) {
                        self.dispatch(sorted, recent).await;
                    }
                }
                Incoming::Fault(fault) => {
                    // A run is notified of the fault after the events before it.
                    self.queue_plain().await;
                    let reason = fault.to_string();
                    self.shared.diagnose(Diagnostic::Framing(fault));
                    self.shared.handle_unreadable(&heads.next().unwrap_or_default(), &reason);
                }
            }
        }
        self.queue_plain().await;
        self.wake();
    }

    /// Handles the end of the connection.
    pub fn end(&mut self) {
        if let Some(reason) = self.assembler.interrupted("the end of the connection") {
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
            self.shared.queue_plain_events(&mut self.plain);
            let Some(event) = self.plain.pop_front() else { return };
            self.shared.event(event, None, false).await;
        }
    }

    /// Classifies a line. Returns the remaining step. Most lines are plain events, which are only collected;
    /// then returns `None`.
    fn classify(&mut self, frame: FrameText, recent: bool, may_be_secret: bool) -> Option<ClassifiedLine> {
        if frame.as_str().trim_ascii().is_empty() {
            return None;
        }
        let (frame, routed) = self.route(frame, may_be_secret);
        // Assembly precedes the tap, because a key in a piece would not be recognized.
        let (frame, routed) = self.assemble(frame, routed)?;
        self.shared.tap_frame(Direction::Received, frame.as_str());
        self.shared.watch(Direction::Received, frame.as_str());
        if !self.is_own {
            if self.shared.check_other_dialect(&frame) {
                return None;
            }
            self.is_own = routed.as_ref().is_ok_and(|routed| is_own(self.shared.spec, routed));
            if self.is_own {
                self.shared.confirm_own_dialect();
            }
        }
        if routed.is_ok() {
            self.shared.report_inexact(frame.as_str());
        }
        match routed {
            Ok(RoutedFrame::Event { kind, body, session, outline }) => {
                let event = EventFrame { kind, inner: body, outline, frame };
                if recent || session.is_some() || !self.shared.is_plain(&event) {
                    return Some(ClassifiedLine::Event { event, session });
                }
                self.plain.push_back(event);
                (self.plain.len() >= MAX_PLAIN_BATCH).then_some(ClassifiedLine::Plain)
            }
            Ok(routed) => Some(ClassifiedLine::Other { frame, routed }),
            Err(reason) => Some(ClassifiedLine::Unreadable { frame, reason }),
        }
    }

    /// Routes a line. If the line is an event with a key, first reduces it to its type, so that no receiver can
    /// show the key. This applies in all dialects, because the agent may speak another dialect than expected.
    fn route(&mut self, frame: FrameText, may_be_secret: bool) -> (FrameText, Result<RoutedFrame, String>) {
        let routed = self.router.route(&frame);
        let shown = match &routed {
            _ if !may_be_secret => None,
            Ok(RoutedFrame::Event { outline: Some(outline), .. }) => {
                strip_payload_by_outline(frame.as_str(), outline)
            }
            _ => strip_payload(frame.as_str()),
        };
        match shown.map(FrameText::from) {
            Some(shown) => {
                let routed = self.router.route(&shown);
                (shown, routed)
            }
            None => (frame, routed),
        }
    }

    async fn dispatch(&mut self, sorted: ClassifiedLine, recent: bool) {
        self.queue_plain().await;
        match sorted {
            ClassifiedLine::Plain => {}
            ClassifiedLine::Event { event, session } => {
                self.shared.event(event, session.as_deref(), recent).await;
                self.wake_pending = true;
            }
            ClassifiedLine::Other { frame, routed } => self.dispatch_other(&frame, routed, recent),
            ClassifiedLine::Unreadable { frame, reason } => {
                self.shared.handle_unreadable(frame.as_str(), &reason);
                let text = excerpt(frame.as_str(), NOISE_EXCERPT);
                self.shared.diagnose(Diagnostic::Noise { text, reason });
            }
        }
    }

    /// Returns the complete frame: the line itself, or the frame that this line completes. Returns `None` if
    /// pieces of the frame are missing.
    fn assemble(
        &mut self,
        frame: FrameText,
        routed: Result<RoutedFrame, String>,
    ) -> Option<(FrameText, Result<RoutedFrame, String>)> {
        let Some(chunks) = &self.shared.spec.chunks else { return Some((frame, routed)) };
        let is_piece = matches!(&routed, Ok(RoutedFrame::Event { kind, .. }) if **kind == *chunks.event);
        if !is_piece {
            if let Some(reason) = self.assembler.interrupted("another frame") {
                self.report_lost_frame(reason);
            }
            return Some((frame, routed));
        }
        let AssemblyResult { completed: whole, error: fault } = self.assembler.take(chunks, frame.as_str());
        if let Some(reason) = fault {
            self.report_lost_frame(reason);
        }
        Some(self.route(whole?, true))
    }

    /// Reports a frame that was lost because its pieces did not fit together.
    fn report_lost_frame(&self, reason: String) {
        self.shared.diagnose(Diagnostic::Chunks { reason });
        self.shared.feed_runs(None, TrackerInput::LineLost);
    }

    /// Processes a response or a question.
    fn dispatch_other(&mut self, frame: &FrameText, routed: RoutedFrame, recent: bool) {
        // The events before an answer or a question are delivered first.
        self.wake();
        let shared = &self.shared;
        if recent {
            shared.state().recent.push(frame.as_str());
        }
        match routed {
            RoutedFrame::Answer { id, command, success, data, error } => {
                let result = match success {
                    true => Ok(RawAnswer { data }),
                    false => Err(read_rejection(shared.spec, command.clone(), error.as_ref())),
                };
                shared.answer(id.as_ref(), command, result, frame);
            }
            RoutedFrame::Dialog { id, method, params } => shared.dialog(id, method, params),
            RoutedFrame::Event { .. } => {}
        }
    }
}
