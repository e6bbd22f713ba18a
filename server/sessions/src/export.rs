//! Export of a session to one HTML file. The page needs no network and no other files, and can be read
//! without script.
//!
//! The texts of a session are untrusted. Templates with escaping, and a Markdown renderer with few tags,
//! convert them to HTML. A content security policy forbids everything except the page's own style and script,
//! named by their hashes. Keys are replaced before a text becomes HTML.
//!
//! ```
//! use agentese_server_sessions::export::{ExportInput, html}; use serde_json::json;
//!
//! let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/work"}); let entries =
//! [json!({"type": "message", "id": "a1", "parentId": null,
//!                       "message": {"role": "user", "content": "What is <b>?"}})];
//! let page = html(&ExportInput::new(&header, &entries)); assert!(page.contains("What is &lt;b&gt;?"));
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `file`, `stored_entries` | session files and exports on disk |
//! | `entries` | access to the entries, one at a time |
//! | `page`, `sidebar` | the document |
//! | `entry`, `kind`, `title`, `tool`, `content` | HTML of an entry, a tool call, a content block |
//! | `markdown`, `highlight`, `format`, `markup` | text, code, numbers |
//! | `outline`, `tree`, `results`, `stats`, `fields` | data from the file: order, pairs, sums |
//! | `redact`, `secret_encodings` | secrets, and their encodings |

mod content;
mod entries;
mod entry;
mod fields;
mod file;
mod format;
mod highlight;
mod kind;
mod markdown;
mod markup;
mod outline;
mod page;
mod redact;
mod results;
mod secret_encodings;
mod sidebar;
mod stats;
mod stored_entries;
mod title;
mod tool;
mod tree;

use std::io::{self, Write};

use serde_json::Value;

pub use entries::Entries;
pub use file::{ExportError, SessionContent, default_name, from_file, write};
pub use stored_entries::StoredEntries;

/// The marker in the second line of each export. A new export overwrites an existing file only if the file
/// has this marker.
const MARKER: &str = "<!-- agentese session export -->";

/// The input of an export.
#[derive(Clone, Copy)]
pub struct ExportInput<'a> {
    /// The first line of the session file.
    pub header: &'a Value,
    /// The other lines, in the order of the file. Entries of unknown types, or with missing members, are
    /// shown too.
    pub entries: &'a dyn Entries,
    /// The id of the current entry of the conversation. If it is missing or unknown, the last entry is used.
    pub leaf: Option<&'a str>,
    /// The system prompt of the model.
    pub system_prompt: Option<&'a str>,
    /// Names and descriptions of the tools of the model.
    pub tools: &'a [(String, String)],
    /// Texts that must not be in the export, such as keys. They are also found URL-encoded, escaped for JSON,
    /// and in base64. Credentials after the name of a scheme (`Bearer …`) are also found alone. Texts shorter
    /// than 8 bytes are ignored, because they could be words. Well-known keys are always replaced.
    pub secrets: &'a [String],
}

impl<'a> ExportInput<'a> {
    /// Creates an input that has only a header and entries.
    pub fn new(header: &'a Value, entries: &'a dyn Entries) -> Self {
        Self { header, entries, leaf: None, system_prompt: None, tools: &[], secrets: &[] }
    }
}

/// Returns the page. Never fails: unknown content is shown as JSON. The same input gives the same page,
/// except for the colours of code. They are left out if they take too long.
///
/// Blocks. Time and memory grow with the session: about one second for ten thousand entries.
pub fn html(input: &ExportInput) -> String {
    let mut page = Vec::new();
    // Writing to memory cannot fail, and a page consists of texts.
    write_html(input, &mut page).expect("memory takes everything");
    String::from_utf8(page).expect("a page is text")
}

/// Writes the page to `out`, entry by entry. Only the current entry and an outline of the session (a title
/// and some numbers for each entry) are in memory. Fails if writing to `out` fails.
pub fn write_html(input: &ExportInput, out: &mut dyn Write) -> io::Result<()> {
    let secrets = &redact::Secrets::of(input.secrets);
    let text = |text: &str| redact::redacted_text(text, secrets).into_owned();
    let header = redact::redacted(input.header, secrets);
    let leaf = input.leaf.map(text);
    let system_prompt = input.system_prompt.map(text);
    let tools: Vec<_> =
        input.tools.iter().map(|(name, description)| (text(name), text(description))).collect();
    let page = page::Page {
        header: &header,
        entries: &entries::RedactedEntries { entries: input.entries, secrets },
        leaf: leaf.as_deref(),
        system_prompt: system_prompt.as_deref(),
        tools: &tools,
    };
    page::write_page(&page, out)
}
