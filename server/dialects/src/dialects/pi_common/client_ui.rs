//! Notices and dialogs of extensions, in the form of the dialect.

use std::time::Duration;

use agentese::serve::Emitter;
use agentese::types::{
    ConfirmDialog, EditorDialog, InputDialog, NotifyNotice, SelectDialog, SetEditorTextNotice,
    SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::dialect::PiCommon;
use crate::ui::{Answer, Dialog, Notice, Ui};

/// The user interface of a connected client.
#[derive(Debug)]
pub(super) struct ClientUi<D: PiCommon>(pub Emitter<D>);

impl<D: PiCommon> Ui for ClientUi<D> {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        self.0.room().boxed()
    }

    fn show(&self, notice: &Notice) {
        // A notice has no answer.
        drop(self.0.question(&notice_frame::<D>(notice)));
    }

    fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        // The host of the extensions knows the time limit of a dialog and enforces it.
        const NEVER: Option<Duration> = None;
        let question = self.0.question(&dialog_frame::<D>(dialog))?;
        let notice = match dialog {
            Dialog::Editor(_) => D::withdrawal_notice(question.id()),
            _ => None,
        };
        let guard = WithdrawalGuard { emitter: self.0.clone(), notice };
        let answer = async move {
            let members = question.answer(NEVER).await;
            guard.disarm();
            members.map(parse_answer)
        };
        Some(answer.boxed())
    }
}

/// An open dialog. If it is withdrawn, the client is informed, provided that the dialect has a notice for that.
struct WithdrawalGuard<D: PiCommon> {
    emitter: Emitter<D>,
    notice: Option<D::Dialog>,
}

impl<D: PiCommon> WithdrawalGuard<D> {
    /// Ends the wait without a notice, because the client knows of the end.
    fn disarm(mut self) {
        self.notice = None;
    }
}

impl<D: PiCommon> Drop for WithdrawalGuard<D> {
    fn drop(&mut self) {
        if let Some(notice) = self.notice.take() {
            self.emitter.notify(notice);
        }
    }
}

fn notice_frame<D: PiCommon>(notice: &Notice) -> D::Dialog {
    match notice.clone() {
        Notice::Notice(notice) => {
            let mut shown = NotifyNotice::new(notice.message);
            shown.notify_type = notice.notify_type;
            shown.into()
        }
        Notice::Status(notice) => {
            let mut shown = SetStatusNotice::new(notice.key);
            shown.status_text = notice.text;
            shown.into()
        }
        Notice::Widget(notice) => {
            let mut shown = SetWidgetNotice::new(notice.key);
            shown.widget_lines = notice.lines;
            shown.widget_placement = notice.placement;
            shown.into()
        }
        Notice::Title(notice) => SetTitleNotice::new(notice.title).into(),
        Notice::EditorText(notice) => SetEditorTextNotice::new(notice.text).into(),
    }
}

fn dialog_frame<D: PiCommon>(dialog: &Dialog) -> D::Dialog {
    match dialog.clone() {
        Dialog::Select(dialog, _) => {
            let mut frame = SelectDialog::new(dialog.title, dialog.options);
            frame.timeout = dialog.timeout;
            frame.into()
        }
        Dialog::Confirm(dialog) => {
            let mut frame = ConfirmDialog::new(dialog.title, dialog.message);
            frame.timeout = dialog.timeout;
            frame.into()
        }
        Dialog::Input(dialog) => {
            let mut frame = InputDialog::new(dialog.title);
            frame.placeholder = dialog.placeholder;
            frame.timeout = dialog.timeout;
            frame.into()
        }
        Dialog::Editor(dialog) => {
            let mut frame = EditorDialog::new(dialog.title);
            frame.prefill = dialog.prefill;
            frame.into()
        }
    }
}

/// Reads an answer as pi does: `cancelled` wins if it is true; otherwise the first other member with a value
/// applies.
fn parse_answer(members: Map<String, Value>) -> Answer {
    if members.get("cancelled") == Some(&Value::Bool(true)) {
        return Answer::Cancelled;
    }
    match (members.get("confirmed"), members.get("value")) {
        (Some(Value::Bool(confirmed)), _) => Answer::Confirmed(*confirmed),
        (_, Some(Value::String(value))) => Answer::Value(value.clone()),
        // As in pi, the caller receives the value that the client sent.
        (None, Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_)))) => {
            Answer::Other(value.clone())
        }
        (None, None) => Answer::Unreadable("an answer without a value".to_owned()),
        _ => Answer::Unreadable("a value of another type".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_parsed_by_their_member() {
        let read = |value: Value| parse_answer(value.as_object().unwrap().clone());
        assert_eq!(read(json!({"cancelled": true, "value": "x"})), Answer::Cancelled);
        assert_eq!(read(json!({"cancelled": false, "value": "x"})), Answer::Value("x".to_owned()));
        assert_eq!(read(json!({"confirmed": false})), Answer::Confirmed(false));
        assert!(matches!(read(json!({})), Answer::Unreadable(_)));
        assert!(matches!(read(json!({"confirmed": "yes"})), Answer::Unreadable(_)));
        assert_eq!(read(json!({"value": 7})), Answer::Other(json!(7)));
        assert!(matches!(read(json!({"value": null})), Answer::Unreadable(_)));
    }
}
