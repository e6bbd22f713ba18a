//! Tests that at least one case covers each command, event, dialog and documented edge of a dialect.

#[path = "coverage/edges.rs"]
mod edges;

use std::collections::BTreeSet;

use agentese::types::{CheckLevel, Scenario, ScenarioStep};
use agentese_conformance::Suite;
use agentese_conformance::matching::{Pattern, expectations};
use agentese_conformance::player::needs;
use agentese_conformance::transcript::Record;
use agentese_protocol::Index;
use agentese_protocol::dialect::Behavior;
use regex::Regex;
use serde_json::Value;

use edges::{ClientInput, EDGES};

/// Cases about framing, written by hand. They have expectations instead of a golden transcript.
const FRAMING: &[&str] = &[
    "framing-u2028",
    "framing-crlf",
    "framing-split-utf8",
    "framing-bom",
    "framing-blank-lines",
    "framing-two-objects",
    "framing-64-mib-line",
    "framing-no-newline-at-end",
    "framing-interleaved-writes",
    "framing-slow-reader",
];

/// Declared items that no case covers, with reasons. pisces inherits the rows of omp, so omp's cases cover
/// them.
const GAPS: &[(&str, &str, &str)] = &[
    ("operator", "event tool_execution_start", "no agent was recorded that runs tools over this dialect"),
    ("operator", "event tool_execution_end", "no agent was recorded that runs tools over this dialect"),
    ("opal", "dialog client/confirm", "declared in the protocol; no version of the agent sends it"),
    ("opal", "dialog client/input", "declared in the protocol; no version of the agent sends it"),
];

/// Documented failures of pi whose text is in no golden transcript.
const PLACEHOLDERS: &[(&str, &str, &str)] =
    &[("compact", "Summarization failed: {reason}", "compact-error: its text is a placeholder there")];

fn index(dialect: &str) -> Index {
    Index::named(dialect).unwrap()
}

/// Returns the tables of a dialect or protocol by the dialect of its cases.
fn index_of(suite: &Suite, dialect: &str) -> Index {
    let mut protocols = Index::protocols().into_iter();
    match suite.protocols().iter().any(|name| name == dialect) {
        true => protocols.find(|index| index.dialect.name == dialect).unwrap(),
        false => index(dialect),
    }
}

/// Returns the sets of cases: those of the dialects, and those of the protocols.
fn all_sets(suite: &Suite) -> Vec<String> {
    sets(suite).into_iter().chain(suite.protocols()).collect()
}

/// Returns the dialect revisions that have cases: the first revision of each dialect, and some later ones.
fn sets(suite: &Suite) -> Vec<String> {
    let mut sets = suite.dialects();
    sets.extend(["pi@1.5", "pi@1.6"].map(str::to_owned));
    sets
}

fn declared(index: &Index) -> BTreeSet<String> {
    let commands = index.commands.iter().map(|command| format!("command {}", command.wire));
    let events = index.events.iter().map(|event| format!("event {}", event.name));
    let dialogs = index.dialogs.iter().map(|dialog| format!("dialog {}", dialog.wire));
    commands.chain(events).chain(dialogs).collect()
}

fn covered(cases: &[Scenario]) -> BTreeSet<String> {
    cases.iter().flat_map(|case| case.covers.clone().unwrap_or_default()).collect()
}

fn missing(dialect: &str) -> Vec<String> {
    let suite = Suite::embedded();
    let mut covered = covered(&suite.cases(dialect).unwrap());
    // Cases of an earlier revision also cover items that a later revision keeps.
    let older = [("pisces", "omp"), ("pi@1.5", "pi"), ("pi@1.6", "pi@1.5"), ("pi@1.6", "pi")];
    for older in older.into_iter().filter(|(set, _)| *set == dialect) {
        covered.extend(self::covered(&suite.cases(older.1).unwrap()));
    }
    declared(&index(dialect)).difference(&covered).cloned().collect()
}

