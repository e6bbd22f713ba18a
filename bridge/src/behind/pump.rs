//! Messages and requests of the agent on their way to the engine: updates become deeds, in order, and turns
//! end.

use std::sync::Arc;

use agentese::acp::{
    AcpConfigOption, AcpElicit, AcpElicitationAction, AcpElicitationAnswer, AcpElicitationMode, AcpPromptEnd,
    AcpRequestPermission, AcpSessionUpdate, AcpStopReason, AcpUpdate, Dialog, Reply,
};
use agentese::types::ShowWidget;
use agentese::wire::Named as _;
use agentese_server_base::ui;
use agentese_server_engine::engine::Deed;
use agentese_server_engine::resources::{CommandInfo, CommandSource};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::choices::Choices;
use super::history::History;
use super::peer::{Heard, Outcome};
use super::questions::{self, Permission};
use super::shared::Shared;
use super::turns::Turns;
use crate::{convert, queue};

/// The key of the widget with the agent's plan.
const PLAN: &str = "plan";

/// The maximum number of stored updates of a session that is being opened.
const MOST_EARLY: usize = 16;

/// Converts messages of the agent to deeds.
pub(super) struct Pump {
    shared: Arc<Shared>,
    told: queue::Sender,
    turns: Turns,
    /// `true` between the sending of a prompt and its response, in the order of the messages.
    in_turn: bool,
    /// The turn whose start was reported before its prompt was sent.
    begun: Option<u64>,
    /// `true` after a warning about an update outside of a turn.
    strayed: bool,
    opening: Option<Opening>,
}

/// A session that is being opened.
#[derive(Default)]
struct Opening {
    /// The id of a stored session. `None` if the agent creates a session.
    id: Option<String>,
    /// The messages of the session.
    history: History,
    /// The other updates of the session.
    early: Vec<AcpSessionUpdate>,
}

impl Opening {
    /// Stores an update of the session. Returns an update of another session.
    fn take(&mut self, update: AcpSessionUpdate, current: &str) -> Option<AcpSessionUpdate> {
        let is_it = self.id.as_ref().map_or(update.session_id != current, |id| *id == update.session_id);
        if !is_it {
            return Some(update);
        }
        if is_said(&update.update) {
            // A new session cannot have messages before it is open.
            if self.id.is_some() {
                self.history.take(update.update);
            }
        } else if self.early.len() < MOST_EARLY {
            self.early.push(update);
        }
        None
    }
}

/// Returns `true` if an update is part of the conversation.
fn is_said(update: &AcpUpdate) -> bool {
    matches!(
        update,
        AcpUpdate::UserMessageChunk(_)
            | AcpUpdate::AgentMessageChunk(_)
            | AcpUpdate::AgentThoughtChunk(_)
            | AcpUpdate::ToolCall(_)
            | AcpUpdate::ToolCallUpdate(_)
    )
}

impl Pump {
    pub fn new(shared: Arc<Shared>, told: queue::Sender) -> Self {
        Self {
            shared,
            told,
            turns: Turns::default(),
            in_turn: false,
            begun: None,
            strayed: false,
            opening: None,
        }
    }

    pub async fn run(mut self, mut heard: UnboundedReceiver<Heard>) {
        while let Some(heard) = heard.recv().await {
            match heard {
                Heard::Began(number) => {
                    (self.in_turn, self.strayed) = (true, false);
                    let deeds = self.turns.begin();
                    if self.begun.take() != Some(number) {
                        self.tell(deeds);
                    }
                }
                Heard::Told(Dialog::SessionUpdate(update)) => self.hear(update),
                Heard::Opens(id) => self.opening = Some(Opening { id, ..Opening::default() }),
                Heard::Opened(outcome, waiting) => {
                    self.opened(&outcome);
                    let _ = waiting.send(outcome);
                }
                Heard::Chosen(outcome, waiting) => {
                    self.set(&outcome);
                    let _ = waiting.send(outcome);
                }
                Heard::Told(_) => {}
                Heard::Asked(id, Dialog::RequestPermission(asked)) => self.ask(id, asked),
                Heard::Asked(id, Dialog::Elicit(form)) => self.elicit(id, form),
                // This side announced no other capabilities.
                Heard::Asked(id, dialog) => self.shared.peer.refuse(&id, dialog.name()),
                Heard::TurnOver(number, ended) => self.over(number, ended),
                Heard::Gone(reason) => {
                    let turn = {
                        let mut state = self.shared.state();
                        state.gone = Some(reason.clone());
                        state.turn.take()
                    };
                    self.tell(vec![Deed::Gone(reason)]);
                    if let Some(turn) = turn {
                        turn.stopped.cancel();
                        turn.over.cancel();
                    }
                    return;
                }
            }
        }
    }

