//! Tests of the effects of mutators, and of the places that they find.

use std::collections::{BTreeMap, BTreeSet};

use agentese_conformance::transcript::Record;
use agentese_conformance::{Suite, Transcript};
use agentese_conformance_defects::change::{apply, with_end};
use agentese_conformance_defects::stream::Stream;
use agentese_conformance_defects::{Effect, Mutator, mutator, mutators, neutrals};

/// Returns the output of the agent in a golden transcript.
pub fn stream(dialect: &str, case: &str) -> Stream {
    let golden = Suite::embedded().golden(dialect, case).unwrap().unwrap();
    stream_of(dialect, &golden)
}

fn stream_of(dialect: &str, golden: &Transcript) -> Stream {
    let mut stream = Stream::new(agentese::dynamic::spec(dialect).unwrap());
    for record in &golden.records {
        match record {
            Record::Sent(line) => stream.add_client_line(line.as_str()),
            Record::Received(line) => stream.add_agent_line(line.as_str()),
            Record::Control(_) => {}
        }
    }
    stream.complete = true;
    stream
}

/// Short transcripts that together contain places for most mutators.
const SHORT: &[(&str, &str)] = &[
    ("pi", "tool-bash-anthropic"),
    ("pi", "ext-ui-two-at-once"),
    ("pi", "proto-unknown-command"),
    ("pi", "get-commands-empty"),
    ("pi", "prompt-text-openai"),
    ("omp", "prompt_async_failure"),
    ("opal", "05_tool_read"),
    ("operator", "d01_prompt_answered_at_completion"),
    ("operator", "d03_commands"),
];

#[test]
fn mutators_have_unique_names() {
    let names: BTreeSet<_> = mutators().iter().map(|mutator| mutator.name).collect();
    assert_eq!(names.len(), mutators().len());
    assert!(names.len() >= 40, "{}", names.len());
    let neutral: BTreeSet<_> = neutrals().iter().map(|neutral| neutral.name).collect();
    assert_eq!(neutral.len(), neutrals().len());
    assert!(names.is_disjoint(&neutral));
}

#[test]
fn every_mutator_applies_and_changes_the_output() {
    let mut places: BTreeMap<&str, usize> = mutators().iter().map(|mutator| (mutator.name, 0)).collect();
    for (dialect, case) in SHORT {
        let stream = stream(dialect, case);
        let lines: Vec<&str> = stream.lines.iter().map(|said| said.text.as_str()).collect();
        let plain: Vec<u8> = lines.iter().flat_map(|line| with_end(line)).collect();
        for mutator in mutators() {
            let found = mutator.applications(&stream);
            *places.get_mut(mutator.name).unwrap() += found.len();
            for application in found {
                let changed = apply(&lines, &application);
                let bytes: Vec<u8> = changed.lines.into_iter().flat_map(|(_, bytes)| bytes).collect();
                let description = format!("{} in {case}: {application:?}", mutator.name);
                assert!(bytes != plain || changed.end.is_some(), "{description} changes nothing");
            }
        }
    }
    let nowhere: Vec<_> = places.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    // Longer transcripts contain two consecutive pieces, two consecutive notices, and calls without an id.
    let longer: Vec<_> = nowhere.into_iter().filter(|name| !applies_in(name, LONGER)).collect();
    assert!(longer.is_empty(), "these apply nowhere: {longer:?}");
}

const LONGER: &[(&str, &str)] = &[
    ("pi", "tool-multi"),
    ("pi", "ext-ui-values"),
    ("pi", "ext-ui-fire-and-forget"),
    ("pi", "bash-errors"),
    ("pi", "multi-turn"),
    ("pi", "tool-args-streaming"),
    ("pi", "proto-malformed"),
    ("omp", "todo_reminder"),
    ("omp", "task_tool"),
    ("omp", "prompt_custom_tool_events"),
    ("opal", "17_compact"),
    ("pi", "proto-missing-fields"),
];

fn applies_in(name: &str, transcripts: &[(&str, &str)]) -> bool {
    let mutator: Mutator = mutator(name).unwrap();
    transcripts.iter().any(|(dialect, case)| {
        let golden = Suite::embedded().golden(dialect, case).unwrap();
        golden.is_some_and(|golden| !mutator.applications(&stream_of(dialect, &golden)).is_empty())
    })
}

