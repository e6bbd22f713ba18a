//! Answers the dialogs of the agent's extension, and records its notices.

use std::sync::{Arc, Mutex};

use agentese::types::{
    ConfirmDialog, EditorDialog, InputDialog, NotifyNotice, SelectDialog, SetEditorTextNotice,
    SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};
use agentese::{omp, pi};
use tokio::sync::Notify;

#[derive(Default)]
pub struct DialogLog {
    answered: Mutex<Vec<String>>,
    last_notice: Notify,
}

impl DialogLog {
    fn push(&self, what: impl Into<String>) {
        self.answered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(what.into());
    }

    /// Waits for the last notice of the extension, and returns all notices.
    pub async fn all(&self) -> String {
        self.last_notice.notified().await;
        self.answered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).join(", ")
    }
}

pub struct DialogHandler(pub Arc<DialogLog>);

macro_rules! answers {
    ($($dialect:ident),*) => {$(
        impl $dialect::Dialogs for DialogHandler {
            async fn select(&self, dialog: SelectDialog) -> Option<String> {
                dialog.options.get(1).cloned()
            }

            async fn confirm(&self, _: ConfirmDialog) -> Option<bool> {
                Some(true)
            }

            async fn input(&self, _: InputDialog) -> Option<String> {
                Some("Ann".into())
            }

            async fn editor(&self, dialog: EditorDialog) -> Option<String> {
                Some(format!("{}, edited", dialog.prefill.unwrap_or_default()))
            }

            fn set_status(&self, notice: SetStatusNotice) {
                if notice.status_key == "walk" {
                    self.0.push("status");
                }
            }

            fn set_widget(&self, notice: SetWidgetNotice) {
                if notice.widget_key == "walk" {
                    self.0.push("widget");
                }
            }

            fn set_title(&self, notice: SetTitleNotice) {
                if notice.title == "asked" {
                    self.0.push("title");
                }
            }

            fn set_editor_text(&self, _: SetEditorTextNotice) {
                self.0.push("editor text");
            }

            fn notify(&self, notice: NotifyNotice) {
                self.0.push(notice.message);
                self.0.last_notice.notify_one();
            }
        }
    )*};
}

answers!(pi, omp);
