//! The built-in plan: survey the directory, read the most informative files, report.
//!
//! The plan stores no state. It finds its earlier steps in the conversation, after the user's last message.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, Chunks, InputBlock, InputContent, ScriptArguments, ScriptBlock,
    ScriptResponse, ScriptText, ScriptThinking, ScriptTool, ScriptToolUse, ScriptUsage, ThinkingLevel,
    ToolResultMessage,
};
use serde_json::{Value, json};

use super::report::{Findings, report};
use super::workspace::WorkspaceSummary;
use super::{files, workspace};
use crate::Request;

/// Number of lines to read from each file.
const LINES: u64 = 80;

/// Returns the answer to the next request of the plan.
pub(super) fn answer(request: &Request) -> ScriptResponse {
    let progress = Progress::of(request);
    let has = |tool: &str| request.tools.iter().any(|known| known.name == tool);
    let mut answer = AnswerBuilder::default();
    match &progress.summary {
        None if !has("bash") => answer.text(&report(&progress.question, &Findings::NoTools)),
        None => {
            if request.thinking != ThinkingLevel::Off {
                answer.thinking(
                    "I answer from what is really there, so first I look at the working directory: \
                     what lies at the top, and which kinds of files there are.",
                );
            }
            answer.text("Let me look at the working directory.");
            answer.call("bash", json!({"command": workspace::COMMAND, "timeout": workspace::TIMEOUT}));
        }
        Some(Err(reason)) => answer.text(&report(&progress.question, &Findings::Failed(reason))),
        Some(Ok(summary)) => {
            let chosen = if has("read") { files::informative_files(&summary.entries) } else { Vec::new() };
            if progress.read.is_empty() && !chosen.is_empty() {
                answer.text(&reading(&chosen));
                for name in chosen {
                    answer.call("read", json!({"path": name, "limit": LINES}));
                }
            } else {
                answer.text(&report(
                    &progress.question,
                    &Findings::Workspace { summary, files: &progress.read },
                ));
            }
        }
    }
    answer.finish(request)
}

fn reading(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("Now I read {}.", names.join(" and "))
}

/// The progress of the plan, derived from the conversation.
struct Progress {
    question: String,
    /// The result of the survey of the directory, or the error; `None` before the survey.
    summary: Option<Result<WorkspaceSummary, String>>,
    /// Name of each file that was read, with its text or the error.
    read: Vec<(String, Result<String, String>)>,
}

impl Progress {
    fn of(request: &Request) -> Self {
        let (question, work) = last_turn(request);
        let mut progress = Self { question, summary: None, read: Vec::new() };
        let mut paths: Vec<(&str, &str)> = Vec::new();
        for message in &work {
            match &**message {
                AgentMessage::Assistant(answer) => {
                    for block in &answer.content {
                        if let AssistantBlock::ToolCall(call) = block {
                            let path = call.arguments.get("path").and_then(Value::as_str);
                            paths.push((&call.id, path.unwrap_or_default()));
                        }
                    }
                }
                AgentMessage::ToolResult(result) if result.tool_name == "bash" => {
                    progress.summary = Some(outcome(result).map(|text| WorkspaceSummary::parse(&text)));
                }
                AgentMessage::ToolResult(result) => {
                    let path = paths.iter().find(|(id, _)| *id == result.tool_call_id);
                    let path = path.map_or("", |(_, path)| path);
                    progress.read.push((path.to_owned(), outcome(result)));
                }
                _ => {}
            }
        }
        progress
    }
}

/// Returns the text of the user's last message, and the messages after it.
pub(super) fn last_turn(request: &Request) -> (String, Vec<Arc<AgentMessage>>) {
    let mut turn = (None, Vec::new());
    for message in request.messages.iter() {
        match &*message {
            AgentMessage::User(_) => turn = (Some(message), Vec::new()),
            _ => turn.1.push(message),
        }
    }
    (turn.0.map(|message| question(&message)).unwrap_or_default(), turn.1)
}

/// Returns the text of a user's message.
fn question(message: &AgentMessage) -> String {
    let AgentMessage::User(message) = message else { return String::new() };
    match &message.content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => text_of(blocks),
    }
}

fn outcome(result: &ToolResultMessage) -> Result<String, String> {
    let text = text_of(&result.content);
    if result.is_error { Err(text) } else { Ok(text) }
}

fn text_of(blocks: &[InputBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        InputBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// An answer under construction.
#[derive(Default)]
struct AnswerBuilder {
    blocks: Vec<ScriptBlock>,
    length: usize,
}

impl AnswerBuilder {
    fn text(&mut self, text: &str) {
        self.length += text.len();
        self.blocks.push(ScriptText::new(Chunks::Pieces(split_pieces(text))).into());
    }

    fn thinking(&mut self, text: &str) {
        self.length += text.len();
        self.blocks.push(ScriptThinking::new(Chunks::Pieces(split_pieces(text))).into());
    }

    fn call(&mut self, tool: &str, arguments: Value) {
        let json = arguments.to_string();
        self.length += json.len();
        let mut call = ScriptTool::new(tool);
        call.args = Some(ScriptArguments::Pieces(split_pieces(&json)));
        self.blocks.push(ScriptToolUse::new(call).into());
    }

    fn finish(self, request: &Request) -> ScriptResponse {
        // A token is estimated as four bytes.
        let length =
            |message: Arc<AgentMessage>| serde_json::to_string(&*message).map_or(0, |json| json.len());
        let input: usize = request.messages.iter().map(length).sum();
        let mut usage = ScriptUsage::new();
        usage.input = Some((input + request.system_prompt.len()) as u64 / 4);
        usage.output = Some((self.length as u64 / 4).max(1));
        let mut answer = ScriptResponse::new();
        answer.blocks = Some(self.blocks);
        answer.usage = Some(usage);
        answer
    }
}

/// Splits a text into small chunks, each ending in white space.
fn split_pieces(text: &str) -> Vec<String> {
    const LONG_ENOUGH: usize = 6;
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        piece.push_str(word);
        if piece.len() >= LONG_ENOUGH {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_and_make_the_text_again() {
        for text in ["", "one", "a b c d e f g h", "A sentence of several words.\n\nAnd a paragraph."] {
            let pieces = split_pieces(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() < 24), "{pieces:?}");
        }
    }
}
