//! Graph of the imports between files. A cycle in it is called a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Arrows from a file to other files, each with the names that the first file imports from the other.
#[derive(Default)]
pub struct Graph(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Graph {
    /// Adds an arrow. Ignores an arrow from a file to itself.
    pub fn add(&mut self, from: &str, to: &str, name: &str) {
        if from != to {
            let arrows = self.0.entry(from.to_owned()).or_default();
            arrows.entry(to.to_owned()).or_default().insert(name.to_owned());
        }
    }

    /// Returns the circles in sorted order. A circle is a set of at least two files, each of which
    /// reaches all others along arrows.
    pub fn circles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.0.keys().map(|file| (file.as_str(), self.reached(file))).collect();
        let mut circles = BTreeSet::new();
        for (file, files) in &reached {
            if files.contains(file) {
                let is_in_circle =
                    |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
                circles.insert(files.iter().filter(is_in_circle).copied().collect());
            }
        }
        circles.into_iter().collect()
    }

    /// Returns the files that a file reaches along one or more arrows.
    fn reached(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            for next in self.0.get(file).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// Writes the arrows between the files of a circle, one per line.
    pub fn describe(&self, circle: &BTreeSet<&str>) -> String {
        let mut text = format!("a circle of {} files:\n", circle.len());
        for from in circle {
            for (to, names) in self.0[*from].iter().filter(|(to, _)| circle.contains(to.as_str())) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let _ = writeln!(text, "  {from} -> {to}: {}", names.join(", "));
            }
        }
        text
    }
}
