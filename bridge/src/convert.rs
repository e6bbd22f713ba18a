//! Conversion from messages of the neutral conversation to messages of the engine.

use std::path::PathBuf;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageBuilder, BashExecutionMessageBuilder,
    BranchSummaryMessage, CompactionSummaryMessage, CustomMessageBuilder, ImageContent, InputBlock,
    InputContent, InputKind, Model, ModelBuilder, ModelCostBuilder, StopReason, TextContent, ThinkingContent,
    ToolCall, ToolResultMessageBuilder, Usage, UserMessage,
};
use agentese::view::{self, Block, Message, MessageState, Role, ToolBlock};
use agentese_server_base::runtime::{Clock as _, SystemClock};
use agentese_server_engine::engine::{RemoteSession, ReportedUsage};
use agentese_server_engine::resources::{CommandInfo, CommandSource};
use agentese_server_models::{TokenCounts, number};
use agentese_server_sessions::session::ExternalSession;
use agentese_server_tools::{ToolContent, ToolOutput, ToolUpdate};
use serde_json::{Map, Value, json};

/// The name of the model API in messages of a remote agent, whose actual API is unknown.
pub(super) const API: &str = "agent";

/// The error message of an aborted answer, if the agent gives no reason.
pub(super) const ABORTED: &str = "Request was aborted.";

/// The reason for rejecting input that consists only of images, if the agent accepts no images.
pub(super) const IMAGES_ALONE: &str = "the agent does not accept images, and the input has no text";

/// The neutral kind of a message that summarises a branch.
const BRANCH: &str = "branch";

/// The provider name for a model without a provider.
pub(super) const PROVIDER: &str = "agent";

/// Converts the messages of a conversation.
pub(super) fn history(messages: &[impl std::ops::Deref<Target = Message>]) -> Vec<AgentMessage> {
    messages.iter().filter_map(|one| message(one)).collect()
}

/// Converts a message. Returns `None` for a message that is not part of the conversation.
pub(super) fn message(message: &Message) -> Option<AgentMessage> {
    let time = time(message);
    Some(match message.role {
        Role::User => UserMessage::new(input(&message.blocks), time).into(),
        // System messages are not part of the engine's conversation.
        Role::System => return None,
        Role::Assistant => answer(message).into(),
        Role::Tool => {
            let mut result = ToolResultMessageBuilder {
                tool_call_id: message.call_id.clone().unwrap_or_default(),
                tool_name: message.name.clone().unwrap_or_default(),
                content: input_blocks(&message.blocks),
                is_error: message.state == MessageState::Failed,
                timestamp: time,
            }
            .build();
            result.details = message.details.clone().into();
            result.into()
        }
        Role::Summary if message.kind.as_deref() == Some(BRANCH) => {
            BranchSummaryMessage::new(message.text(), None, time).into()
        }
        Role::Summary => {
            CompactionSummaryMessage::new(message.text(), message.tokens_before.unwrap_or_default(), time)
                .into()
        }
        Role::Shell => {
            let mut shell = BashExecutionMessageBuilder {
                command: message.command.clone().unwrap_or_default(),
                output: message.text(),
                cancelled: message.cancelled == Some(true),
                truncated: message.truncated == Some(true),
                timestamp: time,
            }
            .build();
            shell.exit_code = message.exit_code.into();
            shell.exclude_from_context = message.hidden;
            shell.into()
        }
        _ => {
            let mut note = CustomMessageBuilder {
                custom_type: message.kind.clone().unwrap_or_else(|| "note".to_owned()),
                content: input(&message.blocks),
                display: message.hidden != Some(true),
                timestamp: time,
            }
            .build();
            note.details = message.details.clone().into();
            note.into()
        }
    })
}

/// Returns a user message with the current time.
pub(super) fn user(text: String) -> AgentMessage {
    UserMessage::new(vec![InputBlock::from(TextContent::new(text))], SystemClock.now_ms()).into()
}

/// Returns the text of a user message.
pub(super) fn user_text(message: &AgentMessage) -> Option<String> {
    let AgentMessage::User(message) = message else { return None };
    Some(match &message.content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => {
            let text = |block: &InputBlock| match block {
                InputBlock::Text(text) => Some(text.text.clone()),
                _ => None,
            };
            blocks.iter().filter_map(text).collect()
        }
    })
}

