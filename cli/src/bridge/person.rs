//! The person behind the client, as the agent finds them: its questions and notices in the words of the front.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agentese::any::{Answer, Asked, Question};
use agentese::types::{
    AskConfirm, AskEditor, AskInput, AskSelect, NotifyType, ShowEditorText, ShowNotice, ShowStatus,
    ShowTitle, ShowWidget,
};
use agentese::view::{Conversation, Draft, Notice};
use agentese_server::ui::{self, Dialog, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::watch;

/// Who answers the agent, once the client is there.
#[derive(Clone)]
pub(super) struct Person {
    ui: watch::Sender<Option<Arc<dyn Ui>>>,
    shown: Arc<Mutex<Shown>>,
}

/// What was shown last beside the conversation.
#[derive(Default)]
struct Shown {
    status: BTreeMap<String, Value>,
    widgets: BTreeMap<String, Value>,
    title: Option<String>,
    draft: Option<Draft>,
}

impl Person {
    pub fn new() -> Self {
        Self { ui: watch::Sender::new(None), shown: Arc::default() }
    }

    /// From now on questions and notices go there.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        self.ui.send_replace(Some(ui));
    }

    /// Shows a notice of the agent's.
    pub fn notice(&self, notice: &Notice) {
        self.tell(&notice.text, &notice.level);
    }

    /// Shows a text; `level` is `info`, `warning` or `error`.
    pub fn tell(&self, text: &str, level: &str) {
        let mut shown = ShowNotice::new(text);
        shown.notify_type = Some(match level {
            "error" => NotifyType::Error,
            "warning" => NotifyType::Warning,
            _ => NotifyType::Info,
        });
        self.show(ui::Notice::Notice(shown));
    }

    fn show(&self, notice: ui::Notice) {
        let ui = self.ui.borrow().clone();
        match ui {
            Some(ui) => ui.show(&notice),
            None => tracing::info!(?notice, "nobody is there yet to see it"),
        }
    }

    /// Shows what has changed beside the conversation.
    pub fn panels(&self, now: &Conversation) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        for (key, value) in changed(&shown.status, &now.status) {
            let mut status = ShowStatus::new(key);
            status.text = value.and_then(Value::as_str).map(str::to_owned);
            notices.push(ui::Notice::Status(status));
        }
        for (key, value) in changed(&shown.widgets, &now.widgets) {
            let mut widget = ShowWidget::new(key);
            let lines = value.map(|value| value.get("lines").unwrap_or(value).clone());
            widget.lines = lines.and_then(|lines| serde_json::from_value(lines).ok());
            let placement = value.and_then(|value| value.get("placement")).cloned();
            widget.placement = placement.and_then(|placement| serde_json::from_value(placement).ok());
            notices.push(ui::Notice::Widget(widget));
        }
        if shown.title != now.title {
            notices.extend(now.title.clone().map(|title| ui::Notice::Title(ShowTitle::new(title))));
        }
        if shown.draft != now.draft {
            let text = now.draft.as_ref().map(|draft| ShowEditorText::new(draft.text.clone()));
            notices.extend(text.map(ui::Notice::EditorText));
        }
        *shown = Shown {
            status: now.status.clone(),
            widgets: now.widgets.clone(),
            title: now.title.clone(),
            draft: now.draft.clone(),
        };
        drop(shown);
        notices.into_iter().for_each(|notice| self.show(notice));
    }
}

/// The entries of a table that are other than before; none in place of those that are gone.
fn changed<'a>(
    before: &'a BTreeMap<String, Value>,
    now: &'a BTreeMap<String, Value>,
) -> Vec<(String, Option<&'a Value>)> {
    let fresh = now.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    let fresh = fresh.map(|(key, value)| (key.clone(), Some(value)));
    fresh.chain(gone.map(|key| (key.clone(), None))).collect()
}

impl Asked for Person {
    fn ask(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let mut there = self.ui.subscribe();
        async move {
            // A question that comes before the client is waited with: the agent has limits of its own.
            let ui = there.wait_for(Option::is_some).await.ok()?.clone()?;
            let is_confirm = question.kind == "confirm";
            let said = ui.ask(&dialog(question))?.await?;
            match said {
                ui::Answer::Value(text) => Some(Answer::Text(text)),
                ui::Answer::Confirmed(yes) if is_confirm => Some(Answer::Confirmed(yes)),
                ui::Answer::Confirmed(yes) => Some(Answer::Text(yes.to_string())),
                ui::Answer::Cancelled => None,
                ui::Answer::Unreadable(what) => {
                    tracing::warn!(what, "an answer cannot be read; the question is dismissed");
                    None
                }
            }
        }
        .boxed()
    }
}

/// A question as fronts ask it.
fn dialog(question: Question) -> Dialog {
    let Question { method, kind, title, text, options, placeholder, prefill, timeout_ms, .. } = question;
    // Limits are whole milliseconds.
    let timeout = timeout_ms.map(|limit| limit.max(0.0) as u64);
    let title = if title.is_empty() { text.clone().unwrap_or_default() } else { title };
    match kind.as_str() {
        "confirm" => {
            let mut asked = AskConfirm::new(method, title, text.unwrap_or_default());
            asked.timeout = timeout;
            Dialog::Confirm(asked)
        }
        "select" if !options.is_empty() => {
            let mut asked = AskSelect::new(method, title, options);
            asked.timeout = timeout;
            Dialog::Select(asked, Vec::new())
        }
        "editor" => {
            let mut asked = AskEditor::new(method, title);
            asked.prefill = prefill;
            Dialog::Editor(asked)
        }
        _ => {
            let mut asked = AskInput::new(method, title);
            (asked.placeholder, asked.timeout) = (placeholder, timeout);
            Dialog::Input(asked)
        }
    }
}
