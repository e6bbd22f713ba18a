//! Fidelity of rows for pairs of dialects.

use super::*;

fn fidelity(front: &str, agent: &str, row: &str) -> (Fidelity, String) {
    let spec = |name: &str| crate::dynamic::spec(name).unwrap();
    let rows = explain(spec(front), spec(agent)).unwrap();
    let row = rows.into_iter().find(|known| known.row == row).unwrap();
    (row.fidelity, row.reason)
}

#[test]
#[cfg(all(feature = "pi", feature = "opal"))]
fn events_that_an_agent_never_emits_are_not_carried() {
    assert_eq!(fidelity("pi", "opal", "tool_execution_update").0, Fidelity::Lost);
    // The agent reports only requested compactions.
    for row in ["auto_compaction_start", "auto_compaction_end"] {
        assert_eq!(fidelity("pi", "opal", row).0, Fidelity::Approximated, "{row}");
    }
}

#[test]
#[cfg(all(feature = "pi", feature = "opal"))]
fn a_dialect_specific_notice_is_approximated_elsewhere() {
    assert_eq!(fidelity("opal", "pi", "agent_recovered").0, Fidelity::Approximated);
    assert_eq!(fidelity("opal", "pi", "error").0, Fidelity::Carried);
}

#[test]
#[cfg(all(feature = "pi", feature = "opal"))]
fn unsupported_parameters_and_missing_sessions_are_reported() {
    let (fate, reason) = fidelity("opal", "pi", "session/start");
    assert_eq!(fate, Fidelity::Approximated);
    for part in ["the agent has one session at a time", "not forwarded: `system_prompt`, `tools`"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert!(!fidelity("opal", "opal", "session/start").1.contains("one session"));
}

#[test]
#[cfg(all(feature = "pi", feature = "omp", feature = "operator"))]
fn a_fork_is_approximated_where_the_agent_rewinds_to_any_entry() {
    let (fate, reason) = fidelity("operator", "pi", "fork");
    assert!(fate == Fidelity::Approximated && reason.contains("ends before it"), "{reason}");
    assert!(!fidelity("pi", "omp", "fork").1.contains("ends before it"));
}

#[test]
#[cfg(all(feature = "pi", feature = "omp"))]
fn hidden_shell_output_is_reported_where_an_agent_may_ignore_it() {
    for (agent, part) in
        [("pi@0.55", "`bash` does not take `hidden`"), ("omp", "`bash` does not take `hidden`")]
    {
        let (fate, reason) = fidelity("pi@1.5", agent, "bash");
        assert!(fate == Fidelity::Approximated && reason.contains(part), "{agent}: {reason}");
    }
    assert_eq!(fidelity("pi@1.5", "pi@1.5", "bash").0, Fidelity::Carried);
    let rows = explain(crate::dynamic::spec("pi@1.5").unwrap(), &crate::pi::CLIENT).unwrap();
    let bash = rows.iter().find(|row| row.row == "bash").unwrap();
    assert_eq!(bash.reason, "`bash` does not take `hidden` in all revisions");
}

#[test]
#[cfg(all(feature = "pi", feature = "opal"))]
fn parameters_that_the_agent_does_not_get_are_named() {
    let untaken = |front: &str, agent: &str, row: &str| {
        let spec = |name: &str| crate::dynamic::spec(name).unwrap();
        let rows = explain(spec(front), spec(agent)).unwrap();
        rows.into_iter().find(|known| known.row == row).unwrap().unsupported_params
    };
    assert_eq!(untaken("pi@1.5", "pi@0.55", "bash"), ["excludeFromContext"]);
    assert!(untaken("opal", "pi", "session/start").contains(&"system_prompt".to_owned()));
    assert_eq!(untaken("pi", "opal", "export_html"), Vec::<String>::new(), "all of it is lost");
    assert_eq!(untaken("opal", "opal", "session/start"), Vec::<String>::new());
}

#[test]
#[cfg(all(feature = "omp", feature = "pisces"))]
fn todo_reminders_reach_no_other_adapter() {
    assert_eq!(fidelity("omp", "pisces", "todo_reminder").0, Fidelity::Lost);
    assert_eq!(fidelity("omp@12.7", "omp@18.2", "todo_reminder").0, Fidelity::Carried);
}

fn of(fates: &[(Intent, Fidelity, &str)]) -> (Fidelity, String) {
    combine_fidelities(fates.iter().map(|(intent, fate, reason)| (*intent, (*fate, (*reason).to_owned()))))
}

#[test]
fn every_reason_of_a_command_with_several_intents_is_reported() {
    let (fate, reason) = of(&[
        (Intent::Prompt, Fidelity::Carried, ""),
        (Intent::Steer, Fidelity::Approximated, "words wait"),
        (Intent::FollowUp, Fidelity::Approximated, "words wait"),
        (Intent::Fork, Fidelity::Lost, "no forks"),
    ]);
    assert_eq!(fate, Fidelity::Approximated);
    assert_eq!(reason, "`steer`, `followUp`: words wait; `fork`: no forks");
}

#[test]
fn a_reason_for_all_of_a_command_names_no_intent() {
    let (fate, reason) =
        of(&[(Intent::Fork, Fidelity::Lost, "no"), (Intent::ForkPoints, Fidelity::Lost, "no")]);
    assert_eq!((fate, reason.as_str()), (Fidelity::Lost, "no"));
    let (fate, reason) =
        of(&[(Intent::Fork, Fidelity::Carried, ""), (Intent::ForkPoints, Fidelity::Carried, "")]);
    assert_eq!((fate, reason.as_str()), (Fidelity::Carried, ""));
}

#[test]
#[cfg(all(feature = "pi", feature = "omp", feature = "opal", feature = "operator"))]
fn divergences_of_a_command_are_reported() {
    let differs = |front: &str, agent: &str, row: &str| {
        let spec = |name: &str| crate::dynamic::spec(name).unwrap();
        let rows = explain(spec(front), spec(agent)).unwrap();
        rows.into_iter().find(|known| known.row == row).unwrap().differences
    };
    let opened = differs("pi", "operator@seed", "switch_session");
    assert!(opened.iter().any(|one| one.places == ["history"] && !one.busy && !one.refuses), "{opened:?}");
    assert!(opened.iter().any(|one| one.busy && one.refuses), "{opened:?}");
    let live = differs("pi", "operator@live", "switch_session");
    assert!(!live.is_empty() && live.iter().all(|one| !one.refuses), "no rejection: {live:?}");
    assert!(fidelity("pi", "operator@seed", "switch_session").1.contains("the history is empty"));
    // Input for which the agent has no queue.
    let steered = differs("pi", "operator@seed", "steer");
    assert!(steered.iter().any(|one| one.places == ["order", "answers"] && !one.busy), "{steered:?}");
    // An agent that announces a call when it starts.
    let prompted = differs("pi", "opal", "prompt");
    assert!(prompted.iter().any(|one| one.places == ["calls"] && !one.busy), "{prompted:?}");
    // An agent whose shell adds no message for each command.
    let shells = |agent: &str| {
        let differs = differs("pi@0.55", agent, "bash");
        differs.iter().any(|one| one.places.iter().any(|place| place == "shells"))
    };
    assert!(shells("omp") && !shells("pi"));
    // An agent that omits calls prevented by an abort, and an agent that continues by itself.
    let has = |front: &str, agent: &str, row: &str, place: &str| {
        differs(front, agent, row).iter().any(|one| one.places.iter().any(|known| known == place))
    };
    assert!(has("pi", "opal", "abort", "stopped") && !has("pi", "omp", "abort", "stopped"));
    assert!(has("pi", "omp", "prompt", "goesOn") && !has("omp", "pisces", "prompt", "goesOn"));
    assert!(has("omp", "pi", "branch", "events") && has("omp", "pisces", "branch", "events"));
    // A front end that only knows the providers of the agent's models.
    let set = differs("opal", "pi", "model/set");
    assert!(set.iter().any(|one| one.refuses && one.with == ["model_id"]), "{set:?}");
    // Also if the translator answers from earlier frames.
    let listed = differs("opal", "operator@seed", "models/list");
    assert!(listed.iter().any(|one| one.refuses && one.with == ["providers"]), "{listed:?}");
    assert!(
        fidelity("opal", "operator@seed", "models/list")
            .1
            .contains("providers other than those of its models")
    );
    // A prompt has this difference only during a run.
    let differences = differs("opal", "operator@seed", "agent/prompt");
    assert!(!differences.is_empty() && differences.iter().all(|one| one.busy), "{differences:?}");
    assert!(
        differs("pi", "pi", "switch_session").is_empty() && differs("pi", "opal", "new_session").is_empty()
    );
}

#[test]
#[cfg(all(feature = "pi", feature = "opal", feature = "operator"))]
fn a_dialog_of_a_tool_is_approximated_where_the_agent_has_no_such_tool() {
    let (fate, reason) = fidelity("opal", "pi", "client/ask_user");
    assert_eq!(fate, Fidelity::Approximated);
    assert!(reason.contains("`ask_user`"), "{reason}");
    // Other dialogs are carried; an agent without dialogs loses all of them.
    assert_eq!(fidelity("opal", "pi", "client/input").0, Fidelity::Carried);
    assert_eq!(fidelity("opal", "operator@seed", "client/ask_user").0, Fidelity::Lost);
    assert_eq!(fidelity("opal", "opal", "client/ask_user").0, Fidelity::Carried);
}
