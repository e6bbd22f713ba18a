//! Notices and questions for the user of the client, in one session.

use std::sync::Arc;

use agentese::acp::{
    AcpCallContent, AcpElicitParams, AcpElicitationAction, AcpElicitationAnswer, AcpElicitationMode,
    AcpNoticeSeverity, AcpPermissionAnswer, AcpPermissionCall, AcpPermissionKind, AcpPermissionOption,
    AcpPermissionOutcome, AcpRequestPermission, AcpSessionInfoUpdate, AcpText, AcpToolCall,
    AcpToolCallUpdate, AcpToolKind, AcpToolStatus,
};
use agentese::types::NotifyType;
use agentese::wire::Maybe;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::client::{ClientConnection, ClientQuestion};
use super::sink::Sink;
use crate::ui::{Answer, Dialog, Notice, Ui};

const ALLOW: &str = "allow";
const REJECT: &str = "reject";

/// The name of the single member of each form.
const VALUE: &str = "value";

/// The user interface of the client, for one session.
pub(super) struct ClientUi {
    client: Arc<ClientConnection>,
    sink: Arc<Sink>,
    session: String,
}

impl ClientUi {
    pub fn new(client: Arc<ClientConnection>, sink: Arc<Sink>, session: String) -> Self {
        Self { client, sink, session }
    }

    /// Requests permission from the user. If `id` names a tool call in progress, the request refers to that call.
    fn request_permission(
        &self,
        id: &str,
        title: &str,
        message: &str,
        options: Vec<AcpPermissionOption>,
    ) -> Option<(ClientQuestion, Option<String>)> {
        let call = self.sink.call(id);
        // A question without a call gets a call of its own, which ends with the answer.
        let own_call = call.is_none().then(|| format!("question-{}", uuid::Uuid::new_v4()));
        let permission_call = match (call, &own_call) {
            (Some(call), _) => call,
            (None, own) => self.announce_question_call(own.as_deref().unwrap_or_default(), title, message),
        };
        let request = AcpRequestPermission::new(self.session.as_str(), permission_call, options);
        Some((self.client.send_question(request)?, own_call))
    }

    /// Sends the client a tool call that represents a question which concerns no existing call.
    fn announce_question_call(&self, id: &str, title: &str, message: &str) -> AcpPermissionCall {
        // Clients may show only the beginning of a title.
        let (title, rest) = title.split_once('\n').unwrap_or((title, ""));
        let texts = [code_block(rest), message.to_owned()].into_iter().filter(|text| !text.is_empty());
        let content: Vec<_> = texts.map(|text| AcpCallContent::new(AcpText::new(text)).into()).collect();
        let content: Maybe<Vec<_>> = (!content.is_empty()).then_some(content).into();
        let mut tool_call = AcpToolCall::new(id, title);
        tool_call.kind = AcpToolKind::OtherValue.into();
        tool_call.status = AcpToolStatus::Pending.into();
        tool_call.content = content.clone();
        self.client.send_update(&self.session, tool_call);
        let mut question_call = AcpPermissionCall::new(id);
        question_call.title = title.to_owned().into();
        question_call.status = AcpToolStatus::Pending.into();
        question_call.content = content;
        question_call
    }

    /// Requests a text from the user in a form. If the client shows no forms, dismisses the question and sends the
    /// user a notice.
    fn request_text(
        &self,
        title: String,
        placeholder: Option<String>,
        prefill: Option<String>,
    ) -> Option<ClientQuestion> {
        let mut field = json!({"type": "string", "title": title});
        if let Some(placeholder) = placeholder {
            field["description"] = placeholder.into();
        }
        if let Some(prefill) = prefill {
            field["default"] = prefill.into();
        }
        let schema = json!({"type": "object", "properties": {VALUE: field}, "required": [VALUE]});
        let mut form = AcpElicitParams::new(AcpElicitationMode::Form, title);
        form.session_id = self.session.clone().into();
        form.requested_schema = schema.as_object().cloned().into();
        self.client.send_question(form)
    }
}

