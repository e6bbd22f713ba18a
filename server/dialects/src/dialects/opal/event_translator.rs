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

use super::convert::{TokenUsage, text_of};
use super::tags::{Piece, TagParser};
use super::tools::names;
use crate::engine::Event;
use crate::providers::{Catalog, Update};
use crate::tools::ToolOutput;

/// The maximum length of a conversation title, in characters.
const LONGEST_TITLE: usize = 60;

/// The end of an answer.
#[derive(Debug, Clone)]
struct AnswerEnd {
    stop: StopReason,
    error: Option<String>,
}

/// Converts the events of one agent.
pub(super) struct EventTranslator {
    session: String,
    catalog: Catalog,
    /// True if a conversation that exceeds the context window can be compacted.
    can_compact: bool,
    tokens: TokenUsage,
    /// The context window of the model of the last answer, or of the initial model.
    window: u64,
    tags: TagParser,
    /// The text of the answer in progress, without tags.
    text: String,
    /// The text of a complete answer without tool calls. It is held until the next event shows if a turn end
    /// follows it.
    pending: Option<String>,
    /// The last queued input, in the form for the model.
    last_queued: Option<String>,
    /// Queued prompts: in the form for the model, and in the original form.
    queued: VecDeque<(String, String)>,
    /// True if the next user message is the prompt that started the run.
    expects_prompt: bool,
    last_answer: Option<AnswerEnd>,
    /// True if the next run continues the work of the previous run.
    will_continue: bool,
    /// True after the end of the run was sent.
    end_sent: bool,
    /// The reason why the session is not stored, for the end of the run.
    storage_error: Option<String>,
    /// The number of running calls.
    calls: usize,
    status: OpalStatus,
    title: Option<String>,
}

