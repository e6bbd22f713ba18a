//! Event loop: converts updates of the agent to remote events, and passes on its requests and the ends of turns, in
//! order.

use std::sync::Arc;

use agentese::acp::{
    AcpConfigOption, AcpElicitParams, AcpElicitationAction, AcpElicitationAnswer, AcpElicitationMode,
    AcpPromptEnd, AcpRequestPermission, AcpSessionUpdate, AcpStopReason, AcpUpdate, Dialog, Reply,
};
use agentese::types::ExtensionWidget;
use agentese::wire::NamedUnion as _;
use agentese_server_base::ui;
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_engine::resources::{CommandInfo, CommandSource};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::choices::Choices;
use super::connection::{ConnectionEvent, Outcome};
use super::forms;
use super::history::History;
use super::questions::{self, Permission};
use super::state::AcpContext;
use super::translator::{self, UpdateTranslator};
use crate::{client_ui, convert, event_queue};

/// The key of the widget that displays the agent's plan.
const PLAN: &str = "plan";

/// The maximum number of stored updates that are not messages while a session is being opened. Further ones are
/// dropped.
const MAX_EARLY_UPDATES: usize = 16;

/// Converts messages of the agent to remote events.
pub(super) struct AcpEventLoop {
    context: Arc<AcpContext>,
    remote_events: event_queue::Sender,
    translator: UpdateTranslator,
    /// `true` after the event loop has handled the start of a turn and before it has handled the end of that turn.
    in_turn: bool,
    /// The turn whose start was already reported, before its prompt was sent.
    started_turn: Option<u64>,
    /// `true` after a warning about an update outside of a turn.
    warned_outside_turn: bool,
    loading: Option<LoadingSession>,
}

/// A session that is being opened.
#[derive(Default)]
struct LoadingSession {
    /// The id of the stored session. `None` if the agent creates a session.
    id: Option<String>,
    /// The messages that have arrived for the session.
    history: History,
    /// The updates of the session that are not messages.
    early: Vec<AcpSessionUpdate>,
}

impl LoadingSession {
    /// Stores an update that belongs to the session being opened. Returns the update if it belongs to another session.
    fn store(&mut self, update: AcpSessionUpdate, current: &str) -> Option<AcpSessionUpdate> {
        let is_it = self.id.as_ref().map_or(update.session_id != current, |id| *id == update.session_id);
        if !is_it {
            return Some(update);
        }
        if is_conversation(&update.update) {
            // A new session cannot have messages before it is open.
            if self.id.is_some() {
                self.history.push(update.update);
            }
        } else if self.early.len() < MAX_EARLY_UPDATES {
            self.early.push(update);
        }
        None
    }
}

/// Returns `true` if an update is part of the conversation.
fn is_conversation(update: &AcpUpdate) -> bool {
    matches!(
        update,
        AcpUpdate::UserMessageChunk(_)
            | AcpUpdate::AgentMessageChunk(_)
            | AcpUpdate::AgentThoughtChunk(_)
            | AcpUpdate::ToolCall(_)
            | AcpUpdate::ToolCallUpdate(_)
    )
}

impl AcpEventLoop {
    pub fn new(context: Arc<AcpContext>, remote_events: event_queue::Sender) -> Self {
        Self {
            context,
            remote_events,
            translator: UpdateTranslator::default(),
            in_turn: false,
            started_turn: None,
            warned_outside_turn: false,
            loading: None,
        }
    }

    pub async fn run(mut self, mut incoming: UnboundedReceiver<ConnectionEvent>) {
        while let Some(event) = incoming.recv().await {
            match event {
                ConnectionEvent::TurnStarted(number) => {
                    (self.in_turn, self.warned_outside_turn) = (true, false);
                    let events = self.translator.start_turn();
                    if self.started_turn.take() != Some(number) {
                        self.send(events);
                    }
                }
                ConnectionEvent::Notification(Dialog::SessionUpdate(update)) => self.handle_update(update),
                ConnectionEvent::SessionRequested(id) => {
                    self.loading = Some(LoadingSession { id, ..LoadingSession::default() })
                }
                ConnectionEvent::SessionOpened(outcome, waiting) => {
                    self.session_opened(&outcome);
                    let _ = waiting.send(outcome);
                }
                ConnectionEvent::OptionSet(outcome, waiting) => {
                    self.option_set(&outcome);
                    let _ = waiting.send(outcome);
                }
                ConnectionEvent::Notification(_) => {}
                ConnectionEvent::Request(id, Dialog::RequestPermission(request)) => {
                    self.request_permission(id, request)
                }
                ConnectionEvent::Request(id, Dialog::Elicit(form)) => self.elicit(id, form),
                // This side announced no other capabilities.
                ConnectionEvent::Request(id, dialog) => self.context.connection.reject(&id, dialog.name()),
                ConnectionEvent::TurnEnded(number, ended) => self.end_turn(number, ended),
                ConnectionEvent::Disconnected(reason) => {
                    let turn = {
                        let mut state = self.context.state();
                        state.disconnect_reason = Some(reason.clone());
                        state.turn.take()
                    };
                    self.send(vec![RemoteEvent::Disconnected(reason)]);
                    if let Some(turn) = turn {
                        turn.stopped.cancel();
                        turn.ended.cancel();
                    }
                    return;
                }
            }
        }
    }

