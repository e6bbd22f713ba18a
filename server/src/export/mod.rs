//! A session as one HTML file that people read: no network, no other files, readable without script.
//!
//! All that a session holds is somebody else's text. It becomes HTML through templates that escape and a Markdown
//! renderer that knows few tags; a content security policy forbids everything but the page's own style and script,
//! named by their hashes. Keys are replaced before any of it is rendered.
//!
//! ```
//! use agentese_server::export::{Transcript, html};
//! use serde_json::json;
//!
//! let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/work"});
//! let entries = [json!({"type": "message", "id": "a1", "parentId": null,
//!                       "message": {"role": "user", "content": "What is <b>?"}})];
//! let page = html(&Transcript::new(&header, &entries));
//! assert!(page.contains("What is &lt;b&gt;?"));
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `file`, `stored` | session files and exports on disk |
//! | `entries` | the entries, had one at a time |
//! | `page`, `sidebar` | the document |
//! | `entry`, `tool`, `content` | what an entry, a tool call, a content block looks like |
//! | `markdown`, `highlight`, `format` | text, code, numbers |
//! | `outline`, `tree`, `results`, `totals`, `fields` | what is in the file: order, pairs, sums |
//! | `redact`, `disguise` | what must not be in the export, and how it may be written there |

mod content;
mod disguise;
mod entries;
mod entry;
mod fields;
mod file;
mod format;
mod highlight;
mod markdown;
mod outline;
mod page;
mod redact;
mod results;
mod sidebar;
mod stored;
mod tool;
mod totals;
mod tree;

use std::io::{self, Write};

use serde_json::Value;

pub use entries::Entries;
pub use file::{ExportError, SessionFile, default_name, from_file, write};
pub use stored::StoredEntries;

/// Stands in the second line of every export. Files with it may be replaced by a newer export.
const MARKER: &str = "<!-- agentese session export -->";

/// What is exported.
#[derive(Clone, Copy)]
pub struct Transcript<'a> {
    /// The first line of the session file.
    pub header: &'a Value,
    /// The other lines, in the file's order. Entries of any type, and with any members missing, are shown.
    pub entries: &'a dyn Entries,
    /// The id of the entry where the conversation stands; the last one if none is given or it is not there.
    pub leaf: Option<&'a str>,
    /// What the model is told before the conversation.
    pub system_prompt: Option<&'a str>,
    /// Names and descriptions of the tools that the model has.
    pub tools: &'a [(String, String)],
    /// Texts that must not be in the export, such as keys: as they are, URL-encoded, escaped for JSON, in base64; those
    /// that follow the name of a scheme (`Bearer …`) alone too. Shorter ones than 8 bytes are words and are left. What
    /// looks like a well-known key is replaced anyway.
    pub secrets: &'a [String],
}

impl<'a> Transcript<'a> {
    /// Header and entries, and nothing else.
    pub fn new(header: &'a Value, entries: &'a dyn Entries) -> Self {
        Self { header, entries, leaf: None, system_prompt: None, tools: &[], secrets: &[] }
    }
}

/// The page. Never fails: what it does not know it shows as JSON. The same transcript gives the same page, but for
/// the colours of code, which are given up where they take too long.
///
/// Takes time and memory in proportion to the transcript (about a second for ten thousand entries), so call it where
/// blocking is fine.
pub fn html(transcript: &Transcript) -> String {
    let mut page = Vec::new();
    // Memory takes everything, and a page consists of texts.
    write_html(transcript, &mut page).expect("memory takes everything");
    String::from_utf8(page).expect("a page is text")
}

/// Writes the page entry by entry, in small pieces: of the transcript no more is in memory than an outline (a title and some
/// numbers for each entry) and the entry that is written. Fails where `out` does.
pub fn write_html(transcript: &Transcript, out: &mut dyn Write) -> io::Result<()> {
    let secrets = &redact::Secrets::of(transcript.secrets);
    let text = |text: &str| redact::redacted_text(text, secrets).into_owned();
    let header = redact::redacted(transcript.header, secrets);
    let leaf = transcript.leaf.map(text);
    let system_prompt = transcript.system_prompt.map(text);
    let tools: Vec<_> =
        transcript.tools.iter().map(|(name, description)| (text(name), text(description))).collect();
    let page = page::Page {
        header: &header,
        entries: &entries::Clean { entries: transcript.entries, secrets },
        leaf: leaf.as_deref(),
        system_prompt: system_prompt.as_deref(),
        tools: &tools,
    };
    page::write_page(&page, out)
}
