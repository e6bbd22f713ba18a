//! The content of a prompt: blocks of content as text and images.

use agentese::acp::{AcpContentBlock, AcpResourceContents};
use agentese::serve::CommandError;
use agentese::types::ImageContent;

use super::error::invalid_params;
use crate::conversation::PromptRequest;
use crate::engine::InputQueue;

/// Converts a prompt to text and images. A prompt that arrives during a turn is steering. Fails if a block has a
/// type that the agent has not announced.
pub(super) fn prompt_request(prompt: Vec<AcpContentBlock>) -> Result<PromptRequest, CommandError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in prompt {
        match block {
            AcpContentBlock::Text(text) => texts.push(text.text),
            AcpContentBlock::Image(image) => images.push(ImageContent::new(image.data, image.mime_type)),
            AcpContentBlock::ResourceLink(link) => texts.push(format!("[{}]({})", link.name, link.uri)),
            AcpContentBlock::Resource(resource) => push_resource(resource.resource, &mut texts, &mut images),
            AcpContentBlock::Audio(_) => {
                return Err(invalid_params("session/prompt", "audio is not supported"));
            }
            block => {
                let reason = format!("unknown kind of content: {block:?}");
                return Err(invalid_params("session/prompt", reason.get(..200).unwrap_or(&reason)));
            }
        }
    }
    // Adjacent texts are one text, because a person may mention a resource within a sentence.
    let text = join(&texts);
    Ok(PromptRequest { text, images, delivery: Some(InputQueue::Steer) })
}

fn join(texts: &[String]) -> String {
    let mut all = String::new();
    for text in texts {
        if !(all.is_empty() || all.ends_with(char::is_whitespace) || text.starts_with(char::is_whitespace)) {
            all.push(if text.starts_with('<') { '\n' } else { ' ' });
        }
        all.push_str(text);
    }
    all
}

/// Adds an embedded resource. If it is neither text nor an image, only its name is added.
fn push_resource(resource: AcpResourceContents, texts: &mut Vec<String>, images: &mut Vec<ImageContent>) {
    let AcpResourceContents { uri, mime_type, text, blob, .. } = resource;
    match (text.into_option(), blob.into_option(), mime_type.into_option()) {
        (Some(text), ..) => texts.push(format!("<resource uri=\"{uri}\">\n{text}\n</resource>\n")),
        (None, Some(blob), Some(mime_type)) if mime_type.starts_with("image/") => {
            images.push(ImageContent::new(blob, mime_type));
        }
        (None, ..) => texts.push(format!("<resource uri=\"{uri}\">(not a text)</resource>\n")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(prompt: serde_json::Value) -> Result<PromptRequest, CommandError> {
        prompt_request(serde_json::from_value(prompt).unwrap())
    }

    #[test]
    fn prompt_blocks_become_text_and_images() {
        let request = read(json!([
            {"type": "text", "text": "Look at"},
            {"type": "resource_link", "uri": "file:///a.rs", "name": "a.rs"},
            {"type": "resource", "resource": {"uri": "file:///b.md", "text": "B"}},
            {"type": "resource", "resource": {"uri": "x:c", "mimeType": "image/png", "blob": "AAAA"}},
            {"type": "resource", "resource": {"uri": "x:d", "mimeType": "application/zip", "blob": "AAAA"}},
            {"type": "image", "data": "BBBB", "mimeType": "image/jpeg", "uri": null},
        ]))
        .unwrap();
        assert_eq!(
            request.text,
            "Look at [a.rs](file:///a.rs)\n<resource uri=\"file:///b.md\">\nB\n</resource>\n<resource uri=\"x:d\">(not a \
             text)</resource>\n"
        );
        let images: Vec<_> = request.images.iter().map(|image| (&*image.data, &*image.mime_type)).collect();
        assert_eq!(images, [("AAAA", "image/png"), ("BBBB", "image/jpeg")]);
    }

    #[test]
    fn unsupported_blocks_are_rejected() {
        for block in [json!({"type": "audio", "data": "", "mimeType": "audio/wav"}), json!({"type": "smell"})]
        {
            assert_eq!(read(json!([block])).unwrap_err().code, Some(-32602));
        }
    }
}
