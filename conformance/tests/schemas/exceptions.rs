//! The file `schema-exceptions.txt`: frames of real agents that the documents do not allow.
//!
//! A line is `DIALECT/SCENARIO SIDE NUMBER reason`. SIDE is `server` or `client`, and NUMBER is the number of
//! the line among the lines of its side, from 1.

use std::collections::BTreeMap;
use std::path::Path;

/// Reasons by `(dialect/scenario, side, number)`.
pub type Exceptions = BTreeMap<(String, String, usize), String>;

pub fn load() -> Exceptions {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema-exceptions.txt");
    let text = std::fs::read_to_string(&path).expect("schema-exceptions.txt");
    let mut exceptions = Exceptions::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (case, side, number, reason) = (word(), word(), word(), word());
        let number = number.parse().unwrap_or_else(|_| panic!("no number in `{line}`"));
        assert!(!reason.trim().is_empty(), "no reason in `{line}`");
        assert!(exceptions.insert((case, side, number), reason).is_none(), "listed twice: `{line}`");
    }
    exceptions
}
