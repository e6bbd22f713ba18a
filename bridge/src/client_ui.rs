//! User interface of the client, through which the agent sends questions and notices. They are converted to
//! the client's dialect.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentese::any::{Answer, Question, QuestionHandler};
use agentese::types::{
    ConfirmQuestion, EditorQuestion, ExtensionEditorText, ExtensionNotice, ExtensionStatus, ExtensionTitle,
    ExtensionWidget, InputQuestion, NotifyType, SelectQuestion,
};
use agentese::view::{Conversation, Draft, Notice};
use agentese_server_base::ui::{self, Dialog, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::control::Control;

/// The maximum number of notices that wait until a client connects. If there are more, the oldest are dropped.
const MAX_EARLY_NOTICES: usize = 100;

/// The maximum time for which a question waits for the delivery of earlier events. Without this limit, a
/// prompt whose question is open could delay the events until that question is answered.
const EVENT_WAIT: Duration = Duration::from_secs(1);

/// The client's user interface, which displays the questions and notices of the agent.
#[derive(Clone)]
pub(super) struct ClientUi {
    ui: watch::Sender<Option<Arc<dyn Ui>>>,
    panels: Arc<Mutex<PanelState>>,
    /// The notices that arrived before a client was connected.
    early: Arc<Mutex<VecDeque<ui::Notice>>>,
    /// The sender to the event loop, which completes the wait for earlier events.
    event_loop: Arc<OnceLock<UnboundedSender<Control>>>,
}

/// The last displayed contents of the status line, the widgets, the title and the editor.
#[derive(Default)]
struct PanelState {
    status: BTreeMap<String, Value>,
    widgets: BTreeMap<String, Value>,
    title: Option<String>,
    draft: Option<Draft>,
    /// The editor text that was part of the response to a fork command. It is not sent again as a dialog.
    fork_text: Option<String>,
}

impl ClientUi {
    pub fn new() -> Self {
        Self {
            ui: watch::Sender::new(None),
            panels: Arc::default(),
            early: Arc::default(),
            event_loop: Arc::default(),
        }
    }

    /// From now on, lets questions wait for earlier events. Later calls have no effect.
    pub fn set_event_loop(&self, event_loop: UnboundedSender<Control>) {
        let _ = self.event_loop.set(event_loop);
    }

    /// Completes when the client has received the agent's earlier events.
    fn wait_for_events(&self) -> impl Future<Output = ()> + Send + 'static {
        let (done, processed) = oneshot::channel();
        let sent =
            self.event_loop.get().is_some_and(|sender| sender.send(Control::QuestionReceived(done)).is_ok());
        async move {
            if sent {
                wait_for_mark(processed).await;
            }
        }
    }

    /// Sends questions and notices to `ui` from now on, starting with the stored notices.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        self.ui.send_replace(Some(ui.clone()));
        early.drain(..).for_each(|notice| ui.show(&notice));
    }

    /// Shows a notice of the agent.
    pub fn show_notice(&self, notice: &Notice) {
        self.notify(&notice.text, &notice.level);
    }

    /// Shows a text; `level` is `info`, `warning` or `error`.
    pub fn notify(&self, text: &str, level: &str) {
        let mut shown = ExtensionNotice::new(text);
        shown.notify_type = Some(match level {
            "error" => NotifyType::Error,
            "warning" => NotifyType::Warning,
            _ => NotifyType::Info,
        });
        self.show(ui::Notice::Notice(shown));
    }

    /// Shows a notice, or stores it until a client connects.
    pub fn show(&self, notice: ui::Notice) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let ui = self.ui.borrow().clone();
        match ui {
            Some(ui) => {
                drop(early);
                ui.show(&notice);
            }
            None => {
                if early.len() == MAX_EARLY_NOTICES {
                    early.pop_front();
                }
                early.push_back(notice);
            }
        }
    }

    /// Returns the texts of the notices that wait for the client.
    #[cfg(test)]
    pub fn early_texts(&self) -> Vec<String> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let text = |notice: &ui::Notice| match notice {
            ui::Notice::Notice(shown) => Some(shown.message.clone()),
            _ => None,
        };
        early.iter().filter_map(text).collect()
    }

    /// Records the text of the user message before which the conversation is forked. The response to the fork
    /// command contains this text, so it is not sent to the editor again.
    pub fn record_fork_text(&self, text: &str) {
        let mut shown = self.panels.lock().unwrap_or_else(PoisonError::into_inner);
        shown.fork_text = Some(text.to_owned());
    }

    /// Sends a question to the user, and returns the answer. Before a client is connected, the question waits
    /// without a time limit, because agents have their own limits. Returns `None` if there is no client to
    /// answer.
    pub fn show_dialog(&self, dialog: Dialog) -> impl Future<Output = Option<ui::Answer>> + Send + 'static {
        let mut there = self.ui.subscribe();
        async move {
            let ui = there.wait_for(Option::is_some).await.ok()?.clone()?;
            ui.show_dialog(&dialog)?.await
        }
    }

    /// Sends the changes of the status line, the widgets, the title and the editor text. Does nothing while no client
    /// is connected.
    pub fn update_panels(&self, now: &Conversation) {
        if self.ui.borrow().is_none() {
            return;
        }
        let mut shown = self.panels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        for (key, value) in changed(&shown.status, &now.status) {
            let mut status = ExtensionStatus::new(key);
            status.text = value.and_then(Value::as_str).map(str::to_owned);
            notices.push(ui::Notice::Status(status));
        }
        for (key, value) in changed(&shown.widgets, &now.widgets) {
            let mut widget = ExtensionWidget::new(key);
            let lines = value.map(|value| value.get("lines").unwrap_or(value).clone());
            widget.lines = lines.and_then(|lines| serde_json::from_value(lines).ok());
            let placement = value.and_then(|value| value.get("placement")).cloned();
            widget.placement = placement.and_then(|placement| serde_json::from_value(placement).ok());
            notices.push(ui::Notice::Widget(widget));
        }
        if shown.title != now.title {
            notices.extend(now.title.clone().map(|title| ui::Notice::Title(ExtensionTitle::new(title))));
        }
        let mut answered = shown.fork_text.take();
        if shown.draft != now.draft {
            let text = now.draft.as_ref().map(|draft| draft.text.as_str());
            let text = text.filter(|text| answered.take().as_deref() != Some(text));
            notices.extend(text.map(|text| ui::Notice::EditorText(ExtensionEditorText::new(text))));
        }
        *shown = PanelState {
            status: now.status.clone(),
            widgets: now.widgets.clone(),
            title: now.title.clone(),
            draft: now.draft.clone(),
            fork_text: answered,
        };
        drop(shown);
        notices.into_iter().for_each(|notice| self.show(notice));
    }
}

