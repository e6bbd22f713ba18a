//! Requests to an extension that have no answer yet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::ToolProgress;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// The extension reported this error.
    Extension(String),
    /// The extension exceeded this time limit.
    TimedOut(Duration),
    /// The process has ended. Its end is reported separately.
    Disconnected,
}

type ProgressCallback = Box<dyn Fn(ToolProgress) + Send + Sync>;
type AcceptCallback = Box<dyn FnOnce() + Send>;

/// A request to an extension.
#[derive(Default)]
pub(super) struct PendingCall {
    /// Path of the extension.
    pub extension: String,
    /// True if the request is sent before notifications that the engine emitted earlier in the same step. In pi, the
    /// engine also continues while notifications are being delivered.
    pub overtakes: bool,
    /// True for a slash command; the agent does not wait for its end.
    pub is_command: bool,
    /// True if the request is about an action of the user that has not started.
    pub is_pre_hook: bool,
    /// Cancelled when the request has ended. Its dialogs then end too.
    pub ended: CancellationToken,
    /// Length of the request in bytes. The limit for the answer takes it into account, because an answer may repeat the
    /// whole request.
    pub length: AtomicUsize,
    /// Number of dialogs that the handler has open.
    dialogs: AtomicUsize,
    changed: Notify,
    progress: Option<ProgressCallback>,
    accepted: Mutex<Option<AcceptCallback>>,
}

impl PendingCall {
    pub fn new(extension: &str) -> Self {
        Self { extension: extension.to_owned(), ..Self::default() }
    }

    /// Sets the callback that receives the progress of a tool.
    pub fn progress(mut self, progress: impl Fn(ToolProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Sets [`Self::overtakes`].
    pub fn overtaking(mut self, overtakes: bool) -> Self {
        self.overtakes = overtakes;
        self
    }

    /// Sets [`Self::is_pre_hook`]: the request is about an action of the user that has not started.
    pub fn pre_hook(mut self, is_before: bool) -> Self {
        self.is_pre_hook = is_before;
        self
    }

    /// Marks the request as a command. `accepted` is called once: when the command is known to continue in the
    /// background, or at its end.
    pub fn accepted(mut self, accepted: AcceptCallback) -> Self {
        self.is_command = true;
        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) = Some(accepted);
        self
    }

    pub fn accept(&self) {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accepted) = accepted {
            accepted();
        }
    }

    pub fn report_progress(&self, progress: ToolProgress) {
        if let Some(show) = &self.progress {
            show(progress);
        }
    }

    /// Records an open dialog until the guard is dropped. The time limit of the request is suspended for that time.
    pub fn open_dialog(self: &Arc<Self>) -> CallDialogGuard {
        self.dialogs.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
        CallDialogGuard(self.clone())
    }

    /// Completes when the time limit has passed. The time during which dialogs are open does not count. Never completes
    /// if `limit` is `None`.
    pub async fn wait_time_limit(&self, limit: Option<Duration>) -> Duration {
        let Some(limit) = limit else { return std::future::pending().await };
        let mut left = limit;
        loop {
            if self.dialogs.load(Ordering::Acquire) > 0 {
                self.changed.notified().await;
                continue;
            }
            let began = Instant::now();
            tokio::select! {
                biased;
                () = self.changed.notified() => left = left.saturating_sub(began.elapsed()),
                () = tokio::time::sleep(left) => return limit,
            }
        }
    }
}

pub(super) struct CallDialogGuard(Arc<PendingCall>);

impl Drop for CallDialogGuard {
    fn drop(&mut self) {
        self.0.dialogs.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_one();
    }
}

type CallResult = Result<Value, CallError>;

/// The requests to one process.
#[derive(Default)]
pub(super) struct Calls {
    state: Mutex<CallsState>,
}

#[derive(Default)]
struct CallsState {
    pending: BTreeMap<u64, (Arc<PendingCall>, oneshot::Sender<CallResult>)>,
    last: u64,
    closed: bool,
    /// The extension that received the first request after the last output of the process.
    first_unanswered: Option<String>,
}

