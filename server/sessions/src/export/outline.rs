//! The data about all entries that are needed before the first entry is written.

use serde_json::Value;

use super::entries::RedactedEntries;
use super::fields::{optional_text, plain_content, text};
use super::format::preview;
use super::kind::Kind;
use super::markdown;
use super::results::Results;
use super::stats::ExportStats;
use super::tree::Tree;

/// The data about all entries, collected in one pass.
pub(super) struct Outline {
    pub tree: Tree,
    pub results: Results,
    pub stats: ExportStats,
    /// The name of the session; without a name, the beginning of its first message.
    pub title: String,
    /// The timestamp of the last entry that has one.
    pub last: Option<String>,
}

impl Outline {
    /// Reads each entry once. `leaf` is the id of the current entry of the conversation.
    pub fn of(entries: &RedactedEntries, leaf: Option<&str>) -> Self {
        let mut tree = Tree::with_capacity(entries.count());
        let (mut results, mut stats) = (Results::default(), ExportStats::default());
        let (mut name, mut last) = (None, None);
        for at in 0..entries.count() {
            let entry = &*entries.entry(at);
            tree.push(entry);
            results.push(at, tree.nodes[at].kind, entry);
            stats.add(entry);
            if text(entry, "type") == "session_info" {
                name = Some(preview(text(entry, "name"), 120));
            }
            if let Some(timestamp) = optional_text(entry, "timestamp") {
                timestamp.clone_into(last.get_or_insert_default());
            }
        }
        tree.finish(leaf);
        results.finish(&mut tree);
        let name = name.filter(|name| !name.is_empty());
        let title = name.or_else(|| first_user_text(entries, &tree)).unwrap_or_else(|| "Session".to_owned());
        Self { tree, results, stats, title, last }
    }
}

fn first_user_text(entries: &RedactedEntries, tree: &Tree) -> Option<String> {
    let of_user = tree.trunk.iter().find(|at| tree.nodes[**at].kind == Kind::User)?;
    let entry: &Value = &entries.entry(*of_user);
    let words = markdown::preview(&plain_content(&entry["message"]), 80);
    (!words.is_empty()).then_some(words)
}
