//! Plays the suite's cases of one dialect through `agentese bridge` against the reference agent in another
//! dialect. The results agree with the recording, or differ only as the loss report of the pair permits.
#![expect(clippy::print_stdout, reason = "the outcome of each pair is printed")]

mod answered;
mod arguments;
mod calls;
mod front_output;
mod loss_report;
mod pairs;
mod pieces;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use agentese::types::{CheckLevel, TranscriptHeader};
use agentese_conformance::report::frame_listing::frame_listing;
use agentese_conformance::run::{CaseResult, ProbeResult, RunOptions, probe, run};
use agentese_conformance::verdict::{self, Finding, Verdict};
use agentese_conformance::{Suite, Transcript};
use futures::{StreamExt, stream};
use loss_report::{LossReport, SCENARIO, UnexplainedDifference};
use pairs::{Pair, all};

/// Environment variable that selects the tests: `all`, one pair as in `pi-opal`, or one case of a pair as in
/// `pi-opal/steer-text`. Without it, a sample is played.
const WHICH: &str = "AGENTESE_BRIDGE";

/// Seed of the sample.
const SEED: u64 = 18;

/// Size of the sample: number of pairs, and number of cases for each pair.
const SAMPLE: (usize, usize) = (4, 2);

fn program() -> String {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    program.to_str().unwrap().to_owned()
}

/// Results of a pair: cases that agree, cases with explained differences, and unexplained differences.
#[derive(Default)]
struct Outcome {
    agree: BTreeSet<String>,
    explained: BTreeSet<String>,
    unexplained: BTreeMap<String, Vec<UnexplainedDifference>>,
    /// Failures, by case, that no difference between the dialects can cause.
    broken: BTreeMap<String, Vec<String>>,
}

/// Describes a failure that no difference between the dialects can cause: a crash, a command without an
/// answer, undeclared frames.
fn breaks(finding: &Finding) -> Option<String> {
    let verdict::Outcome::Failed(mismatch) = &finding.outcome else { return None };
    let is_live = loss_report::is_wait_of_a_live_agent(&mismatch.message);
    let is_broken = loss_report::PROCESS_CHECKS.contains(&finding.check.as_str())
        || (finding.check == SCENARIO && !is_live);
    is_broken.then(|| format!("{}: {}", finding.check, mismatch.message))
}

/// Creates an entry for a case that could not be judged.
fn case_difference(message: String) -> UnexplainedDifference {
    UnexplainedDifference { check: String::new(), row: String::new(), path: String::new(), message }
}

