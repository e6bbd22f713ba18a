//! The entries of a session as a tree, in reading order.
//!
//! Each entry names its parent. The *trunk* is the path from the root to the leaf, which the model sees. All other
//! entries are in *branches* beside the trunk. A branch leads to the entry that was written last in its subtree.
//! Entries that are not on this path form further branches. So each entry of the trunk has a flat list of branches, at
//! any nesting depth, and no function here is recursive.

use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable, hash_table};
use serde_json::Value;

use super::fields::{optional_text, text};
use super::kind::Kind;
use super::title::title;

/// The value in [`Node`] for a missing entry. `Option` would need more memory, and a session can have a million nodes.
const NONE: u32 = u32::MAX;

/// An entry with its links to other entries.
pub(super) struct Node {
    /// The kind of the entry in the export.
    pub kind: Kind,
    /// The title of the entry, on one line.
    pub title: Box<str>,
    id: Option<Box<str>>,
    /// `true` if the HTML `id` of the entry contains the id of the entry. The id must then be unique so far and have
    /// only harmless characters.
    named: bool,
    parent: u32,
    first_child: u32,
    last_child: u32,
    next_sibling: u32,
}

impl Node {
    fn new(entry: &Value, parent: Option<usize>) -> Self {
        let (kind, title) = (Kind::of(entry), title(entry).into());
        let parent = parent.map_or(NONE, number);
        Self {
            kind,
            title,
            id: None,
            named: false,
            parent,
            first_child: NONE,
            last_child: NONE,
            next_sibling: NONE,
        }
    }

    pub fn parent(&self) -> Option<usize> {
        place(self.parent)
    }
}

/// Converts an index to the type that nodes store. No session is so long that an index does not fit.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

fn place(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

/// A path of entries beside the trunk.
pub(super) struct Branch {
    /// The entry of the trunk or of a branch to which the branch is attached; `None` if the branch begins with a root.
    pub from: Option<usize>,
    /// The nesting depth: 1 if attached to the trunk, 2 if attached to a branch of depth 1, and so on.
    pub depth: usize,
    /// The entries of the branch; at least one.
    pub entries: Vec<usize>,
}

/// The tree of all entries. Entries are identified by their index in [`Tree::nodes`], which has the order of the file.
#[derive(Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub trunk: Vec<usize>,
    labels: HashMap<usize, String>,
    branches: HashMap<Option<usize>, Vec<Branch>>,
    /// The indices of entries by the hashes of their ids.
    by_id: HashTable<u32>,
    hashes: DefaultHashBuilder,
    /// The contents of label entries: id of the labelled entry, and label; `None` removes the label.
    label_changes: Vec<(String, Option<String>)>,
}

impl Tree {
    /// Creates an empty tree with memory for `count` entries.
    pub fn with_capacity(count: usize) -> Self {
        Self { nodes: Vec::with_capacity(count), by_id: HashTable::with_capacity(count), ..Self::default() }
    }

