//! Conversion of engine events to Opal's events: a state machine without I/O, one for each agent.

use std::collections::VecDeque;

use agentese::opal::{
    Event as Wire, OpalAgentAbort, OpalAgentEnd, OpalAgentRecovered, OpalAgentStart, OpalContextDiscovered,
    OpalMessageApplied, OpalMessageDelta, OpalMessageQueued, OpalMessageStart, OpalRunError, OpalSkillLoaded,
    OpalStatus, OpalStatusUpdate, OpalThinkingDelta, OpalThinkingStart, OpalToolExecutionEndBuilder,
    OpalToolExecutionStartBuilder, OpalToolFailure, OpalToolResult, OpalToolSuccess, OpalTurnEnd, OpalUsage,
    OpalUsageUpdate,
};
use agentese::types::{AgentMessage, AssistantBlock, AssistantMessage, StopReason, ToolCall};

use super::convert::{Tokens, text_of};
use super::tags::{Piece, Tags};
use super::tools::names;
use crate::engine::Event;
use crate::providers::{Catalog, Update};
use crate::tools::ToolOutput;

/// The maximum length of a conversation title, in characters.
const LONGEST_TITLE: usize = 60;

/// The end of an answer.
#[derive(Debug, Clone)]
struct Ended {
    stop: StopReason,
    error: Option<String>,
}

/// Converts the events of one agent.
pub(super) struct Teller {
    session: String,
    catalog: Catalog,
    /// True if a conversation that exceeds the context window can be compacted.
    compacts: bool,
    tokens: Tokens,
    /// The context window of the model of the last answer, or of the initial model.
    window: u64,
    tags: Tags,
    /// The text of the growing answer, without tags.
    text: String,
    /// The text of an answer without calls. The next event decides if its turn end is sent.
    pending: Option<String>,
    /// The last queued input, in the form for the model.
    waiting: Option<String>,
    /// Queued prompts: in the form for the model, and in the original form.
    queued: VecDeque<(String, String)>,
    /// True if the next user message is the prompt that started the run.
    prompted: bool,
    ended: Option<Ended>,
    /// True if the next run continues the work of the previous run.
    goes_on: bool,
    /// True after the end of the run was sent.
    told: bool,
    /// The reason why the session is not stored, for the end of the run.
    unkept: Option<String>,
    /// The number of running calls.
    calls: usize,
    status: OpalStatus,
    title: Option<String>,
}

impl Teller {
    /// Creates the converter of an idle agent.
    pub fn new(session: String, catalog: Catalog, window: u64, compacts: bool) -> Self {
        Self {
            session,
            catalog,
            compacts,
            tokens: Tokens::default(),
            window,
            tags: Tags::default(),
            text: String::new(),
            pending: None,
            waiting: None,
            queued: VecDeque::new(),
            prompted: false,
            ended: None,
            goes_on: false,
            told: false,
            unkept: None,
            calls: 0,
            status: OpalStatus::Idle,
            title: None,
        }
    }

    /// Returns the status of the agent.
    pub fn status(&self) -> OpalStatus {
        self.status.clone()
    }

    /// Returns the token usage so far.
    pub fn usage(&self) -> OpalUsage {
        self.tokens.wire(self.window)
    }

    /// Returns a title from the model, once.
    pub fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// Marks the next user message as the prompt of a run.
    pub fn prompted(&mut self) {
        self.prompted = true;
    }

    /// Converts a queued prompt.
    pub fn queued(&mut self, text: &str) -> Wire {
        let seen = self.waiting.take().unwrap_or_else(|| text.to_owned());
        self.queued.push_back((seen, text.to_owned()));
        OpalMessageQueued::new(self.session.as_str(), text).into()
    }

    /// Returns the event of an abort. No event of the stopped run was sent since the request.
    pub fn aborted(&mut self) -> Wire {
        self.rest();
        OpalAgentAbort::new(self.session.as_str()).into()
    }

    /// Returns the events of a run that failed before its start.
    pub fn refused(&mut self, reason: &str) -> [Wire; 2] {
        let session = self.session.as_str();
        [OpalAgentStart::new(session).into(), OpalRunError::new(session, reason).into()]
    }