async fn play(suite: &Suite, pair: Pair, wanted: &dyn Fn(&str) -> bool) -> Outcome {
    let mut profile = pair.profile(suite, &program());
    let mut cases = pair.cases(suite);
    cases.retain(|case| wanted(&case.name));
    let mut options = RunOptions { level: CheckLevel::Must, ..RunOptions::default() };
    match probe(&profile, &options).await {
        ProbeResult::Unusable(reason) => panic!("{}: {reason}", pair.name()),
        ProbeResult::Recognized { choices, slowness, .. } => {
            profile.choices = choices;
            options.slowness = slowness;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let played = pair.suite(folder.path());
    let ran = run(&played, &profile, &cases, &options, &mut |_| {}).await;
    let agent = suite.profile(&format!("agentese-{}", pair.agent)).unwrap().dialect;
    let mut report = LossReport::of(&profile.dialect, &agent).with_known(pair.known(suite));
    let mut outcome = Outcome::default();
    for CaseResult { judgement: judged, .. } in ran {
        let name = judged.case.name.clone();
        // If a single case is selected, its lines are printed.
        if std::env::var(WHICH).is_ok_and(|which| which.ends_with(&format!("/{name}"))) {
            println!("{}", judged.recording.as_ref().map(frame_listing).unwrap_or_default());
        }
        let observed = judged.recording.as_ref().map(|recording| recording.transcript().unwrap());
        let shows_blocks = report.shows_block_boundaries();
        let by_itself = |told| {
            let pieces = pieces::missing_texts(told, shows_blocks).into_iter();
            pieces.chain(runs::wrong(told)).chain(calls::unended(pair.front, told))
        };
        let mut by_itself = observed.iter().flat_map(by_itself).collect::<Vec<_>>();
        let golden = played.golden(&judged.case.dialect, &name).unwrap();
        // A case without a recording contains its own expectations; the commands are those of the observed
        // session.
        if golden.as_ref().or(observed.as_ref()).is_some_and(|session| report.moves_answers(session)) {
            let told = observed
                .iter()
                .flat_map(|told| answered::missing_answers(&judged.case, &judged.requests, told));
            by_itself.extend(told);
        }
        match judged.verdict(CheckLevel::Must) {
            Verdict::Pass | Verdict::Lenient if !by_itself.is_empty() => {
                outcome.unexplained.insert(name, by_itself);
            }
            Verdict::Pass | Verdict::Lenient => drop(outcome.agree.insert(name)),
            Verdict::NotApplicable => {}
            Verdict::Inconclusive if judged.early_verdict.is_some() => {
                let why = judged.early_verdict.map(|(_, reason)| reason).unwrap_or_default();
                outcome.unexplained.insert(name, vec![case_difference(format!("not played: {why}"))]);
            }
            came @ (Verdict::Inconclusive | Verdict::Fail) => {
                // If the case was not played to its end, this finding contains the reason.
                let counts =
                    |finding: &&Finding| finding.level == CheckLevel::Must || finding.check == "scenario";
                let musts: Vec<_> = judged.findings.iter().filter(counts).cloned().collect();
                let broken: Vec<String> = musts.iter().filter_map(breaks).collect();
                if !broken.is_empty() {
                    outcome.broken.insert(name.clone(), broken);
                }
                // A case without a recording contains its own expectations.
                let nothing = || Transcript { header: TranscriptHeader::new(1, "none"), records: Vec::new() };
                let golden = golden.unwrap_or_else(nothing);
                report.observe(observed);
                let mut left = report.unexplained(&judged.case, &musts, &golden);
                let broke_off = |one: &Finding| {
                    one.check == SCENARIO && matches!(one.outcome, verdict::Outcome::Failed(_))
                };
                left.extend(by_itself);
                if came == Verdict::Inconclusive && !musts.iter().any(broke_off) {
                    left.push(case_difference("it could not be judged".to_owned()));
                }
                match left.is_empty() {
                    true => drop(outcome.explained.insert(name)),
                    false => drop(outcome.unexplained.insert(name, left)),
                }
            }
        }
    }
    outcome
}

/// Returns the pairs to play, each with the names of its cases, or `None` for all cases.
fn plan(suite: &Suite) -> Vec<(Pair, Option<Vec<String>>)> {
    match std::env::var(WHICH) {
        Ok(which) if which == "all" => all().into_iter().map(|pair| (pair, None)).collect(),
        Ok(which) if !which.is_empty() => {
            let (name, case) =
                which.split_once('/').map_or((&*which, None), |(name, case)| (name, Some(case)));
            let named = all().into_iter().filter(|pair| pair.name() == name);
            named.map(|pair| (pair, case.map(|case| vec![case.to_owned()]))).collect()
        }
        _ => {
            let mut rng = fastrand::Rng::with_seed(SEED);
            let pairs = rng.choose_multiple(all(), SAMPLE.0);
            let mut sample = |pair: Pair| {
                let names = pair.cases(suite).into_iter().map(|case| case.name);
                (pair, Some(rng.choose_multiple(names, SAMPLE.1)))
            };
            pairs.into_iter().map(&mut sample).collect()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_agree_with_the_recording_or_differ_as_reported() {
    let suite = Suite::embedded();
    let mut wrong = Vec::new();
    let plan = plan(&suite);
    assert!(!plan.is_empty(), "{WHICH} names neither a pair, as in `pi-opal`, nor `all`");
    // In a sample, the pairs are played concurrently; otherwise the cases of one pair are.
    let beside = if plan.iter().all(|(_, names)| names.is_some()) { SAMPLE.0 } else { 1 };
    let played = stream::iter(plan).map(|(pair, names)| {
        let suite = &suite;
        async move {
            let wanted = |name: &str| names.as_ref().is_none_or(|names| names.iter().any(|one| one == name));
            (pair, play(suite, pair, &wanted).await)
        }
    });
    let mut played = pin!(played.buffered(beside));
    while let Some((pair, outcome)) = played.next().await {
        let name = pair.name();
        let Outcome { agree, explained, unexplained, broken } = &outcome;
        if agree.len() + explained.len() + unexplained.len() == 0 {
            wrong.push(format!("{name}: no case of it was played"));
        }
        for (case, says) in broken {
            wrong.push(format!("{name} {case}: nothing excuses {}", says.join("; ")));
        }
        println!("{name}: {} agree, {} differ where the report says so", agree.len(), explained.len());
        for (case, left) in unexplained {
            for one in left {
                println!("  {case} | {} | {} | {} | {}", one.check, one.row, one.path, one.message);
            }
            let says: Vec<&str> = left.iter().map(|one| &*one.message).collect();
            wrong.push(format!("{name} {case}: {}", says.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "the loss report does not explain this:\n{}", wrong.join("\n"));
}

/// The tests of a bridge also permit the known failures of this project's servers. Each entry about a whole
/// frame must name the event, command or dialog.
#[test]
fn known_failures_of_fronts_name_a_path_or_a_row() {
    let suite = Suite::embedded();
    for spec in agentese::dynamic::SPECS {
        let front = Pair { front: spec.name, agent: spec.name };
        let report = LossReport::of(&front.front_id(&suite), spec.name);
        for line in front.known(&suite) {
            let is_of_frames = loss_report::FRAME_CHECKS.contains(&line.check.as_str());
            let row = line.row.as_ref();
            assert!(!is_of_frames || line.path.is_some() || row.is_some(), "{}: {line:?}", spec.name);
            assert!(row.is_none_or(|row| report.has(row)), "{}: {line:?}", spec.name);
        }
    }
}
