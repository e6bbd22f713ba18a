//! The links between entries and their parents.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable, hash_table};

use super::entry::Entry;

/// The links between the entries of a file. Entries are identified by their positions; functions that need ids also
/// receive the entries.
///
/// If several entries have the id of a parent, the nearest entry before the child is the parent. If all of them follow
/// the child, the last one is the parent. An entry with an unknown parent is a root. If the parents form a circle, a
/// path ends before an entry would occur twice.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// Positions of entries, by the hashes of their ids. A file can have a million entries.
    positions: HashTable<u32>,
    hashes: DefaultHashBuilder,
    parents: Vec<Option<u32>>,
    /// Number of entries with the id of an earlier entry.
    pub duplicates: usize,
}

impl Tree {
    /// Returns the links of these entries.
    pub fn of(entries: &[Entry]) -> Self {
        let mut tree = Self {
            positions: HashTable::with_capacity(entries.len()),
            parents: Vec::with_capacity(entries.len()),
            ..Self::default()
        };
        for _ in entries {
            tree.push(entries);
        }
        for (position, entry) in entries.iter().enumerate() {
            if let (None, Some(id)) = (tree.parents[position], entry.parent_id()) {
                let parent = tree.find(entries, id.as_str()).filter(|parent| *parent != position);
                tree.parents[position] = parent.map(number);
            }
        }
        tree
    }

    /// Adds the next entry. `entries` contains all entries so far, including this one.
    pub fn push(&mut self, entries: &[Entry]) {
        let position = self.parents.len();
        let (before, Some(entry)) = (&entries[..position], entries.get(position)) else { return };
        // Almost every entry follows the previous one.
        let parent = entry.parent_id().and_then(|id| match before.last() {
            Some(last) if last.id() == id => Some(position - 1),
            _ => self.find(entries, id.as_str()),
        });
        self.parents.push(parent.map(number));
        let hash = |entry: &Entry| self.hashes.hash_one(entry.id().as_str());
        let slot = self.positions.entry(
            hash(entry),
            |other| entries[*other as usize].id() == entry.id(),
            |other| hash(&entries[*other as usize]),
        );
        match slot {
            hash_table::Entry::Occupied(mut slot) => {
                *slot.get_mut() = number(position);
                self.duplicates += 1;
            }
            hash_table::Entry::Vacant(slot) => {
                slot.insert(number(position));
            }
        }
    }

    /// Returns the position of the entry with an id. If several entries have the id, returns the last position.
    pub fn find(&self, entries: &[Entry], id: &str) -> Option<usize> {
        let hash = self.hashes.hash_one(id);
        let found = self.positions.find(hash, |position| entries[*position as usize].id().as_str() == id);
        found.map(|position| *position as usize)
    }

    /// Returns the position of the parent.
    pub fn parent(&self, position: usize) -> Option<usize> {
        self.parents[position].map(|parent| parent as usize)
    }

    /// Returns the positions of the entries from the root to `leaf`.
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

/// Converts a position to the type in which it is stored. It always fits, because a file is smaller than 4 GiB.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(links: &[(&str, Option<&str>)]) -> Vec<Entry> {
        let entry = |(id, parent): &(&str, Option<&str>)| {
            let line = serde_json::json!({"type": "x", "id": id, "parentId": parent}).to_string();
            Entry::from_line(line).unwrap()
        };
        links.iter().map(entry).collect()
    }

    fn path(links: &[(&str, Option<&str>)]) -> Vec<usize> {
        Tree::of(&entries(links)).path(Some(links.len() - 1))
    }

    #[test]
    fn fm_f103_every_path_to_the_root_ends() {
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
        let entries = entries(&links);
        let mut tree = Tree::of(&entries[..2]);
        assert_eq!((tree.find(&entries, "a"), tree.duplicates), (Some(0), 0));
        (2..4).for_each(|_| tree.push(&entries));
        assert_eq!((tree.find(&entries, "a"), tree.duplicates), (Some(2), 1));
        assert_eq!(tree.find(&entries, "d"), None);
    }
}