    /// Records that the session is not stored, for that reason: the current run ends like a failed run.
    pub fn unkept(&mut self, trouble: &str) -> Vec<Wire> {
        let reason = format!("the session is not kept: {trouble}");
        if self.status == OpalStatus::Idle {
            return self.refused(&reason).into();
        }
        self.unkept = Some(reason);
        Vec::new()
    }

    /// Records that the file again contains the whole session.
    pub fn kept_again(&mut self) {
        self.unkept = None;
    }

    /// Returns the events of a prompt that ended without a model request.
    pub fn nothing_to_do(&mut self) -> [Wire; 2] {
        let session = self.session.as_str();
        let mut end = OpalAgentEnd::new(session);
        end.usage = Some(self.usage());
        [OpalAgentStart::new(session).into(), end.into()]
    }

    /// Returns the events of a restarted agent, with those context files.
    pub fn recovered(&mut self, context: &[String]) -> Vec<Wire> {
        self.rest();
        self.told = true;
        let mut events = vec![OpalAgentRecovered::new(self.session.as_str()).into()];
        if !context.is_empty() {
            events.push(OpalContextDiscovered::new(self.session.as_str(), context.to_vec()).into());
        }
        events
    }

    /// Resets the state after the end of all work.
    fn rest(&mut self) {
        self.tags = Tags::default();
        self.text.clear();
        (self.pending, self.ended) = (None, None);
        (self.prompted, self.goes_on, self.told, self.calls) = (false, false, false, 0);
        self.status = OpalStatus::Idle;
    }

    /// Converts an event to Opal's events, in order. Returns no events if Opal has no counterpart.
    pub fn tell(&mut self, event: &Event<'_>) -> Vec<Wire> {
        let mut events = Vec::new();
        match event {
            Event::RunStarted => {
                let prompted = self.prompted;
                let goes_on = std::mem::take(&mut self.goes_on);
                self.rest();
                (self.prompted, self.status) = (prompted, OpalStatus::Running);
                if !goes_on {
                    events.push(OpalAgentStart::new(self.session.as_str()).into());
                }
            }
            Event::MessageStarted { message: AgentMessage::Assistant(answer), .. } => {
                events.extend(self.turn_end());
                // An answer that failed before its start is reported only as a failure.
                if !failed(answer) {
                    self.status = OpalStatus::Streaming;
                    events.push(OpalMessageStart::new(self.session.as_str()).into());
                }
            }
            Event::Queued(AgentMessage::User(user)) => self.waiting = Some(text_of(&user.content)),
            Event::MessageUpdated { update, .. } => self.update(update, &mut events),
            Event::MessageEnded { message, .. } => self.message(message, &mut events),
            Event::ToolStarted(call) => {
                self.calls += 1;
                self.status = OpalStatus::ExecutingTools;
                events.push(self.started(call));
            }
            Event::ToolEnded(call, output) => {
                self.calls = self.calls.saturating_sub(1);
                if self.calls == 0 {
                    self.status = OpalStatus::Running;
                }
                self.tool_ended(call, output, &mut events);
            }
            Event::RunEnded { will_retry, .. } => {
                self.status = OpalStatus::Idle;
                self.pending = None;
                self.goes_on = *will_retry;
                if !will_retry && !std::mem::take(&mut self.told) {
                    events.push(self.ended());
                }
            }
            // The conversation that exceeded the context window is not requested again: its failure is the
            // end.
            Event::CompactionEnded { will_retry: false, .. } if std::mem::take(&mut self.goes_on) => {
                events.push(self.ended());
            }
            Event::RetryEnded { success: false, .. } if std::mem::take(&mut self.goes_on) => {
                events.push(self.ended());
            }
            _ => {}
        }
        events
    }

    fn update(&mut self, update: &Update, events: &mut Vec<Wire>) {
        let session = self.session.as_str();
        match update {
            Update::TextDelta { delta, .. } => {
                let pieces = self.tags.take(delta);
                self.pieces(pieces, events);
            }
            Update::ThinkingStart { .. } => events.push(OpalThinkingStart::new(session).into()),
            Update::ThinkingDelta { delta, .. } => {
                events.push(OpalThinkingDelta::new(session, delta.as_str()).into());
            }
            _ => {}
        }
    }

