//! Delivery of events to subscribers and runs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use super::active_run::ActiveRun;
use super::event_queue::{EventFrame, EventQueue, EventSender, Subscriber};
use super::shared::{Shared, State};
use crate::error::Error;
use crate::queue::{self, CoalesceKey, Overflow, PushResult, Sender};
use crate::run_tracker::TrackerInput;
use crate::spec::{EventSpec, RunEffect};
use crate::tap::Diagnostic;

/// Maximum number of queued events, and of their bytes, above which the reader waits for a receiver. Reading
/// further ahead has no advantage, because the events leave the processor's caches before they are processed.
const READ_AHEAD_LIMIT: (usize, usize) = (2048, 4 << 20);
/// Minimum limit for the events of a run without a handle, in bytes. Four times the capacity of the queue applies if it
/// is greater.
const UNCLAIMED_LIMIT: usize = 16 << 20;
/// Maximum waiting time of the reader for a receiver that reads nothing meanwhile.
const WAIT_STEP: Duration = Duration::from_millis(2);
/// Maximum waiting time for a receiver that reads, until all receivers have caught up: an answer or a question may
/// follow the delayed events.
const WAIT_BUDGET: Duration = Duration::from_millis(10);

/// The time that the reader still waits for receivers that have not caught up.
pub(super) struct Backpressure {
    remaining: Duration,
}

impl Default for Backpressure {
    fn default() -> Self {
        Self { remaining: WAIT_BUDGET }
    }
}

/// Result of offering an event to all receivers.
struct OfferResult {
    delivered: bool,
    /// The receivers without room for the event.
    full: Vec<(EventSender, EventFrame)>,
}

impl Shared {
    /// Subscribes to all events.
    pub fn subscribe(&self) -> Result<EventQueue, Error> {
        let mut state = self.state();
        if let Some(termination) = &state.ended {
            return Err(Error::Terminated(termination.clone()));
        }
        let (sender, receiver) = queue::channel(self.settings.queue_bytes, self.settings.overflow);
        state.subscribers.push(Subscriber(sender));
        Ok(receiver)
    }

    /// Queues an event for all receivers. `recent` is `true` if it may be one of the last before an end. The caller
    /// must wake waiting receivers with [`Shared::wake_listeners`].
    pub(super) async fn event(self: &Arc<Self>, event: EventFrame, session: Option<&str>, recent: bool) {
        self.inspect_event(&event);
        let spec = self.own_row(&event);
        if spec.is_none() {
            self.diagnose(Diagnostic::UnknownFrame { kind: event.kind.to_string() });
        }
        let input = spec.and_then(|spec| effect(spec.run, &event));
        self.update_runs(spec, &event, session);
        // Only with this policy may an event replace another.
        let coalesces = self.settings.overflow == Overflow::Coalesce;
        let key = spec.filter(|_| coalesces).and_then(|spec| self.key_of(spec, session));
        let OfferResult { mut delivered, full } = self.offer(event, key, session, recent);
        if !full.is_empty() {
            // A receiver must know of unread events in order to make room.
            self.wake_listeners();
            // All waits run concurrently, so that a receiver that reads gets the event independently of the others.
            let waiting = full.into_iter().map(|(sender, event)| self.wait_for_room(sender, event, key));
            let pushed = futures::future::join_all(waiting);
            self.reader_blocked.store(true, Ordering::Relaxed);
            delivered |= pushed.await.contains(&true);
            self.reader_blocked.store(false, Ordering::Relaxed);
        }
        if !delivered {
            self.dropped_events.fetch_add(1, Ordering::Relaxed);
        }
        // The run processes its end after the event is in its queue.
        if let Some(input) = input {
            self.feed_runs(session, input);
        }
    }

