//! Results of a server's tool, for the model and the client.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::tools::truncate::{Limits, MAX_BYTES, format_size, truncate_head};
use crate::tools::{OutputFile, ToolContent, ToolContext, ToolOutput, prepare_image};

/// Maximum number of images in one result.
const MOST_IMAGES: usize = 20;
/// Maximum size of the structured content for clients, in bytes of JSON.
const LARGEST_STRUCTURE: usize = 64 << 10;

/// Returns the output of a call. Texts are truncated like the texts of other tools, and their full text is stored in a
/// file. Images are reduced to the size that models accept.
pub(super) async fn output(
    result: CallToolResult,
    context: &ToolContext,
    server: &str,
    tool: &str,
) -> ToolOutput {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let mut details = json!({"server": server, "tool": tool});
    let mut blocks: Vec<Block> = content.into_iter().map(Block::of).collect();
    if let Some(structure) = structured_content {
        let text = structure.to_string();
        // Servers should repeat the structure as text; without text the model receives the structure.
        if !blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.is_empty())) {
            blocks.push(Block::Text(serde_json::to_string_pretty(&structure).unwrap_or_default()));
        }
        match text.len() <= LARGEST_STRUCTURE {
            true => details["structuredContent"] = structure,
            false => details["structuredContentOmitted"] = json!(format_size(text.len() as u64)),
        }
    }
    let (resize, block) = (context.auto_resize_images, context.block_images);
    let (directory, limit) = (context.temp_dir.clone(), context.output_file_limit);
    let shown = tokio::task::spawn_blocking(move || {
        let (content, truncation) = truncate_texts(blocks, |text| store_full_output(text, &directory, limit));
        (prepare_images(content, resize, block), truncation)
    });
    let (content, truncation) =
        shown.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    if let Some(truncation) = truncation {
        details["truncation"] = truncation;
    }
    ToolOutput {
        content,
        details: Some(details),
        is_error: is_error == Some(true),
        took: None,
        structured: None,
    }
}

/// Returns the content of a message in a prompt: a text or an image.
pub(super) fn prompt_content(block: ContentBlock) -> ToolContent {
    match Block::of(block) {
        Block::Text(text) => ToolContent::Text(text),
        Block::Image { data, mime_type } => ToolContent::Image { data, mime_type },
    }
}

enum Block {
    Text(String),
    Image { data: String, mime_type: String },
}

impl Block {
    fn of(block: ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Self::Text(text.text),
            ContentBlock::Image(image) => Self::Image { data: image.data, mime_type: image.mime_type },
            ContentBlock::Audio(audio) => {
                Self::Text(format!("[Audio ({}) is left out: models do not receive audio.]", audio.mime_type))
            }
            ContentBlock::Resource(resource) => match resource.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    Self::Text(format!("[{uri}]\n{text}"))
                }
                ResourceContents::BlobResourceContents { blob, mime_type: Some(mime_type), .. }
                    if mime_type.starts_with("image/") =>
                {
                    Self::Image { data: blob, mime_type }
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => Self::Text(format!(
                    "[{uri} ({}, {}) is left out: it is neither text nor an image.]",
                    mime_type.as_deref().unwrap_or("unknown type"),
                    format_size(blob.len() as u64 / 4 * 3)
                )),
                _ => Self::Text("[A resource of an unknown kind is left out.]".to_owned()),
            },
            ContentBlock::ResourceLink(link) => {
                let description = link.description.map(|text| format!(": {text}")).unwrap_or_default();
                Self::Text(format!("[Resource {} ({}){description}]", link.uri, link.name))
            }
            _ => Self::Text("[Content of an unknown kind is left out.]".to_owned()),
        }
    }
}

/// Truncates texts to the limits of all tools. `keep` stores a full text and returns the location of its file, or
/// `None`.
fn truncate_texts(blocks: Vec<Block>, keep: impl Fn(&str) -> Option<String>) -> (Vec<Block>, Option<Value>) {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Image { .. } => None,
        })
        .collect();
    let all = texts.join("\n");
    let truncation = truncate_head(&all, Limits::default());
    if !truncation.truncated() {
        return (blocks, None);
    }
    let mut shown = truncation.content.clone();
    if truncation.first_line_exceeds_limit {
        let end = (0..=MAX_BYTES).rev().find(|end| all.is_char_boundary(*end)).unwrap_or(0);
        all[..end].clone_into(&mut shown);
    }
    let place = match keep(&all) {
        Some(path) => format!("Full output: {path}"),
        None => "The full output could not be saved".to_owned(),
    };
    let (first, of) = (format_size(shown.len() as u64), format_size(all.len() as u64));
    shown.push_str(&format!("\n\n[Showing the first {first} of {of}. {place}]"));
    let mut details = truncation.to_json();
    // The text is already in the content.
    details.as_object_mut().map(|details| details.shift_remove("content"));
    let images = blocks.into_iter().filter(|block| matches!(block, Block::Image { .. }));
    (std::iter::once(Block::Text(shown)).chain(images).collect(), Some(details))
}