#[test]
fn every_command_event_and_dialog_has_a_case() {
    let mut found = Vec::new();
    for dialect in sets(&Suite::embedded()) {
        found.extend(missing(&dialect).into_iter().map(|what| (dialect.clone(), what)));
    }
    let mut known: Vec<_> =
        GAPS.iter().map(|(dialect, what, _)| ((*dialect).to_owned(), (*what).to_owned())).collect();
    known.sort();
    found.sort();
    assert_eq!(found, known);
}

/// Dialogs of a protocol that no agent of the suite's reach sends.
const PROTOCOL_GAPS: &[(&str, &str)] = &[
    ("dialog $/cancel_request", "clients may ignore it"),
    ("dialog elicitation/complete", "no agent opens a page without a question of its own"),
    ("dialog terminal/kill", "an agent may release a terminal without killing its command"),
];

#[test]
fn every_method_of_a_protocol_has_a_case() {
    let suite = Suite::embedded();
    let known: BTreeSet<String> = PROTOCOL_GAPS.iter().map(|(what, _)| (*what).to_owned()).collect();
    for protocol in suite.protocols() {
        let covered = covered(&suite.cases(&protocol).unwrap());
        let missing: BTreeSet<String> =
            declared(&index_of(&suite, &protocol)).difference(&covered).cloned().collect();
        assert_eq!(missing, known, "{protocol}");
    }
}

/// Cases of a protocol name what they judge, and have at least one expectation of their own.
#[test]
fn cases_of_a_protocol_name_a_section_of_its_document() {
    let suite = Suite::embedded();
    for protocol in suite.protocols() {
        let cases = suite.cases(&protocol).unwrap();
        assert!(cases.len() > 100, "{protocol}: {}", cases.len());
        let common = cases.iter().map(|case| case.expect.iter().flatten().count()).min().unwrap_or_default();
        for case in &cases {
            assert!(case.section.as_ref().is_some_and(|section| !section.is_empty()), "{}", case.name);
            assert!(case.expect.iter().flatten().count() >= common && case.level.is_some(), "{}", case.name);
        }
    }
}