impl Calls {
    fn state(&self) -> MutexGuard<'_, CallsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request, and returns its number. Returns `None` if the process has ended.
    pub fn open(&self, call: Arc<PendingCall>) -> Option<(u64, oneshot::Receiver<CallResult>)> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.last += 1;
        let number = state.last;
        let (sender, receiver) = oneshot::channel();
        if state.first_unanswered.is_none() && !call.extension.is_empty() {
            state.first_unanswered = Some(call.extension.clone());
        }
        state.pending.insert(number, (call, sender));
        Some((number, receiver))
    }

    /// Returns the request with the given id.
    pub fn get(&self, id: &str) -> Option<Arc<PendingCall>> {
        self.state().pending.get(&id.parse().ok()?).map(|(call, _)| call.clone())
    }

    /// Returns the newest open request to an extension, or to any extension if `extension` is `None`.
    pub fn newest(&self, extension: Option<&str>) -> Option<Arc<PendingCall>> {
        let state = self.state();
        let mut calls = state.pending.values().rev().map(|(call, _)| call);
        calls.find(|call| extension.is_none_or(|extension| call.extension == extension)).cloned()
    }

    /// Returns the extension of the newest open request. Returns `None` if no request is open.
    pub fn newest_extension(&self) -> Option<String> {
        let state = self.state();
        let mut extensions = state.pending.values().rev().map(|(call, _)| &call.extension);
        extensions.find(|extension| !extension.is_empty()).cloned()
    }

    /// Records that the process has sent output.
    pub fn record_output(&self) {
        self.state().first_unanswered = None;
    }

    /// Returns the extension that received the first request after the last output of the process. That request may
    /// have ended.
    pub fn first_unanswered(&self) -> Option<String> {
        self.state().first_unanswered.clone()
    }

    /// Returns the length of the longest open request.
    pub fn longest_request(&self) -> usize {
        let state = self.state();
        state.pending.values().map(|(call, _)| call.length.load(Ordering::Acquire)).max().unwrap_or_default()
    }

    /// Returns all open requests.
    pub fn all(&self) -> Vec<Arc<PendingCall>> {
        self.state().pending.values().map(|(call, _)| call.clone()).collect()
    }

    /// Delivers an answer to the waiting caller. Returns false if no open request has that id, or if the caller no
    /// longer waits.
    pub fn answer(&self, id: &str, answer: CallResult) -> bool {
        let Ok(number) = id.parse() else { return false };
        let call = self.state().pending.remove(&number);
        call.is_some_and(|(call, sender)| {
            // Work started by the answer must follow the end of the request.
            call.ended.cancel();
            sender.send(answer).is_ok()
        })
    }

    /// Removes a request. Returns true if it was still open.
    pub fn forget(&self, number: u64) -> bool {
        let call = self.state().pending.remove(&number);
        call.inspect(|(call, _)| call.ended.cancel()).is_some()
    }

    /// Returns true if the process has ended.
    pub fn are_closed(&self) -> bool {
        self.state().closed
    }

    /// Records the end of the process, and ends all open requests.
    pub fn close(&self) {
        let calls = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.pending)
        };
        for (call, sender) in calls.into_values() {
            call.ended.cancel();
            let _ = sender.send(Err(CallError::Disconnected));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_limit_is_suspended_while_a_dialog_is_open() {
        let call = Arc::new(PendingCall::new("e"));
        let began = Instant::now();
        let opens = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let open = call.open_dialog();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(open);
        };
        let (limit, ()) = tokio::join!(call.wait_time_limit(Some(Duration::from_millis(100))), opens);
        assert_eq!(limit, Duration::from_millis(100));
        let waited = began.elapsed() - Duration::from_secs(3600);
        assert!((100..110).contains(&waited.as_millis()), "{waited:?}");
    }

    #[test]
    fn the_first_unanswered_request_is_blamed_for_a_hang() {
        let calls = Calls::default();
        let open = |extension: &str| calls.open(Arc::new(PendingCall::new(extension))).unwrap();
        assert_eq!((calls.first_unanswered(), calls.newest_extension()), (None, None));
        let first = open("a");
        calls.record_output();
        let second = open("b");
        let third = open("c");
        let _ping = open("");
        calls.forget(second.0);
        let named = |name: &str| Some(name.to_owned());
        assert_eq!((calls.first_unanswered(), calls.newest_extension()), (named("b"), named("c")));
        calls.forget(third.0);
        assert_eq!(calls.newest_extension(), named("a"));
        calls.forget(first.0);
        assert_eq!(calls.newest_extension(), None);
    }

    #[test]
    fn fm_f127_answers_without_a_request_are_ignored() {
        let calls = Calls::default();
        let (number, mut receiver) = calls.open(Arc::new(PendingCall::new("e"))).unwrap();
        for id in ["", "x", "7", "-1", "01x"] {
            assert!(!calls.answer(id, Ok(Value::Null)), "{id}");
        }
        assert!(receiver.try_recv().is_err());
        assert!(calls.answer(&number.to_string(), Ok(Value::Bool(true))));
        assert!(!calls.answer(&number.to_string(), Ok(Value::Null)));
        assert_eq!(receiver.try_recv().unwrap(), Ok(Value::Bool(true)));
        calls.close();
        assert!(calls.open(Arc::new(PendingCall::new("e"))).is_none());
    }
}