/// Waits until all events before a mark in the event queue have been processed, for a limited time.
pub(super) async fn wait_for_mark(processed: oneshot::Receiver<()>) {
    if tokio::time::timeout(EVENT_WAIT, processed).await.is_err() {
        tracing::warn!("a question overtakes earlier events of the agent");
    }
}

/// Returns the entries that differ between two tables. The value of a removed entry is `None`.
fn changed<'a>(
    before: &'a BTreeMap<String, Value>,
    now: &'a BTreeMap<String, Value>,
) -> Vec<(String, Option<&'a Value>)> {
    let fresh = now.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    let fresh = fresh.map(|(key, value)| (key.clone(), Some(value)));
    fresh.chain(gone.map(|key| (key.clone(), None))).collect()
}

impl QuestionHandler for ClientUi {
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let is_confirm = question.kind == "confirm";
        let (events_sent, answer) = (self.wait_for_events(), self.show_dialog(dialog(question)));
        async move {
            events_sent.await;
            match answer.await? {
                ui::Answer::Value(text) => Some(Answer::Text(text)),
                ui::Answer::Confirmed(yes) if is_confirm => Some(Answer::Confirmed(yes)),
                ui::Answer::Confirmed(yes) => Some(Answer::Text(yes.to_string())),
                ui::Answer::Cancelled => None,
                ui::Answer::Other(_) => {
                    tracing::warn!("unexpected type of answer; the question is dismissed");
                    None
                }
                ui::Answer::Unreadable(what) => {
                    tracing::warn!(what, "invalid answer; the question is dismissed");
                    None
                }
            }
        }
        .boxed()
    }
}