    /// Handles the outcome of opening a session.
    fn opened(&mut self, outcome: &Outcome) {
        let opening = self.opening.take().unwrap_or_default();
        let (id, options) = match outcome {
            Ok(Reply::NewSession(opened)) => {
                let options = opened.config_options.as_option().cloned();
                (Some(opened.session_id.clone()), Some(options.unwrap_or_default()))
            }
            Ok(Reply::LoadSession(loaded)) => (opening.id, loaded.config_options.as_option().cloned()),
            _ => return,
        };
        let Some(id) = id else { return };
        {
            let mut state = self.shared.state();
            state.session = id;
            (state.history, state.name) = (opening.history.messages(), None);
        }
        options.into_iter().for_each(|options| self.choose(options));
        opening.early.into_iter().for_each(|update| self.hear(update));
    }

    /// Handles the outcome of setting an option.
    fn set(&mut self, outcome: &Outcome) {
        let choices = {
            let mut state = self.shared.state();
            state.choosing = state.choosing.saturating_sub(1);
            state.choices.clone()
        };
        match outcome {
            Ok(Reply::SetConfigOption(set)) => self.choose(set.config_options.clone()),
            // The change failed, so the client must see the previous value again.
            _ => self.tell_choices(&choices),
        }
    }

    /// Stores the options of the session.
    fn choose(&self, options: Vec<AcpConfigOption>) {
        let choices = Choices::of(options);
        self.shared.state().choices = choices.clone();
        self.tell_choices(&choices);
    }

    fn tell_choices(&self, choices: &Choices) {
        if self.shared.state().choosing == 0 {
            let model = choices.model().map(|model| Deed::Asks(Box::new(model)));
            self.tell(model.into_iter().chain(choices.level().map(Deed::Thinks)).collect());
        }
    }

    fn tell(&self, deeds: Vec<Deed>) {
        deeds.into_iter().for_each(|deed| self.told.tell(deed));
    }

    /// Handles an update. Drops updates of previous sessions.
    fn hear(&mut self, update: AcpSessionUpdate) {
        let current = self.shared.state().session.clone();
        let update = match &mut self.opening {
            Some(opening) => opening.take(update, &current),
            None => Some(update),
        };
        let Some(update) = update else { return };
        if update.session_id != current {
            tracing::debug!(session = update.session_id, "an update of another session was dropped");
        } else if is_said(&update.update) && !self.in_turn {
            // A run that starts with this update would never end.
            if !std::mem::replace(&mut self.strayed, true) {
                tracing::warn!("the agent tells of its work outside of a turn: that is dropped");
            }
        } else {
            self.update(update.update);
        }
    }

