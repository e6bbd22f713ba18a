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

/// What kind of tool has that name, here and in the agents that may stand behind this one.
pub(super) fn kind(tool: &str) -> AcpToolKind {
    match tool {
        "read" | "ls" | "read_file" => AcpToolKind::Read,
        "edit" | "write" | "edit_file" | "write_file" => AcpToolKind::Edit,
        "grep" | "find" | "glob" | "web_search" => AcpToolKind::Search,
        "bash" | "shell" | "python" | "eval" => AcpToolKind::Execute,
        "fetch" => AcpToolKind::Fetch,
        "todo_write" | "task" | "sub_agent" => AcpToolKind::Think,
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
        ("bash" | "shell", Some(command), ..) => format!("`{command}`"),
        ("grep" | "find" | "glob", _, path, Some(pattern)) => {
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
    let resolve = if ["write", "write_file"].contains(&call.name.as_str()) {
        resolve_path
    } else {
        resolve_existing_path
    };
    resolve(cwd, path).to_string_lossy().into_owned()
}

/// The changes that a call makes, from its arguments. `before` is what the file held, where that is known.
pub(super) fn diffs(cwd: &Path, call: &ToolCall, before: Option<String>) -> Vec<AcpToolContent> {
    let of = |name: &str| text(&call.arguments, name);
    let Some(path) = of("path").map(|path| file(cwd, call, path)) else { return Vec::new() };
    let change = |old: Option<String>, new: &str| {
        let mut diff = AcpDiff::new(path.as_str(), new);
        diff.old_text = old.into();
        diff.into()
    };
    if kind(&call.name) != AcpToolKind::Edit {
        return Vec::new();
    }
    match (replaced(&call.arguments), of("content")) {
        (Some((old, new)), _) => vec![change(Some(old), new)],
        (None, Some(content)) => vec![change(before, content)],
        // Several places of one file.
        (None, None) => {
            let edits = call.arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
            let pairs = edits.filter_map(Value::as_object).filter_map(replaced);
            pairs.map(|(old, new)| change(Some(old), new)).collect()
        }
    }
}

/// A text, and the one that takes its place.
fn replaced(edit: &Map<String, Value>) -> Option<(String, &str)> {
    let of = |names: [&str; 2]| names.into_iter().find_map(|name| text(edit, name));
    Some((of(["oldText", "old_text"])?.to_owned(), of(["newText", "new_text"])?))
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
