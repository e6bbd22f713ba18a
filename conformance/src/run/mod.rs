//! Playing and judging many cases.
//!
//! Cases are played side by side, as many as there are jobs; those that have to be alone come last.
//! The order of the outcome is the order of the cases, whichever was over first.

mod defaults;
mod expected;
mod probe;
mod select;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agentese::types::{CheckLevel, Profile, Scenario};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::judge::{Judged, could_not_play, judge, not_for};
use crate::player::{PlayOptions, STOPPED, Waited, not_applicable, play};
use crate::suite::Suite;
use crate::verdict::Verdict;

pub use defaults::{default_jobs, profile_for};
pub(crate) use expected::without_places;
pub use expected::{Expected, apply};
pub use probe::{Probe, probe};
pub use select::{Selection, SelectionError, select};

/// How cases are played.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How many cases are played side by side.
    pub jobs: usize,
    /// The least level of the checks that count.
    pub level: CheckLevel,
    /// How long a case may take.
    pub limit: Duration,
    /// Waits are that many times as long as the case says.
    pub patience: f64,
    /// How many times as long as usual the agent takes to start. Waits are longer to the same degree.
    pub slowness: f64,
    /// Program and arguments, in place of the profile's.
    pub command: Option<Vec<String>>,
    /// Ends the run: what is being played breaks off, what was not is not.
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
            stop: CancellationToken::new(),
        }
    }
}

/// A case that was judged.
#[derive(Debug, Clone)]
pub struct Ran {
    /// What is said of it.
    pub judged: Judged,
    /// How long it took; none where it was not played.
    pub took: Option<Duration>,
}

/// Something that happened in a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A case began.
    Began(&'a str),
    /// A case was judged.
    Judged(&'a Ran),
}

/// Plays and judges cases. Never fails: what cannot be played is inconclusive, with the reason.
pub async fn run(
    suite: &Suite,
    profile: &Profile,
    cases: &[Scenario],
    options: &RunOptions,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Vec<Ran> {
    let outcome: Vec<Option<Ran>> = cases.iter().map(|case| set_aside(case, profile)).collect();
    for ran in outcome.iter().flatten() {
        tell(Progress::Judged(ran));
    }
    let shared = Arc::new((suite.clone(), profile.clone(), options.clone(), InVain::default()));
    let play = |case: Scenario| {
        let shared = shared.clone();
        async move { run_case(&case, &shared).await }
    };
    play_all(cases, outcome, options.jobs, play, tell).await
}

/// Plays the cases that have no outcome yet, as many side by side as there are jobs.
pub(crate) async fn play_all<F: Future<Output = Ran> + Send + 'static>(
    cases: &[Scenario],
    mut outcome: Vec<Option<Ran>>,
    jobs: usize,
    play: impl Fn(Scenario) -> F,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Vec<Ran> {
    let jobs = jobs.max(1);
    let places = Arc::new(Semaphore::new(jobs));
    let (news, mut heard) = mpsc::unbounded_channel();
    let left: Vec<usize> = order(cases).into_iter().filter(|at| outcome[*at].is_none()).collect();
    let begin = async move {
        // Dropped, it ends what is being played.
        let mut tasks = JoinSet::new();
        for at in left {
            let wanted = if cases[at].alone == Some(true) { jobs } else { 1 };
            // Taken here, so that they begin in their order. The semaphore is never closed.
            let place = places.clone().acquire_many_owned(u32::try_from(wanted).unwrap_or(1)).await;
            let (playing, news) = (play(cases[at].clone()), news.clone());
            tasks.spawn(async move {
                let _ = news.send((at, None));
                let ran = playing.await;
                let _ = news.send((at, Some(ran)));
                // Given back when the outcome has been told.
                drop(place);
            });
        }
        while tasks.join_next().await.is_some() {}
    };
    let hear = async {
        while let Some((at, ran)) = heard.recv().await {
            match ran {
                None => tell(Progress::Began(&cases[at].name)),
                Some(ran) => {
                    tell(Progress::Judged(&ran));
                    outcome[at] = Some(ran);
                }
            }
        }
    };
    tokio::join!(begin, hear);
    // One that is missing panicked.
    let missing = |case| Ran { judged: could_not_play(case, "the suite itself failed"), took: None };
    outcome.into_iter().zip(cases).map(|(ran, case)| ran.unwrap_or_else(|| missing(case))).collect()
}

/// Those that have to be alone come last: they would make the others wait.
fn order(cases: &[Scenario]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|at| cases[*at].alone == Some(true));
    order
}

fn set_aside(case: &Scenario, profile: &Profile) -> Option<Ran> {
    let reason = not_applicable(case, profile)?;
    Some(Ran { judged: not_for(case, reason), took: None })
}

/// What became of the cases so far: where every one of them waits in vain, the rest is not played.
#[derive(Debug, Default)]
struct InVain {
    /// Cases that broke off because the client waited in vain.
    cases: AtomicUsize,
    /// Whether a case was played to its end.
    is_good: AtomicBool,
    /// What they waited for.
    waited: Waited,
}

impl InVain {
    /// So many cases have to wait in vain, and none be played to its end, before the rest is not played.
    const MOST: usize = 4;

    fn count(&self) -> usize {
        if self.is_good.load(Ordering::Relaxed) { 0 } else { self.cases.load(Ordering::Relaxed) }
    }

    fn note(&self, broke_off: Option<&str>) {
        match broke_off {
            None => self.is_good.store(true, Ordering::Relaxed),
            Some(_) => {
                self.cases.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

async fn run_case(case: &Scenario, shared: &(Suite, Profile, RunOptions, InVain)) -> Ran {
    let (suite, profile, options, in_vain) = shared;
    if in_vain.count() >= InVain::MOST {
        let reason = format!("not played: in the first {} cases the client waited in vain", InVain::MOST);
        return Ran { judged: could_not_play(case, reason), took: None };
    }
    if options.stop.is_cancelled() {
        return Ran { judged: could_not_play(case, "the run was interrupted before"), took: None };
    }
    let begin = Instant::now();
    let play_options = PlayOptions {
        command: options.command.clone(),
        patience: options.patience,
        slowness: options.slowness,
        waited: in_vain.waited.clone(),
        limit: Some(options.limit),
        stop: options.stop.clone(),
        ..PlayOptions::default()
    };
    let played = play(case, profile, &play_options).await;
    if let Ok(played) = &played {
        in_vain.note(played.broke_off.as_deref());
    }
    let judged = match played {
        Err(error) => could_not_play(case, error.to_string()),
        Ok(played) if played.broke_off.as_deref() == Some(STOPPED) => could_not_play(case, STOPPED),
        Ok(played) => judge(case, profile, &played, suite)
            .unwrap_or_else(|error| could_not_play(case, format!("the suite itself failed: {error}"))),
    };
    Ran { judged, took: Some(begin.elapsed()) }
}

/// All cases, set aside for one reason: the agent does not start, say.
pub fn none_played(cases: &[Scenario], reason: &str) -> Vec<Ran> {
    cases.iter().map(|case| Ran { judged: could_not_play(case, reason), took: None }).collect()
}

/// Whether a run came to its end: nothing is inconclusive.
pub fn is_conclusive(ran: &[Ran], level: CheckLevel) -> bool {
    ran.iter().all(|ran| ran.judged.verdict(level) != Verdict::Inconclusive)
}