    #[cfg(test)]
    pub fn new<'a>(entries: impl Iterator<Item = &'a Value>, leaf: Option<&str>) -> Self {
        let mut tree = Self::default();
        entries.for_each(|entry| tree.push(entry));
        tree.finish(leaf);
        tree
    }

    /// Adds the next entry of the file. Its parent is an earlier entry. An entry with an unknown or later parent is a
    /// root. An entry without an id, as in files of version 1, follows the entry before it.
    pub fn push(&mut self, entry: &Value) {
        let index = self.nodes.len();
        let id = optional_text(entry, "id");
        let parent = match id {
            Some(_) => optional_text(entry, "parentId").and_then(|parent| self.find(parent)),
            None => index.checked_sub(1),
        };
        let mut node = Node::new(entry, parent);
        if let Some(parent) = parent {
            self.add_child(parent, index);
        }
        node.id = id.map(Box::from);
        self.nodes.push(node);
        self.nodes[index].named = id.is_some_and(|id| self.register_id(id, index) && is_plain(id));
        if text(entry, "type") == "label" {
            let label = optional_text(entry, "label").filter(|label| !label.is_empty());
            self.label_changes.push((text(entry, "targetId").to_owned(), label.map(str::to_owned)));
        }
    }

    /// Assigns an id to the entry at an index. Returns false if an earlier entry already had this id.
    fn register_id(&mut self, id: &str, at: usize) -> bool {
        let (nodes, hashes) = (&self.nodes, &self.hashes);
        let id_of = |at: &u32| nodes[*at as usize].id.as_deref();
        let hash = |id: Option<&str>| hashes.hash_one(id.unwrap_or_default());
        match self.by_id.entry(hash(Some(id)), |at| id_of(at) == Some(id), |at| hash(id_of(at))) {
            hash_table::Entry::Occupied(mut slot) => {
                *slot.get_mut() = number(at);
                false
            }
            hash_table::Entry::Vacant(slot) => {
                slot.insert(number(at));
                true
            }
        }
    }

    fn add_child(&mut self, parent: usize, child: usize) {
        let child = number(child);
        match place(std::mem::replace(&mut self.nodes[parent].last_child, child)) {
            Some(last) => self.nodes[last].next_sibling = child,
            None => self.nodes[parent].first_child = child,
        }
    }

    /// Computes trunk and branches when all entries are added. If `leaf` is missing or unknown, the last entry is the
    /// leaf.
    pub fn finish(&mut self, leaf: Option<&str>) {
        for (target, label) in std::mem::take(&mut self.label_changes) {
            match (self.find(&target), label) {
                (Some(target), Some(label)) => drop(self.labels.insert(target, label)),
                (Some(target), None) => drop(self.labels.remove(&target)),
                (None, _) => {}
            }
        }
        let leaf = leaf.and_then(|leaf| self.find(leaf)).or(self.nodes.len().checked_sub(1));
        self.trunk = std::iter::successors(leaf, |&at| self.nodes[at].parent()).collect();
        self.trunk.reverse();
        self.branches = branches(&self.nodes, &self.trunk);
    }

    /// Returns the index of the last entry with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        let has_id = |at: &u32| self.nodes[*at as usize].id.as_deref() == Some(id);
        self.by_id.find(self.hashes.hash_one(id), has_id).copied().and_then(place)
    }

    /// Returns the HTML `id` of an entry on the page. It is unique and has only harmless characters.
    pub fn anchor(&self, at: usize) -> String {
        match &self.nodes[at] {
            Node { named: true, id: Some(id), .. } => format!("entry-{id}"),
            _ => format!("line-{}", at + 2),
        }
    }

    /// Returns the label of an entry, as set by the last label entry.
    pub fn label(&self, at: usize) -> Option<&str> {
        self.labels.get(&at).map(String::as_str)
    }

    /// Returns true if any entry has a label.
    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Returns the branches that are shown after an entry of the trunk; for `None`, before its first entry.
    pub fn branches(&self, after: Option<usize>) -> &[Branch] {
        self.branches.get(&after).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of branches beside the trunk.
    pub fn branch_count(&self) -> usize {
        self.branches.values().map(Vec::len).sum()
    }

    /// Returns the paths of entries in reading order, each with its depth. Each entry of the trunk is a path of its
    /// own, with depth 0.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let branches = |after| self.branches(after).iter().map(|branch| (branch.depth, &branch.entries[..]));
        let along = (0..self.trunk.len()).flat_map(move |at| {
            std::iter::once((0, &self.trunk[at..=at])).chain(branches(Some(self.trunk[at])))
        });
        branches(None).chain(along)
    }
}