/// A changed generated value is not a defect, because any other value would be valid too.
#[test]
fn bound_values_are_never_changed() {
    let stream = stream("pi", "tool-bash-anthropic");
    let mut seen = 0;
    for application in mutators().iter().flat_map(|mutator| mutator.applications(&stream)) {
        let (Some(place), Effect::Edit(..)) = (&application.place, &application.effect) else { continue };
        seen += 1;
        let told = format!("{} at line {}, {place}", application.mutator, application.at);
        for bound in ["timestamp", "sessionId", "sessionFile"] {
            assert!(!place.to_string().ends_with(bound), "{told}");
        }
        // The port in the address of the model differs between runs.
        assert!(!place.to_string().ends_with("baseUrl"), "{told}");
    }
    assert!(seen > 1000, "{seen}");
}

/// The snapshot of a growing message may be older than its final version, but must contain all pieces so far.
#[test]
fn an_earlier_version_of_a_message_that_grows_is_no_defect() {
    let stream = stream("pi", "tool-bash-anthropic");
    let growing = |name: &str| {
        let found = mutator(name).unwrap().applications(&stream);
        found
            .iter()
            .filter(|found| found.place.as_ref().is_some_and(|place| place.to_string().contains("partial.")))
            .count()
    };
    assert_eq!(growing("text-cut"), 0);
    assert_eq!(growing("count-one-less"), 0);
    assert!(growing("text-changed") > 0);
    assert!(!mutator("snapshot-behind").unwrap().applications(&stream).is_empty());
}

/// A change that an allowance permits is not a defect. Without the allowance, the same change is one.
#[test]
fn permitted_changes_are_not_seeded() {
    let lines = |stream: &Stream, name: &str| -> Vec<String> {
        let found = mutator(name).unwrap().applications(stream);
        found.iter().map(|found| stream.lines[found.at].text.clone()).collect()
    };
    let has = |lines: &[String], part: &str| lines.iter().any(|line| line.contains(part));

    let omp = stream("omp", "prompt_text");
    assert!(has(&[omp.lines[0].text.clone()], "\"ready\""), "{}", omp.lines[0].text);
    assert_eq!(lines(&omp, "drop-first"), Vec::<String>::new());
    let events = lines(&omp, "drop-event");
    assert!(has(&events, "agent_start") && !has(&events, "\"ready\""), "{events:?}");

    let omp = stream("omp", "ext_dialogs");
    let all: Vec<String> = omp.lines.iter().map(|said| said.text.clone()).collect();
    let dialogs = lines(&omp, "drop-dialog");
    assert!(has(&all, "autoresearch") && !has(&dialogs, "autoresearch"), "{dialogs:?}");
    assert!(has(&dialogs, "\"select\""), "{dialogs:?}");
    assert!(has(&lines(&omp, "twice-dialog"), "autoresearch"));

    let opal = stream("opal", "16_resume");
    let changed = |name: &str| -> Vec<String> {
        let found = mutator(name).unwrap().applications(&opal);
        let bytes = found.iter().filter_map(|found| found.bytes(&opal.lines[found.at].text));
        bytes.map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    };
    assert!(!has(&changed("count-one-more"), "-32602"), "{:?}", changed("count-one-more"));
    assert!(has(&changed("number-negative"), "\"code\":0") || has(&changed("number-zero"), "\"code\":0"));
}

/// The agent chooses the ids of its questions, and the client sends the same ids back.
#[test]
fn the_id_of_a_question_is_the_agents_own() {
    let opal = stream("opal", "12_ask_user");
    let asked = |found: &&agentese_conformance_defects::Application| {
        opal.lines[found.at].role == agentese_conformance_defects::stream::Role::Dialog
    };
    let found: Vec<_> = mutators().iter().flat_map(|mutator| mutator.applications(&opal)).collect();
    let places: BTreeSet<String> =
        found.iter().filter(asked).filter_map(|found| Some(found.place.as_ref()?.to_string())).collect();
    assert!(places.contains("params.question") && !places.contains("id"), "{places:?}");
}
