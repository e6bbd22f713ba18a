//! What of a conversation a model gets to see.
//!
//! The result has user, assistant and toolResult messages only, and every tool call in it has
//! exactly one result: providers refuse anything else. [`for_model`] does what is the same for all
//! models, [`fit`] what depends on the one that is asked.

mod target;

pub use target::fit;

use std::collections::HashSet;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, BashExecutionMessage, InputBlock, InputContent,
    StopReason, TextContent, ToolResultMessageBuilder, UserMessage,
};

use super::is_blank;
use crate::roles;

/// What a call is answered with whose result was never recorded.
const NO_RESULT: &str = "No result was recorded for this call.";
/// What stands before the summary of messages that compaction removed.
const COMPACTED: &str =
    "The beginning of this conversation was removed to make room. This is a summary of it:";
/// What stands before the summary of a branch.
const BRANCH: &str =
    "The conversation returned here from a branch. This is a summary of what happened there:";

/// What stands in place of a message of the user in which nothing can be seen: APIs refuse such a message.
const BLANK: &str = "[The user sent an empty message.]";

/// The messages for a model, oldest first. Answers that failed or were aborted are left out with
/// the results of their calls; commands of the user, summaries and messages of extensions become user
/// messages, and so do those of roles that some dialects have; a call without a result gets an error result; messages of
/// unknown roles are left out.
pub fn for_model(messages: &[Arc<AgentMessage>]) -> Vec<Arc<AgentMessage>> {
    let mut history = History::default();
    for message in messages {
        match &**message {
            AgentMessage::Assistant(answer) => {
                history.answer_open_calls();
                if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    continue;
                }
                history.open = calls(answer);
                history.messages.push(message.clone());
            }
            AgentMessage::ToolResult(result) => {
                let before = history.open.len();
                history.open.retain(|(id, _)| *id != result.tool_call_id);
                // A result of a call that was left out goes with it.
                if history.open.len() < before {
                    history.messages.push(message.clone());
                }
            }
            AgentMessage::User(said) => {
                history.answer_open_calls();
                match shows_nothing(&said.content) {
                    true => history.push_text(BLANK.to_owned(), said.timestamp),
                    false => history.messages.push(message.clone()),
                }
            }
            AgentMessage::BashExecution(command) if command.exclude_from_context != Some(true) => {
                history.answer_open_calls();
                history.push_text(command_text(command), command.timestamp);
            }
            AgentMessage::CompactionSummary(message) => {
                history.answer_open_calls();
                history.push_text(summary(COMPACTED, &message.summary), message.timestamp);
            }
            AgentMessage::BranchSummary(message) => {
                history.answer_open_calls();
                history.push_text(summary(BRANCH, &message.summary), message.timestamp);
            }
            AgentMessage::Custom(message) => {
                history.answer_open_calls();
                let message = UserMessage::new(message.content.clone(), message.timestamp);
                history.messages.push(Arc::new(message.into()));
            }
            AgentMessage::Unknown(unknown) => {
                let Some((content, timestamp)) = roles::content_of(unknown) else { continue };
                history.answer_open_calls();
                history.messages.push(Arc::new(UserMessage::new(content, timestamp).into()));
            }
            _ => {}
        }
    }
    history.answer_open_calls();
    history.messages
}

#[derive(Default)]
struct History {
    messages: Vec<Arc<AgentMessage>>,
    /// Calls of the last answer that have no result yet: id and tool.
    open: Vec<(String, String)>,
}

impl History {
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
                self.messages.push(Arc::new(result.into()));
            }
        }
    }

    fn push_text(&mut self, text: String, timestamp: i64) {
        let content = InputContent::from(vec![InputBlock::from(TextContent::new(text))]);
        self.messages.push(Arc::new(UserMessage::new(content, timestamp).into()));
    }
}

/// Returns whether nothing of the content can be seen.
fn shows_nothing(content: &InputContent) -> bool {
    match content {
        InputContent::Text(text) => is_blank(text),
        InputContent::Blocks(blocks) => {
            blocks.iter().all(|block| matches!(block, InputBlock::Text(block) if is_blank(&block.text)))
        }
    }
}

/// Returns whether a request with these messages would ask a model nothing: none of them can be seen.
pub fn asks_nothing(messages: &[Arc<AgentMessage>]) -> bool {
    messages
        .iter()
        .all(|message| matches!(&**message, AgentMessage::User(said) if shows_nothing(&said.content)))
}

fn calls(answer: &AssistantMessage) -> Vec<(String, String)> {
    let calls = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some((call.id.clone(), call.name.clone())),
        _ => None,
    });
    calls.collect()
}

fn summary(lead: &str, summary: &str) -> String {
    format!("{lead}\n\n<summary>\n{summary}\n</summary>")
}

/// A command of the user in the form of the pi document, with a fence that its output cannot close.
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

    /// Roles, with the call of each result.
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
            outline(&for_model(&messages)),
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
        let fitted = for_model(&messages);
        assert_eq!(outline(&fitted), ["user", "assistant", "result a", "user", "user"]);
        let texts: Vec<Value> = fitted
            .iter()
            .map(|message| serde_json::to_value(&**message).unwrap()["content"].clone())
            .collect();
        assert_eq!(texts[0][0]["text"], format!("{COMPACTED}\n\n<summary>\nonce\n</summary>"));
        assert_eq!(texts[3][0]["text"], format!("{BRANCH}\n\n<summary>\naside\n</summary>"));
        assert_eq!(texts[4], "said");
    }

    #[test]
    fn a_message_of_the_user_that_shows_nothing_says_so_and_notes_alone_ask_nothing() {
        for content in [json!(""), json!(" \n\u{200b}"), json!([]), json!([{"type": "text", "text": "\t"}])] {
            let fitted = for_model(&list(json!([{"role": "user", "content": content, "timestamp": 1}])));
            let text = serde_json::to_value(&*fitted[0]).unwrap()["content"][0]["text"].clone();
            assert_eq!((text, asks_nothing(&fitted)), (json!(BLANK), false), "{content}");
        }
        let image =
            json!([{"type": "text", "text": ""}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]);
        let fitted = for_model(&list(json!([{"role": "user", "content": image, "timestamp": 1}])));
        assert_eq!(serde_json::to_value(&*fitted[0]).unwrap()["content"], image);
        let note =
            json!({"role": "custom", "customType": "note", "content": " ", "display": true, "timestamp": 1});
        assert!(asks_nothing(&for_model(&list(json!([note])))) && asks_nothing(&[]));
    }

    #[test]
    fn a_command_of_the_user_becomes_text_in_a_fence_it_cannot_close() {
        let text = |command: Value| {
            let mut whole = json!({
                "role": "bashExecution", "command": "ls", "output": "", "cancelled": false,
                "truncated": false, "timestamp": 1,
            });
            whole.as_object_mut().unwrap().extend(command.as_object().unwrap().clone());
            let messages = for_model(&list(json!([whole])));
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