impl Ui for ClientUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        self.client.wait_for_capacity().boxed()
    }

    fn show(&self, notice: &Notice) {
        match notice {
            Notice::Notice(notice) => {
                let severity = match notice.notify_type {
                    Some(NotifyType::Error) => AcpNoticeSeverity::Error,
                    Some(NotifyType::Warning) => AcpNoticeSeverity::Warning,
                    _ => AcpNoticeSeverity::Info,
                };
                self.client.send_notice(&self.session, severity, &notice.message, true);
            }
            Notice::Title(title) => {
                let mut update = AcpSessionInfoUpdate::new();
                update.title = title.title.clone().into();
                self.client.send_update(&self.session, update);
            }
            // The protocol has no status bar and no widgets, and does not set the text of the prompt editor.
            Notice::Status(_) | Notice::Widget(_) | Notice::EditorText(_) => {}
        }
    }

    fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        match dialog.clone() {
            Dialog::Confirm(dialog) => {
                let options = vec![
                    AcpPermissionOption::new(ALLOW, "Allow", AcpPermissionKind::AllowOnce),
                    AcpPermissionOption::new(REJECT, "Reject", AcpPermissionKind::RejectOnce),
                ];
                let (question, own) =
                    self.request_permission(&dialog.id, &dialog.title, &dialog.message, options)?;
                Some(self.await_choice(question, own, |chosen| Answer::Confirmed(chosen == ALLOW)))
            }
            Dialog::Select(dialog, refusing) => {
                let numbered = dialog.options.iter().enumerate();
                let options = numbered.map(|(at, option)| {
                    let kind = match refusing.contains(&at) {
                        true => AcpPermissionKind::RejectOnce,
                        false => AcpPermissionKind::AllowOnce,
                    };
                    AcpPermissionOption::new(at.to_string(), option.as_str(), kind)
                });
                let (question, own) =
                    self.request_permission(&dialog.id, &dialog.title, "", options.collect())?;
                Some(self.await_choice(question, own, move |chosen| {
                    let option = chosen.parse().ok().and_then(|at: usize| dialog.options.get(at).cloned());
                    option.map_or_else(
                        || Answer::Unreadable(format!("\"{chosen}\" (not one of the choices)")),
                        Answer::Value,
                    )
                }))
            }
            Dialog::Input(dialog) => self.await_text(dialog.title, dialog.placeholder, None),
            Dialog::Editor(dialog) => self.await_text(dialog.title, None, dialog.prefill),
        }
    }
}

impl ClientUi {
    /// Waits for a choice. `own` is the id of the tool call that represents the question, if there is one.
    fn await_choice(
        &self,
        question: ClientQuestion,
        own: Option<String>,
        read: impl FnOnce(&str) -> Answer + Send + 'static,
    ) -> BoxFuture<'static, Option<Answer>> {
        let call_guard =
            QuestionCallGuard { client: self.client.clone(), session: self.session.clone(), call: own };
        async move {
            let answer = question.answer().await?;
            drop(call_guard);
            Some(match answer.map(serde_json::from_value::<AcpPermissionAnswer>) {
                Ok(Ok(answer)) => match answer.outcome {
                    AcpPermissionOutcome::Selected(selected) => read(&selected.option_id),
                    AcpPermissionOutcome::Cancelled(_) => Answer::Cancelled,
                },
                Ok(Err(error)) => Answer::Unreadable(format!("an unreadable answer ({error})")),
                // A client without a handler responds with an error: the question has no answer.
                Err(_) => Answer::Cancelled,
            })
        }
        .boxed()
    }

    fn await_text(
        &self,
        title: String,
        placeholder: Option<String>,
        prefill: Option<String>,
    ) -> Option<BoxFuture<'static, Option<Answer>>> {
        if !self.client.shows_forms() {
            let text = format!("the question \"{title}\" was dismissed: this client does not support forms");
            self.client.send_notice(&self.session, AcpNoticeSeverity::Warning, &text, true);
            return Some(futures::future::ready(Some(Answer::Cancelled)).boxed());
        }
        let question = self.request_text(title, placeholder, prefill)?;
        let answer = async move {
            Some(match question.answer().await?.map(serde_json::from_value::<AcpElicitationAnswer>) {
                Ok(Ok(answer)) if answer.action == AcpElicitationAction::Accept => {
                    let content = answer.content.into_option().unwrap_or_default();
                    match content.get(VALUE) {
                        Some(Value::String(text)) => Answer::Value(text.clone()),
                        _ => Answer::Unreadable("a form without a value".to_owned()),
                    }
                }
                Ok(Err(error)) => Answer::Unreadable(format!("an unreadable answer ({error})")),
                Ok(Ok(_)) | Err(_) => Answer::Cancelled,
            })
        };
        Some(answer.boxed())
    }
}

/// Returns a text as a code block of Markdown, so that a client shows every line of it unchanged. Returns an empty text
/// for an empty one.
fn code_block(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

/// On drop, ends the tool call that represents a question.
struct QuestionCallGuard {
    client: Arc<ClientConnection>,
    session: String,
    call: Option<String>,
}

impl Drop for QuestionCallGuard {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let mut update = AcpToolCallUpdate::new(call);
            update.status = Maybe::Value(AcpToolStatus::Completed);
            self.client.send_update(&self.session, update);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_code_block() {
        assert_eq!(code_block("command: ls\n  <!-- -->"), "```\ncommand: ls\n  <!-- -->\n```");
        assert_eq!(code_block("a\n````\nb"), "`````\na\n````\nb\n`````");
        assert_eq!(code_block(""), "");
    }
}
