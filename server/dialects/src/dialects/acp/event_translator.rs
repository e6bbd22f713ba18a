//! Conversion of engine events to updates of the protocol, without I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use agentese::acp::{
    AcpAgentMessageChunk, AcpAgentThoughtChunk, AcpCallTerminal, AcpCost, AcpPermissionCall, AcpPlan,
    AcpPlanEntry, AcpPlanPriority, AcpPlanStatus, AcpStopReason, AcpText, AcpToolCall, AcpToolCallUpdate,
    AcpToolContent, AcpToolStatus, AcpUpdate, AcpUsageUpdate,
};
use agentese::types::{AgentMessage, AssistantBlock, AssistantMessage, StopReason, ToolCall, Usage};
use serde_json::{Number, Value};

use super::tool_calls;
use crate::engine::Event;
use crate::providers::{Catalog, ProviderErrorKind, Update};
use crate::session::EntryId;
use crate::tools::{TodoList, TodoTool, ToolContent, ToolOutput, ToolUpdate};

/// The stop reason of the last answer, and its error message if it failed.
struct AnswerEnd {
    stop: StopReason,
    error: Option<String>,
}

/// Converts events to updates, for one session.
pub(super) struct EventTranslator {
    cwd: PathBuf,
    catalog: Catalog,
    /// The ids of the calls that were announced to the client.
    announced_calls: BTreeSet<String>,
    /// The calls in progress.
    open_calls: BTreeMap<String, ToolCall>,
    /// The terminal of the client in which a call runs, by the id of the call.
    terminals: BTreeMap<String, String>,
    /// The content of a file before a call writes it, by the id of the call.
    previous_content: BTreeMap<String, String>,
    last_answer: Option<AnswerEnd>,
    /// True if a budget is exhausted.
    budget_exhausted: bool,
    cost: f64,
}

impl EventTranslator {
    /// Creates a translator. `cost` is the cost of the session so far in US dollars.
    pub fn new(cwd: PathBuf, catalog: Catalog, cost: f64) -> Self {
        Self {
            cwd,
            catalog,
            announced_calls: BTreeSet::new(),
            open_calls: BTreeMap::new(),
            terminals: BTreeMap::new(),
            previous_content: BTreeMap::new(),
            last_answer: None,
            budget_exhausted: false,
            cost,
        }
    }

    /// Starts a turn and resets the outcome of the previous turn.
    pub fn start_turn(&mut self) {
        (self.last_answer, self.budget_exhausted) = (None, false);
    }

    /// Returns the stop reason of the turn, or its error.
    pub fn outcome(&self) -> Result<AcpStopReason, String> {
        if self.budget_exhausted {
            return Ok(AcpStopReason::MaxTurnRequests);
        }
        match &self.last_answer {
            Some(AnswerEnd { stop: StopReason::Error, error }) => {
                let error = error.clone().unwrap_or_else(|| "the model failed".to_owned());
                match ProviderErrorKind::from_text(&error) {
                    ProviderErrorKind::Refused => Ok(AcpStopReason::Refusal),
                    _ => Err(error),
                }
            }
            Some(AnswerEnd { stop: StopReason::Length, .. }) => Ok(AcpStopReason::MaxTokens),
            Some(AnswerEnd { stop: StopReason::Aborted, .. }) => Ok(AcpStopReason::Cancelled),
            Some(_) | None => Ok(AcpStopReason::EndTurn),
        }
    }

    /// Stores the previous content of a file that a call is about to write.
    pub fn remember(&mut self, call: &str, before: String) {
        self.previous_content.insert(call.to_owned(), before);
    }

    /// Records that a call runs in a terminal of the client. Returns `None` if the client does not know the
    /// call.
    pub fn terminal_opened(&mut self, call: &str, terminal: &str) -> Option<AcpUpdate> {
        self.open_calls.get(call)?;
        self.terminals.insert(call.to_owned(), terminal.to_owned());
        let mut update = AcpToolCallUpdate::new(call);
        update.content = vec![AcpCallTerminal::new(terminal).into()].into();
        Some(update.into())
    }

    /// Returns a call in progress in the form that a permission request uses. Returns `None` if no such call is in
    /// progress.
    pub fn call(&self, id: &str) -> Option<AcpPermissionCall> {
        let call = self.open_calls.get(id)?;
        let mut permission_call = AcpPermissionCall::new(call.id.as_str());
        permission_call.title = tool_calls::title(call).into();
        permission_call.name = call.name.clone().into();
        permission_call.kind = tool_calls::kind(&call.name).into();
        permission_call.status = AcpToolStatus::Pending.into();
        permission_call.raw_input = Value::from(call.arguments.clone()).into();
        permission_call.locations = non_empty(tool_calls::locations(&self.cwd, call));
        let before = self.previous_content.get(id).cloned();
        permission_call.content = non_empty(tool_calls::diffs(&self.cwd, call, before));
        Some(permission_call)
    }