#[test]
fn every_edge_of_pi_has_a_case() {
    let covered = covered(&Suite::embedded().cases("pi").unwrap());
    let missing: Vec<_> = EDGES
        .iter()
        .map(|(edge, _)| edge)
        .filter(|edge| !covered.contains(&format!("edge {edge}")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Each edge with a rule in the declaration must be an edge that cases can name.
#[test]
fn edges_with_rules_are_edges_of_cases() {
    let named: BTreeSet<&str> = EDGES.iter().map(|(edge, _)| *edge).collect();
    for dialect in Suite::embedded().dialects() {
        let with_rules = edges::of_rules(&index(&dialect).revision.edges);
        let missing: Vec<_> = with_rules.difference(&named).collect();
        assert!(missing.is_empty(), "{dialect}: {missing:?}");
    }
}

/// Behaviour of a revision that no frame declares also needs a case. A new attribute causes a compile error
/// until it is listed here.
#[test]
fn every_behavior_that_a_revision_declares_has_a_case() {
    let Behavior { skips_textless_answers, blind_model_detail, retried_words, reports_listener_failures } =
        index("pi@1.6").revision.behavior;
    let declared = [
        (skips_textless_answers, "pi16-last-text"),
        (blind_model_detail.is_some(), "pi16-blind-model"),
        (!retried_words.is_empty(), "pi16-retried-words"),
        (reports_listener_failures, "pi16-listener-failure"),
    ];
    let cases = Suite::embedded().cases("pi@1.6").unwrap();
    for (is_declared, name) in declared {
        assert!(is_declared && cases.iter().any(|case| case.name == name), "{name}");
    }
}

/// Each documented failure of pi must occur in a golden transcript.
#[test]
fn every_documented_failure_of_pi_has_a_case() {
    let suite = Suite::embedded();
    let index = index("pi");
    let mut texts = Vec::new();
    for case in suite.cases("pi").unwrap() {
        let golden = suite.golden("pi", &case.name).unwrap();
        for line in golden.iter().flat_map(|golden| golden.received()) {
            let frame: Value = serde_json::from_str(line.as_str()).unwrap_or_default();
            texts.extend(frame["error"].as_str().map(str::to_owned));
        }
    }
    let of_commands = index
        .commands
        .iter()
        .flat_map(|command| command.errors.iter().map(|error| (command.wire, error.text)));
    let of_dialect = index.dialect.errors.iter().map(|error| ("", error.text));
    // The recorded agent puts the prefix for unreadable lines before the errors of most commands.
    let prefix = regex::escape(index.revision.edges.parse_prefix);
    let name = Regex::new(r"\\\{\w+\\\}").unwrap();
    for (command, text) in of_commands.chain(of_dialect) {
        if PLACEHOLDERS.iter().any(|known| (known.0, known.1) == (command, text)) {
            continue;
        }
        let wanted = name.replace_all(&regex::escape(text), "(?s:.*)").into_owned();
        let wanted = Regex::new(&format!("^({prefix})?{wanted}")).unwrap();
        assert!(texts.iter().any(|seen| wanted.is_match(seen)), "{command}: no case shows `{text}`");
    }
}

/// Each item in `covers` must occur in the case. The client sends the commands, and the golden transcript
/// contains the events and dialogs.
#[test]
fn cases_cover_their_declared_items() {
    let suite = Suite::embedded();
    let mut astray = Vec::new();
    for dialect in sets(&suite) {
        let index = index(&dialect);
        let declared = declared(&index);
        for case in suite.cases(&dialect).unwrap() {
            let sent: String = case.steps.iter().map(step_text).collect();
            let golden = suite.golden(&dialect, &case.name).unwrap();
            // The expectations of a case may cover items in place of a recording.
            let expected = serde_json::to_string(&case.expect.clone().unwrap_or_default()).unwrap();
            if golden.is_none() && case.expect.is_none() {
                // A case with neither of them covers nothing.
                assert_eq!(case.covers.unwrap_or_default(), [""; 0], "{dialect}/{}", case.name);
                continue;
            }
            let lines = golden.iter().flat_map(|golden| golden.received());
            let received: String =
                lines.map(|line| line.as_str().replace(' ', "") + "\n").chain([expected]).collect();
            let written = ClientInput::of(&case, &received);
            for covers in case.covers.iter().flatten() {
                let place = format!("{dialect}/{}: {covers}", case.name);
                let (kind, name) = covers.split_once(' ').unwrap();
                match kind {
                    "edge" => {
                        let (_, shows) = EDGES.iter().find(|(edge, _)| *edge == name).expect(&place);
                        astray.extend((!shows(&written, &index)).then(|| place.clone()));
                    }
                    "command" => assert!(sent.contains(&format!("\"{name}\"")), "{place}"),
                    _ => assert!(received.contains(&format!("\"{name}\"")), "{place}"),
                }
                assert!(kind == "edge" || declared.contains(covers), "{place} is not declared");
            }
        }
    }
    assert!(astray.is_empty(), "their steps do not go there: {astray:#?}");
}

fn step_text(step: &ScenarioStep) -> String {
    match step {
        ScenarioStep::Send(step) => step.send.to_string(),
        // The name may also be written with an escape.
        ScenarioStep::Raw(step) => step.raw.replace(' ', "") + &step.raw.replace("\\u005f", "_"),
        _ => String::new(),
    }
}

#[test]
fn cases_are_named_after_their_files_and_can_be_played() {
    let suite = Suite::embedded();
    let mut count = 0;
    for dialect in all_sets(&suite) {
        let id = index_of(&suite, &dialect).id();
        for case in suite.cases(&dialect).unwrap() {
            let place = format!("{dialect}/{}", case.name);
            assert_eq!((case.scenario, &case.dialect), (1, &id), "{place}");
            assert_eq!(suite.case(&dialect, &case.name).unwrap().name, case.name, "{place}");
            assert!(!case.title.is_empty() && !case.steps.is_empty(), "{place}");
            for step in &case.steps {
                if let ScenarioStep::Wait(wait) = step {
                    Pattern::new(&wait.wait).unwrap_or_else(|error| panic!("{place}: {error}"));
                }
            }
            for check in case.requests.iter().flatten() {
                Pattern::new(&check.expect).unwrap_or_else(|error| panic!("{place}: {error}"));
            }
            count += 1;
        }
    }
    assert!(count > 250, "{count}");
}

/// A case without a golden transcript needs expectations, whose names are unique.
#[test]
fn expectations_are_patterns_and_have_names_of_their_own() {
    let suite = Suite::embedded();
    let mut count = 0;
    for dialect in all_sets(&suite) {
        for case in suite.cases(&dialect).unwrap() {
            let mut names = BTreeSet::new();
            for expectation in case.expect.iter().flatten() {
                let name = expectations::name(expectation);
                let place = format!("{dialect}/{}: {name}", case.name);
                expectations::check_patterns(expectation).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert!(names.insert(name), "{place} is there twice");
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn framing_has_its_ten_cases_in_every_dialect() {
    let suite = Suite::embedded();
    for dialect in suite.dialects() {
        for name in FRAMING {
            let case = suite.case(&dialect, name).unwrap();
            let musts = case.expect.iter().flatten().count();
            assert!(musts > 0 && case.level == Some(CheckLevel::Must), "{dialect}/{name}");
        }
    }
}

/// A profile can exclude only needs that some case has; otherwise the claim has no effect.
#[test]
fn every_need_is_that_of_a_case() {
    let suite = Suite::embedded();
    let cases = suite.dialects().into_iter().flat_map(|dialect| suite.cases(&dialect).unwrap());
    let needed: BTreeSet<String> = cases.flat_map(|case| needs(&case)).map(|need| need.to_string()).collect();
    let schema: Value = serde_json::from_str(agentese::schema::format("scenario").unwrap()).unwrap();
    let declared = schema["$defs"]["CaseNeed"]["examples"].as_array().unwrap();
    let declared = declared.iter().filter_map(Value::as_str);
    assert_eq!(needed, declared.map(str::to_owned).collect());
}

/// The client's lines in a golden transcript must equal those of the case.
#[test]
fn golden_transcripts_are_of_their_cases() {
    let suite = Suite::embedded();
    for dialect in suite.dialects() {
        for case in suite.cases(&dialect).unwrap() {
            let Some(golden) = suite.golden(&dialect, &case.name).unwrap() else { continue };
            assert_eq!(golden.header.scenario.as_option(), Some(&case.name), "{dialect}");
            let lines = golden.records.iter().filter(|record| matches!(record, Record::Sent(_))).count();
            let steps = case.steps.iter().map(|step| match step {
                ScenarioStep::Raw(raw) => raw.raw.matches('\n').count() + 1,
                ScenarioStep::Send(_) => 1,
                _ => 0,
            });
            let steps: usize = steps.sum();
            assert!(lines.abs_diff(steps) <= 2, "{dialect}/{}: {lines} lines, {steps} steps", case.name);
        }
    }
}

/// Alternative recordings must belong to existing cases.
#[test]
fn alternatives_are_of_their_cases() {
    let suite = Suite::embedded();
    let mut count = 0;
    for case in suite.cases("pi").unwrap() {
        if let Some(other) = suite.alternative("pi", &case.name).unwrap() {
            assert!(other.received().count() > 3, "{}", case.name);
            assert_eq!(other.header.agent, "pi");
            count += 1;
        }
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/alternatives/pi");
    assert_eq!(count, std::fs::read_dir(folder).unwrap().count());
}

#[test]
fn profiles_name_dialects_and_start_something() {
    let suite = Suite::embedded();
    let mut dialects: BTreeSet<String> = agentese::schema::dialects().into_iter().collect();
    dialects.extend(Index::protocols().iter().map(Index::id));
    for name in suite.profiles() {
        let profile = suite.profile(&name).unwrap();
        assert_eq!(profile.name, name);
        assert!(dialects.contains(&profile.dialect), "{name}: {}", profile.dialect);
        assert!(profile.command.is_some_and(|command| !command.is_empty()), "{name}");
        if let Some(ready) = &profile.ready {
            Pattern::new(ready).unwrap();
        }
    }
}