/// Returns true if an id can be used in the fragment of a URL without escaping.
fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn branches(nodes: &[Node], trunk: &[usize]) -> HashMap<Option<usize>, Vec<Branch>> {
    // The last entry below each entry. Children follow their parents, so one pass from the end is enough.
    let mut latest: Vec<u32> = (0..nodes.len()).map(number).collect();
    for (index, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent() {
            latest[parent] = latest[parent].max(latest[index]);
        }
    }
    let mut on_trunk = vec![false; nodes.len()];
    trunk.iter().for_each(|&at| on_trunk[at] = true);
    let children = |at: usize| {
        std::iter::successors(place(nodes[at].first_child), |&child| place(nodes[child].next_sibling))
    };
    let mut beginnings: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let leaves_trunk = node.parent().is_none_or(|parent| on_trunk[parent]);
        if leaves_trunk && !on_trunk[index] {
            beginnings.entry(node.parent()).or_default().push(index);
        }
    }
    let follow = |(from, firsts): (Option<usize>, Vec<usize>)| {
        let mut open: Vec<(Option<usize>, usize, usize)> =
            firsts.into_iter().rev().map(|first| (from, first, 1)).collect();
        let mut found = Vec::new();
        while let Some((from, first, depth)) = open.pop() {
            let mut entries = vec![first];
            let mut at = first;
            while let Some(next) = children(at).max_by_key(|&child| latest[child]) {
                let before = open.len();
                let others = children(at).filter(|&child| child != next);
                open.extend(others.map(|child| (Some(at), child, depth + 1)));
                open[before..].reverse();
                entries.push(next);
                at = next;
            }
            found.push(Branch { from, depth, entries });
        }
        (from, found)
    };
    beginnings.into_iter().map(follow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashSet;

    fn entries(links: &[(&str, Option<&str>)]) -> Vec<Value> {
        links.iter().map(|(id, parent)| json!({"type": "custom", "id": id, "parentId": parent})).collect()
    }

    fn lines(entries: &[Value], leaf: Option<&str>) -> Vec<String> {
        let tree = Tree::new(entries.iter(), leaf);
        let shown: Vec<usize> = tree.lines().flat_map(|(_, line)| line).copied().collect();
        assert_eq!(shown.iter().collect::<HashSet<_>>().len(), entries.len(), "each entry once");
        assert_eq!(shown.len(), entries.len());
        let name = |&at: &usize| text(&entries[at], "id").to_owned();
        tree.lines()
            .map(|(depth, line)| format!("{depth}:{}", line.iter().map(name).collect::<Vec<_>>().concat()))
            .collect()
    }

    #[test]
    fn branches_follow_the_entry_that_they_leave() {
        let entries = entries(&[
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("d", Some("a")),
            ("e", Some("b")),
            ("f", Some("d")),
            ("g", Some("c")),
        ]);
        assert_eq!(lines(&entries, Some("f")), ["0:a", "1:bcg", "2:e", "0:d", "0:f"]);
        assert_eq!(lines(&entries, None), ["0:a", "1:df", "0:b", "1:e", "0:c", "0:g"]);
        // Entries after the leaf are a branch.
        assert_eq!(lines(&entries, Some("b")), ["0:a", "1:df", "0:b", "1:cg", "1:e"]);
        assert_eq!(lines(&entries, Some("nowhere")), lines(&entries, None));
        assert!(lines(&[], None).is_empty());
    }

    #[test]
    fn cycles_unknown_parents_and_repeated_ids_are_beginnings_and_branches() {
        let entries = entries(&[("a", Some("b")), ("b", Some("a")), ("c", Some("c")), ("d", Some("x"))]);
        assert_eq!(lines(&entries, Some("b")), ["1:c", "1:d", "0:a", "0:b"]);
        let twice = self::entries(&[("a", None), ("a", Some("a")), ("b", Some("a"))]);
        let tree = Tree::new(twice.iter(), None);
        assert_eq!(tree.trunk, [0, 1, 2]);
        assert_eq!(tree.anchor(1), "line-3");
    }

    #[test]
    fn entries_of_version_one_follow_each_other() {
        let entries = [json!({"type": "message"}), json!({"type": "message"}), json!({"type": "message"})];
        assert_eq!(Tree::new(entries.iter(), None).trunk, [0, 1, 2]);
    }

    #[test]
    fn deep_trees_have_every_entry() {
        let mut links = vec![("0".to_owned(), None)];
        for at in (1..40_000).step_by(2) {
            links.push((at.to_string(), Some((at - 1).to_string())));
            links.push(((at + 1).to_string(), Some((at - 1).to_string())));
        }
        let entries: Vec<Value> =
            links.iter().map(|(id, parent)| json!({"type": "x", "id": id, "parentId": parent})).collect();
        let tree = Tree::new(entries.iter(), Some("0"));
        assert_eq!(tree.lines().map(|(_, line)| line.len()).sum::<usize>(), entries.len());
    }

    #[test]
    fn the_last_label_applies() {
        let mut entries = entries(&[("a", None), ("b", Some("a"))]);
        entries.push(json!({"type": "label", "id": "l", "parentId": "b", "targetId": "a", "label": "one"}));
        entries.push(json!({"type": "label", "id": "m", "parentId": "l", "targetId": "b", "label": "two"}));
        entries.push(json!({"type": "label", "id": "n", "parentId": "m", "targetId": "a"}));
        let tree = Tree::new(entries.iter(), None);
        assert_eq!((tree.label(0), tree.label(1)), (None, Some("two")));
    }

    #[test]
    fn fm_f115_anchors_are_harmless() {
        let entries = entries(&[("\"><script>", None), ("a b", None), ("", None), ("ok-1", None)]);
        let tree = Tree::new(entries.iter(), None);
        let anchors: Vec<String> = (0..tree.nodes.len()).map(|at| tree.anchor(at)).collect();
        assert_eq!(anchors, ["line-2", "line-3", "line-4", "entry-ok-1"]);
    }
}