    /// Converts an event to updates, in order. Returns no updates for events without a meaning for the
    /// client.
    pub fn translate(&mut self, event: &Event<'_>) -> Vec<AcpUpdate> {
        match event {
            Event::MessageUpdated { entry, message, update } => self.message_updated(entry, message, update),
            Event::MessageEnded { message: AgentMessage::Assistant(answer), .. } => self.answer_ended(answer),
            Event::ToolStarted(call) => self.tool_started(call),
            Event::ToolUpdated(call, update) => vec![self.progress(call, update)],
            Event::ToolEnded(call, output) => self.tool_ended(call, output),
            Event::BudgetExceeded { .. } => {
                self.budget_exhausted = true;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn message_updated(
        &mut self,
        entry: &EntryId,
        message: &AssistantMessage,
        update: &Update,
    ) -> Vec<AcpUpdate> {
        match update {
            Update::TextDelta { delta, .. } => {
                let mut chunk = AcpAgentMessageChunk::new(AcpText::new(delta.as_str()));
                chunk.message_id = entry.to_string().into();
                vec![chunk.into()]
            }
            Update::ThinkingDelta { delta, .. } => {
                let mut chunk = AcpAgentThoughtChunk::new(AcpText::new(delta.as_str()));
                chunk.message_id = entry.to_string().into();
                vec![chunk.into()]
            }
            Update::ToolCallStart { index } | Update::ToolCallEnd { index } => {
                match message.content.get(*index) {
                    Some(AssistantBlock::ToolCall(call)) => vec![self.announce(call, AcpToolStatus::Pending)],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the update that announces a call. If the client knows the call already, returns an update of its
    /// state.
    fn announce(&mut self, call: &ToolCall, status: AcpToolStatus) -> AcpUpdate {
        let (title, locations) = (tool_calls::title(call), non_empty(tool_calls::locations(&self.cwd, call)));
        let content = non_empty(tool_calls::diffs(&self.cwd, call, None));
        let input = Value::from(call.arguments.clone());
        if self.announced_calls.insert(call.id.clone()) {
            let mut tool_call = AcpToolCall::new(call.id.as_str(), title);
            tool_call.name = call.name.clone().into();
            tool_call.kind = tool_calls::kind(&call.name).into();
            tool_call.status = status.into();
            tool_call.raw_input = input.into();
            (tool_call.locations, tool_call.content) = (locations, content);
            return tool_call.into();
        }
        let mut update = AcpToolCallUpdate::new(call.id.as_str());
        update.title = title.into();
        update.status = status.into();
        update.raw_input = input.into();
        (update.locations, update.content) = (locations, content);
        update.into()
    }

    fn tool_started(&mut self, call: &ToolCall) -> Vec<AcpUpdate> {
        self.open_calls.insert(call.id.clone(), call.clone());
        vec![self.announce(call, AcpToolStatus::InProgress)]
    }

    fn progress(&self, call: &ToolCall, shown: &ToolUpdate) -> AcpUpdate {
        let mut update = AcpToolCallUpdate::new(call.id.as_str());
        update.content = self.content(call, &shown.content).into();
        update.into()
    }

    /// Returns the content of a call: its change, then its text.
    fn content(&self, call: &ToolCall, blocks: &[ToolContent]) -> Vec<AcpToolContent> {
        // The terminal displays the whole output.
        if let Some(terminal) = self.terminals.get(&call.id) {
            return vec![AcpCallTerminal::new(terminal.as_str()).into()];
        }
        let before = self.previous_content.get(&call.id).cloned();
        let mut content = tool_calls::diffs(&self.cwd, call, before);
        content.extend(tool_calls::content(blocks));
        content
    }

    fn tool_ended(&mut self, call: &ToolCall, output: &ToolOutput) -> Vec<AcpUpdate> {
        self.open_calls.remove(&call.id);
        let mut update = AcpToolCallUpdate::new(call.id.as_str());
        update.status = status(output.is_error).into();
        update.content = match output.is_error {
            // A failed call made no change, so no change is displayed.
            true if !self.terminals.contains_key(&call.id) => tool_calls::content(&output.content),
            _ => self.content(call, &output.content),
        }
        .into();
        self.terminals.remove(&call.id);
        self.previous_content.remove(&call.id);
        update.raw_output = raw_output(&output.all_text(), output.details.as_ref()).into();
        let mut updates = vec![update.into()];
        if !output.is_error && call.name == TodoTool::NAME {
            updates.push(plan(output.details.as_ref()).into());
        }
        updates
    }

    fn answer_ended(&mut self, answer: &AssistantMessage) -> Vec<AcpUpdate> {
        self.last_answer = Some(AnswerEnd { stop: answer.stop_reason, error: answer.error_message.clone() });
        self.cost += answer.usage.cost.total.as_f64().unwrap_or_default();
        let used = context_tokens(&answer.usage);
        let window =
            self.catalog.model_like(&answer.provider, &answer.model).map(|model| model.context_window);
        match window.filter(|window| used > 0 && *window > 0) {
            Some(window) => vec![usage(used, window, self.cost).into()],
            None => Vec::new(),
        }
    }
}

/// Returns the number of tokens in the context after an answer.
fn context_tokens(usage: &Usage) -> u64 {
    usage.total_tokens.unwrap_or(usage.input + usage.output + usage.cache_read + usage.cache_write)
}

/// Converts the usage of the context, and the cost of the session in US dollars.
pub(super) fn usage(used: u64, size: u64, cost: f64) -> AcpUsageUpdate {
    let mut update = AcpUsageUpdate::new(used, size);
    update.cost = Number::from_f64(cost).map(|amount| AcpCost::new(amount, "USD")).into();
    update
}

/// Returns a list, or an absent member if the list is empty.
pub(super) fn non_empty<T>(list: Vec<T>) -> agentese::wire::Maybe<Vec<T>> {
    (!list.is_empty()).then_some(list).into()
}

/// Returns the status of a finished call.
pub(super) fn status(is_error: bool) -> AcpToolStatus {
    if is_error { AcpToolStatus::Failed } else { AcpToolStatus::Completed }
}

/// Returns the raw result of a tool: its text, and the details for clients.
pub(super) fn raw_output(text: &str, details: Option<&Value>) -> Value {
    match details.filter(|details| details.as_object().is_none_or(|details| !details.is_empty())) {
        Some(details) => serde_json::json!({"text": text, "details": details}),
        None => serde_json::json!({"text": text}),
    }
}

/// Converts a task list, from the details of its tool.
pub(super) fn plan(details: Option<&Value>) -> AcpPlan {
    let tasks = TodoList::of(details).phases.into_iter().flat_map(|phase| phase.tasks);
    let entries = tasks.map(|task| {
        let status = match task.status.name() {
            "pending" => AcpPlanStatus::Pending,
            "in_progress" => AcpPlanStatus::InProgress,
            // A cancelled task is not open any more.
            _ => AcpPlanStatus::Completed,
        };
        AcpPlanEntry::new(task.content, AcpPlanPriority::Medium, status)
    });
    AcpPlan::new(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_for_the_reason_of_its_last_answer() {
        let outcome = |stop, error: Option<&str>| {
            let mut translator = EventTranslator::new(PathBuf::from("/"), Catalog::new(Vec::new()), 0.0);
            translator.last_answer = Some(AnswerEnd { stop, error: error.map(str::to_owned) });
            translator.outcome()
        };
        for (stop, reason) in [
            (StopReason::Stop, AcpStopReason::EndTurn),
            (StopReason::ToolUse, AcpStopReason::EndTurn),
            (StopReason::Length, AcpStopReason::MaxTokens),
            (StopReason::Aborted, AcpStopReason::Cancelled),
        ] {
            assert_eq!(outcome(stop, None), Ok(reason));
        }
        let refused = "The model refused to answer (stop reason refusal).";
        assert_eq!(outcome(StopReason::Error, Some(refused)), Ok(AcpStopReason::Refusal));
        assert_eq!(outcome(StopReason::Error, Some("overloaded")), Err("overloaded".to_owned()));
        let mut translator = EventTranslator::new(PathBuf::from("/"), Catalog::new(Vec::new()), 0.0);
        assert_eq!(translator.outcome(), Ok(AcpStopReason::EndTurn));
        translator.budget_exhausted = true;
        assert_eq!(translator.outcome(), Ok(AcpStopReason::MaxTurnRequests));
        translator.start_turn();
        assert_eq!(translator.outcome(), Ok(AcpStopReason::EndTurn));
    }
}
