//! Plays and judges many cases.
//!
//! Cases are played concurrently, one for each job. Cases that must run alone are played last. The results
//! are in the order of the cases.

mod defaults;
mod expected;
mod preflight;
mod probe;
mod select;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentese::types::{CheckLevel, Profile, Scenario};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::judge::{Judgement, could_not_play, judge, not_applicable_case};
use crate::player::{INTERRUPTED, JobSlot, JobSlots, PlayOptions, PlayResult, not_applicable, play};
use crate::suite::Suite;
use crate::verdict::Verdict;

pub use defaults::{default_jobs, profile_for};
pub(crate) use expected::without_indexes;
pub use expected::{ExpectedFailuresFile, apply};
pub use probe::{ProbeResult, probe};
pub use select::{Selection, SelectionError, select};

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Number of concurrent cases.
    pub jobs: usize,
    /// Lowest level of the checks that can make a case fail.
    pub level: CheckLevel,
    /// Time limit of a case.
    pub limit: Duration,
    /// Factor for all waits of the case.
    pub patience: f64,
    /// Start time of the agent, as a multiple of the usual start time. All waits are multiplied by it.
    pub slowness: f64,
    /// Program and arguments, in place of the profile's.
    pub command: Option<Vec<String>>,
    /// Keeps the directories of the cases.
    pub keep: bool,
    /// File to which the model's log is written. Only for a run of a single case.
    pub model_log: Option<PathBuf>,
    /// Token that ends the run: running cases break off, and no others begin.
    pub stop: CancellationToken,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: default_jobs(),
            level: CheckLevel::Should,
            limit: Duration::from_secs(180),
            patience: 1.0,
            slowness: 1.0,
            command: None,
            keep: false,
            model_log: None,
            stop: CancellationToken::new(),
        }
    }
}

/// Result of one case.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// Judgement of the case.
    pub judgement: Judgement,
    /// Duration of the case; `None` if it was not played.
    pub took: Option<Duration>,
    /// Directory of the case, if it was kept.
    pub kept_directory: Option<PathBuf>,
    /// `true` if the scenario broke off at a wait that timed out.
    pub wait_timed_out: bool,
}

impl CaseResult {
    /// Creates the result of a case that was not played.
    pub(crate) fn not_played(judgement: Judgement) -> Self {
        Self { judgement, took: None, kept_directory: None, wait_timed_out: false }
    }

    /// Creates the result of a case that was played.
    pub(crate) fn played(judged: Judgement, took: Duration) -> Self {
        Self { took: Some(took), ..Self::not_played(judged) }
    }
}

