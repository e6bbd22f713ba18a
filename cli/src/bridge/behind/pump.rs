//! What the agent tells and asks, on its way to the engine: updates become deeds, in their order, and turns end.

use std::sync::Arc;

use agentese::acp::{
    AcpCancelledOutcome, AcpPermissionAnswer, AcpPermissionKind, AcpPermissionOption, AcpPermissionOutcome,
    AcpRequestPermission, AcpSelectedOutcome, AcpUpdate, Dialog,
};
use agentese::types::{AskSelect, ShowWidget};
use agentese::wire::Named as _;
use agentese_server::engine::Deed;
use agentese_server::resources::{CommandInfo, CommandSource};
use agentese_server::ui;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::agent::{Shared, chosen};
use super::history::History;
use super::peer::Heard;
use super::turns::Turns;
use crate::bridge::convert;

/// The block of lines that shows what the agent means to do.
const PLAN: &str = "plan";

/// Turns what is heard into deeds.
pub(super) struct Pump {
    shared: Arc<Shared>,
    told: UnboundedSender<Deed>,
    turns: Turns,
    /// What was said before, while that is told.
    history: Option<History>,
}

impl Pump {
    pub fn new(shared: Arc<Shared>, told: UnboundedSender<Deed>) -> Self {
        Self { shared, told, turns: Turns::default(), history: None }
    }

    pub async fn run(mut self, mut heard: UnboundedReceiver<Heard>) {
        while let Some(heard) = heard.recv().await {
            match heard {
                Heard::Began => {
                    let deeds = self.turns.begin();
                    self.tell(deeds);
                }
                Heard::Told(Dialog::SessionUpdate(update)) => self.update(update.update),
                Heard::Loads => self.history = Some(History::default()),
                Heard::Loaded(history) => {
                    let told = self.history.take().unwrap_or_default();
                    let _ = history.send(told.messages());
                }
                Heard::Told(_) => {}
                Heard::Asked(id, Dialog::RequestPermission(asked)) => {
                    let deeds = self.turns.asked(&asked.tool_call);
                    self.tell(deeds);
                    self.ask(id, asked);
                }
                // Nothing else was offered.
                Heard::Asked(id, dialog) => self.shared.peer.refuse(&id, dialog.name()),
                Heard::TurnOver(ended) => self.over(ended),
                Heard::Gone(reason) => {
                    self.shared.state().gone = Some(reason.clone());
                    self.tell(vec![Deed::Gone(reason)]);
                    return;
                }
            }
        }
    }

    fn tell(&self, deeds: Vec<Deed>) {
        deeds.into_iter().for_each(|deed| drop(self.told.send(deed)));
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
            AcpUpdate::ConfigOptionUpdate(options) => {
                let deed = chosen(&self.shared, options.config_options);
                self.tell(deed.into_iter().collect());
            }
            AcpUpdate::Notice(notice) => {
                let more = notice.description.as_option().map(|more| format!("\n{more}")).unwrap_or_default();
                self.shared.person.tell(&format!("{}{more}", notice.title), notice.severity.as_str());
            }
            update if self.history.is_some() => {
                self.history.as_mut().into_iter().for_each(|history| history.take(update.clone()));
            }
            update => {
                let deeds = self.turns.take(update);
                self.tell(deeds);
            }
        }
    }

    fn over(&mut self, ended: Result<agentese::acp::AcpPromptEnd, String>) {
        let (mut deeds, aborted) = self.turns.over(ended);
        deeds.push(Deed::RunOver { will_retry: false });
        let next = {
            let mut state = self.shared.state();
            let next = state.held.pop_front();
            state.busy = next.is_some();
            state.turn = CancellationToken::new();
            next
        };
        let Some(words) = next else {
            deeds.push(Deed::Rested { aborted });
            return self.tell(deeds);
        };
        // The run of words that waited begins with them.
        deeds.extend([Deed::RunBegan, Deed::Said(Box::new(convert::user(words.0.clone())))]);
        self.tell(deeds);
        // Where that fails, the end of the turn is heard.
        let _ = self.shared.begin(words);
    }

    /// Has the person choose, and answers the agent.
    fn ask(&self, id: Value, asked: AcpRequestPermission) {
        let title =
            asked.tool_call.title.into_option().unwrap_or_else(|| "May the agent do that?".to_owned());
        let names = asked.options.iter().map(|option| option.name.clone()).collect();
        let select = AskSelect::new(asked.tool_call.tool_call_id, title, names);
        let refuses = |option: &AcpPermissionOption| {
            matches!(option.kind, AcpPermissionKind::RejectOnce | AcpPermissionKind::RejectAlways)
        };
        let refusing =
            asked.options.iter().enumerate().filter(|(_, option)| refuses(option)).map(|(at, _)| at);
        let dialog = ui::Dialog::Select(select, refusing.collect());
        let (shared, options) = (self.shared.clone(), asked.options);
        let turn = shared.state().turn.clone();
        tokio::spawn(async move {
            let answer = tokio::select! {
                biased;
                () = turn.cancelled() => None,
                answer = shared.person.put(dialog) => answer,
            };
            let option = match answer {
                Some(ui::Answer::Value(name)) => options.into_iter().find(|option| option.name == name),
                _ => None,
            };
            let outcome: AcpPermissionOutcome = match option {
                Some(option) => AcpSelectedOutcome::new(option.option_id).into(),
                None => AcpCancelledOutcome::new().into(),
            };
            shared.peer.answer(&id, AcpPermissionAnswer::new(outcome));
        });
    }
}
