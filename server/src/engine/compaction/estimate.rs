//! How many tokens a conversation takes: what the provider counted, and a guess for the rest.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, InputBlock, InputContent, Model, StopReason, ToolDeclaration, Usage,
};
use serde_json::Value;

use crate::config::CompactionSettings;
use crate::providers::tokens;
use crate::roles;

/// Characters of a token, on average and for want of the tokenizer.
const CHARACTERS_PER_TOKEN: usize = 4;
/// What an image counts, in characters.
const IMAGE: usize = 4800;

/// Whether that many tokens leave less room in the model's context than is to be kept free.
pub(crate) fn is_due(settings: &CompactionSettings, tokens: u64, model: &Model) -> bool {
    settings.enabled && tokens > model.context_window.saturating_sub(settings.reserve_tokens)
}

/// The tokens that the conversation takes, as [`counted_tokens`] has them; where nothing was counted,
/// an estimate of all of it.
pub(crate) fn context_tokens(messages: &[Arc<AgentMessage>], compacted: usize) -> u64 {
    counted_tokens(messages, compacted).unwrap_or_else(|| estimate(0, messages))
}

/// The count of the last answer that has one, and an estimate of what came after it. The first
/// `compacted` messages are what a compaction left: their counts are of the context before it and say
/// nothing about this one. None where nothing was counted since.
pub(crate) fn counted_tokens(messages: &[Arc<AgentMessage>], compacted: usize) -> Option<u64> {
    let fresh = messages.iter().enumerate().skip(compacted).rev();
    let (index, tokens) = fresh.into_iter().find_map(|(index, message)| Some((index, counted(message)?)))?;
    Some(estimate(tokens, &messages[index + 1..]))
}

/// How many estimated tokens to keep where so many counted ones are wanted: fewer, where the provider counted more for
/// the newest answer's request than an estimate finds.
pub(crate) fn kept_by_count(wanted: u64, messages: &[Arc<AgentMessage>], compacted: usize) -> u64 {
    let newest = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) if counted(message).is_some() => Some(&answer.usage),
        _ => None,
    });
    let asked = newest.map_or(0, |usage| usage.input + usage.cache_read + usage.cache_write);
    let estimated = estimate(0, &messages[compacted.min(messages.len())..]);
    if estimated == 0 || asked <= estimated {
        return wanted;
    }
    let kept = u128::from(wanted) * u128::from(estimated) / u128::from(asked);
    u64::try_from(kept).unwrap_or(wanted).max(1)
}

pub(crate) fn estimate(counted: u64, messages: &[Arc<AgentMessage>]) -> u64 {
    messages.iter().fold(counted, |sum, message| sum.saturating_add(message_tokens(message)))
}

/// What the provider counted for an answer that is complete; none where it counted nothing.
fn counted(message: &AgentMessage) -> Option<u64> {
    match message {
        AgentMessage::Assistant(answer)
            if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            Some(total(&answer.usage)).filter(|tokens| *tokens > 0)
        }
        _ => None,
    }
}

fn total(usage: &Usage) -> u64 {
    usage.total_tokens.filter(|total| *total > 0).unwrap_or_else(|| tokens(usage))
}

/// An estimate for one message, rounded up.
pub(super) fn message_tokens(message: &AgentMessage) -> u64 {
    characters(message).div_ceil(CHARACTERS_PER_TOKEN) as u64
}

fn characters(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::User(message) => match &message.content {
            InputContent::Text(text) => count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block).sum(),
        },
        AgentMessage::Assistant(answer) => answer.content.iter().map(answer_block).sum(),
        AgentMessage::ToolResult(result) => result.content.iter().map(block).sum(),
        AgentMessage::BashExecution(command) => count(&command.command) + count(&command.output),
        AgentMessage::Custom(message) => match &message.content {
            InputContent::Text(text) => count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block).sum(),
        },
        AgentMessage::BranchSummary(message) => count(&message.summary),
        AgentMessage::CompactionSummary(message) => count(&message.summary),
        AgentMessage::System(message) => {
            let sections = message.sections.iter().flat_map(|sections| sections.values());
            let tools = message.tools_added.iter().flatten();
            let tool = |tool: &ToolDeclaration| {
                count(&tool.name)
                    + count(&tool.description)
                    + Value::from(tool.parameters.clone()).to_string().len()
            };
            sections.filter_map(Value::as_str).map(count).sum::<usize>() + tools.map(tool).sum::<usize>()
        }
        AgentMessage::Unknown(unknown) => match roles::content_of(unknown) {
            Some((InputContent::Blocks(blocks), _)) => blocks.iter().map(block).sum(),
            Some((InputContent::Text(text), _)) => count(&text),
            None => 0,
        },
        _ => 0,
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

fn block(block: &InputBlock) -> usize {
    match block {
        InputBlock::Text(block) => count(&block.text),
        InputBlock::Image(_) => IMAGE,
        _ => 0,
    }
}

fn answer_block(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text(block) => count(&block.text),
        AssistantBlock::Thinking(block) => count(&block.thinking),
        AssistantBlock::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            count(&call.name) + count(&arguments)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: Value) -> Arc<AgentMessage> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn user(text: &str) -> Arc<AgentMessage> {
        message(json!({"role": "user", "content": text, "timestamp": 1}))
    }

    fn answer(text: &str, stop: &str, input: u64) -> Arc<AgentMessage> {
        message(json!({
            "role": "assistant", "content": [{"type": "text", "text": text}],
            "api": "a", "provider": "p", "model": "m", "stopReason": stop, "timestamp": 1,
            "usage": {"input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        }))
    }

    #[test]
    fn what_the_provider_counted_wins_over_an_estimate() {
        let context_tokens = |messages: &[Arc<AgentMessage>]| context_tokens(messages, 0);
        assert_eq!(context_tokens(&[]), 0);
        assert_eq!(context_tokens(&[user("12345")]), 2);
        assert_eq!(context_tokens(&[user("12345"), answer("x", "stop", 700), user("1234")]), 701);
        // A failed answer and one without figures say nothing.
        assert_eq!(context_tokens(&[answer("x", "stop", 700), answer("12345678", "error", 900)]), 702);
        assert_eq!(context_tokens(&[answer("12345678", "stop", 0)]), 2);
    }

    #[test]
    fn what_was_counted_before_a_compaction_does_not_count() {
        let messages = [user("12345678"), answer("1234", "stop", 900), user("1234")];
        assert_eq!((context_tokens(&messages, 0), counted_tokens(&messages, 0)), (901, Some(901)));
        assert_eq!((context_tokens(&messages, 2), counted_tokens(&messages, 2)), (4, None));
        let since = [&messages[..], &[answer("x", "stop", 70), user("1234")]].concat();
        assert_eq!((context_tokens(&since, 2), counted_tokens(&since, 2)), (71, Some(71)));
        let failed = [&messages[..], &[answer("", "error", 0)]].concat();
        assert_eq!(counted_tokens(&failed, 2), None);
    }

    #[test]
    fn images_and_arguments_count() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        assert_eq!(
            message_tokens(&message(json!({"role": "user", "content": [image], "timestamp": 1}))),
            1200
        );
        let call = json!([{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}}]);
        let mut value = serde_json::to_value(&*answer("", "toolUse", 0)).unwrap();
        value["content"] = call;
        // `bash` and `{"command":"ls"}`.
        assert_eq!(message_tokens(&message(value)), 5);
    }
}