impl EventTranslator {
    /// Creates the translator of an idle agent.
    pub fn new(session: String, catalog: Catalog, window: u64, can_compact: bool) -> Self {
        Self {
            session,
            catalog,
            can_compact,
            tokens: TokenUsage::default(),
            window,
            tags: TagParser::default(),
            text: String::new(),
            pending: None,
            last_queued: None,
            queued: VecDeque::new(),
            expects_prompt: false,
            last_answer: None,
            will_continue: false,
            end_sent: false,
            storage_error: None,
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
        self.tokens.to_wire(self.window)
    }

    /// Returns a title from the model, once.
    pub fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// Marks the next user message as the prompt of a run.
    pub fn expect_prompt(&mut self) {
        self.expects_prompt = true;
    }

    /// Converts a queued prompt.
    pub fn prompt_queued(&mut self, text: &str) -> Wire {
        let model_text = self.last_queued.take().unwrap_or_else(|| text.to_owned());
        self.queued.push_back((model_text, text.to_owned()));
        OpalMessageQueued::new(self.session.as_str(), text).into()
    }

    /// Returns the event of an abort. No event of the stopped run was sent since the request.
    pub fn run_aborted(&mut self) -> Wire {
        self.reset();
        OpalAgentAbort::new(self.session.as_str()).into()
    }

    /// Returns the events of a run that failed before its start.
    pub fn prompt_rejected(&mut self, reason: &str) -> [Wire; 2] {
        let session = self.session.as_str();
        [OpalAgentStart::new(session).into(), OpalRunError::new(session, reason).into()]
    }

    /// Records that the session is not stored, for that reason: the current run ends like a failed run.
    pub fn storage_failed(&mut self, error: &str) -> Vec<Wire> {
        let reason = format!("the session is not saved: {error}");
        if self.status == OpalStatus::Idle {
            return self.prompt_rejected(&reason).into();
        }
        self.storage_error = Some(reason);
        Vec::new()
    }

    /// Records that the file again contains the whole session.
    pub fn storage_recovered(&mut self) {
        self.storage_error = None;
    }

    /// Returns the events of a prompt that ended without a model request.
    pub fn empty_run(&mut self) -> [Wire; 2] {
        let session = self.session.as_str();
        let mut end = OpalAgentEnd::new(session);
        end.usage = Some(self.usage());
        [OpalAgentStart::new(session).into(), end.into()]
    }

    /// Returns the events of a restarted agent, with those context files.
    pub fn agent_recovered(&mut self, context: &[String]) -> Vec<Wire> {
        self.reset();
        self.end_sent = true;
        let mut events = vec![OpalAgentRecovered::new(self.session.as_str()).into()];
        if !context.is_empty() {
            events.push(OpalContextDiscovered::new(self.session.as_str(), context.to_vec()).into());
        }
        events
    }

    /// Resets the state after the end of all work.
    fn reset(&mut self) {
        self.tags = TagParser::default();
        self.text.clear();
        (self.pending, self.last_answer) = (None, None);
        (self.expects_prompt, self.will_continue, self.end_sent, self.calls) = (false, false, false, 0);
        self.status = OpalStatus::Idle;
    }

    /// Converts an event to Opal's events, in order. Returns no events if Opal has no counterpart.
    pub fn translate(&mut self, event: &Event<'_>) -> Vec<Wire> {
        let mut events = Vec::new();
        match event {
            Event::RunStarted => {
                let prompted = self.expects_prompt;
                let will_continue = std::mem::take(&mut self.will_continue);
                self.reset();
                (self.expects_prompt, self.status) = (prompted, OpalStatus::Running);
                if !will_continue {
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
            Event::Queued(AgentMessage::User(user)) => self.last_queued = Some(text_of(&user.content)),
            Event::MessageUpdated { update, .. } => self.update(update, &mut events),
            Event::MessageEnded { message, .. } => self.message_ended(message, &mut events),
            Event::ToolStarted(call) => {
                self.calls += 1;
                self.status = OpalStatus::ExecutingTools;
                events.push(self.tool_started(call));
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
                self.will_continue = *will_retry;
                if !will_retry && !std::mem::take(&mut self.end_sent) {
                    events.push(self.run_ended());
                }
            }
            // The conversation that exceeded the context window is not requested again: its failure is the
            // end.
            Event::CompactionEnded { will_retry: false, .. } if std::mem::take(&mut self.will_continue) => {
                events.push(self.run_ended());
            }
            Event::RetryEnded { success: false, .. } if std::mem::take(&mut self.will_continue) => {
                events.push(self.run_ended());
            }
            _ => {}
        }
        events
    }

    fn update(&mut self, update: &Update, events: &mut Vec<Wire>) {
        let session = self.session.as_str();
        match update {
            Update::TextDelta { delta, .. } => {
                let pieces = self.tags.push(delta);
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

    fn message_ended(&mut self, message: &AgentMessage, events: &mut Vec<Wire>) {
        match message {
            AgentMessage::Assistant(answer) => self.answer_ended(answer, events),
            AgentMessage::User(user) => {
                let text = text_of(&user.content);
                let was_prompt = std::mem::take(&mut self.expects_prompt);
                let at = self
                    .queued
                    .iter()
                    .position(|(model_text, _)| *model_text == text)
                    .filter(|_| !was_prompt);
                if let Some((_, original)) = at.and_then(|at| self.queued.remove(at)) {
                    events.push(OpalMessageApplied::new(self.session.as_str(), original).into());
                }
            }
            _ => {}
        }
    }

    fn answer_ended(&mut self, answer: &AssistantMessage, events: &mut Vec<Wire>) {
        let window = self.catalog.model_like(&answer.provider, &answer.model);
        self.window = window.map_or(self.window, |model| model.context_window);
        self.last_answer = Some(AnswerEnd { stop: answer.stop_reason, error: answer.error_message.clone() });
        let rest = self.tags.finish();
        if failed(answer) {
            self.text.clear();
            return;
        }
        self.pieces(rest, events);
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

    fn tool_started(&self, call: &ToolCall) -> Wire {
        let started = OpalToolExecutionStartBuilder {
            session_id: self.session.clone(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            args: call.arguments.clone(),
        };
        let mut started = started.build();
        started.meta = Some(names::call_summary(&call.name, &call.arguments));
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
    fn run_ended(&mut self) -> Wire {
        let session = self.session.as_str();
        let ended = self.last_answer.take();
        let window = self.window;
        let unkept = self.storage_error.take();
        match ended {
            Some(AnswerEnd { stop: StopReason::Error, error }) => {
                let reasons: Vec<_> = error.into_iter().chain(unkept).collect();
                OpalRunError::new(session, reasons.join("; ")).into()
            }
            _ if unkept.is_some() => OpalRunError::new(session, unkept.unwrap_or_default()).into(),
            Some(AnswerEnd { stop: StopReason::Aborted, .. }) => OpalAgentAbort::new(session).into(),
            Some(_) if !self.can_compact && self.tokens.current() > window && window > 0 => {
                let tokens = self.tokens.current();
                let reason = format!(
                    "the conversation has {tokens} tokens, and the context of the model has {window}; only \
                     stored sessions are compacted: start the session with `session` true"
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
