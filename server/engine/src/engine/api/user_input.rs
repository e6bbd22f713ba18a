//! Input of the user, and the queues for it during a run.

use agentese::types::{
    AgentMessage, ImageContent, InputBlock, InputContent, MentionedFile, TextContent, UserMessage,
};

use crate::dialect_messages::file_mention_message;
use crate::engine::error::PromptError;
use crate::providers::is_blank;

/// The input of a user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserInput {
    /// Text of the input; may be empty.
    pub text: String,
    /// Images of the input; [`crate::engine::Engine::prepare`] makes them acceptable for a model.
    pub images: Vec<ImageContent>,
    /// Notes about the images for the model.
    pub(in crate::engine) notes: Vec<String>,
    /// `true` if the text is not searched for skills and templates.
    pub(in crate::engine) verbatim: bool,
    /// Files that the text mentions; see [`crate::engine::Engine::read_mentions`].
    pub(in crate::engine) mentioned_files: Vec<MentionedFile>,
    /// `true` if the input has no text and agents of the dialect accept that.
    accepts_empty: bool,
}

impl UserInput {
    /// Creates an input of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }

    /// Creates an input of text and images.
    pub fn new(text: impl Into<String>, images: Vec<ImageContent>) -> Self {
        Self {
            text: text.into(),
            images,
            notes: Vec::new(),
            verbatim: false,
            mentioned_files: Vec::new(),
            accepts_empty: false,
        }
    }

    /// Returns the input. If `accepts_empty` is `true`, it is accepted without text.
    pub fn accept_empty(mut self, accepts_empty: bool) -> Self {
        self.accepts_empty = accepts_empty;
        self
    }

    /// Returns the input, marked so that its text is not searched for skills and templates.
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Returns `true` if the input has no visible content.
    fn is_blank(&self) -> bool {
        is_blank(&self.text)
            && self.images.is_empty()
            && self.notes.is_empty()
            && self.mentioned_files.is_empty()
    }

    /// Fails if the input has no visible content, unless agents of the dialect accept that.
    pub(in crate::engine) fn check(&self) -> Result<(), PromptError> {
        if self.is_blank() && !self.accepts_empty { Err(PromptError::Blank) } else { Ok(()) }
    }

    /// Splits the input into three values: the original input, its message, and a message with the mentioned files.
    /// The last is `None` if no files are mentioned.
    pub(in crate::engine) fn split(
        mut self,
        now: i64,
    ) -> (OriginalInput, AgentMessage, Option<AgentMessage>) {
        let files = std::mem::take(&mut self.mentioned_files);
        let files = (!files.is_empty()).then(|| file_mention_message(files, now));
        (
            OriginalInput { text: self.text.clone(), images: self.images.clone() },
            self.message(now).into(),
            files,
        )
    }

    pub(in crate::engine) fn message(self, now: i64) -> UserMessage {
        // The content is always a list, also for an empty text, as in pi 0.55.
        let mut blocks: Vec<InputBlock> = vec![TextContent::new(self.text).into()];
        blocks.extend(self.notes.into_iter().map(|note| InputBlock::from(TextContent::new(note))));
        blocks.extend(self.images.into_iter().map(InputBlock::from));
        UserMessage::new(blocks, now)
    }
}

/// Queue for a prompt that arrives during a run. The queue determines when the prompt is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputQueue {
    /// The prompt interrupts the run.
    Steer,
    /// The prompt waits until the agent would stop.
    FollowUp,
}

/// Original input of a user that starts a run.
pub(in crate::engine) struct OriginalInput {
    pub text: String,
    pub images: Vec<ImageContent>,
}

impl OriginalInput {
    /// Returns the content of an extension's message.
    pub fn from_message(message: &AgentMessage) -> Self {
        let mut input = Self { text: String::new(), images: Vec::new() };
        let AgentMessage::Custom(custom) = message else { return input };
        match &custom.content {
            InputContent::Text(text) => input.text.clone_from(text),
            InputContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        InputBlock::Text(text) => input.text.push_str(&text.text),
                        InputBlock::Image(image) => input.images.push(image.clone()),
                        _ => {}
                    }
                }
            }
        }
        input
    }
}
