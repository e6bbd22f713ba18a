//! Pending requests to an extension.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::ToolProgress;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Reason for a missing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// The extension reported this error.
    Said(String),
    /// The extension exceeded this time limit.
    TimedOut(Duration),
    /// The process has ended, and its end was already reported.
    Gone,
}

type Progress = Box<dyn Fn(ToolProgress) + Send + Sync>;
type Accepted = Box<dyn FnOnce() + Send>;

/// A request to an extension.
#[derive(Default)]
pub(super) struct Asked {
    /// Path of the extension.
    pub extension: String,
    /// True if the request precedes events of the same moment, as in pi: there the engine continues while
    /// events are being delivered.
    pub overtakes: bool,
    /// True for a command, whose end is not awaited.
    pub is_command: bool,
    /// True if the request precedes an action of the user that has not started.
    pub is_before: bool,
    /// Cancelled when the request is over; its dialogs end with it.
    pub over: CancellationToken,
    /// Length of the request in bytes; the answer may contain all of it.
    pub length: AtomicUsize,
    /// Number of dialogs that the handler has open.
    dialogs: AtomicUsize,
    changed: Notify,
    progress: Option<Progress>,
    accepted: Mutex<Option<Accepted>>,
}

impl Asked {
    pub fn new(extension: &str) -> Self {
        Self { extension: extension.to_owned(), ..Self::default() }
    }