    fn pieces(&mut self, pieces: impl IntoIterator<Item = Piece>, events: &mut Vec<Wire>) {
        let session = self.session.as_str();
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    self.text.push_str(&text);
                    events.push(OpalMessageDelta::new(session, text).into());
                }
                Piece::Status(status) => events.push(OpalStatusUpdate::new(session, status).into()),
                Piece::Title(title) => self.title = Some(title.chars().take(LONGEST_TITLE).collect()),
            }
        }
    }

    fn message(&mut self, message: &AgentMessage, events: &mut Vec<Wire>) {
        match message {
            AgentMessage::Assistant(answer) => self.answered(answer, events),
            AgentMessage::User(user) => {
                let text = text_of(&user.content);
                let began = std::mem::take(&mut self.prompted);
                let at = self.queued.iter().position(|(seen, _)| *seen == text).filter(|_| !began);
                if let Some((_, said)) = at.and_then(|at| self.queued.remove(at)) {
                    events.push(OpalMessageApplied::new(self.session.as_str(), said).into());
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &AssistantMessage, events: &mut Vec<Wire>) {
        let window = self.catalog.model_like(&answer.provider, &answer.model);
        self.window = window.map_or(self.window, |model| model.context_window);
        self.ended = Some(Ended { stop: answer.stop_reason, error: answer.error_message.clone() });
        let held = self.tags.finish();
        if failed(answer) {
            self.text.clear();
            return;
        }
        self.pieces(held, events);
        if self.tokens.add(&answer.usage) {
            let usage = self.usage();
            events.push(OpalUsageUpdate::new(self.session.as_str(), usage).into());
        }
        self.pending = Some(std::mem::take(&mut self.text));
        if answer.content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_))) {
            events.extend(self.turn_end());
        }
        self.status = OpalStatus::Running;
    }

    /// Returns the end of the turn if another turn follows.
    fn turn_end(&mut self) -> Option<Wire> {
        let text = self.pending.take()?;
        Some(OpalTurnEnd::new(self.session.as_str(), text).into())
    }

    fn started(&self, call: &ToolCall) -> Wire {
        let started = OpalToolExecutionStartBuilder {
            session_id: self.session.clone(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            args: call.arguments.clone(),
        };
        let mut started = started.build();
        started.meta = Some(names::one_line(&call.name, &call.arguments));
        started.into()
    }

    fn tool_ended(&mut self, call: &ToolCall, output: &ToolOutput, events: &mut Vec<Wire>) {
        let session = self.session.as_str();
        let detail = |name: &str| output.details.as_ref().and_then(|details| details.get(name));
        if let Some(skill) = detail(names::SKILL) {
            let text = |name: &str| skill[name].as_str().unwrap_or_default();
            events.push(OpalSkillLoaded::new(session, text("name"), text("description")).into());
        }
        let text = || output.all_text().into();
        let result: OpalToolResult = match output.is_error {
            true => OpalToolFailure::new(text()).into(),
            false => OpalToolSuccess::new(detail(names::VALUE).cloned().unwrap_or_else(text)).into(),
        };
        let ended = OpalToolExecutionEndBuilder {
            session_id: session.to_owned(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            result,
        };
        events.push(ended.build().into());
    }

    /// Returns the event for the end of the run.
    fn ended(&mut self) -> Wire {
        let session = self.session.as_str();
        let ended = self.ended.take();
        let window = self.window;
        let unkept = self.unkept.take();
        match ended {
            Some(Ended { stop: StopReason::Error, error }) => {
                let reasons: Vec<_> = error.into_iter().chain(unkept).collect();
                OpalRunError::new(session, reasons.join("; ")).into()
            }
            _ if unkept.is_some() => OpalRunError::new(session, unkept.unwrap_or_default()).into(),
            Some(Ended { stop: StopReason::Aborted, .. }) => OpalAgentAbort::new(session).into(),
            Some(_) if !self.compacts && self.tokens.current() > window && window > 0 => {
                let tokens = self.tokens.current();
                let reason = format!(
                    "the conversation has {tokens} tokens and the model takes {window}; only sessions that are kept are \
                     compacted: start them with `session` true"
                );
                OpalRunError::new(session, reason).into()
            }
            _ => {
                let mut end = OpalAgentEnd::new(session);
                end.usage = Some(self.usage());
                end.into()
            }
        }
    }
}

fn failed(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}