    /// Updates the runs of a session with the outcome and usage in an event.
    fn update_runs(
        self: &Arc<Self>,
        spec: Option<&'static EventSpec>,
        event: &EventFrame,
        session: Option<&str>,
    ) {
        let mut limited = Vec::new();
        for run in self.state().runs.iter_mut().filter(|run| run.matches_session(session)) {
            match spec {
                Some(spec) if run.apply_event(spec, event.body().as_str()) => limited.push(run.token()),
                Some(_) => {}
                None => run.record_event(),
            }
        }
        limited.into_iter().for_each(|token| self.stop_limited(token));
    }

    /// Returns `true` if an event without a session is plain: [`Shared::queue_plain_events`] may then queue
    /// it with others. A plain event is declared, is no evidence for a revision, and replaces no other event.
    pub(super) fn is_plain(&self, event: &EventFrame) -> bool {
        let takes_places = self.settings.overflow == Overflow::Coalesce;
        self.own_row(event).is_some_and(|spec| !(spec.snapshot && takes_places))
            && self.lacks_revision_evidence(event)
    }

    /// Queues plain events for the only receiver, while there is room and no run must process them; queues no event if
    /// there are several receivers. The first event left in `events` requires [`Shared::event`]. The caller must wake
    /// waiting receivers.
    pub(super) fn queue_plain_events(&self, events: &mut VecDeque<EventFrame>) {
        let mut state = self.state();
        let State { subscribers, runs, .. } = &mut *state;
        let size = |event: &EventFrame| Some(event.size());
        let affects_run = |event: &EventFrame| {
            self.own_row(event).is_none_or(|spec| spec.run != RunEffect::None || !spec.outcome.is_empty())
        };
        match (&**subscribers, &mut **runs) {
            ([subscriber], []) => subscriber.0.push_while_room(events, size),
            ([], [run]) if run.has_handle() && !run.is_metered() => {
                let before = events.len();
                run.sender().push_while_room(events, |event| size(event).filter(|_| !affects_run(event)));
                if events.len() < before {
                    run.record_event();
                }
            }
            _ => {}
        }
    }

    fn offer(
        &self,
        event: EventFrame,
        key: Option<CoalesceKey>,
        session: Option<&str>,
        recent: bool,
    ) -> OfferResult {
        let size = event.size();
        let mut offered = OfferResult { delivered: false, full: Vec::new() };
        let mut gone = false;
        let mut state = self.state();
        if recent {
            state.recent.push(event.frame.as_str());
        }
        let State { runs, subscribers, .. } = &mut *state;
        let runs = runs
            .iter()
            .filter(|run| run.matches_session(session))
            .map(|run| (run.sender(), run.has_handle()));
        let subscribed = subscribers.iter().map(|subscriber| (&subscriber.0, true));
        let mut listeners = subscribed.chain(runs).peekable();
        let unheard = self.settings.queue_bytes.saturating_mul(4).max(UNCLAIMED_LIMIT);
        let mut event = Some(event);
        while let Some((sender, is_held)) = listeners.next() {
            // In most cases there is one receiver, and the event is not cloned.
            let given = if listeners.peek().is_some() { event.clone() } else { event.take() };
            let Some(given) = given else { break };
            match sender.try_push_quietly(given, size, key) {
                Ok(PushResult::Queued | PushResult::Coalesced) => offered.delivered = true,
                Ok(pushed) => gone |= pushed == PushResult::NoSubscriber,
                Err(event) if is_held => offered.full.push((sender.clone(), event)),
                // The caller gets the handle with an answer that may follow this event, so it cannot make room before.
                // A run whose answer is overdue is cut off at the larger limit.
                Err(event) => {
                    offered.delivered |= sender.push_beyond(event, size, key, unheard) == PushResult::Queued;
                }
            }
        }
        if gone {
            subscribers.retain(|subscriber| subscriber.0.has_subscriber());
        }
        offered
    }