/// An event of a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The case with this name has started.
    Started(&'a str),
    /// The case has been judged.
    Finished(&'a CaseResult),
}

/// Plays and judges cases. Never fails: a case that cannot be played is inconclusive, with the reason.
///
/// A few cases, spread over the list, are played first. If a wait times out in each of them, a few others
/// are tried. If each of these times out as well, the remaining cases are not played. The time limits of a
/// case do not depend on other cases.
pub async fn run(
    suite: &Suite,
    profile: &Profile,
    cases: &[Scenario],
    options: &RunOptions,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Vec<CaseResult> {
    let mut outcome: Vec<Option<CaseResult>> =
        cases.iter().map(|case| not_applicable_result(case, profile)).collect();
    for ran in outcome.iter().flatten() {
        on_progress(Progress::Finished(ran));
    }
    let shared = Arc::new((suite.clone(), profile.clone(), options.clone()));
    let play = |case: Scenario, slot: JobSlot| {
        let shared = shared.clone();
        async move { run_case(&case, slot, &shared).await }
    };
    let (mut all_in_vain, mut played) = (true, 0);
    for _ in 0..preflight::ROUNDS {
        let selected = preflight::preflight_cases(cases, &outcome);
        let first: Vec<Scenario> = selected.iter().map(|at| cases[*at].clone()).collect();
        let ran =
            play_all(&first, first.iter().map(|_| None).collect(), options.jobs, &play, on_progress).await;
        all_in_vain &= !ran.is_empty() && ran.iter().all(|ran| ran.wait_timed_out);
        played += ran.len();
        for (at, ran) in selected.into_iter().zip(ran) {
            outcome[at] = Some(ran);
        }
        if !all_in_vain {
            break;
        }
    }
    if all_in_vain && !options.stop.is_cancelled() {
        let reason = format!("not played: a wait timed out in each of the first {played} cases");
        let rest = cases.iter().zip(&mut outcome).filter(|(_, ran)| ran.is_none());
        for (case, ran) in rest {
            on_progress(Progress::Finished(
                ran.insert(CaseResult::not_played(could_not_play(case, reason.as_str()))),
            ));
        }
    }
    play_all(cases, outcome, options.jobs, play, on_progress).await
}

/// Maximum number of unfinished cases per job. A case that waits for a silent agent lends its job to another
/// case, so there can be more unfinished cases than jobs.
const MAX_WAITING_PER_JOB: usize = 8;

/// Plays the cases that have no result yet. Each job plays one case at a time.
pub(crate) async fn play_all<F: Future<Output = CaseResult> + Send + 'static>(
    cases: &[Scenario],
    mut outcome: Vec<Option<CaseResult>>,
    jobs: usize,
    play: impl Fn(Scenario, JobSlot) -> F,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Vec<CaseResult> {
    let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
    let most = jobs.saturating_mul(MAX_WAITING_PER_JOB as u32);
    let (slots, all) = (JobSlots::new(jobs), Arc::new(Semaphore::new(most as usize)));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let left: Vec<usize> = order(cases).into_iter().filter(|at| outcome[*at].is_none()).collect();
    let begin = async move {
        // Dropping the set would end all running cases.
        let mut tasks = JoinSet::new();
        for at in left {
            // A case that must run alone begins after all others have ended, including those that released
            // their slots.
            let (share, part) = if cases[at].alone == Some(true) { (jobs, most) } else { (1, 1) };
            // The slots are taken here, so that cases begin in order. The semaphore is never closed, so this
            // cannot fail.
            let part = all.clone().acquire_many_owned(part).await;
            let slot = slots.acquire(share).await;
            let (playing, sender) = (play(cases[at].clone(), slot.clone()), sender.clone());
            tasks.spawn(async move {
                let _ = sender.send((at, None));
                let ran = playing.await;
                let _ = sender.send((at, Some(ran)));
                // The slots are released after the result has been sent.
                drop((part, slot));
            });
        }
        while tasks.join_next().await.is_some() {}
    };
    let receive = async {
        while let Some((at, ran)) = receiver.recv().await {
            match ran {
                None => on_progress(Progress::Started(&cases[at].name)),
                Some(ran) => {
                    on_progress(Progress::Finished(&ran));
                    outcome[at] = Some(ran);
                }
            }
        }
    };
    tokio::join!(begin, receive);
    // A case without a result has panicked.
    let missing = |case| CaseResult::not_played(could_not_play(case, "the suite itself failed"));
    outcome.into_iter().zip(cases).map(|(ran, case)| ran.unwrap_or_else(|| missing(case))).collect()
}

/// Returns the order in which cases are played. Cases that must run alone are last.
fn order(cases: &[Scenario]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|at| cases[*at].alone == Some(true));
    order
}

fn not_applicable_result(case: &Scenario, profile: &Profile) -> Option<CaseResult> {
    not_applicable(case, profile).map(|reason| CaseResult::not_played(not_applicable_case(case, reason)))
}

async fn run_case(case: &Scenario, slot: JobSlot, shared: &Arc<(Suite, Profile, RunOptions)>) -> CaseResult {
    let (_, profile, options) = &**shared;
    if options.stop.is_cancelled() {
        return CaseResult::not_played(could_not_play(case, "the run was interrupted before this case"));
    }
    let begin = Instant::now();
    let play_options = PlayOptions {
        command: options.command.clone(),
        patience: options.patience,
        slowness: options.slowness,
        keep: options.keep,
        model_log: options.model_log.clone(),
        slot,
        limit: Some(options.limit),
        stop: options.stop.clone(),
    };
    let played = play(case, profile, &play_options).await;
    let (kept, in_vain) = match &played {
        Ok(played) => (played.directory.clone(), played.wait_timed_out),
        Err(_) => (None, false),
    };
    let judged = match played {
        Err(error) => could_not_play(case, error.to_string()),
        Ok(played) if played.broke_off.as_deref() == Some(INTERRUPTED) => could_not_play(case, INTERRUPTED),
        Ok(PlayResult { not_applicable: Some(reason), recording, .. }) => {
            Judgement { recording: Some(recording), ..not_applicable_case(case, reason) }
        }
        Ok(played) => {
            let (case, shared) = (case.clone(), shared.clone());
            // Judging long lines takes seconds; other cases are played in the meantime.
            let judged = tokio::task::spawn_blocking(move || {
                let (suite, profile, _) = &*shared;
                judge(&case, profile, &played, suite).unwrap_or_else(|error| {
                    could_not_play(&case, format!("the suite itself failed: {error}"))
                })
            });
            judged.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
        }
    };
    CaseResult {
        kept_directory: kept,
        wait_timed_out: in_vain,
        ..CaseResult::played(judged, begin.elapsed())
    }
}

/// Returns an inconclusive result for each case, with the same reason, for example if the agent does not
/// start.
pub fn none_played(cases: &[Scenario], reason: &str) -> Vec<CaseResult> {
    cases.iter().map(|case| CaseResult::not_played(could_not_play(case, reason))).collect()
}

/// Returns `true` if no case of a run is inconclusive.
pub fn is_conclusive(ran: &[CaseResult], level: CheckLevel) -> bool {
    ran.iter().all(|ran| ran.judgement.verdict(level) != Verdict::Inconclusive)
}
