//! The connection to the client, and its questions for the user.

use std::sync::{Arc, OnceLock};

use agentese::opal::{Dialog as Wire, Event, Opal, OpalAskUser, OpalConfirmBuilder, OpalInput};
use agentese::serve::{Emitter, PendingQuestion};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::ui::{Answer, Dialog, Notice, Ui};

/// The names of the two answers to a confirmation.
const ALLOW: &str = "allow";
const DENY: &str = "deny";

/// The connection, after it is established.
#[derive(Debug, Default)]
pub(super) struct ClientConnection(OnceLock<Emitter<Opal>>);

impl ClientConnection {
    /// Sends frames to `emitter` from now on. Later calls have no effect.
    pub fn connect(&self, emitter: Emitter<Opal>) {
        let _ = self.0.set(emitter);
    }

    /// Sends an event.
    pub fn send(&self, event: impl Into<Event>) {
        let Some(emitter) = self.0.get() else { return };
        match serde_json::to_string(&event.into()) {
            Ok(body) => emitter.emit_body_now(body),
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }

    /// Waits until the client has read enough frames that more can be sent.
    pub async fn wait_for_capacity(&self) {
        if let Some(emitter) = self.0.get() {
            emitter.room().await;
        }
    }

    /// Sends a question without waiting for the answer. Returns `None` if the client has disconnected.
    pub fn send_question(&self, dialog: &Wire) -> Option<PendingQuestion> {
        self.0.get()?.question(dialog)
    }
}

/// Returns the result in a client's response, or the error object in it.
pub(super) fn outcome(mut members: Map<String, Value>) -> Result<Value, Value> {
    match (members.remove("error"), members.remove("result")) {
        (Some(error), _) => Err(error),
        (None, result) => Ok(result.unwrap_or_default()),
    }
}

/// The user interface of the client, for one session.
#[derive(Debug)]
pub(super) struct ClientUi {
    client: Arc<ClientConnection>,
    session: String,
}

impl ClientUi {
    pub fn new(client: Arc<ClientConnection>, session: String) -> Self {
        Self { client, session }
    }

    /// Sends a question of the model to the user. Returns `None` if the client has disconnected.
    pub fn ask_user(&self, question: &str, choices: Vec<String>) -> Option<PendingQuestion> {
        let mut frame = OpalAskUser::new(self.session.as_str(), question);
        frame.choices = Some(choices);
        self.client.send_question(&Wire::AskUser(frame))
    }
}

impl Ui for ClientUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        self.client.wait_for_capacity().boxed()
    }

    /// Logs a notice, because the dialect has no frame for it.
    fn show(&self, notice: &Notice) {
        if let Notice::Notice(notice) = notice {
            tracing::warn!(session = self.session, "{}", notice.message);
        }
    }

    fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        let session = self.session.as_str();
        let (frame, read): (Wire, fn(Value) -> Option<Answer>) = match dialog.clone() {
            Dialog::Confirm(dialog) => {
                let actions = [ALLOW, DENY].map(str::to_owned).to_vec();
                let frame = OpalConfirmBuilder {
                    session_id: session.to_owned(),
                    title: dialog.title,
                    message: dialog.message,
                    actions,
                }
                .build();
                (Wire::Confirm(frame), |result| {
                    result["action"].as_str().map(|action| Answer::Confirmed(action == ALLOW))
                })
            }
            Dialog::Select(dialog, _) => {
                let mut frame = OpalAskUser::new(session, dialog.title);
                frame.choices = Some(dialog.options);
                (Wire::AskUser(frame), |result| text(&result["answer"]))
            }
            Dialog::Input(dialog) => {
                (Wire::Input(OpalInput::new(session, dialog.title)), |result| text(&result["text"]))
            }
            Dialog::Editor(dialog) => {
                (Wire::Input(OpalInput::new(session, dialog.title)), |result| text(&result["text"]))
            }
        };
        let question = self.client.send_question(&frame)?;
        let answer = async move {
            // The caller enforces the time limit.
            let members = question.answer(None).await?;
            Some(match outcome(members) {
                // A client without a handler responds with an error: the question has no answer.
                Err(_) => Answer::Cancelled,
                Ok(result) => read(result).unwrap_or_else(|| {
                    Answer::Unreadable("an answer without the requested member".to_owned())
                }),
            })
        };
        Some(answer.boxed())
    }
}

fn text(value: &Value) -> Option<Answer> {
    value.as_str().map(|text| Answer::Value(text.to_owned()))
}
