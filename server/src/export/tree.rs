//! The entries of a session as a tree, and the order in which a reader meets them.
//!
//! Entries name their parent. The path from the first entry to the leaf is the *trunk*, which is what the model sees;
//! everything else hangs off it in *branches*. A branch follows its most recently written line to the end; what
//! leaves that line is a branch of its own. So branches are a flat list after each entry of the trunk, however deep a
//! file nests them, and no step here recurses.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fields::{optional_text, text};

/// One entry and its place.
pub(super) struct Node<'a> {
    pub entry: &'a Value,
    /// The `id` of its element on the page: unique, and made of harmless characters.
    pub anchor: String,
    /// The label that was set last.
    pub label: Option<&'a str>,
    pub parent: Option<usize>,
    children: Vec<usize>,
}

/// A line of entries beside the trunk.
pub(super) struct Branch {
    /// The entry that it leaves; none where it has a beginning of its own.
    pub from: Option<usize>,
    /// One on the trunk's side, more within branches.
    pub depth: usize,
    /// Never empty.
    pub entries: Vec<usize>,
}

/// All entries. Numbers are places in [`Tree::nodes`], which is in the file's order.
pub(super) struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    pub trunk: Vec<usize>,
    branches: HashMap<Option<usize>, Vec<Branch>>,
    by_id: HashMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    /// Links the entries. A file is written in order, so a parent that does not stand before its child is none: that
    /// makes entries with unknown parents and cycles beginnings. An entry without an id (files of version 1) follows
    /// the one before it. A leaf that is not there, or none, means the last entry.
    pub fn new(entries: impl Iterator<Item = &'a Value>, leaf: Option<&str>) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        let mut by_id: HashMap<&'a str, usize> = HashMap::new();
        let mut anchors = HashSet::new();
        for (index, entry) in entries.enumerate() {
            let id = optional_text(entry, "id");
            let parent = match id {
                Some(_) => optional_text(entry, "parentId").and_then(|parent| by_id.get(parent).copied()),
                None => index.checked_sub(1),
            };
            if let Some(parent) = parent {
                nodes[parent].children.push(index);
            }
            let anchor = match id.filter(|id| is_plain(id)).map(|id| format!("entry-{id}")) {
                Some(anchor) if anchors.insert(anchor.clone()) => anchor,
                _ => format!("line-{}", index + 2),
            };
            if let Some(id) = id {
                by_id.insert(id, index);
            }
            nodes.push(Node { entry, anchor, label: None, parent, children: Vec::new() });
        }
        for index in 0..nodes.len() {
            let entry = nodes[index].entry;
            if text(entry, "type") == "label"
                && let Some(&target) = by_id.get(text(entry, "targetId"))
            {
                nodes[target].label = optional_text(entry, "label").filter(|label| !label.is_empty());
            }
        }
        let leaf = leaf.and_then(|leaf| by_id.get(leaf).copied()).or(nodes.len().checked_sub(1));
        let trunk = path(&nodes, leaf);
        let branches = branches(&nodes, &trunk);
        Self { nodes, trunk, branches, by_id }
    }

    /// The last entry with that id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The branches that are shown after an entry of the trunk, or before its first one.
    pub fn branches(&self, after: Option<usize>) -> &[Branch] {
        self.branches.get(&after).map_or(&[], Vec::as_slice)
    }

    /// How many branches there are beside the trunk.
    pub fn branch_count(&self) -> usize {
        self.branches.values().map(Vec::len).sum()
    }

    /// The trunk and its branches in reading order: each with its depth, which is 0 for the trunk.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let beside = |after| self.branches(after).iter().map(|branch| (branch.depth, &branch.entries[..]));
        let along = (0..self.trunk.len()).flat_map(move |at| {
            std::iter::once((0, &self.trunk[at..=at])).chain(beside(Some(self.trunk[at])))
        });
        beside(None).chain(along)
    }
}

