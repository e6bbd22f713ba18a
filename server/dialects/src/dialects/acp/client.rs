//! The connection, and the capabilities of the client.

use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::acp::{
    Acp, AcpAgentMessageChunk, AcpAgentThoughtChunk, AcpClientCapabilities, AcpNotice, AcpNoticeSeverity,
    AcpRequestCancelled, AcpSessionUpdate, AcpText, AcpUpdate, Dialog,
};
use agentese::serve::{Emitter, PendingQuestion};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The connection, after it is established.
#[derive(Debug, Default)]
pub(super) struct ClientConnection {
    emitter: OnceLock<Emitter<Acp>>,
    capabilities: Mutex<AcpClientCapabilities>,
}

impl ClientConnection {
    /// Sends frames to `emitter` from now on. Later calls have no effect.
    pub fn connect(&self, emitter: Emitter<Acp>) {
        let _ = self.emitter.set(emitter);
    }

    /// Stores the capabilities that the client announces.
    pub fn set_capabilities(&self, capabilities: AcpClientCapabilities) {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner) = capabilities;
    }

    fn capabilities(&self) -> AcpClientCapabilities {
        self.capabilities.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns two flags: the client reads text files, and the client writes text files.
    pub fn files(&self) -> (bool, bool) {
        let capabilities = self.capabilities();
        let files = capabilities.fs.as_option();
        let is = |flag: Option<&bool>| flag == Some(&true);
        (
            is(files.and_then(|files| files.read_text_file.as_option())),
            is(files.and_then(|files| files.write_text_file.as_option())),
        )
    }

    /// Returns true if the client runs commands in terminals.
    pub fn has_terminals(&self) -> bool {
        self.capabilities().terminal.as_option() == Some(&true)
    }

    /// Returns true if the client shows forms.
    pub fn shows_forms(&self) -> bool {
        self.capabilities().elicitation.as_option().is_some_and(|can| can.form.as_option().is_some())
    }

    /// Returns true if the client shows compactions of a conversation.
    pub fn shows_compaction(&self) -> bool {
        self.capabilities().session.as_option().is_some_and(|can| can.compaction.as_option().is_some())
    }

    fn shows_notices(&self) -> bool {
        self.capabilities().session.as_option().is_some_and(|can| can.notices.as_option().is_some())
    }

    /// Sends an update of a session.
    pub fn send_update(&self, session: &str, update: impl Into<AcpUpdate>) {
        if let Some(emitter) = self.emitter.get() {
            emitter.notify(AcpSessionUpdate::new(session, update));
        }
    }

    /// Sends a notice that is not part of the conversation. If the client does not support notices, sends the
    /// text as a message if `for_user` is true, and otherwise as a thought.
    pub fn send_notice(&self, session: &str, severity: AcpNoticeSeverity, text: &str, for_user: bool) {
        if self.shows_notices() {
            return self.send_update(session, AcpNotice::new(severity, text));
        }
        let text = AcpText::new(format!("{text}\n"));
        match for_user {
            true => self.send_update(session, AcpAgentMessageChunk::new(text)),
            false => self.send_update(session, AcpAgentThoughtChunk::new(text)),
        }
    }

    /// Waits until the client has read enough frames that more can be sent.
    pub async fn wait_for_capacity(&self) {
        if let Some(emitter) = self.emitter.get() {
            emitter.room().await;
        }
    }

    /// Sends a request and parses the response. Fails if the client has disconnected, returns an error, or sends an
    /// unreadable response. The error is a sentence for the user.
    pub async fn request<T: DeserializeOwned>(&self, dialog: impl Into<Dialog>) -> Result<T, String> {
        let disconnected = || "the client has disconnected".to_owned();
        let answer =
            self.send_question(dialog).ok_or_else(disconnected)?.answer().await.ok_or_else(disconnected)?;
        let result = answer.map_err(|error| match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        })?;
        serde_json::from_value(result).map_err(|error| format!("the client's answer cannot be read: {error}"))
    }

    /// Sends a question without waiting for the answer. Returns `None` if the client has disconnected.
    pub fn send_question(&self, dialog: impl Into<Dialog>) -> Option<ClientQuestion> {
        let emitter = self.emitter.get()?.clone();
        let question = emitter.question(&dialog.into())?;
        Some(ClientQuestion { question: Some(question), emitter })
    }
}

/// An open question. Dropping it withdraws the question.
pub(super) struct ClientQuestion {
    question: Option<PendingQuestion>,
    emitter: Emitter<Acp>,
}

impl ClientQuestion {
    /// Waits for the response of the client: a result, or an error object. Returns `None` if the client disconnects
    /// first.
    pub async fn answer(mut self) -> Option<Result<Value, Value>> {
        // During this wait the question is open: dropping the future then withdraws the question.
        let guard = WithdrawalGuard(
            self.question.as_ref().map(|question| question.id().to_owned()),
            self.emitter.clone(),
        );
        let answer = self.question.take()?.answer(None).await;
        guard.disarm();
        answer.map(outcome)
    }
}

impl Drop for ClientQuestion {
    fn drop(&mut self) {
        if let Some(question) = self.question.take() {
            drop(WithdrawalGuard(Some(question.id().to_owned()), self.emitter.clone()));
        }
    }
}

/// On drop, informs the client that a request is withdrawn, unless the client has answered it.
struct WithdrawalGuard(Option<String>, Emitter<Acp>);

impl WithdrawalGuard {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for WithdrawalGuard {
    fn drop(&mut self) {
        if let Some(id) = self.0.take() {
            self.1.notify(AcpRequestCancelled::new(Value::from(id)));
        }
    }
}

fn outcome(mut members: Map<String, Value>) -> Result<Value, Value> {
    match (members.remove("error"), members.remove("result")) {
        (Some(error), _) => Err(error),
        (None, result) => Ok(result.unwrap_or_default()),
    }
}
