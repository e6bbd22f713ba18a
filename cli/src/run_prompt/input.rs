//! The prompt, from the command line, stdin and files.

use std::io::{IsTerminal, Read};
use std::path::Path;

use agentese::any::UserInput;
use base64::Engine as _;

use crate::command_line::RunPrompt;
use crate::error::CliError;

/// Limit of the text from stdin in bytes.
const MAX_STDIN_BYTES: u64 = 16 << 20;

/// Extensions of image files with their MIME types.
const IMAGE_TYPES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Returns the prompt: its text, then the text of stdin unless stdin is a terminal, and the images. Fails if there is no
/// text, or if a file cannot be read.
pub(super) fn read(options: &RunPrompt) -> Result<UserInput, CliError> {
    let piped = piped()?;
    let parts = [options.prompt.as_deref().unwrap_or_default(), &piped];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() {
        return Err(CliError::Usage("no prompt given; pass PROMPT, or a text on stdin".to_owned()));
    }
    let mut input = UserInput::from(parts.join("\n\n"));
    for path in &options.image {
        let (mime_type, data) = image(path)?;
        input = input.image(mime_type, data);
    }
    Ok(input)
}

/// Returns the text of stdin; empty if stdin is a terminal.
fn piped() -> Result<String, CliError> {
    let stdin = std::io::stdin();
    let mut text = String::new();
    if stdin.is_terminal() {
        return Ok(text);
    }
    let failed = |source| CliError::Io { context: "stdin".to_owned(), source };
    stdin.lock().take(MAX_STDIN_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 > MAX_STDIN_BYTES {
        true => Err(CliError::Usage(format!("stdin is longer than {MAX_STDIN_BYTES} bytes"))),
        false => Ok(text),
    }
}

/// Returns the MIME type and the bytes of an image file in base64.
fn image(path: &Path) -> Result<(&'static str, String), CliError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let Some((_, mime_type)) = IMAGE_TYPES.iter().find(|(known, _)| *known == extension) else {
        let known = IMAGE_TYPES.map(|(known, _)| known).join(", ");
        return Err(CliError::Usage(format!(
            "--image {}: unknown type of image; known: {known}",
            path.display()
        )));
    };
    let bytes = std::fs::read(path)
        .map_err(|source| CliError::Io { context: format!("--image {}", path.display()), source })?;
    Ok((mime_type, base64::engine::general_purpose::STANDARD.encode(bytes)))
}
