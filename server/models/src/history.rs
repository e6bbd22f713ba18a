//! The part of a conversation that is sent to a model.
//!
//! This part has only user, assistant and toolResult messages, and exactly one result for each tool call. Providers
//! reject other conversations. [`for_model`] makes the changes that are the same for all models. [`adapt_to_model`]
//! makes the changes that depend on the model.

mod target;

pub use target::adapt_to_model;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, BashExecutionMessage, InputBlock, InputContent,
    StopReason, TextContent, ToolResultMessageBuilder, UserMessage,
};

use super::is_blank;
use crate::dialect_messages;

/// The text in place of a result that is missing in the conversation.
const NO_RESULT: &str = "No result was recorded for this call.";
/// The text before a summary that replaces compacted messages.
const COMPACTION_INTRO: &str =
    "The beginning of this conversation was removed to make room. This is a summary of it:";
/// The text before the summary of a branch.
const BRANCH_INTRO: &str =
    "The conversation returned here from a branch. This is a summary of what happened there:";

/// The text in place of a user message without visible content. APIs reject an empty message.
const EMPTY_MESSAGE: &str = "[The user sent an empty message.]";

/// Returns the messages for a model, oldest first, each produced on demand. Leaves out answers that failed or were
/// aborted, with the results of their calls. The user's commands, summaries, and messages of extensions or of roles
/// that only some dialects have become user messages. A call without a result gets an error result. Messages of unknown
/// roles are left out.
pub fn for_model(
    messages: impl Iterator<Item = Arc<AgentMessage>>,
) -> impl Iterator<Item = Arc<AgentMessage>> {
    let (mut history, mut messages) = (History::default(), messages.fuse());
    std::iter::from_fn(move || {
        loop {
            if let Some(next) = history.messages.pop_front() {
                return Some(next);
            }
            match messages.next() {
                Some(message) => history.add(message),
                None if history.open.is_empty() => return None,
                None => history.answer_open_calls(),
            }
        }
    })
}

#[derive(Default)]
struct History {
    /// Messages that the iterator returns next.
    messages: VecDeque<Arc<AgentMessage>>,
    /// Calls of the last answer that have no result yet: id of the call, and name of the tool.
    open: Vec<(String, String)>,
}

impl History {
    fn add(&mut self, message: Arc<AgentMessage>) {
        match &*message {
            AgentMessage::Assistant(answer) => {
                self.answer_open_calls();
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    self.open = calls(answer);
                    self.messages.push_back(message);
                }
            }
            AgentMessage::ToolResult(result) => {
                let before = self.open.len();
                self.open.retain(|(id, _)| *id != result.tool_call_id);
                // The result of an omitted call is omitted as well.
                if self.open.len() < before {
                    self.messages.push_back(message);
                }
            }
            AgentMessage::User(user) => {
                self.answer_open_calls();
                match is_blank_content(&user.content) {
                    true => self.push_text(EMPTY_MESSAGE.to_owned(), user.timestamp),
                    false => self.messages.push_back(message),
                }
            }
            AgentMessage::BashExecution(command) if command.exclude_from_context != Some(true) => {
                self.answer_open_calls();
                self.push_text(command_text(command), command.timestamp);
            }
            AgentMessage::CompactionSummary(message) => {
                self.answer_open_calls();
                self.push_text(summary(COMPACTION_INTRO, &message.summary), message.timestamp);
            }
            AgentMessage::BranchSummary(message) => {
                self.answer_open_calls();
                self.push_text(summary(BRANCH_INTRO, &message.summary), message.timestamp);
            }
            AgentMessage::Custom(message) => {
                self.answer_open_calls();
                let message = UserMessage::new(message.content.clone(), message.timestamp);
                self.messages.push_back(Arc::new(message.into()));
            }
            AgentMessage::Unknown(unknown) => {
                let Some((content, timestamp)) = dialect_messages::content_of(unknown) else { return };
                self.answer_open_calls();
                self.messages.push_back(Arc::new(UserMessage::new(content, timestamp).into()));
            }
            _ => {}
        }
    }

    fn answer_open_calls(&mut self) {
        let mut answered = HashSet::new();
        for (id, tool) in std::mem::take(&mut self.open) {
            if answered.insert(id.clone()) {
                let content = vec![InputBlock::from(TextContent::new(NO_RESULT))];
                let result = ToolResultMessageBuilder {
                    tool_call_id: id,
                    tool_name: tool,
                    content,
                    is_error: true,
                    timestamp: 0,
                }
                .build();
                self.messages.push_back(Arc::new(result.into()));
            }
        }
    }

    fn push_text(&mut self, text: String, timestamp: i64) {
        let content = InputContent::from(vec![InputBlock::from(TextContent::new(text))]);
        self.messages.push_back(Arc::new(UserMessage::new(content, timestamp).into()));
    }
}

