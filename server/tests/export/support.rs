//! Sample sessions for the export.

use std::fs;
use std::path::{Path, PathBuf};

use agentese_server::export::{Entries, ExportInput, SessionContent, from_file, html};
use serde_json::Value;

/// The content of a session file.
#[derive(Debug, PartialEq)]
pub struct Sample {
    pub header: Value,
    pub entries: Vec<Value>,
}

impl From<SessionContent> for Sample {
    fn from(file: SessionContent) -> Self {
        let entries = (0..file.entries.count()).map(|at| file.entries.entry(at).into_owned());
        Self { entries: entries.collect(), header: file.header }
    }
}

/// Returns a session with entries of every type, several branches, an image and failures.
pub fn sample() -> Sample {
    from_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/sample.jsonl")).unwrap().into()
}

pub fn system_prompt() -> &'static str {
    "# Role\n\nYou help with `courier`.\n\n- Read before you write.\n- Say what you did."
}

pub fn tools() -> Vec<(String, String)> {
    ["read", "bash", "edit", "write"].map(|name| (name.to_owned(), format!("What {name} does."))).into()
}

pub fn page(header: &Value, entries: &[Value]) -> String {
    html(&ExportInput::new(header, &entries))
}

/// Returns the folder for the pages of the browser test and its screenshots.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the text of a page without markup. The five entities are resolved.
pub fn text_of(page: &str) -> String {
    let start = page.find("<body>").unwrap();
    let mut text = String::new();
    let mut inside = false;
    for character in page[start..].chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if !inside => text.push(character),
            _ => {}
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