    /// Wakes all waiting receivers with unread events.
    pub(super) fn wake_listeners(&self) {
        let wakers: Vec<Waker> = {
            let state = self.state();
            let runs = state.runs.iter().map(ActiveRun::sender);
            let all = state.subscribers.iter().map(|subscriber| &subscriber.0).chain(runs);
            all.filter_map(Sender::take_waker).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for a slow receiver as long as it keeps reading. After a pause in its reading, the next wait comes only
    /// once it has caught up. Returns at once if a call or a question is open, if the agent has exited, or if the policy
    /// is not [`Overflow::Block`].
    pub(super) async fn apply_backpressure(&self, backpressure: &mut Backpressure) {
        let behind = {
            let state = self.state();
            let in_hurry = !state.pending.is_empty() || self.dialogs.any();
            if in_hurry || self.settings.overflow != Overflow::Block || self.exited.is_cancelled() {
                return;
            }
            let runs = state.runs.iter().map(ActiveRun::sender);
            let mut all = state.subscribers.iter().map(|subscriber| &subscriber.0).chain(runs);
            all.find(|sender| is_behind(sender.queued())).cloned()
        };
        let Some(behind) = behind else { return *backpressure = Backpressure::default() };
        let (mut queued, _) = behind.queued();
        while !backpressure.remaining.is_zero() && !self.exited.is_cancelled() && !self.stop.is_cancelled() {
            let limit = WAIT_STEP.min(backpressure.remaining);
            let began = Instant::now();
            let caught_up = tokio::time::timeout(
                limit,
                behind.drained_to(READ_AHEAD_LIMIT.0 / 2, READ_AHEAD_LIMIT.1 / 2),
            )
            .await;
            if caught_up.is_ok() {
                return *backpressure = Backpressure::default();
            }
            backpressure.remaining = backpressure.remaining.saturating_sub(began.elapsed());
            let (left, _) = behind.queued();
            if left >= queued {
                backpressure.remaining = Duration::ZERO;
            }
            queued = left;
        }
    }

    /// Queues an event as soon as there is room. If the agent's process has ended, queues it at once. The
    /// pipe of the process then holds little more data, which must be read before the end is reported.
    async fn wait_for_room(&self, sender: EventSender, event: EventFrame, key: Option<CoalesceKey>) -> bool {
        let size = event.size();
        let mut event = event;
        let pushed = loop {
            match sender.try_push(event, size, key) {
                Ok(pushed) => break pushed,
                Err(back) => event = back,
            }
            tokio::select! {
                () = sender.room_for(size) => {}
                () = self.exited.cancelled() => break sender.push_beyond(event, size, key, usize::MAX),
                () = self.stop.cancelled() => break PushResult::Closed,
            }
        };
        matches!(pushed, PushResult::Queued | PushResult::Coalesced)
    }

    /// Returns the key of an event that replaces older ones: a hash of its type and its session.
    fn key_of(&self, spec: &'static EventSpec, session: Option<&str>) -> Option<CoalesceKey> {
        use std::hash::BuildHasher as _;
        spec.snapshot
            .then(|| CoalesceKey(self.sessions.hash_one((std::ptr::from_ref(spec) as usize, session))))
    }
}

fn is_behind((events, bytes): (usize, usize)) -> bool {
    events > READ_AHEAD_LIMIT.0 || bytes > READ_AHEAD_LIMIT.1
}

fn effect(effect: RunEffect, event: &EventFrame) -> Option<TrackerInput> {
    match effect.of(event.body().as_str()) {
        // The prompt started no work, even if earlier events reported some.
        RunEffect::MayEnd if matches!(effect, RunEffect::HoldsIf(_)) => Some(TrackerInput::Replaced),
        RunEffect::Begins => Some(TrackerInput::Begins),
        RunEffect::MayEnd => Some(TrackerInput::MayEnd),
        RunEffect::Holds => Some(TrackerInput::Holds),
        RunEffect::Ends => Some(TrackerInput::Ends),
        _ => None,
    }
}
