//! Taking what was read: each line is looked at once and goes where it belongs.

use std::collections::VecDeque;
use std::sync::Arc;

use super::reader::refusal;
use super::{EventFrame, RawAnswer, Shared};
use crate::chunks::{Assembler, Step};
use crate::framing::{FrameText, Incoming};
use crate::redact::{redact, redact_beginning, sealed, sealed_by};
use crate::route::{Routed, Router};
use crate::tap::{Diagnostic, Direction};
use crate::termination::RECENT_FRAMES;

/// So many plain events are queued at once: one who reads meanwhile has something to read soon.
const PLAIN: usize = 128;

/// What cannot be done about a line at once.
enum Sorted {
    /// As many plain events lie ready as are queued at once.
    Plain,
    /// An event, and the session that it names.
    Event { event: EventFrame, session: Option<String> },
    /// An answer or a question.
    Other { frame: FrameText, routed: Routed },
}

/// What takes the lines of one connection.
pub(super) struct Taking {
    shared: Arc<Shared>,
    router: Router,
    /// The pieces of a frame that comes in several.
    pieces: Assembler,
    /// Events that are to be queued together, the oldest first; empty between two reads.
    plain: VecDeque<EventFrame>,
    /// Whether events were queued that nobody was woken for.
    wake_pending: bool,
}

impl Taking {
    pub fn new(shared: Arc<Shared>) -> Self {
        let router = Router::new(shared.spec);
        Taking { shared, router, pieces: Assembler::default(), plain: VecDeque::new(), wake_pending: false }
    }

    /// Takes all that one read brought. Who listens is woken once for all of it, and before anything else that came with it
    /// is acted on. `may_be_sealed` says whether one of them may be a frame of which nothing is shown but its type.
    pub async fn take_all(&mut self, batch: &mut Vec<Incoming>, may_be_sealed: bool) {
        let mut left = batch.len();
        for incoming in batch.drain(..) {
            left -= 1;
            match incoming {
                // Of many frames the first ones are not among the last.
                Incoming::Frame(frame) => {
                    let recent = left < RECENT_FRAMES;
                    if let Some(sorted) = self.sort(frame, recent, may_be_sealed) {
                        self.act(sorted, recent).await;
                    }
                }
                Incoming::Fault(fault) => self.shared.diagnose(Diagnostic::Framing(fault)),
            }
        }
        self.queue_plain().await;
        self.wake();
    }

    /// The connection has ended.
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

    /// Looks at a line. Gives what has to be waited for; most lines are plain events, and only noted.
    fn sort(&mut self, frame: FrameText, recent: bool, may_be_sealed: bool) -> Option<Sorted> {
        if frame.as_str().trim_ascii().is_empty() {
            return None;
        }
        let (frame, routed) = self.route(frame, may_be_sealed);
        // Nobody sees a key in a piece.
        let (frame, routed) = self.put_together(frame, routed)?;
        self.shared.tap_frame(Direction::Received, frame.as_str());
        self.shared.watch(Direction::Received, frame.as_str());
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
            Err(reason) => {
                self.noise(&frame, reason);
                None
            }
        }
    }

    /// Says what a line is. Drops what an event carries beside a key, so that nobody can show it: in all dialects, for the agent
    /// may speak another than it was taken to.
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
        }
    }

    /// A frame that stands on one line, or the one whose last piece this line is; none for other pieces.
    fn put_together(
        &mut self,
        frame: FrameText,
        routed: Result<Routed, String>,
    ) -> Option<(FrameText, Result<Routed, String>)> {
        let Some(chunks) = &self.shared.spec.chunks else { return Some((frame, routed)) };
        let is_piece = matches!(&routed, Ok(Routed::Event { kind, .. }) if **kind == *chunks.event);
        if !is_piece {
            if let Some(reason) = self.pieces.interrupted("another frame") {
                self.shared.diagnose(Diagnostic::Chunks { reason });
            }
            return Some((frame, routed));
        }
        let Step { whole, fault } = self.pieces.take(chunks, frame.as_str());
        if let Some(reason) = fault {
            self.shared.diagnose(Diagnostic::Chunks { reason });
        }
        Some(self.route(whole?, true))
    }

    fn noise(&self, frame: &FrameText, reason: String) {
        let text: String = frame.as_str().chars().take(200).collect();
        let shown = if text.len() < frame.as_str().len() { redact_beginning(&text) } else { redact(&text) };
        self.shared.diagnose(Diagnostic::Noise { text: shown.into_owned(), reason });
    }

    /// Takes what is no event.
    fn take_other(&mut self, frame: &FrameText, routed: Routed, recent: bool) {
        // What an answer or a question follows is told before it.
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
                shared.answer(id.as_ref(), command, result);
            }
            Routed::Dialog { id, method, params } => shared.dialog(id, method, params),
            Routed::Event { .. } => {}
        }
    }
}