    /// Handles the outcome of opening a session.
    fn session_opened(&mut self, outcome: &Outcome) {
        let loading = self.loading.take().unwrap_or_default();
        let (id, options) = match outcome {
            Ok(Reply::NewSession(opened)) => {
                let options = opened.config_options.as_option().cloned();
                (Some(opened.session_id.clone()), Some(options.unwrap_or_default()))
            }
            Ok(Reply::LoadSession(loaded)) => (loading.id, loaded.config_options.as_option().cloned()),
            _ => return,
        };
        let Some(id) = id else { return };
        {
            let mut state = self.context.state();
            // A new session has no earlier cost.
            let new = matches!(outcome, Ok(Reply::NewSession(_))).then_some(0.0);
            self.translator.open_session(new.or_else(|| state.usage.get(&id)?.cost));
            state.session = id;
            (state.history, state.name) = (loading.history.messages(), None);
        }
        options.into_iter().for_each(|options| self.store_choices(options));
        loading.early.into_iter().for_each(|update| self.handle_update(update));
    }

    /// Handles the outcome of setting an option.
    fn option_set(&mut self, outcome: &Outcome) {
        let choices = {
            let mut state = self.context.state();
            state.pending_options = state.pending_options.saturating_sub(1);
            state.choices.clone()
        };
        match outcome {
            Ok(Reply::SetConfigOption(set)) => self.store_choices(set.config_options.clone()),
            // The change failed, so the client must see the previous value again.
            _ => self.report_choices(&choices),
        }
    }

    /// Stores the options of the session.
    fn store_choices(&self, options: Vec<AcpConfigOption>) {
        let choices = Choices::of(options);
        self.context.state().choices = choices.clone();
        self.report_choices(&choices);
    }

    fn report_choices(&self, choices: &Choices) {
        if self.context.state().pending_options == 0 {
            let model = choices.model().map(|mut model| {
                model.context_window = self.translator.context_window();
                RemoteEvent::ModelChanged(Box::new(model))
            });
            self.send(model.into_iter().chain(choices.level().map(RemoteEvent::ThinkingChanged)).collect());
        }
    }

    /// Reports the size of the context window as a part of the current model.
    fn report_context_window(&self) {
        let model = {
            let state = self.context.state();
            if state.pending_options > 0 { None } else { state.choices.current() }
        };
        if let Some(mut model) = model {
            model.context_window = self.translator.context_window();
            self.send(vec![RemoteEvent::ModelChanged(Box::new(model))]);
        }
    }

    fn send(&self, events: Vec<RemoteEvent>) {
        events.into_iter().for_each(|event| self.remote_events.send(event));
    }

    /// Handles an update. Updates of other sessions, and messages outside of a turn, are dropped.
    fn handle_update(&mut self, update: AcpSessionUpdate) {
        let current = self.context.state().session.clone();
        let update = match &mut self.loading {
            Some(loading) => loading.store(update, &current),
            None => Some(update),
        };
        let Some(update) = update else { return };
        if update.session_id != current {
            tracing::debug!(session = update.session_id, "dropped an update of another session");
        } else if is_conversation(&update.update) && !self.in_turn {
            // A run that starts with this update would never end.
            if !std::mem::replace(&mut self.warned_outside_turn, true) {
                tracing::warn!("an update outside of a turn is dropped");
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
                let mut widget = ExtensionWidget::new(PLAN);
                widget.lines = Some(plan.entries.into_iter().map(line).collect());
                self.context.ui.show(ui::Notice::Widget(widget));
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
                self.context.state().commands = commands;
            }
            AcpUpdate::ConfigOptionUpdate(options) => self.store_choices(options.config_options),
            AcpUpdate::SessionInfoUpdate(info) => {
                if let Some(title) = info.title.into_option() {
                    self.context.state().name = Some(title.clone());
                    self.send(vec![RemoteEvent::SessionNamed(title)]);
                }
            }
            AcpUpdate::Notice(notice) => {
                let more = notice.description.as_option().map(|more| format!("\n{more}")).unwrap_or_default();
                self.context.ui.notify(&format!("{}{more}", notice.title), notice.severity.as_str());
            }
            AcpUpdate::UsageUpdate(usage) => {
                if let Some(cost) = usage.cost.as_option().and_then(|cost| cost.amount.as_f64()) {
                    let mut state = self.context.state();
                    let session = state.session.clone();
                    state.usage.entry(session).or_default().cost = Some(cost);
                }
                let known_window = self.translator.context_window();
                let events = self.translator.translate(usage.into());
                self.send(events);
                if self.translator.context_window() != known_window {
                    self.report_context_window();
                }
            }
            update => {
                let mut events = self.translator.translate(update);
                // A compaction between turns has no other end.
                if !self.in_turn
                    && events.iter().any(|event| matches!(event, RemoteEvent::CompactionEnded { .. }))
                {
                    events.push(RemoteEvent::Settled { aborted: false });
                }
                self.send(events);
            }
        }
    }