/// Converts a question of the agent to a dialog of the server.
fn dialog(question: Question) -> Dialog {
    let Question { method, kind, title, text, options, placeholder, prefill, timeout_ms, .. } = question;
    // The server's time limits are whole milliseconds.
    let timeout = timeout_ms.map(|limit| limit.max(0.0) as u64);
    let title = if title.is_empty() { text.clone().unwrap_or_default() } else { title };
    match kind.as_str() {
        "confirm" => {
            let mut confirm = ConfirmQuestion::new(method, title, text.unwrap_or_default());
            confirm.timeout = timeout;
            Dialog::Confirm(confirm)
        }
        "select" if !options.is_empty() => {
            let mut select = SelectQuestion::new(method, title, options);
            select.timeout = timeout;
            Dialog::Select(select, Vec::new())
        }
        "editor" => {
            let mut editor = EditorQuestion::new(method, title);
            editor.prefill = prefill;
            Dialog::Editor(editor)
        }
        _ => {
            let mut input = InputQuestion::new(method, title);
            (input.placeholder, input.timeout) = (placeholder, timeout);
            Dialog::Input(input)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user interface that records its notices.
    #[derive(Default)]
    struct RecordingUi(Mutex<Vec<ui::Notice>>);

    impl Ui for RecordingUi {
        fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }

        fn show(&self, notice: &ui::Notice) {
            self.0.lock().unwrap().push(notice.clone());
        }

        fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            None
        }
    }

    #[test]
    fn early_notices_are_shown_after_the_client_connects() {
        let client_ui = ClientUi::new();
        let mut now = Conversation::new("pi");
        now.title = Some("their title".to_owned());
        now.status.insert("mode".to_owned(), Value::from("quiet"));
        client_ui.notify("early", "warning");
        client_ui.update_panels(&now);
        let screen = Arc::new(RecordingUi::default());
        client_ui.connect(screen.clone());
        client_ui.update_panels(&now);
        client_ui.update_panels(&now);
        let shown = screen.0.lock().unwrap();
        let [ui::Notice::Notice(early), ui::Notice::Status(status), ui::Notice::Title(_)] = &shown[..] else {
            panic!("{shown:?}")
        };
        assert_eq!((early.message.as_str(), status.text.as_deref()), ("early", Some("quiet")));
    }

    #[test]
    fn fork_text_is_not_also_put_into_the_editor() {
        let (client_ui, screen) = (ClientUi::new(), Arc::new(RecordingUi::default()));
        client_ui.connect(screen.clone());
        client_ui.record_fork_text("go");
        let mut now = Conversation::new("pi");
        for text in ["go", "by an extension"] {
            now.draft = serde_json::from_value(serde_json::json!({"text": text})).ok();
            client_ui.update_panels(&now);
        }
        let shown = screen.0.lock().unwrap();
        let [ui::Notice::EditorText(only)] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!(only.text, "by an extension");
    }

    #[test]
    fn the_newest_early_notices_are_kept() {
        let client_ui = ClientUi::new();
        (0..MAX_EARLY_NOTICES + 3).for_each(|number| client_ui.notify(&number.to_string(), "info"));
        let screen = Arc::new(RecordingUi::default());
        client_ui.connect(screen.clone());
        let shown = screen.0.lock().unwrap();
        assert_eq!(shown.len(), MAX_EARLY_NOTICES);
        assert!(matches!(&shown[0], ui::Notice::Notice(first) if first.message == "3"), "{:?}", shown[0]);
    }
}
