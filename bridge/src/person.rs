//! The user behind the client, for the agent: questions and notices of the agent in the form of the front.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentese::any::{Answer, Asked, Question};
use agentese::types::{
    AskConfirm, AskEditor, AskInput, AskSelect, NotifyType, ShowEditorText, ShowNotice, ShowStatus,
    ShowTitle, ShowWidget,
};
use agentese::view::{Conversation, Draft, Notice};
use agentese_server_base::ui::{self, Dialog, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::control::Word;

/// The maximum number of notices that wait for the client; the oldest are dropped.
const MOST_EARLY: usize = 100;

/// The time for which a question waits for earlier events. A prompt in progress may delay those events until
/// the question is answered.
const BEHIND: Duration = Duration::from_secs(1);

/// The user interface of the client, for the questions and notices of the agent.
#[derive(Clone)]
pub(super) struct Person {
    ui: watch::Sender<Option<Arc<dyn Ui>>>,
    shown: Arc<Mutex<Shown>>,
    /// The notices from before the connection of the client.
    early: Arc<Mutex<VecDeque<ui::Notice>>>,
    /// The event loop that orders the events of the agent.
    pump: Arc<OnceLock<UnboundedSender<Word>>>,
}

/// The last shown items beside the conversation.
#[derive(Default)]
struct Shown {
    status: BTreeMap<String, Value>,
    widgets: BTreeMap<String, Value>,
    title: Option<String>,
    draft: Option<Draft>,
    /// The text that the response to a command contains, so that no dialog has to set it.
    answered: Option<String>,
}

impl Person {
    pub fn new() -> Self {
        Self {
            ui: watch::Sender::new(None),
            shown: Arc::default(),
            early: Arc::default(),
            pump: Arc::default(),
        }
    }

    /// Lets questions wait for earlier events from now on. Later calls have no effect.
    pub fn behind(&self, pump: UnboundedSender<Word>) {
        let _ = self.pump.set(pump);
    }

    /// Completes when the client has the earlier events of the agent.
    fn told(&self) -> impl Future<Output = ()> + Send + 'static {
        let (done, told) = oneshot::channel();
        let sent = self.pump.get().is_some_and(|pump| pump.send(Word::Asks(done)).is_ok());
        async move {
            if sent && tokio::time::timeout(BEHIND, told).await.is_err() {
                tracing::warn!("a question goes before what the agent told");
            }
        }
    }

    /// Sends questions and notices to `ui` from now on, after the waiting notices.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        self.ui.send_replace(Some(ui.clone()));
        early.drain(..).for_each(|notice| ui.show(&notice));
    }

    /// Shows a notice of the agent.
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

    /// Shows a notice of the front, or stores it until the connection of the client.
    pub fn show(&self, notice: ui::Notice) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let ui = self.ui.borrow().clone();
        match ui {
            Some(ui) => {
                drop(early);
                ui.show(&notice);
            }
            None => {
                if early.len() == MOST_EARLY {
                    early.pop_front();
                }
                early.push_back(notice);
            }
        }
    }

    /// Returns the texts of the notices that wait for the client.
    #[cfg(test)]
    pub fn waiting(&self) -> Vec<String> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let text = |notice: &ui::Notice| match notice {
            ui::Notice::Notice(shown) => Some(shown.message.clone()),
            _ => None,
        };
        early.iter().filter_map(text).collect()
    }

    /// Records a fork before a message with that text: the response to the command contains the text for the
    /// editor.
    pub fn forks_before(&self, text: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.answered = Some(text.to_owned());
    }

    /// Sends a question to the user. A question before the connection of the client waits for it, because the agent has
    /// time limits of its own. Returns `None` if there is no client to answer.
    pub fn put(&self, dialog: Dialog) -> impl Future<Output = Option<ui::Answer>> + Send + 'static {
        let mut there = self.ui.subscribe();
        async move {
            let ui = there.wait_for(Option::is_some).await.ok()?.clone()?;
            ui.ask(&dialog)?.await
        }
    }

    /// Shows the changes beside the conversation. Does nothing while no client is connected.
    pub fn panels(&self, now: &Conversation) {
        if self.ui.borrow().is_none() {
            return;
        }
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
        let mut answered = shown.answered.take();
        if shown.draft != now.draft {
            let text = now.draft.as_ref().map(|draft| draft.text.as_str());
            let text = text.filter(|text| answered.take().as_deref() != Some(text));
            notices.extend(text.map(|text| ui::Notice::EditorText(ShowEditorText::new(text))));
        }
        *shown = Shown {
            status: now.status.clone(),
            widgets: now.widgets.clone(),
            title: now.title.clone(),
            draft: now.draft.clone(),
            answered,
        };
        drop(shown);
        notices.into_iter().for_each(|notice| self.show(notice));
    }
}

