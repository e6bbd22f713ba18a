//! What extensions show and ask, in the dialect.

use std::sync::OnceLock;
use std::time::Duration;

use agentese::pi::{
    ConfirmDialog, Dialog as Wire, EditorDialog, InputDialog, NotifyNotice, Pi, SelectDialog,
    SetEditorTextNotice, SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};
use agentese::serve::Emitter;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::extensions::{Answer, Dialog, Notice, Ui};

/// The client as extensions see it.
#[derive(Debug, Default)]
pub struct Dialogs {
    emitter: OnceLock<Emitter<Pi>>,
}

impl Dialogs {
    /// A client that is connected.
    pub fn to(emitter: Emitter<Pi>) -> Self {
        Self { emitter: emitter.into() }
    }
}

impl Ui for Dialogs {
    fn room(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(emitter) = self.emitter.get() {
                emitter.room().await;
            }
        }
        .boxed()
    }

    fn show(&self, notice: &Notice) {
        if let Some(emitter) = self.emitter.get() {
            // Nobody answers a notice.
            drop(emitter.question(&shown(notice)));
        }
    }

    fn ask(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        // The time is the host's business: it knows how long a dialog may be open.
        const NEVER: Option<Duration> = None;
        let question = self.emitter.get()?.question(&asked(dialog))?;
        Some(async move { question.answer(NEVER).await.map(answer) }.boxed())
    }
}

fn shown(notice: &Notice) -> Wire {
    match notice.clone() {
        Notice::Notice(notice) => {
            let mut shown = NotifyNotice::new(notice.message);
            shown.notify_type = notice.notify_type;
            Wire::Notify(shown)
        }
        Notice::Status(notice) => {
            let mut shown = SetStatusNotice::new(notice.key);
            shown.status_text = notice.text;
            Wire::SetStatus(shown)
        }
        Notice::Widget(notice) => {
            let mut shown = SetWidgetNotice::new(notice.key);
            shown.widget_lines = notice.lines;
            shown.widget_placement = notice.placement;
            Wire::SetWidget(shown)
        }
        Notice::Title(notice) => Wire::SetTitle(SetTitleNotice::new(notice.title)),
        Notice::EditorText(notice) => Wire::SetEditorText(SetEditorTextNotice::new(notice.text)),
    }
}

fn asked(dialog: &Dialog) -> Wire {
    match dialog.clone() {
        Dialog::Select(dialog) => {
            let mut asked = SelectDialog::new(dialog.title, dialog.options);
            asked.timeout = dialog.timeout;
            Wire::Select(asked)
        }
        Dialog::Confirm(dialog) => {
            let mut asked = ConfirmDialog::new(dialog.title, dialog.message);
            asked.timeout = dialog.timeout;
            Wire::Confirm(asked)
        }
        Dialog::Input(dialog) => {
            let mut asked = InputDialog::new(dialog.title);
            asked.placeholder = dialog.placeholder;
            asked.timeout = dialog.timeout;
            Wire::Input(asked)
        }
        Dialog::Editor(dialog) => {
            let mut asked = EditorDialog::new(dialog.title);
            asked.prefill = dialog.prefill;
            Wire::Editor(asked)
        }
    }
}

/// The first member that means something counts, as in pi: `cancelled` where it is true, then the others.
fn answer(members: Map<String, Value>) -> Answer {
    if members.get("cancelled") == Some(&Value::Bool(true)) {
        return Answer::Cancelled;
    }
    match (members.get("confirmed"), members.get("value")) {
        (Some(Value::Bool(confirmed)), _) => Answer::Confirmed(*confirmed),
        (_, Some(Value::String(value))) => Answer::Value(value.clone()),
        (None, None) => Answer::Unreadable("an answer without a value".to_owned()),
        _ => Answer::Unreadable("a value of another kind".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_read_by_the_member_that_they_have() {
        let read = |value: Value| answer(value.as_object().unwrap().clone());
        assert_eq!(read(json!({"cancelled": true, "value": "x"})), Answer::Cancelled);
        assert_eq!(read(json!({"cancelled": false, "value": "x"})), Answer::Value("x".to_owned()));
        assert_eq!(read(json!({"confirmed": false})), Answer::Confirmed(false));
        assert!(matches!(read(json!({})), Answer::Unreadable(_)));
        assert!(matches!(read(json!({"confirmed": "yes"})), Answer::Unreadable(_)));
        assert!(matches!(read(json!({"value": 7})), Answer::Unreadable(_)));
    }
}