fn store_full_output(text: &str, directory: &std::path::Path, limit: u64) -> Option<String> {
    let mut file = OutputFile::create_named("agentese-mcp", directory, limit).ok()?;
    file.write(text.as_bytes());
    let note = file.note().map(|note| format!(" ({note})")).unwrap_or_default();
    Some(format!("{}{note}", file.path().display()))
}

/// Reduces images to the size that models accept. An image is replaced by a note if the settings block images, if it
/// cannot be reduced, or if there are too many.
fn prepare_images(blocks: Vec<Block>, resize: bool, block_images: bool) -> Vec<ToolContent> {
    let mut images = 0;
    let left_out = |reason: &str| vec![ToolContent::Text(format!("[An image is left out: {reason}.]"))];
    let content = blocks.into_iter().flat_map(|block| match block {
        Block::Text(text) => vec![ToolContent::Text(text)],
        Block::Image { .. } if block_images => left_out("the settings block images"),
        Block::Image { .. } if images >= MOST_IMAGES => left_out("there are too many"),
        Block::Image { data, mime_type } => match prepare_image(&data, &mime_type, resize) {
            Ok(image) => {
                images += 1;
                let note = image.resized.as_ref().map(|resized| ToolContent::Text(resized.note()));
                let mime_type = image.mime_type.to_owned();
                note.into_iter().chain([ToolContent::Image { data: image.data, mime_type }]).collect()
            }
            Err(error) => left_out(&error.to_string()),
        },
    });
    content.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(blocks: &[&str]) -> Vec<Block> {
        blocks.iter().map(|text| Block::Text((*text).to_owned())).collect()
    }

    fn shown(blocks: Vec<Block>) -> (Vec<String>, Option<Value>) {
        let (blocks, truncation) = truncate_texts(blocks, |_| Some("/tmp/x.log".to_owned()));
        let text = |block: Block| match block {
            Block::Text(text) => text,
            Block::Image { .. } => "image".to_owned(),
        };
        (blocks.into_iter().map(text).collect(), truncation)
    }

    #[test]
    fn fm_f91_truncated_texts_name_the_file_with_the_full_text() {
        assert_eq!(shown(texts(&["a", "b"])), (vec!["a".to_owned(), "b".to_owned()], None));
        let lines = "line\n".repeat(5_000);
        let mut blocks = texts(&[&lines, "end"]);
        blocks.push(Block::Image { data: String::new(), mime_type: String::new() });
        let (blocks, truncation) = shown(blocks);
        assert_eq!((blocks.len(), blocks[1].as_str()), (2, "image"));
        assert!(
            blocks[0].ends_with("of 24.4KB. Full output: /tmp/x.log]"),
            "{}",
            &blocks[0][blocks[0].len() - 90..]
        );
        assert_eq!(truncation.unwrap()["totalLines"], 5_002);
        let (blocks, _) = shown(texts(&[&"é".repeat(1 << 20)]));
        assert!(
            blocks[0].len() < MAX_BYTES + 200 && blocks[0].contains("[Showing the first 50.0KB of 2.0MB.")
        );
    }

    #[tokio::test]
    async fn structured_content_without_text_is_shown_and_errors_are_errors() {
        let context = ToolContext::new("/", std::sync::Arc::new(crate::tools::LocalSpawner::new(None)));
        let result: CallToolResult =
            serde_json::from_value(json!({"content": [], "structuredContent": {"a": 1}, "isError": true}))
                .unwrap();
        let shown = output(result, &context, "s", "t").await;
        assert!(shown.is_error && shown.all_text() == "{\n  \"a\": 1\n}", "{shown:?}");
        assert_eq!(shown.details, Some(json!({"server": "s", "tool": "t", "structuredContent": {"a": 1}})));
        let bad = json!({"content": [{"type": "image", "data": "!", "mimeType": "image/png"}, {"type": "audio", "data": "", "mimeType": "audio/wav"}]});
        let shown = output(serde_json::from_value(bad).unwrap(), &context, "s", "t").await;
        assert!(!shown.is_error && shown.all_text().contains("An image is left out"), "{shown:?}");
        assert!(shown.all_text().contains("Audio (audio/wav) is left out"));
    }
}
