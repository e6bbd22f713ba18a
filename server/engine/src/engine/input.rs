//! Input of the user, and the queues for it during a run.

use agentese::types::{
    AgentMessage, ImageContent, InputBlock, InputContent, MentionedFile, TextContent, UserMessage,
};

use super::error::PromptError;
use crate::providers::is_blank;
use crate::roles::mentions;

/// What the user says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The text; may be empty.
    pub text: String,
    /// Images that go with it; [`Engine::prepare`](super::Engine::prepare) sees to it that a model can take them.
    pub images: Vec<ImageContent>,
    /// What is to be said about the images.
    pub(super) notes: Vec<String>,
    /// No skill or template is looked for in the text.
    pub(super) verbatim: bool,
    /// Files that the text mentions; see [`Engine::read_mentions`](super::Engine::read_mentions).
    pub(super) mentioned: Vec<MentionedFile>,
    /// It was said without any text, and agents of the dialect take that.
    empty: bool,
}

impl Input {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }

    /// Text and images.
    pub fn new(text: impl Into<String>, images: Vec<ImageContent>) -> Self {
        Self {
            text: text.into(),
            images,
            notes: Vec::new(),
            verbatim: false,
            mentioned: Vec::new(),
            empty: false,
        }
    }

    /// The same, which is taken although it has no text.
    pub fn empty_if(mut self, empty: bool) -> Self {
        self.empty = empty;
        self
    }

    /// The same, with a text in which no skill or template is looked for.
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Returns whether nothing of it can be seen.
    fn is_blank(&self) -> bool {
        is_blank(&self.text) && self.images.is_empty() && self.notes.is_empty() && self.mentioned.is_empty()
    }

    /// Fails if nothing of it can be seen, unless agents of the dialect take it that way.
    pub(super) fn check(&self) -> Result<(), PromptError> {
        if self.is_blank() && !self.empty { Err(PromptError::Blank) } else { Ok(()) }
    }

    /// The words as they were said, the message that they become, and the files that go with it.
    pub(super) fn split(mut self, now: i64) -> (Said, AgentMessage, Option<AgentMessage>) {
        let files = std::mem::take(&mut self.mentioned);
        let files = (!files.is_empty()).then(|| mentions(files, now));
        (Said { text: self.text.clone(), images: self.images.clone() }, self.message(now).into(), files)
    }

    pub(super) fn message(self, now: i64) -> UserMessage {
        // Always a list, as pi 0.55 writes it, also for an empty text.
        let mut blocks: Vec<InputBlock> = vec![TextContent::new(self.text).into()];
        blocks.extend(self.notes.into_iter().map(|note| InputBlock::from(TextContent::new(note))));
        blocks.extend(self.images.into_iter().map(InputBlock::from));
        UserMessage::new(blocks, now)
    }
}

/// What becomes of a prompt while a run is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamingBehavior {
    /// It interrupts.
    Steer,
    /// It waits until the agent would stop.
    FollowUp,
}

/// Words of the user that begin a run, as they were said.
pub(super) struct Said {
    pub text: String,
    pub images: Vec<ImageContent>,
}

impl Said {
    /// What a message of an extension says.
    pub fn of(message: &AgentMessage) -> Self {
        let mut said = Self { text: String::new(), images: Vec::new() };
        let AgentMessage::Custom(custom) = message else { return said };
        match &custom.content {
            InputContent::Text(text) => said.text.clone_from(text),
            InputContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        InputBlock::Text(text) => said.text.push_str(&text.text),
                        InputBlock::Image(image) => said.images.push(image.clone()),
                        _ => {}
                    }
                }
            }
        }
        said
    }
}