    fn end_turn(&mut self, number: u64, ended: Result<AcpPromptEnd, String>) {
        let cancelled = ended.as_ref().is_ok_and(|ended| ended.stop_reason == AcpStopReason::Cancelled);
        let (turn, next) = {
            let mut state = self.context.state();
            let Some(turn) = state.turn.take_if(|turn| turn.number == number) else {
                // The turn was abandoned.
                return;
            };
            if let Some(usage) = ended.as_ref().ok().and_then(|ended| ended.usage.as_option()) {
                state.add_tokens(&turn.session, &translator::tokens(usage));
            }
            // Input that waits when the turn is stopped stays until the next turn.
            let stopped = cancelled || turn.stopped.is_cancelled();
            let next = if stopped { None } else { state.held_input.pop_front() };
            (turn, next.map(|input| (state.start_turn(), input)))
        };
        turn.stopped.cancel();
        self.in_turn = false;
        let (mut events, aborted) = self.translator.end_turn(ended);
        events.push(RemoteEvent::RunEnded { will_retry: false });
        match next {
            Some((next, input)) => {
                // A run for waiting input starts with that input.
                events.extend([
                    RemoteEvent::RunStarted,
                    RemoteEvent::MessageAdded(Box::new(convert::user(input.0.clone()))),
                ]);
                self.send(events);
                self.started_turn = Some(next.number);
                // On failure, the end of the turn arrives as a message.
                let _ = self.context.send_prompt(next, input);
            }
            None => {
                events.push(RemoteEvent::Settled { aborted });
                self.send(events);
            }
        }
        turn.ended.cancel();
    }

    /// Returns the token that dismisses the questions of a session when its turn is stopped. Between turns the token is
    /// never cancelled. Returns `None` for a session that is not current.
    fn dismissal(&self, session: &str) -> Option<CancellationToken> {
        let state = self.context.state();
        let stopped = state.turn.as_ref().map(|turn| turn.stopped.clone()).unwrap_or_default();
        (state.session == session).then_some(stopped)
    }

    /// Requests a permission from the user, and sends the answer to the agent.
    fn request_permission(&mut self, id: Value, request: AcpRequestPermission) {
        let Some(stopped) = self.dismissal(&request.session_id) else {
            return self.context.connection.respond(&id, questions::denial());
        };
        let permission = {
            let details = self.translator.permission_details(&request.tool_call);
            if self.in_turn {
                let events = self.translator.translate_permission(&request.tool_call);
                self.send(events);
            }
            Permission::new(request, &details)
        };
        let (done, processed) = oneshot::channel();
        self.remote_events.mark(done);
        let context = self.context.clone();
        tokio::spawn(async move {
            let put = async {
                client_ui::wait_for_mark(processed).await;
                context.ui.show_dialog(permission.dialog.clone()).await
            };
            let answer = stopped.run_until_cancelled(put).await.flatten();
            context.connection.respond(&id, permission.answer(answer));
        });
    }

    /// Requests the values of a form from the user, and sends the answer to the agent.
    fn elicit(&self, id: Value, form: AcpElicitParams) {
        let session = form.session_id.as_option().cloned();
        let dismissal =
            session.map_or_else(|| Some(CancellationToken::new()), |session| self.dismissal(&session));
        let closed = AcpElicitationAnswer::new(AcpElicitationAction::Cancel);
        let Some(stopped) = dismissal.filter(|_| form.mode == AcpElicitationMode::Form) else {
            return self.context.connection.respond(&id, closed);
        };
        let context = self.context.clone();
        tokio::spawn(async move {
            let filled = stopped.run_until_cancelled(forms::fill_form(&context.ui, form)).await;
            context.connection.respond(&id, filled.unwrap_or(closed));
        });
    }
}