/// Ids that can stand in a URL's fragment as they are.
fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn path(nodes: &[Node], leaf: Option<usize>) -> Vec<usize> {
    let mut path: Vec<usize> = std::iter::successors(leaf, |&at| nodes[at].parent).collect();
    path.reverse();
    path
}

fn branches(nodes: &[Node], trunk: &[usize]) -> HashMap<Option<usize>, Vec<Branch>> {
    // The last entry below each entry. Children stand after their parents, so one pass from the end is enough.
    let mut latest: Vec<usize> = (0..nodes.len()).collect();
    for (index, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            latest[parent] = latest[parent].max(latest[index]);
        }
    }
    let on_trunk: HashSet<usize> = trunk.iter().copied().collect();
    let mut beginnings: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let leaves_trunk = node.parent.is_none_or(|parent| on_trunk.contains(&parent));
        if leaves_trunk && !on_trunk.contains(&index) {
            beginnings.entry(node.parent).or_default().push(index);
        }
    }
    let follow = |(from, firsts): (Option<usize>, Vec<usize>)| {
        let mut open: Vec<(Option<usize>, usize, usize)> =
            firsts.into_iter().rev().map(|first| (from, first, 1)).collect();
        let mut found = Vec::new();
        while let Some((from, first, depth)) = open.pop() {
            let mut entries = vec![first];
            let mut at = first;
            while let Some(&next) = nodes[at].children.iter().max_by_key(|&&child| latest[child]) {
                let others = nodes[at].children.iter().rev().filter(|&&child| child != next);
                open.extend(others.map(|&child| (Some(at), child, depth + 1)));
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

    fn entries(links: &[(&str, Option<&str>)]) -> Vec<Value> {
        links.iter().map(|(id, parent)| json!({"type": "custom", "id": id, "parentId": parent})).collect()
    }

    fn lines(entries: &[Value], leaf: Option<&str>) -> Vec<String> {
        let tree = Tree::new(entries.iter(), leaf);
        let shown: Vec<usize> = tree.lines().flat_map(|(_, line)| line).copied().collect();
        assert_eq!(shown.iter().collect::<HashSet<_>>().len(), entries.len(), "each entry once");
        assert_eq!(shown.len(), entries.len());
        let name = |&at: &usize| text(tree.nodes[at].entry, "id").to_owned();
        tree.lines()
            .map(|(depth, line)| format!("{depth}:{}", line.iter().map(name).collect::<Vec<_>>().concat()))
            .collect()
    }

    #[test]
    fn branches_stand_where_they_leave() {
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
        // A leaf with entries after it: they are a branch.
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
        assert_eq!(tree.nodes[1].anchor, "line-3");
    }

    #[test]
    fn entries_of_version_one_follow_each_other() {
        let entries = [json!({"type": "message"}), json!({"type": "message"}), json!({"type": "message"})];
        assert_eq!(Tree::new(entries.iter(), None).trunk, [0, 1, 2]);
    }

    #[test]
    fn depth_is_no_trouble() {
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
    fn the_last_label_counts() {
        let mut entries = entries(&[("a", None), ("b", Some("a"))]);
        entries.push(json!({"type": "label", "id": "l", "parentId": "b", "targetId": "a", "label": "one"}));
        entries.push(json!({"type": "label", "id": "m", "parentId": "l", "targetId": "b", "label": "two"}));
        entries.push(json!({"type": "label", "id": "n", "parentId": "m", "targetId": "a"}));
        let tree = Tree::new(entries.iter(), None);
        assert_eq!((tree.nodes[0].label, tree.nodes[1].label), (None, Some("two")));
    }

    #[test]
    fn fm_f115_anchors_are_harmless() {
        let entries = entries(&[("\"><script>", None), ("a b", None), ("", None), ("ok-1", None)]);
        let tree = Tree::new(entries.iter(), None);
        let anchors: Vec<&str> = tree.nodes.iter().map(|node| node.anchor.as_str()).collect();
        assert_eq!(anchors, ["line-2", "line-3", "line-4", "entry-ok-1"]);
    }
}
