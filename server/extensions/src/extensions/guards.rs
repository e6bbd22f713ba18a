//! Status of extensions that guard tools. Tools are blocked while such an extension does not run.
//!
//! A guard is an extension that subscribes to `tool_call`. An extension that never reported its contents is
//! treated as a guard, unless its manifest excludes that. An extension that itself reported a failed load is
//! not a guard; pi continues without such an extension too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::types::{OfferedExtension, ToolCallHook};

use super::wire::type_of;

/// The known role of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardStatus {
    /// The extension has not reported its contents.
    Unreported,
    Guards,
    NotAGuard,
}

#[derive(Debug)]
struct Guard {
    /// The path of the extension.
    path: String,
    /// The member `guards` of its manifest.
    declared: Option<bool>,
    status: GuardStatus,
    /// The reason why the extension does not run, if known.
    absence_reason: Option<String>,
}

impl Guard {
    fn is_guard(&self) -> bool {
        match self.status {
            GuardStatus::Guards => true,
            GuardStatus::Unreported => self.declared != Some(false),
            GuardStatus::NotAGuard => self.declared == Some(true),
        }
    }

    fn set_status(&mut self, guards: bool) {
        self.status = if guards { GuardStatus::Guards } else { GuardStatus::NotAGuard };
    }
}

/// The status of all extensions.
#[derive(Debug, Default)]
pub(super) struct Guards(Mutex<Vec<Guard>>);

impl Guards {
    fn all(&self) -> MutexGuard<'_, Vec<Guard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, path: &str, change: impl FnOnce(&mut Guard)) {
        if let Some(guard) = self.all().iter_mut().find(|guard| guard.path == path) {
            change(guard);
        }
    }

    /// Registers an extension to be loaded. `declared` is the member `guards` of its manifest.
    pub fn expect(&self, path: &str, declared: Option<bool>) {
        let mut all = self.all();
        if !all.iter().any(|guard| guard.path == path) {
            all.push(Guard {
                path: path.to_owned(),
                declared,
                status: GuardStatus::Unreported,
                absence_reason: None,
            });
        }
    }

    /// Records that an extension has started and reported its contents. A former guard remains a guard even if it
    /// reports no subscription at its start, because it may subscribe later. Only a later report changes that.
    pub fn record_start(&self, path: &str, guards: bool) {
        self.update(path, |guard| {
            guard.absence_reason = None;
            if guards || guard.status == GuardStatus::Unreported {
                guard.set_status(guards);
            }
        });
    }

    /// Records that a running extension has reported its contents again.
    pub fn record_report(&self, path: &str, guards: bool) {
        self.update(path, |guard| guard.set_status(guards));
    }

    /// Records that an extension reported that its load failed. Without an earlier report of its contents, it is then
    /// not a guard.
    pub fn record_load_failure(&self, path: &str, why: &str) {
        self.update(path, |guard| {
            guard.absence_reason = Some(why.to_owned());
            if guard.status == GuardStatus::Unreported {
                guard.status = GuardStatus::NotAGuard;
            }
        });
    }

    /// Records the reason why extensions no longer run.
    pub fn record_absence(&self, paths: &[String], why: &str) {
        for path in paths {
            self.update(path, |guard| guard.absence_reason = Some(why.to_owned()));
        }
    }

    /// Returns true if at least one of the extensions has run before.
    pub fn have_run(&self, paths: &[String]) -> bool {
        self.all().iter().any(|guard| guard.status != GuardStatus::Unreported && paths.contains(&guard.path))
    }

    /// Returns the reason for blocking tools if a guard does not run. Returns `None` if all guards run.
    pub fn block_reason(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let all = self.all();
        let missing: Vec<&Guard> =
            all.iter().filter(|guard| guard.is_guard() && !is_there(&guard.path)).collect();
        let first = missing.first()?;
        let what = match first.status {
            GuardStatus::Unreported => "has not started, and may guard tools",
            GuardStatus::Guards | GuardStatus::NotAGuard => "guards tools and is not running",
        };
        let why = first.absence_reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let more = match missing.len() - 1 {
            0 => String::new(),
            1 => ", and another guard is missing".to_owned(),
            more => format!(", and {more} other guards are missing"),
        };
        Some(format!(
            "Blocked: the extension {} {what}{why}{more}. Tools run again when it is running, or if the \
             user's settings contain \"extensionHost\": {{\"unguarded\": true}}.",
            first.path
        ))
    }
}

/// Returns true if the reported contents of an extension include a subscription to `tool_call`.
pub(super) fn subscribes_to_tool_calls(offered: &OfferedExtension) -> bool {
    offered.events.iter().flatten().any(|name| name == type_of::<ToolCallHook>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(guards: &Guards, there: &[&str]) -> bool {
        guards.block_reason(|path| there.contains(&path)).is_some()
    }

    #[test]
    fn fm_f92_an_extension_without_a_report_is_a_guard_unless_its_manifest_excludes_it() {
        for (declared, expected) in [(None, true), (Some(true), true), (Some(false), false)] {
            let guards = Guards::default();
            guards.expect("a", declared);
            assert_eq!(blocked(&guards, &[]), expected, "{declared:?}");
            guards.record_absence(&["a".to_owned()], "gone");
            assert_eq!(blocked(&guards, &[]), expected, "{declared:?}");
        }
    }

    #[test]
    fn fm_f92_reports_of_extensions_override_assumptions() {
        let guards = Guards::default();
        for (path, declared) in [("none", None), ("asked", Some(false)), ("refused", None)] {
            guards.expect(path, declared);
        }
        guards.record_start("none", false);
        guards.record_start("asked", true);
        guards.record_load_failure("refused", "broken");
        assert!(!blocked(&guards, &["asked"]));
        let reason = guards.block_reason(|_| false).unwrap();
        assert!(
            reason.starts_with("Blocked: the extension asked guards tools and is not running. "),
            "{reason}"
        );
        // After a restart it may have no handler at first, and may remove the handler itself.
        guards.record_start("asked", false);
        assert!(blocked(&guards, &[]));
        guards.record_load_failure("asked", "broken this time");
        assert!(guards.block_reason(|_| false).unwrap().contains("is not running (broken this time)."));
        guards.record_report("asked", false);
        assert!(!blocked(&guards, &[]));
        guards.record_report("none", true);
        assert!(blocked(&guards, &["asked"]) && !blocked(&guards, &["none"]));
    }

    #[test]
    fn fm_f92_a_manifest_can_require_the_guard() {
        let guards = Guards::default();
        guards.expect("a", Some(true));
        guards.record_load_failure("a", "no");
        guards.expect("b", None);
        let reason = guards.block_reason(|_| false).unwrap();
        assert!(
            reason.contains(
                "the extension a guards tools and is not running (no), and another guard is missing."
            ),
            "{reason}"
        );
        assert!(reason.contains("\"extensionHost\": {\"unguarded\": true}"), "{reason}");
    }
}
