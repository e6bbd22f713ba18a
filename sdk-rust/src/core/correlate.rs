//! Correlation of responses with pending calls.
//!
//! A table of pending calls, without I/O. A response with an id settles that call. Agents of omp, pisces and pi
//! 0.55 send some failures without an id. A failure without an id settles the oldest call of the command that
//! it names. If it names `parse`, it settles the oldest call of any command. A call is abandoned if it timed
//! out or its caller was dropped. It stays in the table, so that its late failure is not assigned to another
//! call.

use std::collections::{BTreeMap, HashMap};

/// Maximum number of abandoned calls in the table. Beyond it, the oldest is removed.
const ABANDONED: usize = 256;

/// The unanswered calls, oldest first.
#[derive(Debug)]
pub struct PendingCalls<T> {
    next: u64,
    calls: BTreeMap<u64, PendingCall<T>>,
    by_id: HashMap<String, u64>,
    /// Number of abandoned calls.
    abandoned: usize,
}

#[derive(Debug)]
struct PendingCall<T> {
    id: String,
    command: String,
    /// The waiter; `None` for an abandoned call.
    waiter: Option<T>,
}

/// A call with its response.
#[derive(Debug, PartialEq, Eq)]
pub struct SettledCall<T> {
    /// The call's id.
    pub id: String,
    /// The command's wire name.
    pub command: String,
    /// The waiter; `None` for an abandoned call, as after a timeout.
    pub waiter: Option<T>,
    /// `true` if the response had no id and was assigned to this call.
    pub attributed: bool,
}

impl<T> Default for PendingCalls<T> {
    fn default() -> Self {
        PendingCalls { next: 0, calls: BTreeMap::new(), by_id: HashMap::new(), abandoned: 0 }
    }
}

impl<T> PendingCalls<T> {
    /// Creates an empty table.
    pub fn new() -> Self {
        PendingCalls::default()
    }

    /// Adds a call. The caller is responsible for unique ids.
    pub fn insert(&mut self, id: impl Into<String>, command: impl Into<String>, waiter: T) {
        let id = id.into();
        self.next += 1;
        self.by_id.insert(id.clone(), self.next);
        self.calls.insert(self.next, PendingCall { id, command: command.into(), waiter: Some(waiter) });
    }

    /// Removes the call with the given id and returns it, or `None` if there is no such call.
    pub fn settle(&mut self, id: &str) -> Option<SettledCall<T>> {
        let position = *self.by_id.get(id)?;
        self.take(position, false)
    }

    /// Removes the oldest call to which a failure without an id can belong. `command` is the name in the
    /// failure. If it is `catch_all`, the failure can belong to any command. `unlikely` returns `true` for
    /// calls whose failures carry an id according to the document; these are chosen last.
    pub fn attribute(
        &mut self,
        command: Option<&str>,
        catch_all: &str,
        unlikely: impl Fn(&str, Option<&T>) -> bool,
    ) -> Option<SettledCall<T>> {
        let position = match command {
            Some(command) if command != catch_all => {
                *self.calls.iter().find(|(_, call)| call.command == command)?.0
            }
            _ => {
                let likely =
                    self.calls.iter().find(|(_, call)| !unlikely(&call.command, call.waiter.as_ref()));
                *likely.or_else(|| self.calls.first_key_value())?.0
            }
        };
        self.take(position, true)
    }

    /// Returns the id of the only call that has a waiter. With `command`, only calls of that command are
    /// considered. Returns `None` if there is no such call, or more than one.
    pub fn only_waiting(&self, command: Option<&str>) -> Option<&str> {
        let is_it = |call: &&PendingCall<T>| {
            call.waiter.is_some() && command.is_none_or(|command| call.command == command)
        };
        let mut calls = self.calls.values().filter(is_it);
        let call = calls.next()?;
        calls.next().is_none().then_some(&call.id)
    }

    /// Returns `true` if the call with the given id has a waiter.
    pub fn has_waiter(&self, id: &str) -> bool {
        let call = self.by_id.get(id).and_then(|position| self.calls.get(position));
        call.is_some_and(|call| call.waiter.is_some())
    }

    fn take(&mut self, position: u64, attributed: bool) -> Option<SettledCall<T>> {
        let call = self.calls.remove(&position)?;
        self.by_id.remove(&call.id);
        self.abandoned -= usize::from(call.waiter.is_none());
        Some(SettledCall { id: call.id, command: call.command, waiter: call.waiter, attributed })
    }

