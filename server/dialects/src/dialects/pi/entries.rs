//! The session file as clients see it: its entries in order, and as a tree.

use std::collections::HashMap;

use agentese::pi::{Entries, Pi, SessionEntry, SessionTree, TreeNode};
use agentese::serve::{Call, CommandError};
use serde_json::Value;

use crate::engine::{Engine, EntryList};

/// Maximum number of bytes of stack that a thread needs to serialize one level of the tree.
const STACK_PER_LEVEL: usize = 8 << 10;

/// Returns the entries after the entry `since`, or all entries without `since`.
pub(super) fn entries_since(engine: &Engine, since: Option<&str>) -> Result<Entries, CommandError> {
    let EntryList { entries, leaf, .. } = engine.entries();
    let from = match since {
        None => 0,
        Some(since) => {
            let position = entries.iter().rposition(|entry| member(entry, "id") == Some(since));
            // The document prescribes this text.
            1 + position.ok_or_else(|| CommandError::new(format!("Entry not found: {since}")))?
        }
    };
    let entries = entries[from..].iter().filter_map(parse_entry);
    Ok(Entries::new(entries.collect(), leaf))
}

/// Responds with the tree of entries. The tree is as deep as the session is long, so a thread with a large stack
/// serializes it.
pub(super) async fn tree(engine: &Engine, call: Call<Pi, SessionTree>) -> Result<SessionTree, CommandError> {
    let EntryList { entries, leaf, .. } = engine.entries();
    let given = leaf.clone();
    let (done, written) = tokio::sync::oneshot::channel();
    let stack = (1 << 20) + entries.len() * STACK_PER_LEVEL;
    let spawned = std::thread::Builder::new().name("tree".to_owned()).stack_size(stack).spawn(move || {
        call.answer(SessionTree::new(build_tree(&entries), given));
        let _ = done.send(());
    });
    spawned.map_err(|error| CommandError::new(format!("the tree cannot be written: {error}")))?;
    written.await.map_err(|_| CommandError::new("the tree cannot be written"))?;
    // The call has its response already; this value is ignored.
    Ok(SessionTree::new(Vec::new(), leaf))
}

/// Returns the root entries with their descendants. An entry is a root if its parent does not exist, or if it would
/// be its own ancestor.
fn build_tree(entries: &[Value]) -> Vec<TreeNode> {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for (position, entry) in entries.iter().enumerate() {
        if let Some(id) = member(entry, "id") {
            positions.insert(id, position);
        }
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    let mut roots = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        let parent = member(entry, "parentId").and_then(|id| positions.get(id).copied());
        match parent {
            // Parents precede their children, so every path upwards ends.
            Some(parent) if parent < position => children[parent].push(position),
            _ => roots.push(position),
        }
    }
    // Iterates from the end, so the children of an entry exist before the entry.
    let mut nodes: Vec<Option<TreeNode>> = entries.iter().map(|_| None).collect();
    for (position, entry) in entries.iter().enumerate().rev() {
        let Some(entry) = parse_entry(entry) else { continue };
        let followers = children[position].iter().filter_map(|child| nodes[*child].take());
        let followers = followers.collect();
        nodes[position] = Some(TreeNode::new(entry, followers));
    }
    let mut roots: Vec<TreeNode> = roots.into_iter().filter_map(|root| nodes[root].take()).collect();
    apply_labels(&mut roots, entries);
    roots
}

/// Sets the current labels of entries.
fn apply_labels(roots: &mut [TreeNode], entries: &[Value]) {
    let mut labels: HashMap<&str, (Option<&str>, Option<&str>)> = HashMap::new();
    for entry in entries.iter().filter(|entry| member(entry, "type") == Some("label")) {
        if let Some(target) = member(entry, "targetId") {
            labels.insert(target, (member(entry, "label"), member(entry, "timestamp")));
        }
    }
    if labels.is_empty() {
        return;
    }
    let mut open: Vec<&mut TreeNode> = roots.iter_mut().collect();
    while let Some(node) = open.pop() {
        let id = serde_json::to_value(&node.entry)
            .ok()
            .and_then(|entry| Some(entry.get("id")?.as_str()?.to_owned()));
        if let Some((Some(label), time)) = id.and_then(|id| labels.remove(id.as_str())) {
            node.label = Some(label.to_owned());
            node.label_timestamp = time.map(str::to_owned);
        }
        open.extend(node.children.iter_mut());
    }
}

fn parse_entry(entry: &Value) -> Option<SessionEntry> {
    serde_json::from_value(entry.clone())
        .inspect_err(|error| tracing::warn!(%error, "an invalid entry is left out"))
        .ok()
}

/// Returns a string member of an entry.
fn member<'a>(entry: &'a Value, name: &str) -> Option<&'a str> {
    entry.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(id: &str, parent: Option<&str>) -> Value {
        json!({"type": "session_info", "id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z"})
    }

    #[test]
    fn tree_has_branches_and_orphans_as_roots() {
        let entries =
            [entry("a", None), entry("b", Some("a")), entry("c", Some("a")), entry("d", Some("gone"))];
        let tree = serde_json::to_value(build_tree(&entries)).unwrap();
        let ids = |nodes: &Value| -> Vec<String> {
            nodes
                .as_array()
                .unwrap()
                .iter()
                .map(|node| node["entry"]["id"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(ids(&tree), ["a", "d"]);
        assert_eq!(ids(&tree[0]["children"]), ["b", "c"]);
    }

    #[test]
    fn entry_has_its_last_label() {
        let mark = |id: &str, label: Option<&str>| {
            let mut mark = json!({
                "type": "label", "id": id, "parentId": "a", "timestamp": "2026-01-02T03:04:05.000Z", "targetId": "a"
            });
            if let Some(label) = label {
                mark["label"] = json!(label);
            }
            mark
        };
        let labelled = |marks: &[Value]| build_tree(&[&[entry("a", None)], marks].concat())[0].label.clone();
        assert_eq!(labelled(&[mark("b", Some("one")), mark("c", Some("two"))]), Some("two".to_owned()));
        assert_eq!(labelled(&[mark("b", Some("one")), mark("c", None)]), None);
    }
}
