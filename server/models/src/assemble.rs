//! Assembly of the assistant's message from a provider's events.

use agentese::types::{
    AssistantBlock, AssistantMessage, AssistantMessageBuilder, Model, ModelCost, StopReason, TextContent,
    ThinkingContent, ToolCall,
};
use serde_json::Map;

use super::partial_json::PartialJsonParser;
use super::{FinishReason, ProviderError, StreamEvent, TokenCounts, excerpt, price};

mod argument_parser;
#[cfg(test)]
mod tests;
mod update;

pub use update::Update;

/// A complete message, with the tool calls in it that cannot be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The assistant's message.
    pub message: AssistantMessage,
    /// Calls with arguments that are not a complete JSON object.
    pub unusable: Vec<UnusableCall>,
    /// The failure of the request; `None` if the request succeeded.
    pub error: Option<ProviderError>,
}

/// A call that must not be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableCall {
    /// Id of the call.
    pub id: String,
    /// The reason as a text for the model.
    pub reason: String,
}

/// The reason for an unusable call if the answer reached the output limit.
const OUTPUT_LIMIT_REASON: &str = "The call was not executed: its arguments were cut off because the answer reached the output \
                   limit. Ask again with shorter arguments, or in several calls.";

/// Builds a message from the events of a provider. An event that does not fit, such as a delta without an open block,
/// is ignored and logged.
#[derive(Debug)]
pub struct Assembler {
    message: AssistantMessage,
    prices: ModelCost,
    /// The JSON text so far of the arguments of the open call.
    arguments: String,
    /// Parser of the text in `arguments`.
    arguments_parser: PartialJsonParser,
    open: Option<BlockKind>,
    /// Calls whose arguments are not a JSON object.
    unusable: Vec<UnusableCall>,
    /// `true` if the message includes the provider's details, see [`Assembler::with_details`].
    details: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    ToolCall,
}

impl Assembler {
    /// Creates an empty message of a model; `timestamp` is its start.
    pub fn new(model: &Model, timestamp: i64) -> Self {
        let usage = price::usage(TokenCounts::default(), &model.cost);
        Self {
            message: AssistantMessageBuilder {
                content: Vec::new(),
                api: model.api.clone(),
                provider: model.provider.clone(),
                model: model.id.clone(),
                usage,
                stop_reason: StopReason::Stop,
                timestamp,
            }
            .build(),
            prices: model.cost.clone(),
            arguments: String::new(),
            arguments_parser: PartialJsonParser::default(),
            open: None,
            unusable: Vec::new(),
            details: false,
        }
    }

    /// Includes details from the provider in the message if `kept` is true. They are the id, the stop reason,
    /// the reasoning tokens, the tokens cached for an hour, and the source of the cost. The details also
    /// include the text of arguments that are not JSON. Such a call is then not executed with a part of its
    /// arguments. By default, the message has no details.
    pub fn with_details(mut self, kept: bool) -> Self {
        self.details = kept;
        self
    }

    /// Returns the message so far.
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// Applies an event and returns the change of the message, if any. `Done` and `Error` have no effect here; they are
    /// for [`Assembler::done`] and [`Assembler::failed`].
    pub fn apply(&mut self, event: StreamEvent) -> Option<Update> {
        match event {
            StreamEvent::Start | StreamEvent::Done(_) | StreamEvent::Error(_) => None,
            StreamEvent::Usage(counts) => {
                self.message.usage = price::usage(counts, &self.prices);
                if self.details {
                    let usage = &mut self.message.usage;
                    usage.cache_write1h = counts.cache_write_hour;
                    usage.reasoning = counts.reasoning;
                    usage.cost.total_from_provider = Some(false);
                }
                None
            }
            StreamEvent::Id(id) => {
                self.message.response_id = Some(id).filter(|_| self.details);
                None
            }
            StreamEvent::RawStopReason(word) => {
                self.message.raw_stop_reason = Some(word).filter(|_| self.details);
                None
            }
            StreamEvent::Signature(signature) => {
                let (_, block) = self.open_block(self.open?)?;
                match block {
                    AssistantBlock::Text(block) => block.text_signature = Some(signature),
                    AssistantBlock::Thinking(block) => block.thinking_signature = Some(signature),
                    AssistantBlock::ToolCall(call) => call.thought_signature = Some(signature),
                    _ => {}
                }
                None
            }
            StreamEvent::ThinkingSignature(signature) => {
                let thinking = self.message.content.iter_mut().find_map(|block| match block {
                    AssistantBlock::Thinking(block) => Some(block),
                    _ => None,
                });
                thinking?.thinking_signature = Some(signature);
                None
            }
            StreamEvent::Redacted => {
                if let (_, AssistantBlock::Thinking(block)) = self.open_block(BlockKind::Thinking)? {
                    block.redacted = Some(true);
                }
                None
            }
            StreamEvent::TextStart => {
                let index = self.add(BlockKind::Text, TextContent::new("").into());
                Some(Update::TextStart { index })
            }
            StreamEvent::ThinkingStart => {
                let index = self.add(BlockKind::Thinking, ThinkingContent::new("").into());
                Some(Update::ThinkingStart { index })
            }
            StreamEvent::ToolCallStart { id, name } => {
                let id = self.unique_id(id);
                let index = self.add(BlockKind::ToolCall, ToolCall::new(id, name, Map::new()).into());
                Some(Update::ToolCallStart { index })
            }
            StreamEvent::TextDelta(delta) => match self.open_block(BlockKind::Text)? {
                (index, AssistantBlock::Text(block)) => {
                    block.text.push_str(&delta);
                    Some(Update::TextDelta { index, delta })
                }
                _ => None,
            },
            StreamEvent::ThinkingDelta(delta) => match self.open_block(BlockKind::Thinking)? {
                (index, AssistantBlock::Thinking(block)) => {
                    block.thinking.push_str(&delta);
                    Some(Update::ThinkingDelta { index, delta })
                }
                _ => None,
            },
            StreamEvent::ToolCallDelta(delta) => {
                self.open_block(BlockKind::ToolCall)?;
                self.arguments.push_str(&delta);
                let index = self.message.content.len() - 1;
                match self.message.content.last_mut()? {
                    AssistantBlock::ToolCall(call) => {
                        let json_delta = self.arguments_parser.push(&delta, &mut call.arguments);
                        Some(Update::ToolCallDelta { index, delta, json_delta })
                    }
                    _ => None,
                }
            }
            StreamEvent::TextEnd => {
                let (index, _) = self.open_block(BlockKind::Text)?;
                self.open = None;
                Some(Update::TextEnd { index })
            }
            StreamEvent::ThinkingEnd { signature } => {
                let (index, block) = self.open_block(BlockKind::Thinking)?;
                if let (AssistantBlock::Thinking(block), Some(signature)) = (block, signature) {
                    block.thinking_signature = Some(signature);
                }
                self.open = None;
                Some(Update::ThinkingEnd { index })
            }
            StreamEvent::ToolCallEnd => {
                let (index, _) = self.open_block(BlockKind::ToolCall)?;
                self.close_call();
                Some(Update::ToolCallEnd { index })
            }
        }
    }

