//! Which call an answer belongs to.
//!
//! A table of pending calls, without I/O. An answer with an id settles that call. A failure
//! without an id (omp and pisces send them, pi 0.55 too) settles the oldest call it can belong to:
//! the oldest of the same command, and for `parse` the oldest of all.

use std::collections::{BTreeMap, HashMap};

/// The calls that wait for an answer, oldest first.
#[derive(Debug)]
pub struct Table<T> {
    next: u64,
    calls: BTreeMap<u64, Call<T>>,
    by_id: HashMap<String, u64>,
}

#[derive(Debug)]
struct Call<T> {
    id: String,
    command: String,
    waiter: T,
}

/// A call that an answer was found for.
#[derive(Debug, PartialEq, Eq)]
pub struct Settled<T> {
    /// The call's id.
    pub id: String,
    /// The command.
    pub command: String,
    /// Who waits.
    pub waiter: T,
    /// True where the answer carried no id.
    pub attributed: bool,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { next: 0, calls: BTreeMap::new(), by_id: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// An empty table.
    pub fn new() -> Self {
        Table::default()
    }

    /// Adds a call. Ids are unique as long as the caller makes them so.
    pub fn insert(&mut self, id: impl Into<String>, command: impl Into<String>, waiter: T) {
        let id = id.into();
        self.next += 1;
        self.by_id.insert(id.clone(), self.next);
        self.calls.insert(self.next, Call { id, command: command.into(), waiter });
    }

    /// Takes the call with that id; none where no call waits under it.
    pub fn settle(&mut self, id: &str) -> Option<Settled<T>> {
        let position = self.by_id.remove(id)?;
        let call = self.calls.remove(&position)?;
        Some(Settled { id: call.id, command: call.command, waiter: call.waiter, attributed: false })
    }

    /// Takes the oldest call that a failure without an id can belong to. `command` is what the
    /// failure names; `catch_all` is the name that may stand for any command. `unlikely` marks
    /// calls whose failures carry an id by their document: they come last.
    pub fn attribute(
        &mut self,
        command: Option<&str>,
        catch_all: &str,
        unlikely: impl Fn(&str, &T) -> bool,
    ) -> Option<Settled<T>> {
        let position = match command {
            Some(command) if command != catch_all => {
                *self.calls.iter().find(|(_, call)| call.command == command)?.0
            }
            _ => {
                let likely = self.calls.iter().find(|(_, call)| !unlikely(&call.command, &call.waiter));
                *likely.or_else(|| self.calls.first_key_value())?.0
            }
        };
        let call = self.calls.remove(&position)?;
        self.by_id.remove(&call.id);
        Some(Settled { id: call.id, command: call.command, waiter: call.waiter, attributed: true })
    }

    /// Forgets a call, because nobody waits any more.
    pub fn forget(&mut self, id: &str) -> Option<T> {
        self.settle(id).map(|settled| settled.waiter)
    }

    /// The command of a call that waits.
    pub fn command(&self, id: &str) -> Option<&str> {
        let position = self.by_id.get(id)?;
        self.calls.get(position).map(|call| call.command.as_str())
    }

    /// The ids of all calls that wait, oldest first.
    pub fn ids(&self) -> Vec<String> {
        self.calls.values().map(|call| call.id.clone()).collect()
    }

    /// Takes all calls, oldest first.
    pub fn drain(&mut self) -> Vec<T> {
        self.by_id.clear();
        std::mem::take(&mut self.calls).into_values().map(|call| call.waiter).collect()
    }

    /// True where no call waits.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<u8> {
        let mut table = Table::new();
        table.insert("a", "bash", 1);
        table.insert("b", "compact", 2);
        table.insert("c", "bash", 3);
        table
    }

    #[test]
    fn an_id_settles_its_call_once() {
        let mut table = table();
        let settled = table.settle("b").unwrap();
        assert_eq!((settled.waiter, settled.attributed), (2, false));
        assert_eq!(table.settle("b"), None);
        assert_eq!(table.ids(), ["a", "c"]);
    }

    #[test]
    fn a_failure_without_id_goes_to_the_oldest_of_its_command() {
        let mut table = table();
        table.settle("a");
        let settled = table.attribute(Some("bash"), "parse", |_, _| false).unwrap();
        assert_eq!((settled.waiter, settled.attributed), (3, true));
        assert_eq!(table.attribute(Some("fork"), "parse", |_, _| false), None);
    }

    #[test]
    fn parse_goes_to_the_oldest_of_all() {
        let mut table = table();
        assert_eq!(table.attribute(Some("parse"), "parse", |_, _| false).unwrap().waiter, 1);
        assert_eq!(table.attribute(None, "parse", |_, _| false).unwrap().waiter, 2);
    }

    #[test]
    fn calls_whose_failures_carry_an_id_come_last() {
        let mut table = table();
        let unlikely = |command: &str, _: &u8| command == "bash";
        assert_eq!(table.attribute(Some("parse"), "parse", unlikely).unwrap().waiter, 2);
        assert_eq!(table.attribute(Some("parse"), "parse", unlikely).unwrap().waiter, 1);
    }

    #[test]
    fn drain_gives_all_in_order() {
        let mut table = table();
        assert_eq!(table.drain(), [1, 2, 3]);
        assert!(table.is_empty());
        assert_eq!(table.settle("a"), None);
    }
}