    /// Marks a call as abandoned and returns its waiter. A late response is still assigned to this call.
    pub fn abandon(&mut self, id: &str) -> Option<T> {
        let waiter = self.calls.get_mut(self.by_id.get(id)?)?.waiter.take()?;
        self.abandoned += 1;
        if self.abandoned > ABANDONED
            && let Some((&oldest, _)) = self.calls.iter().find(|(_, call)| call.waiter.is_none())
        {
            self.take(oldest, false);
        }
        Some(waiter)
    }

    /// Returns the ids of all calls with a waiter, oldest first.
    pub fn ids(&self) -> Vec<String> {
        self.calls.values().filter(|call| call.waiter.is_some()).map(|call| call.id.clone()).collect()
    }

    /// Removes all calls and returns their waiters, oldest first.
    pub fn drain(&mut self) -> Vec<T> {
        self.by_id.clear();
        self.abandoned = 0;
        std::mem::take(&mut self.calls).into_values().filter_map(|call| call.waiter).collect()
    }

    /// Returns the number of calls with a waiter.
    pub fn len(&self) -> usize {
        self.calls.len() - self.abandoned
    }

    /// Returns `true` if no call has a waiter.
    pub fn is_empty(&self) -> bool {
        self.calls.len() == self.abandoned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PendingCalls<u8> {
        let mut table = PendingCalls::new();
        table.insert("a", "bash", 1);
        table.insert("b", "compact", 2);
        table.insert("c", "bash", 3);
        table
    }

    #[test]
    fn an_id_settles_its_call_once() {
        let mut table = table();
        let settled = table.settle("b").unwrap();
        assert_eq!((settled.waiter, settled.attributed), (Some(2), false));
        assert_eq!(table.settle("b"), None);
        assert_eq!(table.ids(), ["a", "c"]);
    }

    #[test]
    fn a_failure_without_id_goes_to_the_oldest_of_its_command() {
        let mut table = table();
        table.settle("a");
        let settled = table.attribute(Some("bash"), "parse", |_, _| false).unwrap();
        assert_eq!((settled.waiter, settled.attributed), (Some(3), true));
        assert_eq!(table.attribute(Some("fork"), "parse", |_, _| false), None);
    }

    #[test]
    fn parse_goes_to_the_oldest_of_all() {
        let mut table = table();
        assert_eq!(table.attribute(Some("parse"), "parse", |_, _| false).unwrap().waiter, Some(1));
        assert_eq!(table.attribute(None, "parse", |_, _| false).unwrap().waiter, Some(2));
    }

    #[test]
    fn calls_whose_failures_carry_an_id_come_last() {
        let mut table = table();
        let unlikely = |command: &str, _: Option<&u8>| command == "bash";
        assert_eq!(table.attribute(Some("parse"), "parse", unlikely).unwrap().waiter, Some(2));
        assert_eq!(table.attribute(Some("parse"), "parse", unlikely).unwrap().waiter, Some(1));
    }

    #[test]
    fn drain_gives_all_in_order() {
        let mut table = table();
        assert_eq!(table.drain(), [1, 2, 3]);
        assert!(table.is_empty());
        assert_eq!(table.settle("a"), None);
    }

    #[test]
    fn a_late_failure_belongs_to_the_call_that_timed_out() {
        let mut table = table();
        assert_eq!(table.abandon("a"), Some(1));
        assert_eq!(table.abandon("a"), None);
        assert_eq!(table.ids(), ["b", "c"]);
        let late = table.attribute(Some("parse"), "parse", |_, _| false).unwrap();
        assert_eq!((late.id.as_str(), late.waiter), ("a", None));
        assert_eq!(table.attribute(Some("parse"), "parse", |_, _| false).unwrap().waiter, Some(2));
    }

    #[test]
    fn abandoned_calls_do_not_accumulate() {
        let mut table = PendingCalls::new();
        for n in 0..1000 {
            table.insert(n.to_string(), "bash", n);
            table.abandon(&n.to_string());
        }
        assert!(table.is_empty() && table.calls.len() == ABANDONED && table.by_id.len() == ABANDONED);
        assert_eq!(table.settle("0"), None);
        assert_eq!(table.settle("999").unwrap().waiter, None);
    }
}