    /// Returns the event that closes the open block; `None` if no block is open.
    pub fn closing_event(&self) -> Option<StreamEvent> {
        Some(match self.open? {
            BlockKind::Text => StreamEvent::TextEnd,
            BlockKind::Thinking => StreamEvent::ThinkingEnd { signature: None },
            BlockKind::ToolCall => StreamEvent::ToolCallEnd,
        })
    }

    /// Ends the message of a successful request and returns the complete answer.
    pub fn done(mut self, reason: FinishReason) -> Answer {
        self.close_call();
        self.message.stop_reason = match reason {
            FinishReason::Stop => StopReason::Stop,
            FinishReason::Length => StopReason::Length,
            FinishReason::ToolUse => StopReason::ToolUse,
        };
        let mut unusable = self.unusable;
        if reason == FinishReason::Length {
            unusable.iter_mut().for_each(|call| call.reason = OUTPUT_LIMIT_REASON.to_owned());
        } else if self.details {
            // The message itself has the reason, for the model and for clients.
            unusable.clear();
        }
        Answer { message: self.message, unusable, error: None }
    }

    /// Ends the message of a failed request and returns the answer with the content so far.
    pub fn failed(mut self, failure: ProviderError) -> Answer {
        self.message.stop_reason = StopReason::Error;
        self.message.error_message = Some(failure.text.clone());
        Answer { message: self.message, unusable: Vec::new(), error: Some(failure) }
    }

    /// Ends the message of an aborted request and returns the answer with the content so far.
    pub fn aborted(mut self, reason: impl Into<String>) -> Answer {
        self.message.stop_reason = StopReason::Aborted;
        self.message.error_message = Some(reason.into());
        Answer { message: self.message, unusable: Vec::new(), error: None }
    }

    fn add(&mut self, open: BlockKind, block: AssistantBlock) -> usize {
        self.close_call();
        self.open = Some(open);
        self.arguments.clear();
        self.arguments_parser = PartialJsonParser::default();
        self.message.content.push(block);
        self.message.content.len() - 1
    }

    /// Returns `id`, or a new id derived from it if it is empty or already used by a call of this message. Results
    /// refer to calls by id, and providers reject a conversation with ambiguous ids.
    fn unique_id(&self, id: String) -> String {
        let ids = || {
            self.message.content.iter().filter_map(|block| match block {
                AssistantBlock::ToolCall(call) => Some(call.id.as_str()),
                _ => None,
            })
        };
        if !id.is_empty() && ids().all(|taken| taken != id) {
            return id;
        }
        let stem = if id.is_empty() { "call" } else { &id };
        let numbered = (ids().count() + 1..).map(|number| format!("{stem}_{number}"));
        numbered.into_iter().find(|id| ids().all(|taken| taken != id)).unwrap_or_default()
    }

    fn open_block(&mut self, expected: BlockKind) -> Option<(usize, &mut AssistantBlock)> {
        if self.open != Some(expected) {
            tracing::warn!(?expected, open = ?self.open, "the provider sent a part of a block that is not open");
            return None;
        }
        let index = self.message.content.len().checked_sub(1)?;
        Some((index, &mut self.message.content[index]))
    }

    fn close_call(&mut self) {
        if self.open.take() != Some(BlockKind::ToolCall) {
            return;
        }
        let Some(AssistantBlock::ToolCall(call)) = self.message.content.last_mut() else { return };
        match argument_parser::read(&self.arguments) {
            Ok(arguments) => call.arguments = arguments,
            Err(error) => {
                let received = excerpt(&self.arguments);
                let reason = format!("The call was not executed: {error}. Received: {received}");
                self.unusable.push(UnusableCall { id: call.id.clone(), reason });
                if self.details {
                    call.arguments = Map::new();
                    let text = &self.arguments;
                    call.arguments_error = Some(format!("{}\n\nReceived arguments:\n{text}", error.detail()));
                }
            }
        }
    }
}