fn time(message: &Message) -> i64 {
    // Times are small enough to be exact as a double.
    message.time.map_or_else(|| SystemClock.now_ms(), |time| time as i64)
}

/// Converts a complete answer of the model.
pub(super) fn answer(message: &Message) -> AssistantMessage {
    let content: Vec<AssistantBlock> = message.blocks.iter().filter_map(block).collect();
    let calls = content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
    let reason = message.stop_reason.as_deref().unwrap_or_default();
    let mut answer = AssistantMessageBuilder {
        content,
        // If these members are empty, the engine inserts the current model.
        api: message.api.clone().unwrap_or_default(),
        provider: message.provider.clone().unwrap_or_default(),
        model: message.model.clone().unwrap_or_default(),
        usage: usage(message.usage.as_ref()),
        stop_reason: match message.state {
            MessageState::Failed => StopReason::Error,
            MessageState::Aborted => StopReason::Aborted,
            _ if calls => StopReason::ToolUse,
            _ if reason == StopReason::Length.as_str() => StopReason::Length,
            _ => StopReason::Stop,
        },
        timestamp: time(message),
    }
    .build();
    answer.error_message = message.error.as_ref().map(error_text);
    answer
}

/// Returns an empty failed answer, for a run that failed before its first answer.
pub(super) fn failure(error: String) -> AssistantMessage {
    let mut failed = answer(&Message::default());
    (failed.stop_reason, failed.error_message) = (StopReason::Error, Some(error));
    failed
}

/// Returns an error as text.
pub(super) fn error_text(error: &Value) -> String {
    error.as_str().map_or_else(|| error.to_string(), str::to_owned)
}

fn block(block: &Block) -> Option<AssistantBlock> {
    Some(match block {
        Block::Text { text } => TextContent::new(text).into(),
        Block::Thinking { text, redacted, signature } => {
            let mut thinking = ThinkingContent::new(text);
            thinking.redacted = *redacted;
            thinking.thinking_signature.clone_from(signature);
            thinking.into()
        }
        Block::Tool(tool) => call(tool).into(),
        _ => return None,
    })
}

/// Converts a tool call.
pub(super) fn call(tool: &ToolBlock) -> ToolCall {
    let mut call = ToolCall::new(&tool.call_id, &tool.name, arguments(tool));
    call.thought_signature.clone_from(&tool.signature);
    call
}

/// Returns the arguments of a tool call: the parsed value, or else the parsed text. Returns no arguments if
/// neither can be read.
pub(super) fn arguments(tool: &ToolBlock) -> Map<String, Value> {
    let told = tool.arguments.as_ref().and_then(Value::as_object).cloned();
    let text = || tool.arguments_text.as_deref().and_then(|text| serde_json::from_str(text).ok());
    told.or_else(text).unwrap_or_default()
}

/// Converts the result of a call. Empty details are kept, as they are in the updates of a running tool.
pub(super) fn output(result: &[Block], details: Option<Value>, is_error: bool) -> ToolOutput {
    let mut output = ToolOutput::text(String::new());
    output.content = contents(result);
    output.is_error = is_error;
    let details = details.filter(|details| details.as_object().is_none_or(|members| !members.is_empty()));
    output.details = details.or_else(|| is_error.then(|| json!({})));
    output
}

/// Converts the output of a running tool.
pub(super) fn update(output: &[Block], details: Option<Value>) -> ToolUpdate {
    ToolUpdate { content: contents(output), details: Some(details.unwrap_or_else(|| json!({}))) }
}

fn contents(blocks: &[Block]) -> Vec<ToolContent> {
    let content = |block: &Block| match block {
        Block::Text { text } => Some(ToolContent::Text(text.clone())),
        Block::Image { mime_type, data } => {
            Some(ToolContent::Image { data: data.clone(), mime_type: mime_type.clone() })
        }
        Block::Data { value } => Some(ToolContent::Text(value.to_string())),
        _ => None,
    };
    blocks.iter().filter_map(content).collect()
}

fn input(blocks: &[Block]) -> InputContent {
    input_blocks(blocks).into()
}

fn input_blocks(blocks: &[Block]) -> Vec<InputBlock> {
    let content = |block: &Block| match block {
        Block::Text { text } => Some(TextContent::new(text).into()),
        Block::Image { mime_type, data } => Some(ImageContent::new(data, mime_type).into()),
        Block::Data { value } => Some(TextContent::new(value.to_string()).into()),
        _ => None,
    };
    blocks.iter().filter_map(content).collect()
}