/// Returns the changed entries of a table, with `None` for removed ones.
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
        let is_confirm = question.kind == "confirm";
        let (told, said) = (self.told(), self.put(dialog(question)));
        async move {
            told.await;
            match said.await? {
                ui::Answer::Value(text) => Some(Answer::Text(text)),
                ui::Answer::Confirmed(yes) if is_confirm => Some(Answer::Confirmed(yes)),
                ui::Answer::Confirmed(yes) => Some(Answer::Text(yes.to_string())),
                ui::Answer::Cancelled => None,
                ui::Answer::Other(_) => {
                    tracing::warn!("an answer is no text; the question is dismissed");
                    None
                }
                ui::Answer::Unreadable(what) => {
                    tracing::warn!(what, "an answer cannot be read; the question is dismissed");
                    None
                }
            }
        }
        .boxed()
    }
}

/// Converts a question to a dialog of the fronts.
fn dialog(question: Question) -> Dialog {
    let Question { method, kind, title, text, options, placeholder, prefill, timeout_ms, .. } = question;
    // Time limits are whole milliseconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A user interface that records its notices.
    #[derive(Default)]
    struct Screen(Mutex<Vec<ui::Notice>>);

    impl Ui for Screen {
        fn room(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }

        fn show(&self, notice: &ui::Notice) {
            self.0.lock().unwrap().push(notice.clone());
        }

        fn ask(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            None
        }
    }

    #[test]
    fn what_came_before_the_client_is_shown_when_it_is_there() {
        let person = Person::new();
        let mut now = Conversation::begin("pi");
        now.title = Some("their title".to_owned());
        now.status.insert("mode".to_owned(), Value::from("quiet"));
        person.tell("early", "warning");
        person.panels(&now);
        let screen = Arc::new(Screen::default());
        person.connect(screen.clone());
        person.panels(&now);
        person.panels(&now);
        let shown = screen.0.lock().unwrap();
        let [ui::Notice::Notice(early), ui::Notice::Status(status), ui::Notice::Title(_)] = &shown[..] else {
            panic!("{shown:?}")
        };
        assert_eq!((early.message.as_str(), status.text.as_deref()), ("early", Some("quiet")));
    }

    #[test]
    fn words_that_a_fork_gives_back_are_not_put_into_the_editor_as_well() {
        let (person, screen) = (Person::new(), Arc::new(Screen::default()));
        person.connect(screen.clone());
        person.forks_before("go");
        let mut now = Conversation::begin("pi");
        for text in ["go", "by an extension"] {
            now.draft = serde_json::from_value(serde_json::json!({"text": text})).ok();
            person.panels(&now);
        }
        let shown = screen.0.lock().unwrap();
        let [ui::Notice::EditorText(only)] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!(only.text, "by an extension");
    }

    #[test]
    fn the_newest_early_notices_are_kept() {
        let person = Person::new();
        (0..MOST_EARLY + 3).for_each(|number| person.tell(&number.to_string(), "info"));
        let screen = Arc::new(Screen::default());
        person.connect(screen.clone());
        let shown = screen.0.lock().unwrap();
        assert_eq!(shown.len(), MOST_EARLY);
        assert!(matches!(&shown[0], ui::Notice::Notice(first) if first.message == "3"), "{:?}", shown[0]);
    }
}
