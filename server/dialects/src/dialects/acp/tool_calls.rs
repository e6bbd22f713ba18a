//! The presentation of a tool call: its kind, title, files and content.

use std::path::Path;

use agentese::acp::{
    AcpCallContent, AcpContentBlock, AcpDiff, AcpImage, AcpLocation, AcpText, AcpToolContent, AcpToolKind,
};
use agentese::types::{InputBlock, ToolCall};
use serde_json::{Map, Value};

use crate::tools::{ToolContent, ToolKind, resolve_existing_path, resolve_path, tool_kind};

/// The maximum length of a title, in characters.
const LONGEST_TITLE: usize = 120;

/// Returns the kind of the tool with the given name.
pub(super) fn kind(tool: &str) -> AcpToolKind {
    match tool_kind(tool) {
        Some(ToolKind::Read) => AcpToolKind::Read,
        Some(ToolKind::Edit) => AcpToolKind::Edit,
        Some(ToolKind::Search) => AcpToolKind::Search,
        Some(ToolKind::Execute) => AcpToolKind::Execute,
        Some(ToolKind::Fetch) => AcpToolKind::Fetch,
        Some(ToolKind::Plan) => AcpToolKind::Think,
        None => AcpToolKind::OtherValue,
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// Returns the title of a call, on one line.
pub(super) fn title(call: &ToolCall) -> String {
    let of = |name: &str| text(&call.arguments, name);
    let name = call.name.as_str();
    let line = match (tool_kind(name), of("command"), of("path"), of("pattern")) {
        (Some(ToolKind::Execute), Some(command), ..) => format!("`{command}`"),
        (Some(ToolKind::Search), _, path, Some(pattern)) => {
            format!("{name} {pattern}{}", path.map(|path| format!(" in {path}")).unwrap_or_default())
        }
        (_, _, Some(path), _) => format!("{name} {path}"),
        _ => name.to_owned(),
    };
    let line = line.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns the files of a call.
pub(super) fn locations(cwd: &Path, call: &ToolCall) -> Vec<AcpLocation> {
    let Some(path) = text(&call.arguments, "path").filter(|_| kind(&call.name) != AcpToolKind::OtherValue)
    else {
        return Vec::new();
    };
    let mut location = AcpLocation::new(resolved_file(cwd, call, path));
    location.line = call.arguments.get("offset").and_then(Value::as_u64).into();
    vec![location]
}

/// Returns the file that a path argument of a call means, resolved in the same way as by the tool.
fn resolved_file(cwd: &Path, call: &ToolCall, path: &str) -> String {
    // A file that the call writes in full may not exist yet.
    let is_written = text(&call.arguments, "content").is_some();
    let resolve = if is_written { resolve_path } else { resolve_existing_path };
    resolve(cwd, path).to_string_lossy().into_owned()
}

/// Returns the changes that a call makes to files, as its arguments describe them. `before` is the previous content
/// of the file, if known.
pub(super) fn diffs(cwd: &Path, call: &ToolCall, before: Option<String>) -> Vec<AcpToolContent> {
    let of = |name: &str| text(&call.arguments, name);
    let Some(path) = of("path").map(|path| resolved_file(cwd, call, path)) else { return Vec::new() };
    let change = |old: Option<String>, new: &str| {
        let mut diff = AcpDiff::new(path.as_str(), new);
        diff.old_text = old.into();
        diff.into()
    };
    if kind(&call.name) != AcpToolKind::Edit {
        return Vec::new();
    }
    match (replacement(&call.arguments), of("content")) {
        (Some((old, new)), _) => vec![change(Some(old), new)],
        (None, Some(content)) => vec![change(before, content)],
        // Several edits in one file.
        (None, None) => {
            let edits = call.arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
            let pairs = edits.filter_map(Value::as_object).filter_map(replacement);
            pairs.map(|(old, new)| change(Some(old), new)).collect()
        }
    }
}

/// Returns the old and the new text of an edit.
fn replacement(edit: &Map<String, Value>) -> Option<(String, &str)> {
    let of = |names: [&str; 2]| names.into_iter().find_map(|name| text(edit, name));
    Some((of(["oldText", "old_text"])?.to_owned(), of(["newText", "new_text"])?))
}

/// Wraps a text as content of a call.
pub(super) fn text_content(text: impl Into<String>) -> AcpToolContent {
    AcpCallContent::new(AcpText::new(text)).into()
}

/// Converts the content of a tool result.
pub(super) fn content(blocks: &[ToolContent]) -> Vec<AcpToolContent> {
    let block = |block: &ToolContent| match block {
        ToolContent::Text(text) => text_content(text.as_str()),
        ToolContent::Image { data, mime_type } => {
            AcpCallContent::new(AcpImage::new(data.as_str(), mime_type.as_str())).into()
        }
    };
    blocks.iter().map(block).collect()
}

/// Converts one block of a stored message. Returns `None` if the block is unknown.
pub(super) fn block(block: &InputBlock) -> Option<AcpContentBlock> {
    match block {
        InputBlock::Text(text) => Some(AcpText::new(text.text.as_str()).into()),
        InputBlock::Image(image) => Some(AcpImage::new(image.data.as_str(), image.mime_type.as_str()).into()),
        _ => None,
    }
}
