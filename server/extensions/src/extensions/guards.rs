//! Extensions that guard tools, and the reasons for their absence.
//!
//! A guard is an extension that subscribes to `tool_call`. An extension that never reported its contents is
//! treated as a guard, unless its manifest excludes that. An extension that itself reported a failed load is
//! not a guard; pi continues without such an extension too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::types::{OfferedExtension, ToolCallHook};

use super::wire::type_of;

/// Known status of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The extension has not reported its contents.
    Nothing,
    Guards,
    GuardsNothing,
}

#[derive(Debug)]
struct Guard {
    /// The path of the extension.
    path: String,
    /// The member `guards` of its manifest.
    declared: Option<bool>,
    known: Known,
    /// The reason for its absence, if known.
    why: Option<String>,
}

impl Guard {
    fn guards(&self) -> bool {
        match self.known {
            Known::Guards => true,
            Known::Nothing => self.declared != Some(false),
            Known::GuardsNothing => self.declared == Some(true),
        }
    }

    fn is_asked(&mut self, guards: bool) {
        self.known = if guards { Known::Guards } else { Known::GuardsNothing };
    }
}

/// The status of all extensions.
#[derive(Debug, Default)]
pub(super) struct Guards(Mutex<Vec<Guard>>);

impl Guards {
    fn all(&self) -> MutexGuard<'_, Vec<Guard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, path: &str, change: impl FnOnce(&mut Guard)) {
        if let Some(guard) = self.all().iter_mut().find(|guard| guard.path == path) {
            change(guard);
        }
    }

    /// Registers an extension to be loaded. `declared` is the member `guards` of its manifest.
    pub fn expect(&self, path: &str, declared: Option<bool>) {
        let mut all = self.all();
        if !all.iter().any(|guard| guard.path == path) {
            all.push(Guard { path: path.to_owned(), declared, known: Known::Nothing, why: None });
        }
    }

    /// Records that an extension has started and reported its contents. A former guard remains a guard until
    /// it reports otherwise while running, because it may add its handler later, as at its first start.
    pub fn has_started(&self, path: &str, guards: bool) {
        self.of(path, |guard| {
            guard.why = None;
            if guards || guard.known == Known::Nothing {
                guard.is_asked(guards);
            }
        });
    }

    /// Records a new report of a running extension about its contents.
    pub fn says(&self, path: &str, guards: bool) {
        self.of(path, |guard| guard.is_asked(guards));
    }

    /// Records that an extension reported a failed load.
    pub fn refuses(&self, path: &str, why: &str) {
        self.of(path, |guard| {
            guard.why = Some(why.to_owned());
            if guard.known == Known::Nothing {
                guard.known = Known::GuardsNothing;
            }
        });
    }

    /// Records that extensions are no longer running.
    pub fn are_gone(&self, paths: &[String], why: &str) {
        for path in paths {
            self.of(path, |guard| guard.why = Some(why.to_owned()));
        }
    }

    /// Returns true if one of the extensions was running before.
    pub fn were_there(&self, paths: &[String]) -> bool {
        self.all().iter().any(|guard| guard.known != Known::Nothing && paths.contains(&guard.path))
    }

    /// Returns the reason for blocking tools while a guard is missing, or `None` if all guards are running.
    pub fn missing(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let all = self.all();
        let missing: Vec<&Guard> =
            all.iter().filter(|guard| guard.guards() && !is_there(&guard.path)).collect();
        let first = missing.first()?;
        let what = match first.known {
            Known::Nothing => "has not started, and may guard tools",
            Known::Guards | Known::GuardsNothing => "guards tools and is gone",
        };
        let why = first.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let more = match missing.len() - 1 {
            0 => String::new(),
            1 => ", and another one is missing".to_owned(),
            more => format!(", and {more} others are missing"),
        };
        Some(format!(
            "Blocked: the extension {} {what}{why}{more}. Tools run again once it is there, or where the user's \
             settings say \"extensionHost\": {{\"unguarded\": true}}.",
            first.path
        ))
    }
}

/// Returns true if an extension with these contents subscribes to `tool_call`.
pub(super) fn guards(offered: &OfferedExtension) -> bool {
    offered.events.iter().flatten().any(|name| name == type_of::<ToolCallHook>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(guards: &Guards, there: &[&str]) -> bool {
        guards.missing(|path| there.contains(&path)).is_some()
    }

    #[test]
    fn fm_f92_one_that_never_said_what_it_brings_counts_as_a_guard_unless_its_manifest_says_otherwise() {
        for (declared, expected) in [(None, true), (Some(true), true), (Some(false), false)] {
            let guards = Guards::default();
            guards.expect("a", declared);
            assert_eq!(blocked(&guards, &[]), expected, "{declared:?}");
            guards.are_gone(&["a".to_owned()], "gone");
            assert_eq!(blocked(&guards, &[]), expected, "{declared:?}");
        }
    }

    #[test]
    fn fm_f92_what_it_said_counts_more_than_what_is_supposed() {
        let guards = Guards::default();
        for (path, declared) in [("none", None), ("asked", Some(false)), ("refused", None)] {
            guards.expect(path, declared);
        }
        guards.has_started("none", false);
        guards.has_started("asked", true);
        guards.refuses("refused", "broken");
        assert!(!blocked(&guards, &["asked"]));
        let said = guards.missing(|_| false).unwrap();
        assert!(said.starts_with("Blocked: the extension asked guards tools and is gone. "), "{said}");
        // After a restart it may have no handler at first, and may remove the handler itself.
        guards.has_started("asked", false);
        assert!(blocked(&guards, &[]));
        guards.refuses("asked", "broken this time");
        assert!(guards.missing(|_| false).unwrap().contains("is gone (broken this time)."));
        guards.says("asked", false);
        assert!(!blocked(&guards, &[]));
        guards.says("none", true);
        assert!(blocked(&guards, &["asked"]) && !blocked(&guards, &["none"]));
    }

    #[test]
    fn fm_f92_a_manifest_can_say_that_nothing_runs_without_it() {
        let guards = Guards::default();
        guards.expect("a", Some(true));
        guards.refuses("a", "no");
        guards.expect("b", None);
        let said = guards.missing(|_| false).unwrap();
        assert!(
            said.contains("the extension a guards tools and is gone (no), and another one is missing."),
            "{said}"
        );
        assert!(said.contains("\"extensionHost\": {\"unguarded\": true}"), "{said}");
    }
}
