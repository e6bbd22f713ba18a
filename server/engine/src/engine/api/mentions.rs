//! Files that a prompt mentions with `@`. The model receives them with the prompt.

use std::path::Path;

use agentese::types::{ImageContent, MentionedFile};
use serde_json::json;

use super::line_hashes;
use super::policy::FileMentions;
use crate::engine::{Engine, UserInput};
use crate::tools::{LsTool, ReadTool, Tool, ToolContent, ToolContext, lines_of_file, resolve_existing_path};

/// Maximum length of a file, in bytes; larger files are not read.
const MAX_FILE_BYTES: u64 = 5 << 20;

/// Maximum number of files per prompt.
const MAX_FILES: usize = 32;

impl Engine {
    /// Reads the files that a prompt mentions, if the profile enables it. A path that does not exist is
    /// treated as text. A text that the user did not write is not searched.
    pub async fn read_mentions(&self, mut input: UserInput) -> UserInput {
        let options = &self.shared.options;
        let mentions = options.profile.input.file_mentions;
        if mentions != FileMentions::Ignored && !input.verbatim && input.text.contains('@') {
            let context = self.shared.context();
            // Marks are useful only with the tool that edits by them.
            let marked = mentions == FileMentions::ReadWithLineHashes && options.tools.get("edit").is_some();
            for path in mentioned_paths(&input.text).into_iter().take(MAX_FILES) {
                input.mentioned_files.extend(read_file(context, path, marked).await);
            }
        }
        input
    }
}

/// Returns the paths that follow an `@` at the start of a word. Each path is returned once, without surrounding
/// punctuation.
fn mentioned_paths(text: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    for (at, _) in text.match_indices('@') {
        let begins = text[..at].chars().next_back().is_none_or(|before| {
            before.is_whitespace() || ['(', '[', '{', '<', '"', '\'', '`'].contains(&before)
        });
        let rest = &text[at + 1..];
        let end =
            rest.find(|character: char| character.is_whitespace() || character == '@').unwrap_or(rest.len());
        let path = rest[..end].trim_start_matches(['`', '"', '\'', '(', '[', '{', '<']);
        let path = path.trim_end_matches([')', ']', '}', '>', '.', ',', ';', ':', '!', '?', '"', '\'', '`']);
        if begins && !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

async fn read_file(context: &ToolContext, path: &str, hash_lines: bool) -> Option<MentionedFile> {
    let full = resolve_existing_path(&context.cwd, path);
    let metadata = tokio::fs::metadata(&full).await.ok()?;
    if metadata.is_file() && metadata.len() > MAX_FILE_BYTES {
        let mut file = MentionedFile::new(path, format!("(not read: it has {} bytes)", metadata.len()));
        file.byte_size = Some(metadata.len());
        file.skipped_reason = Some("tooLarge".to_owned());
        return Some(file);
    }
    let tool: &dyn Tool = if metadata.is_dir() { &LsTool } else { &ReadTool };
    let output = tool.execute(context, json!({"path": full.to_string_lossy()})).await;
    if output.is_error {
        return None;
    }
    let of_file = lines_of_file(&output);
    let mut file = MentionedFile::new(path, output.all_text());
    file.image = output.content.into_iter().find_map(|content| match content {
        ToolContent::Image { data, mime_type } => Some(ImageContent::new(data, mime_type)),
        ToolContent::Text(_) => None,
    });
    if file.image.is_none() {
        file.line_count = if metadata.is_dir() {
            Some(count_lines(file.content.as_bytes()))
        } else {
            count_file_lines(&full).await
        };
        if hash_lines && metadata.is_file() {
            file.content = line_hashes::with_line_hashes(&file.content, of_file);
        }
    }
    Some(file)
}

async fn count_file_lines(path: &Path) -> Option<u64> {
    tokio::fs::read(path).await.ok().map(|bytes| count_lines(&bytes))
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_start_at_word_boundaries() {
        assert_eq!(
            mentioned_paths("see @a.txt, (@src/b.rs) and `@c d`. @a.txt again"),
            ["a.txt", "src/b.rs", "c"]
        );
        assert_eq!(mentioned_paths("mail me@home.org, @ nothing, @"), [""; 0]);
        assert_eq!(mentioned_paths("@~/x @\"y\" @@z"), ["~/x", "y"]);
    }
}