fn usage(reported: Option<&view::Usage>) -> Usage {
    let reported = reported.cloned().unwrap_or_default();
    let count = |tokens: Option<u64>| tokens.unwrap_or_default();
    let parts = [reported.input, reported.output, reported.cache_read, reported.cache_write].map(count);
    let [input, output, cache_read, cache_write] = parts;
    let mut usage = Usage::default();
    (usage.input, usage.output, usage.cache_read, usage.cache_write) =
        (input, output, cache_read, cache_write);
    usage.total_tokens = reported.total.or_else(|| Some(parts.iter().sum()));
    if let Some(costs) = reported.costs.and_then(|costs| serde_json::from_value(costs).ok()) {
        usage.cost = costs;
    }
    usage.cost.total = number(reported.cost.unwrap_or_default());
    usage
}

/// Converts the id and the file of the agent's session.
pub(super) fn external_session(session: &view::Session) -> ExternalSession {
    ExternalSession { id: session.id.clone(), file: session.file.as_ref().map(PathBuf::from) }
}

/// Returns the data of the agent's current session.
pub(super) fn remote_session(state: &agentese::any::State) -> RemoteSession {
    let level = state.thinking_level.clone().map(Value::from).unwrap_or_default();
    RemoteSession {
        name: state.session.name.clone(),
        location: external_session(&state.session),
        model: state.model.as_ref().map(model).map(|model| (model.provider, model.id)),
        thinking: serde_json::from_value(level).ok(),
    }
}

/// Converts a slash command of the agent.
pub(super) fn command(command: view::SlashCommand) -> CommandInfo {
    CommandInfo {
        source: match command.source.as_deref() {
            Some("prompt") => CommandSource::Template,
            Some("skill") => CommandSource::Skill,
            _ => CommandSource::Extension,
        },
        name: command.name,
        description: command.description,
        location: None,
        path: None,
    }
}

/// Converts the token usage of a growing answer.
pub(super) fn counts(reported: &view::Usage) -> TokenCounts {
    let count = |tokens: Option<u64>| tokens.unwrap_or_default();
    TokenCounts {
        input: count(reported.input),
        output: count(reported.output),
        cache_read: count(reported.cache_read),
        cache_write: count(reported.cache_write),
        ..TokenCounts::default()
    }
}

/// Converts the reported usage of a session.
pub(super) fn reported_usage(reported: &view::Usage) -> ReportedUsage {
    let view::Usage { input, output, cache_read, cache_write, cost, .. } = *reported;
    ReportedUsage { input, output, cache_read, cache_write, cost }
}

/// Returns the model of an agent that reports no model.
pub(super) fn unknown_model(dialect: &str) -> Model {
    bare_model(dialect, PROVIDER)
}

/// Converts a model of the agent. Members that the agent does not report have default values.
pub(super) fn model(described: &view::Model) -> Model {
    let mut model = bare_model(&described.id, described.provider.as_deref().unwrap_or(PROVIDER));
    let text = |mine: &mut String, told: &Option<String>| {
        if let Some(told) = told {
            mine.clone_from(told);
        }
    };
    text(&mut model.name, &described.name);
    text(&mut model.api, &described.api);
    text(&mut model.base_url, &described.base_url);
    model.reasoning = described.reasoning == Some(true);
    model.context_window = described.window.unwrap_or_default();
    // If the limit is unknown, the output may fill the context window.
    model.max_tokens = described.max_tokens.unwrap_or(model.context_window);
    let kind = |word: &String| serde_json::from_value(Value::from(word.as_str())).ok();
    if let Some(input) = &described.input {
        model.input = input.iter().filter_map(kind).collect();
    }
    if let Some(prices) = described.prices.clone().and_then(|prices| serde_json::from_value(prices).ok()) {
        model.cost = prices;
    }
    model
}

/// Returns a model with only an id and a provider.
fn bare_model(id: &str, provider: &str) -> Model {
    let free = || 0.into();
    let cost = ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() };
    ModelBuilder {
        id: id.to_owned(),
        name: id.to_owned(),
        api: API.to_owned(),
        provider: provider.to_owned(),
        base_url: String::new(),
        reasoning: false,
        input: vec![InputKind::Text, InputKind::Image],
        context_window: 0,
        max_tokens: 0,
        cost: cost.build(),
    }
    .build()
}
