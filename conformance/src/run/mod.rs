//! Playing and judging many cases.
//!
//! Cases are played side by side, as many as there are jobs; those that have to be alone come last.
//! The order of the outcome is the order of the cases, whichever was over first.

mod defaults;
mod expected;
mod probe;
mod scouts;
mod select;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentese::types::{CheckLevel, Profile, Scenario};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::judge::{Judged, could_not_play, judge, not_for};
use crate::player::{PlayOptions, Room, Rooms, STOPPED, not_applicable, play};
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
    /// Keeps the directories in which the cases are played.
    pub keep: bool,
    /// Where the log of the model goes; of one case alone.
    pub model_log: Option<PathBuf>,
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
            keep: false,
            model_log: None,
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
    /// The directory in which it was played, where that was kept.
    pub kept: Option<PathBuf>,
    /// Whether the client waited until its time was over, so that it was not played to its end.
    pub in_vain: bool,
}

impl Ran {
    /// A case that was not played.
    pub(crate) fn set_aside(judged: Judged) -> Self {
        Self { judged, took: None, kept: None, in_vain: false }
    }

    /// A case that was played.
    pub(crate) fn played(judged: Judged, took: Duration) -> Self {
        Self { took: Some(took), ..Self::set_aside(judged) }
    }
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
///
/// A few cases from all over the set are played first, and a few others where the client waits in vain in each of them.
/// Where it does in those as well, the rest is not played. Whatever others do, a case waits as long as it says.
pub async fn run(
    suite: &Suite,
    profile: &Profile,
    cases: &[Scenario],
    options: &RunOptions,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Vec<Ran> {
    let mut outcome: Vec<Option<Ran>> = cases.iter().map(|case| set_aside(case, profile)).collect();
    for ran in outcome.iter().flatten() {
        tell(Progress::Judged(ran));
    }
    let shared = Arc::new((suite.clone(), profile.clone(), options.clone()));
    let play = |case: Scenario, room: Room| {
        let shared = shared.clone();
        async move { run_case(&case, room, &shared).await }
    };
    let (mut all_in_vain, mut played) = (true, 0);
    for _ in 0..scouts::ROUNDS {
        let scouts = scouts::chosen(cases, &outcome);
        let first: Vec<Scenario> = scouts.iter().map(|at| cases[*at].clone()).collect();
        let ran = play_all(&first, first.iter().map(|_| None).collect(), options.jobs, &play, tell).await;
        all_in_vain &= !ran.is_empty() && ran.iter().all(|ran| ran.in_vain);
        played += ran.len();
        for (at, ran) in scouts.into_iter().zip(ran) {
            outcome[at] = Some(ran);
        }
        if !all_in_vain {
            break;
        }
    }
    if all_in_vain && !options.stop.is_cancelled() {
        let reason = format!("not played: the client waited in vain in each of the first {played}");
        let rest = cases.iter().zip(&mut outcome).filter(|(_, ran)| ran.is_none());
        for (case, ran) in rest {
            tell(Progress::Judged(ran.insert(Ran::set_aside(could_not_play(case, reason.as_str())))));
        }
    }
    play_all(cases, outcome, options.jobs, play, tell).await
}

/// How many times as many cases may be going on as there are jobs: those that are too much wait for agents that say
/// nothing, or did before.
const WAITING: usize = 8;

/// Plays the cases that have no outcome yet, as many side by side as there are jobs.
pub(crate) async fn play_all<F: Future<Output = Ran> + Send + 'static>(
    cases: &[Scenario],
    mut outcome: Vec<Option<Ran>>,
    jobs: usize,
    play: impl Fn(Scenario, Room) -> F,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Vec<Ran> {
    let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
    let most = jobs.saturating_mul(WAITING as u32);
    let (rooms, all) = (Rooms::new(jobs), Arc::new(Semaphore::new(most as usize)));
    let (news, mut heard) = mpsc::unbounded_channel();
    let left: Vec<usize> = order(cases).into_iter().filter(|at| outcome[*at].is_none()).collect();
    let begin = async move {
        // Dropped, it ends what is being played.
        let mut tasks = JoinSet::new();
        for at in left {
            // One that is alone begins when all others are over, those too that have left their rooms.
            let (room, part) = if cases[at].alone == Some(true) { (jobs, most) } else { (1, 1) };
            // Taken here, so that they begin in their order. The semaphore is never closed.
            let part = all.clone().acquire_many_owned(part).await;
            let room = rooms.take(room).await;
            let (playing, news) = (play(cases[at].clone(), room.clone()), news.clone());
            tasks.spawn(async move {
                let _ = news.send((at, None));
                let ran = playing.await;
                let _ = news.send((at, Some(ran)));
                // Given back when the outcome has been told.
                drop((part, room));
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
    let missing = |case| Ran::set_aside(could_not_play(case, "the suite itself failed"));
    outcome.into_iter().zip(cases).map(|(ran, case)| ran.unwrap_or_else(|| missing(case))).collect()
}

/// Those that have to be alone come last: they would make the others wait.
fn order(cases: &[Scenario]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|at| cases[*at].alone == Some(true));
    order
}

fn set_aside(case: &Scenario, profile: &Profile) -> Option<Ran> {
    not_applicable(case, profile).map(|reason| Ran::set_aside(not_for(case, reason)))
}

async fn run_case(case: &Scenario, room: Room, shared: &(Suite, Profile, RunOptions)) -> Ran {
    let (suite, profile, options) = shared;
    if options.stop.is_cancelled() {
        return Ran::set_aside(could_not_play(case, "the run was interrupted before"));
    }
    let begin = Instant::now();
    let play_options = PlayOptions {
        command: options.command.clone(),
        patience: options.patience,
        slowness: options.slowness,
        keep: options.keep,
        model_log: options.model_log.clone(),
        room,
        limit: Some(options.limit),
        stop: options.stop.clone(),
    };
    let played = play(case, profile, &play_options).await;
    let (kept, in_vain) = match &played {
        Ok(played) => (played.directory.clone(), played.in_vain),
        Err(_) => (None, false),
    };
    let judged = match played {
        Err(error) => could_not_play(case, error.to_string()),
        Ok(played) if played.broke_off.as_deref() == Some(STOPPED) => could_not_play(case, STOPPED),
        Ok(played) => judge(case, profile, &played, suite)
            .unwrap_or_else(|error| could_not_play(case, format!("the suite itself failed: {error}"))),
    };
    Ran { kept, in_vain, ..Ran::played(judged, begin.elapsed()) }
}

/// All cases, set aside for one reason: the agent does not start, say.
pub fn none_played(cases: &[Scenario], reason: &str) -> Vec<Ran> {
    cases.iter().map(|case| Ran::set_aside(could_not_play(case, reason))).collect()
}

/// Whether a run came to its end: nothing is inconclusive.
pub fn is_conclusive(ran: &[Ran], level: CheckLevel) -> bool {
    ran.iter().all(|ran| ran.judged.verdict(level) != Verdict::Inconclusive)
}
