//! Conversion of engine events to updates.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::acp::{
    AcpCompactionStatus, AcpCompactionUpdate, AcpNoticeSeverity, AcpPermissionCall, AcpSessionInfoUpdate,
    AcpStopReason, AcpText,
};
use agentese::types::CompactionResult;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::client::ClientConnection;
use super::event_translator::EventTranslator;
use crate::engine::{Event, EventSink};

/// Sends the events of one session to the client.
pub(super) struct Sink {
    client: Arc<ClientConnection>,
    /// The id of the session, after its start.
    session: OnceLock<String>,
    translator: Mutex<EventTranslator>,
    /// The id of the current compaction.
    compaction: Mutex<String>,
    /// Notified when an option has changed.
    options_changed: tokio::sync::Notify,
    closed: AtomicBool,
}

impl Sink {
    pub fn new(client: Arc<ClientConnection>, translator: EventTranslator) -> Self {
        Self {
            client,
            session: OnceLock::new(),
            translator: Mutex::new(translator),
            compaction: Mutex::default(),
            options_changed: tokio::sync::Notify::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Sets the id of the session. No event is sent before that. Later calls have no effect.
    pub fn set_session(&self, session: &str) {
        let _ = self.session.set(session.to_owned());
    }

    fn session(&self) -> &str {
        self.session.get().map(String::as_str).unwrap_or_default()
    }

    fn translator(&self) -> MutexGuard<'_, EventTranslator> {
        self.translator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a turn.
    pub fn start_turn(&self) {
        self.translator().start_turn();
    }

    /// Returns the stop reason of the turn, or its error.
    pub fn outcome(&self) -> Result<AcpStopReason, String> {
        self.translator().outcome()
    }

    /// Returns the call with the given id, if it is in progress.
    pub fn call(&self, id: &str) -> Option<AcpPermissionCall> {
        self.translator().call(id)
    }

    /// Stores the previous content of a file that a call is about to write.
    pub fn remember(&self, call: &str, before: String) {
        self.translator().remember(call, before);
    }

    /// Records that a call runs in a terminal of the client.
    pub fn terminal_opened(&self, call: &str, terminal: &str) {
        let mut translator = self.translator();
        if let Some(update) = translator.terminal_opened(call, terminal) {
            self.client.send_update(self.session(), update);
        }
    }

    /// Returns the id of the session, or an empty text before its start.
    pub fn session_id(&self) -> &str {
        self.session()
    }

    /// Waits until an option changes without a request of the client.
    pub async fn wait_for_option_change(&self) {
        self.options_changed.notified().await;
    }

    /// Stops all further updates.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    fn send_thought(&self, severity: AcpNoticeSeverity, text: &str) {
        self.client.send_notice(self.session(), severity, text, false);
    }

    fn compaction_started(&self) {
        let id = format!("compaction-{}", uuid::Uuid::new_v4());
        id.clone_into(&mut self.compaction.lock().unwrap_or_else(PoisonError::into_inner));
        if self.client.shows_compaction() {
            self.client
                .send_update(self.session(), AcpCompactionUpdate::new(id, AcpCompactionStatus::InProgress));
        } else {
            self.send_thought(AcpNoticeSeverity::Info, "Compacting the conversation");
        }
    }

    fn compaction_ended(&self, result: Option<&CompactionResult>, aborted: bool, error: Option<&str>) {
        let id = std::mem::take(&mut *self.compaction.lock().unwrap_or_else(PoisonError::into_inner));
        let status = match (result, aborted) {
            (Some(_), _) => AcpCompactionStatus::Completed,
            (None, true) => AcpCompactionStatus::Cancelled,
            (None, false) => AcpCompactionStatus::Failed,
        };
        if self.client.shows_compaction() {
            let mut update = AcpCompactionUpdate::new(id, status);
            update.summary = result.map(|result| vec![AcpText::new(result.summary.as_str()).into()]).into();
            update.error = error.map(str::to_owned).into();
            self.client.send_update(self.session(), update);
        } else if let Some(error) = error {
            self.send_thought(
                AcpNoticeSeverity::Warning,
                &format!("The conversation was not compacted: {error}"),
            );
        }
    }
}

impl EventSink for Sink {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        self.client.wait_for_capacity().boxed()
    }

    fn push(&self, event: Event<'_>) {
        if self.closed.load(Ordering::Acquire) || self.session.get().is_none() {
            return;
        }
        match event {
            Event::SessionNamed { name } => {
                let mut update = AcpSessionInfoUpdate::new();
                update.title = name.to_owned().into();
                self.client.send_update(self.session(), update);
            }
            Event::ThinkingChanged { .. } => self.options_changed.notify_one(),
            Event::RetryStarted { attempt, limit, pause, error } => {
                let seconds = pause.as_secs_f64();
                let text = format!("Trying again in {seconds:.1} s ({attempt} of {limit}): {error}");
                self.send_thought(AcpNoticeSeverity::Warning, &text);
            }
            Event::CompactionStarted { .. } => self.compaction_started(),
            Event::CompactionEnded { result, aborted, error, .. } => {
                self.compaction_ended(result, aborted, error);
            }
            Event::StorageStatus { error: Some(error) } => {
                self.send_thought(AcpNoticeSeverity::Error, &format!("The session is not saved: {error}"));
            }
            Event::ExtensionFailed { extension, event, error } => {
                self.send_thought(
                    AcpNoticeSeverity::Error,
                    &format!("{extension} failed in {event}: {error}"),
                );
            }
            event => {
                let mut translator = self.translator();
                // Sent under the lock, so that updates have the order of the events.
                translator
                    .translate(&event)
                    .into_iter()
                    .for_each(|update| self.client.send_update(self.session(), update));
            }
        }
    }
}