    /// Sets the callback for progress of a tool.
    pub fn progress(mut self, progress: impl Fn(ToolProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Sets the flag for a request that precedes events of the same moment.
    pub fn overtaking(mut self, overtakes: bool) -> Self {
        self.overtakes = overtakes;
        self
    }

    /// Sets the flag for a request that precedes an action of the user.
    pub fn before(mut self, is_before: bool) -> Self {
        self.is_before = is_before;
        self
    }

    /// Sets the callback that is called once: as soon as the handler is known to take longer than a moment,
    /// or at its end.
    pub fn accepted(mut self, accepted: Accepted) -> Self {
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

    pub fn show(&self, progress: ToolProgress) {
        if let Some(show) = &self.progress {
            show(progress);
        }
    }

    /// Opens a dialog until the guard is dropped. The time limit is suspended meanwhile.
    pub fn dialog(self: &Arc<Self>) -> OpenDialog {
        self.dialogs.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
        OpenDialog(self.clone())
    }

    /// Waits for the time limit, without the time during which dialogs are open.
    pub async fn patience(&self, limit: Option<Duration>) -> Duration {
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

pub(super) struct OpenDialog(Arc<Asked>);

impl Drop for OpenDialog {
    fn drop(&mut self) {
        self.0.dialogs.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_one();
    }
}

type Answer = Result<Value, Failed>;

/// The requests to one process.
#[derive(Default)]
pub(super) struct Calls {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: BTreeMap<u64, (Arc<Asked>, oneshot::Sender<Answer>)>,
    last: u64,
    closed: bool,
    /// The extension of the first request since the last output of the process.
    unheard: Option<String>,
}

impl Calls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request and returns its number, or `None` if the process has ended.
    pub fn open(&self, asked: Arc<Asked>) -> Option<(u64, oneshot::Receiver<Answer>)> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.last += 1;
        let number = state.last;
        let (sender, receiver) = oneshot::channel();
        if state.unheard.is_none() && !asked.extension.is_empty() {
            state.unheard = Some(asked.extension.clone());
        }
        state.asked.insert(number, (asked, sender));
        Some((number, receiver))
    }

    /// Returns the request with that id.
    pub fn get(&self, id: &str) -> Option<Arc<Asked>> {
        self.state().asked.get(&id.parse().ok()?).map(|(asked, _)| asked.clone())
    }

    /// Returns the newest request to the given extension, or to any extension for `None`.
    pub fn newest(&self, extension: Option<&str>) -> Option<Arc<Asked>> {
        let state = self.state();
        let mut asked = state.asked.values().rev().map(|(asked, _)| asked);
        asked.find(|asked| extension.is_none_or(|extension| asked.extension == extension)).cloned()
    }

    /// Returns the extension of the newest request, or `None` if no request is open.
    pub fn newest_extension(&self) -> Option<String> {
        let state = self.state();
        let mut extensions = state.asked.values().rev().map(|(asked, _)| &asked.extension);
        extensions.find(|extension| !extension.is_empty()).cloned()
    }

    /// Records output of the process.
    pub fn heard(&self) {
        self.state().unheard = None;
    }

    /// Returns the extension of the first request since the last output of the process, even if that request
    /// is over.
    pub fn first_unheard(&self) -> Option<String> {
        self.state().unheard.clone()
    }

    /// Returns the length of the longest open request.
    pub fn longest(&self) -> usize {
        let state = self.state();
        state.asked.values().map(|(asked, _)| asked.length.load(Ordering::Acquire)).max().unwrap_or_default()
    }

    /// Returns all open requests.
    pub fn all(&self) -> Vec<Arc<Asked>> {
        self.state().asked.values().map(|(asked, _)| asked.clone()).collect()
    }

    /// Delivers an answer. Returns false if no open request has that id or its waiter was dropped.
    pub fn answer(&self, id: &str, answer: Answer) -> bool {
        let Ok(number) = id.parse() else { return false };
        let asked = self.state().asked.remove(&number);
        asked.is_some_and(|(asked, sender)| {
            // Work started by the answer must follow the end of the request.
            asked.over.cancel();
            sender.send(answer).is_ok()
        })
    }

    /// Removes a request. Returns true if it had no answer.
    pub fn forget(&self, number: u64) -> bool {
        let asked = self.state().asked.remove(&number);
        asked.inspect(|(asked, _)| asked.over.cancel()).is_some()
    }

    /// Returns true if the process has ended.
    pub fn are_closed(&self) -> bool {
        self.state().closed
    }

    /// Ends all requests, because the process has ended.
    pub fn close(&self) {
        let asked = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.asked)
        };
        for (asked, sender) in asked.into_values() {
            asked.over.cancel();
            let _ = sender.send(Err(Failed::Gone));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_a_dialog_is_open_does_not_count() {
        let asked = Arc::new(Asked::new("e"));
        let began = Instant::now();
        let opens = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let open = asked.dialog();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(open);
        };
        let (limit, ()) = tokio::join!(asked.patience(Some(Duration::from_millis(100))), opens);
        assert_eq!(limit, Duration::from_millis(100));
        let waited = began.elapsed() - Duration::from_secs(3600);
        assert!((100..110).contains(&waited.as_millis()), "{waited:?}");
    }

    #[test]
    fn the_first_question_since_the_last_word_is_the_one_that_may_hang() {
        let calls = Calls::default();
        let open = |extension: &str| calls.open(Arc::new(Asked::new(extension))).unwrap();
        assert_eq!((calls.first_unheard(), calls.newest_extension()), (None, None));
        let first = open("a");
        calls.heard();
        let second = open("b");
        let third = open("c");
        let _ping = open("");
        calls.forget(second.0);
        let named = |name: &str| Some(name.to_owned());
        assert_eq!((calls.first_unheard(), calls.newest_extension()), (named("b"), named("c")));
        calls.forget(third.0);
        assert_eq!(calls.newest_extension(), named("a"));
        calls.forget(first.0);
        assert_eq!(calls.newest_extension(), None);
    }

    #[test]
    fn fm_f127_an_answer_that_nobody_asked_for_is_ignored() {
        let calls = Calls::default();
        let (number, mut receiver) = calls.open(Arc::new(Asked::new("e"))).unwrap();
        for id in ["", "x", "7", "-1", "01x"] {
            assert!(!calls.answer(id, Ok(Value::Null)), "{id}");
        }
        assert!(receiver.try_recv().is_err());
        assert!(calls.answer(&number.to_string(), Ok(Value::Bool(true))));
        assert!(!calls.answer(&number.to_string(), Ok(Value::Null)));
        assert_eq!(receiver.try_recv().unwrap(), Ok(Value::Bool(true)));
        calls.close();
        assert!(calls.open(Arc::new(Asked::new("e"))).is_none());
    }
}
