//! How a tool call looks: its kind, its title, the files that it is about, and what it shows.

use std::path::Path;

use agentese::acp::{
    AcpCallContent, AcpContentBlock, AcpDiff, AcpImage, AcpLocation, AcpText, AcpToolContent, AcpToolKind,
};
use agentese::types::{InputBlock, ToolCall};
use serde_json::{Map, Value};

use crate::tools::{ToolContent, resolve_existing_path, resolve_path};

/// The longest title, in characters.
const LONGEST_TITLE: usize = 120;

/// What kind of tool has that name.
pub(super) fn kind(tool: &str) -> AcpToolKind {
    match tool {
        "read" | "ls" => AcpToolKind::Read,
        "edit" | "write" => AcpToolKind::Edit,
        "grep" | "find" => AcpToolKind::Search,
        "bash" => AcpToolKind::Execute,
        "todo_write" | "task" => AcpToolKind::Think,
        _ => AcpToolKind::OtherValue,
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// What a call does, on one line.
pub(super) fn title(call: &ToolCall) -> String {
    let of = |name: &str| text(&call.arguments, name);
    let line = match (call.name.as_str(), of("command"), of("path"), of("pattern")) {
        ("bash", Some(command), ..) => format!("`{command}`"),
        ("grep" | "find", _, path, Some(pattern)) => {
            format!("{} {pattern}{}", call.name, path.map(|path| format!(" in {path}")).unwrap_or_default())
        }
        (name, _, Some(path), _) => format!("{name} {path}"),
        (name, ..) => name.to_owned(),
    };
    let line = line.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The files that a call is about.
pub(super) fn locations(cwd: &Path, call: &ToolCall) -> Vec<AcpLocation> {
    let Some(path) = text(&call.arguments, "path").filter(|_| kind(&call.name) != AcpToolKind::OtherValue)
    else {
        return Vec::new();
    };
    let mut location = AcpLocation::new(file(cwd, call, path));
    location.line = call.arguments.get("offset").and_then(Value::as_u64).into();
    vec![location]
}

/// The file that the tool means by a path.
fn file(cwd: &Path, call: &ToolCall, path: &str) -> String {
    let resolve = if call.name == "write" { resolve_path } else { resolve_existing_path };
    resolve(cwd, path).to_string_lossy().into_owned()
}

/// The change that a call makes, from its arguments. `before` is what the file held, where that is known.
pub(super) fn diff(cwd: &Path, call: &ToolCall, before: Option<String>) -> Option<AcpToolContent> {
    let of = |name: &str| text(&call.arguments, name);
    let path = file(cwd, call, of("path")?);
    let (old, new) = match call.name.as_str() {
        "edit" => (Some(of("oldText")?.to_owned()), of("newText")?),
        "write" => (before, of("content")?),
        _ => return None,
    };
    let mut diff = AcpDiff::new(path, new);
    diff.old_text = old.into();
    Some(diff.into())
}

/// A text that a call shows.
pub(super) fn shown(text: impl Into<String>) -> AcpToolContent {
    AcpCallContent::new(AcpText::new(text)).into()
}

/// The content of a tool's result.
pub(super) fn content(blocks: &[ToolContent]) -> Vec<AcpToolContent> {
    let block = |block: &ToolContent| match block {
        ToolContent::Text(text) => shown(text.as_str()),
        ToolContent::Image { data, mime_type } => {
            AcpCallContent::new(AcpImage::new(data.as_str(), mime_type.as_str())).into()
        }
    };
    blocks.iter().map(block).collect()
}

/// Content as a session keeps it. Blocks of other programs are left out.
pub(super) fn block(block: &InputBlock) -> Option<AcpContentBlock> {
    match block {
        InputBlock::Text(text) => Some(AcpText::new(text.text.as_str()).into()),
        InputBlock::Image(image) => Some(AcpImage::new(image.data.as_str(), image.mime_type.as_str()).into()),
        _ => None,
    }
}