    fn update(&mut self, update: AcpUpdate) {
        match update {
            AcpUpdate::Plan(plan) => {
                let line = |entry: agentese::acp::AcpPlanEntry| {
                    format!("{}: {}", entry.status.as_str(), entry.content)
                };
                let mut widget = ShowWidget::new(PLAN);
                widget.lines = Some(plan.entries.into_iter().map(line).collect());
                self.shared.person.show(ui::Notice::Widget(widget));
            }
            AcpUpdate::AvailableCommandsUpdate(commands) => {
                let info = |command: agentese::acp::AcpAvailableCommand| CommandInfo {
                    source: CommandSource::Extension,
                    name: command.name,
                    description: Some(command.description),
                    location: None,
                    path: None,
                };
                let commands = commands.available_commands.into_iter().map(info).collect();
                self.shared.state().commands = commands;
            }
            AcpUpdate::ConfigOptionUpdate(options) => self.choose(options.config_options),
            AcpUpdate::SessionInfoUpdate(info) => {
                if let Some(title) = info.title.into_option() {
                    self.shared.state().name = Some(title.clone());
                    self.tell(vec![Deed::Named(title)]);
                }
            }
            AcpUpdate::Notice(notice) => {
                let more = notice.description.as_option().map(|more| format!("\n{more}")).unwrap_or_default();
                self.shared.person.tell(&format!("{}{more}", notice.title), notice.severity.as_str());
            }
            update => {
                let mut deeds = self.turns.take(update);
                // A compaction between turns has no other end.
                if !self.in_turn && deeds.iter().any(|deed| matches!(deed, Deed::CompactionOver { .. })) {
                    deeds.push(Deed::Rested { aborted: false });
                }
                self.tell(deeds);
            }
        }
    }

    fn over(&mut self, number: u64, ended: Result<AcpPromptEnd, String>) {
        let cancelled = ended.as_ref().is_ok_and(|ended| ended.stop_reason == AcpStopReason::Cancelled);
        let (turn, next) = {
            let mut state = self.shared.state();
            let Some(turn) = state.turn.take_if(|turn| turn.number == number) else {
                // The turn was abandoned.
                return;
            };
            // Input that waits when the turn is stopped stays until the next turn.
            let stopped = cancelled || turn.stopped.is_cancelled();
            let next = if stopped { None } else { state.held.pop_front() };
            (turn, next.map(|words| (state.take_turn(), words)))
        };
        turn.stopped.cancel();
        self.in_turn = false;
        let (mut deeds, aborted) = self.turns.over(ended);
        deeds.push(Deed::RunOver { will_retry: false });
        match next {
            Some((next, words)) => {
                // A run for waiting input starts with that input.
                deeds.extend([Deed::RunBegan, Deed::Said(Box::new(convert::user(words.0.clone())))]);
                self.tell(deeds);
                self.begun = Some(next.number);
                // On failure, the end of the turn arrives as a message.
                let _ = self.shared.begin(next, words);
            }
            None => {
                deeds.push(Deed::Rested { aborted });
                self.tell(deeds);
            }
        }
        turn.over.cancel();
    }

    /// Returns the token that dismisses questions of a session. Between turns it is never cancelled. Returns
    /// `None` for another session.
    fn dismissal(&self, session: &str) -> Option<CancellationToken> {
        let state = self.shared.state();
        let stopped = state.turn.as_ref().map(|turn| turn.stopped.clone()).unwrap_or_default();
        (state.session == session).then_some(stopped)
    }

    /// Requests a permission from the user, and responds to the agent.
    fn ask(&mut self, id: Value, asked: AcpRequestPermission) {
        let Some(stopped) = self.dismissal(&asked.session_id) else {
            return self.shared.peer.answer(&id, questions::dismissed());
        };
        if self.in_turn {
            let deeds = self.turns.asked(&asked.tool_call);
            self.tell(deeds);
        }
        let permission = Permission::of(asked);
        let shared = self.shared.clone();
        tokio::spawn(async move {
            let put = shared.person.put(permission.dialog.clone());
            let answer = stopped.run_until_cancelled(put).await.flatten();
            shared.peer.answer(&id, permission.answer(answer));
        });
    }

    /// Requests the values of a form from the user, and responds to the agent.
    fn elicit(&self, id: Value, form: AcpElicit) {
        let session = form.session_id.as_option().cloned();
        let dismissal =
            session.map_or_else(|| Some(CancellationToken::new()), |session| self.dismissal(&session));
        let closed = AcpElicitationAnswer::new(AcpElicitationAction::Cancel);
        let Some(stopped) = dismissal.filter(|_| form.mode == AcpElicitationMode::Form) else {
            return self.shared.peer.answer(&id, closed);
        };
        let shared = self.shared.clone();
        tokio::spawn(async move {
            let filled = stopped.run_until_cancelled(questions::fill(&shared.person, form)).await;
            shared.peer.answer(&id, filled.unwrap_or(closed));
        });
    }
}