/// Returns true if no part of the content is visible.
fn is_blank_content(content: &InputContent) -> bool {
    match content {
        InputContent::Text(text) => is_blank(text),
        InputContent::Blocks(blocks) => {
            blocks.iter().all(|block| matches!(block, InputBlock::Text(block) if is_blank(&block.text)))
        }
    }
}

/// Returns true if every message is invisible, so that a request would be empty.
pub fn is_blank_request(mut messages: impl Iterator<Item = Arc<AgentMessage>>) -> bool {
    messages.all(|message| matches!(&*message, AgentMessage::User(user) if is_blank_content(&user.content)))
}

fn calls(answer: &AssistantMessage) -> Vec<(String, String)> {
    let calls = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some((call.id.clone(), call.name.clone())),
        _ => None,
    });
    calls.collect()
}

fn summary(intro: &str, summary: &str) -> String {
    format!("{intro}\n\n<summary>\n{summary}\n</summary>")
}

/// Returns the text for a command of the user, in the form of the pi document. The fence around the output is longer
/// than any fence inside it.
fn command_text(command: &BashExecutionMessage) -> String {
    let fence = "`".repeat(longest_run(&command.output, '`').max(2) + 1);
    let mut text = format!("Ran `{}`\n", command.command);
    if command.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("{fence}\n{}\n{fence}", command.output));
    }
    let exit_code = command.exit_code.as_option().copied();
    if command.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let (true, Some(path)) = (command.truncated, command.full_output_path.as_option()) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for found in text.chars() {
        run = if found == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(messages: Value) -> Vec<Arc<AgentMessage>> {
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        messages.into_iter().map(Arc::new).collect()
    }

    fn assistant(content: Value, stop: &str) -> Value {
        json!({
            "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": stop, "timestamp": 1,
        })
    }

    fn call(id: &str) -> Value {
        json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {}})
    }

    fn result(id: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": [], "isError": false, "timestamp": 1})
    }

    /// Returns the role of each message; for a result also the id of its call.
    fn outline(messages: &[Arc<AgentMessage>]) -> Vec<String> {
        let line = |message: &Arc<AgentMessage>| match &**message {
            AgentMessage::ToolResult(result) => format!("result {}", result.tool_call_id),
            other => other.tag().to_owned(),
        };
        messages.iter().map(line).collect()
    }

    #[test]
    fn fm_f46_aborted_answers_go_with_their_results_and_open_calls_are_answered() {
        let user = json!({"role": "user", "content": "q", "timestamp": 1});
        let messages = list(json!([
            user,
            assistant(json!([call("a"), call("b")]), "toolUse"),
            result("a"),
            user,
            assistant(json!([call("c")]), "aborted"),
            result("c"),
            assistant(json!([call("d")]), "toolUse"),
        ]));
        assert_eq!(
            outline(&for_model(messages.into_iter()).collect::<Vec<_>>()),
            ["user", "assistant", "result a", "result b", "user", "assistant", "result d"]
        );
    }

    #[test]
    fn summaries_and_messages_of_extensions_become_the_user_s_and_unknown_roles_go() {
        let messages = list(json!([
            {"role": "compactionSummary", "summary": "once", "tokensBefore": 7, "timestamp": 1},
            assistant(json!([call("a")]), "toolUse"),
            {"role": "branchSummary", "summary": "aside", "fromId": "x", "timestamp": 1},
            {"role": "custom", "customType": "note", "content": "said", "display": true, "timestamp": 1},
            {"role": "novel", "content": "?", "timestamp": 1},
        ]));
        let fitted: Vec<_> = for_model(messages.into_iter()).collect();
        assert_eq!(outline(&fitted), ["user", "assistant", "result a", "user", "user"]);
        let texts: Vec<Value> = fitted
            .iter()
            .map(|message| serde_json::to_value(&**message).unwrap()["content"].clone())
            .collect();
        assert_eq!(texts[0][0]["text"], format!("{COMPACTION_INTRO}\n\n<summary>\nonce\n</summary>"));
        assert_eq!(texts[3][0]["text"], format!("{BRANCH_INTRO}\n\n<summary>\naside\n</summary>"));
        assert_eq!(texts[4], "said");
    }

    #[test]
    fn an_empty_user_message_is_replaced_and_notes_alone_are_a_blank_request() {
        let fitted = |messages| for_model(list(messages).into_iter()).collect::<Vec<_>>();
        for content in [json!(""), json!(" \n\u{200b}"), json!([]), json!([{"type": "text", "text": "\t"}])] {
            let fitted = fitted(json!([{"role": "user", "content": content, "timestamp": 1}]));
            let text = serde_json::to_value(&*fitted[0]).unwrap()["content"][0]["text"].clone();
            assert_eq!(
                (text, is_blank_request(fitted.into_iter())),
                (json!(EMPTY_MESSAGE), false),
                "{content}"
            );
        }
        let image =
            json!([{"type": "text", "text": ""}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]);
        let sent = fitted(json!([{"role": "user", "content": image, "timestamp": 1}]));
        assert_eq!(serde_json::to_value(&*sent[0]).unwrap()["content"], image);
        let note =
            json!({"role": "custom", "customType": "note", "content": " ", "display": true, "timestamp": 1});
        assert!(is_blank_request(fitted(json!([note])).into_iter()) && is_blank_request(std::iter::empty()));
    }

    #[test]
    fn a_command_of_the_user_becomes_text_in_a_fence_it_cannot_close() {
        let text = |command: Value| {
            let mut whole = json!({
                "role": "bashExecution", "command": "ls", "output": "", "cancelled": false,
                "truncated": false, "timestamp": 1,
            });
            whole.as_object_mut().unwrap().extend(command.as_object().unwrap().clone());
            let messages: Vec<_> = for_model(list(json!([whole])).into_iter()).collect();
            let Some(AgentMessage::User(message)) = messages.first().map(|message| &**message) else {
                return None;
            };
            match &message.content {
                InputContent::Blocks(blocks) => match &blocks[..] {
                    [InputBlock::Text(block)] => Some(block.text.clone()),
                    _ => None,
                },
                InputContent::Text(_) => None,
            }
        };
        assert_eq!(text(json!({"output": "a\n"})).unwrap(), "Ran `ls`\n```\na\n\n```");
        assert_eq!(text(json!({})).unwrap(), "Ran `ls`\n(no output)");
        assert_eq!(text(json!({"output": "```"})).unwrap(), "Ran `ls`\n````\n```\n````");
        assert_eq!(
            text(json!({"output": "x", "exitCode": 4})).unwrap(),
            "Ran `ls`\n```\nx\n```\n\nCommand exited with code 4"
        );
        assert!(text(json!({"output": "x", "cancelled": true})).unwrap().ends_with("(command cancelled)"));
        assert_eq!(text(json!({"excludeFromContext": true})), None);
    }
}
