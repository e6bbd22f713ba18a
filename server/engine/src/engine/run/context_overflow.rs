//! Conversations that exceed the context of the model: errors that do not mention this reason, and single messages
//! that are too large.

use std::sync::Arc;

use agentese::types::{AgentMessage, InputBlock, InputContent, Model, StopReason};

use super::driver::Run;
use crate::engine::policies::compaction::{
    ConversationSnapshot, MessageHistory as _, counted_tokens, estimate,
};
use crate::providers::{ProviderError, ProviderErrorKind};

/// Share of the context, in percent. If a larger conversation gets an error without a reason, the error is treated
/// as an overflow.
const NEARLY_FULL: u64 = 70;
/// Maximum number of characters of a message in an error.
const MAX_EXCERPT: usize = 60;
/// Average number of characters per token.
const CHARACTERS_PER_TOKEN: usize = 4;

impl Run {
    /// Classifies a failure. An error without a known reason becomes an overflow if the conversation nearly fills
    /// the context. If a single message is too large, the error text of the overflow names it.
    pub(in crate::engine) async fn classify_failure(&self, failure: ProviderError) -> ProviderError {
        if failure.kind != ProviderErrorKind::Overflow && !failure.may_be_overflow {
            return failure;
        }
        // Tools lock the state, too, so this precedes the lock.
        let fixed_tokens = self.fixed_request_tokens();
        let (snapshot, model) =
            (ConversationSnapshot::of(&mut self.shared.state().session), self.model.clone());
        let is_long = snapshot.is_long();
        spawn_blocking_if(is_long, move || classify(failure, &snapshot, fixed_tokens, &model)).await
    }

    /// Returns the estimated size of a request without its messages, in tokens.
    fn fixed_request_tokens(&self) -> u64 {
        let tools = self.shared.tools();
        let tool = |tool: &Arc<dyn crate::tools::Tool>| {
            tool.description().len() + tool.parameters().to_string().len()
        };
        let characters = self.system_prompt.len() + tools.iter().map(tool).sum::<usize>();
        characters.div_ceil(CHARACTERS_PER_TOKEN) as u64
    }
}

fn classify(
    mut failure: ProviderError,
    snapshot: &ConversationSnapshot,
    fixed_tokens: u64,
    model: &Model,
) -> ProviderError {
    let estimated = || estimate(snapshot.newest_first()).saturating_add(fixed_tokens);
    let tokens = || counted_tokens(snapshot).unwrap_or_else(estimated);
    if failure.may_be_overflow && nearly_fills_context(tokens(), model) {
        failure.kind = ProviderErrorKind::Overflow;
    }
    if failure.kind == ProviderErrorKind::Overflow
        && let Some(note) = oversized_message_note(snapshot.newest_first(), model)
    {
        failure.text = format!("{}\n{note}", failure.text);
    }
    failure
}

/// Returns the result of work that reads a conversation. If the conversation is long, the work runs on a blocking
/// thread.
pub(in crate::engine) async fn spawn_blocking_if<T: Send + 'static>(
    is_long: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if !is_long {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
}

fn nearly_fills_context(tokens: u64, model: &Model) -> bool {
    let window = u128::from(model.context_window);
    window > 0 && u128::from(tokens) * 100 > window * u128::from(NEARLY_FULL)
}

/// Returns a note about a single message that takes most of the context, with a remedy. Only messages after the
/// last answer are considered, because a compaction removes older ones.
fn oversized_message_note(back: impl Iterator<Item = Arc<AgentMessage>>, model: &Model) -> Option<String> {
    let is_answer = |message: &Arc<AgentMessage>| match &**message {
        AgentMessage::Assistant(answer) => {
            !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        }
        _ => false,
    };
    let newest = back.take_while(|message| !is_answer(message));
    let sized = newest.map(|message| (estimate(std::iter::once(message.clone())), message));
    let (tokens, message) = sized.max_by_key(|(tokens, _)| *tokens)?;
    if !nearly_fills_context(tokens, model) {
        return None;
    }
    let what = match &*message {
        AgentMessage::ToolResult(result) => {
            format!("The result of {} ({})", result.tool_name, result.tool_call_id)
        }
        AgentMessage::User(user) => match excerpt(&user.content) {
            Some(beginning) => format!("The message \"{beginning}\""),
            None => "The message".to_owned(),
        },
        other => format!("A message ({})", other.tag()),
    };
    Some(format!(
        "{what} alone takes about {tokens} tokens, and the context of {} has {}. Go back to before it (fork or branch the \
         session, or begin a new one) and send less of it, or choose a model with a larger context.",
        model.id, model.context_window
    ))
}

/// Returns the beginning of a message on one line.
fn excerpt(content: &InputContent) -> Option<String> {
    let text = match content {
        InputContent::Text(text) => text.as_str(),
        InputContent::Blocks(blocks) => blocks.iter().find_map(|block| match block {
            InputBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        })?,
    };
    let line = text.split_whitespace().take(MAX_EXCERPT).collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    match line.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => Some(format!("{}…", &line[..end])),
        None => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn model() -> Model {
        serde_json::from_value(json!({
            "id": "small", "name": "small", "api": "a", "provider": "p", "baseUrl": "", "reasoning": false,
            "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }))
        .unwrap()
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
    }

    fn answer(stop: &str) -> Value {
        json!({
            "role": "assistant", "content": [{"type": "text", "text": "x"}], "api": "a", "provider": "p", "model": "m",
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": stop, "timestamp": 1,
        })
    }

    fn named(messages: Value) -> Option<String> {
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        oversized_message_note(messages.into_iter().map(Arc::new).rev(), &model())
    }

    #[test]
    fn oversized_message_is_named_with_a_remedy() {
        let long = "word ".repeat(600);
        let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false,
                            "timestamp": 1, "content": [{"type": "text", "text": long}]});
        let of_prompt = named(json!([user("hi"), answer("stop"), user(&long)])).unwrap();
        assert!(of_prompt.starts_with("The message \"word word"), "{of_prompt}");
        assert!(
            of_prompt
                .contains("…\" alone takes about 750 tokens, and the context of small has 1000. Go back"),
            "{of_prompt}"
        );
        let of_result = named(json!([user("hi"), answer("toolUse"), result])).unwrap();
        assert!(of_result.starts_with("The result of read (c1) alone takes about 750 tokens"), "{of_result}");
        // A failed answer between them is ignored.
        assert!(named(json!([user(&long), answer("error"), user("and now?")])).is_some());
        assert!(named(json!([{"role": "user", "content": long, "timestamp": 1}])).is_some());
    }

    #[tokio::test]
    async fn long_conversation_is_read_on_a_blocking_thread() {
        let here = std::thread::current().id();
        let reader = |is_long| spawn_blocking_if(is_long, || std::thread::current().id());
        assert!(reader(true).await != here && reader(false).await == here);
    }

    #[test]
    fn compactable_or_small_messages_are_not_named() {
        let long = "word ".repeat(600);
        assert_eq!(named(json!([user(&long), answer("stop"), user("hi")])), None);
        assert_eq!(named(json!([user(&"word ".repeat(500)), user(&"word ".repeat(500))])), None);
        assert_eq!(named(json!([])), None);
    }
}
