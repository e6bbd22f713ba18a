//! The text within the content of a message.

use agentese::types::{InputBlock, InputContent};

/// Returns the text of a user's input.
pub(super) fn text(content: &InputContent) -> String {
    match content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                InputBlock::Text(block) => Some(block.text.as_str()),
                _ => None,
            });
            texts.collect()
        }
    }
}
