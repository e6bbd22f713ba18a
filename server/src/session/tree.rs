//! Which entry follows which.

use std::collections::HashMap;

use super::entry::{Entry, EntryId};

/// The links between the entries of a file, by their positions in it.
///
/// A parent is the nearest entry before the child that has the id; where there is none, the last
/// one behind it. An entry whose parent is unknown is a root, and so is the first entry that a way
/// up meets for the second time: every way up ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    positions: HashMap<EntryId, u32>,
    parents: Vec<Option<u32>>,
    /// How many entries have an id that an earlier one has.
    pub duplicates: usize,
}

impl Tree {
    /// The links of these entries.
    pub fn of(entries: &[Entry]) -> Self {
        let mut tree = Self {
            positions: HashMap::with_capacity(entries.len()),
            parents: Vec::with_capacity(entries.len()),
            duplicates: 0,
        };
        for entry in entries {
            tree.push(entry);
        }
        for (position, entry) in entries.iter().enumerate() {
            if let (None, Some(id)) = (tree.parents[position], entry.parent_id()) {
                let parent = tree.find(id.as_str()).filter(|parent| *parent != position);
                tree.parents[position] = parent.map(number);
            }
        }
        tree
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: &Entry) {
        let position = number(self.parents.len());
        self.parents.push(entry.parent_id().and_then(|id| self.positions.get(id.as_str()).copied()));
        if self.positions.insert(entry.id().clone(), position).is_some() {
            self.duplicates += 1;
        }
    }

    /// The position of an entry; the last one's where several have the id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.positions.get(id).map(|position| *position as usize)
    }

    /// The position of the parent.
    pub fn parent(&self, position: usize) -> Option<usize> {
        self.parents[position].map(|parent| parent as usize)
    }

    /// The positions from the root to this entry.
    pub fn path(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut seen = vec![false; self.parents.len()];
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(position) = next.filter(|position| !std::mem::replace(&mut seen[*position], true)) {
            path.push(position);
            next = self.parent(position);
        }
        path.reverse();
        path
    }
}

/// A position as it is kept. A file has fewer lines than bytes, and those are fewer than 4 GiB.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(links: &[(&str, Option<&str>)]) -> Vec<Entry> {
        let entry = |(id, parent): &(&str, Option<&str>)| {
            let line = serde_json::json!({"type": "x", "id": id, "parentId": parent}).to_string();
            Entry::alone(line).unwrap()
        };
        links.iter().map(entry).collect()
    }

    fn path(links: &[(&str, Option<&str>)]) -> Vec<usize> {
        Tree::of(&entries(links)).path(Some(links.len() - 1))
    }

    #[test]
    fn fm_f103_every_way_up_ends() {
        assert_eq!(path(&[("a", None), ("b", Some("a")), ("c", Some("b"))]), [0, 1, 2]);
        assert_eq!(path(&[("a", None), ("b", Some("gone")), ("c", Some("b"))]), [1, 2], "unknown parent");
        assert_eq!(path(&[("a", Some("a"))]), [0], "its own parent");
        assert_eq!(path(&[("a", Some("c")), ("b", Some("a")), ("c", Some("b"))]), [0, 1, 2], "a ring");
        assert_eq!(
            path(&[("b", Some("a")), ("a", None), ("c", Some("b"))]),
            [1, 0, 2],
            "parent behind child"
        );
    }

    #[test]
    fn fm_f103_of_two_with_one_id_the_nearest_before_is_the_parent() {
        let links = [("a", None), ("b", Some("a")), ("a", Some("b")), ("c", Some("a"))];
        assert_eq!(path(&links), [0, 1, 2, 3]);
        let tree = Tree::of(&entries(&links));
        assert_eq!(tree.find("a"), Some(2));
        assert_eq!(tree.duplicates, 1);
    }
}
