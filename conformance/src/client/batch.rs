//! Plays many cases to a client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentese::types::Scenario;

use super::{Client, judge_client};
use crate::judge::{could_not_play, not_applicable_case};
use crate::run::{CaseResult, Progress, RunOptions, play_all};
use crate::suite::{Suite, SuiteError};
use crate::transcript::Transcript;

/// Outcome of many cases.
#[derive(Debug)]
pub struct ClientRun {
    /// The results of the cases, in the order of the cases.
    pub ran: Vec<CaseResult>,
    /// Name of the library, as reported by its driver; `None` if no driver has reported one.
    pub library: Option<String>,
}

/// Plays cases to a client, with the concurrency that `options` requests. Cases of the suite use their golden
/// transcripts. Each case in `extra` brings its own transcript.
///
/// # Errors
/// If a golden transcript is invalid.
pub async fn run_client(
    suite: &Suite,
    cases: &[Scenario],
    extra: &[super::ClientOnlyCase],
    client: &Client,
    options: &RunOptions,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ClientRun, SuiteError> {
    let extra: BTreeMap<&str, &Transcript> =
        extra.iter().map(|(case, transcript)| (case.name.as_str(), transcript)).collect();
    let mut golden: BTreeMap<String, Transcript> = BTreeMap::new();
    for case in cases {
        let own = extra.get(case.name.as_str()).map(|transcript| Transcript::clone(transcript));
        if let Some(transcript) =
            own.map_or_else(|| suite.golden(&case.dialect, &case.name), |own| Ok(Some(own)))?
        {
            golden.insert(case.name.clone(), transcript);
        }
    }
    let outcome: Vec<Option<CaseResult>> = cases.iter().map(|case| not_playable(case, &golden)).collect();
    outcome.iter().flatten().for_each(|ran| on_progress(Progress::Finished(ran)));
    let library = Arc::new(Mutex::new(None));
    let shared = Arc::new((golden, client.clone(), options.clone(), library.clone()));
    let play = |case: Scenario, _| {
        let shared = shared.clone();
        async move {
            let (golden, client, options, library) = &*shared;
            let begin = Instant::now();
            let played = tokio::select! {
                biased;
                () = options.stop.cancelled() => Err("the run was interrupted"),
                played = tokio::time::timeout(options.limit, judge_client(&case, &golden[&case.name], client)) => {
                    played.map_err(|_| "the case exceeded its time limit")
                }
            };
            let judged = match played {
                Err(reason) => could_not_play(&case, reason),
                Ok(played) => {
                    let mut library = library.lock().unwrap_or_else(PoisonError::into_inner);
                    *library = library.take().or(played.library);
                    played.judgement
                }
            };
            CaseResult::played(judged, begin.elapsed())
        }
    };
    let ran = play_all(cases, outcome, options.jobs, play, on_progress).await;
    let library = library.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(ClientRun { ran, library })
}

fn not_playable(case: &Scenario, golden: &BTreeMap<String, Transcript>) -> Option<CaseResult> {
    let reason = "the case has no golden transcript";
    (!golden.contains_key(&case.name)).then(|| CaseResult::not_played(not_applicable_case(case, reason)))
}
