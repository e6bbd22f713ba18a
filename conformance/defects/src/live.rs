//! Trials with a live agent, for which the proxy runs between the agent and the suite.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::types::{Profile, Scenario};
use agentese_conformance::player::{PlayError, PlayOptions, PlayResult, play};
use agentese_conformance::suite::Suite;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Application;
use crate::baseline::{Baseline, BaselineError, failed_checks};
use crate::experiment::{Outcome, WrongOutcome};
use crate::proxy::works_live;
use crate::{Mutator, mutators};

/// Name under which trials with a proxy without a change are counted.
pub const PROXY_ALONE: &str = "proxy-alone";

/// The live agent with which trials run.
#[derive(Debug, Clone)]
pub struct LiveAgent {
    /// Profile that starts the agent; the field `command` replaces its command.
    pub profile: Profile,
    /// Program and arguments that start the agent.
    pub command: Vec<String>,
    /// Factor for all waits of the case.
    pub patience: f64,
    /// Number of cases to play concurrently.
    pub jobs: usize,
}

/// Error of a trial with a live agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The case cannot be played.
    #[error("cannot play {case}: {source}")]
    Play {
        /// Name of the case.
        case: String,
        /// Cause of the error.
        source: Box<PlayError>,
    },
    /// The case cannot be judged.
    #[error("cannot judge {case}: {source}")]
    Baseline {
        /// Name of the case.
        case: String,
        /// Cause of the error.
        source: BaselineError,
    },
    /// An I/O error with a file of the proxy.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Plays each case and returns the agent's output. Prints each result. Cases that cannot be played or
/// judged are omitted.
pub async fn bases(
    suite: &Suite,
    agent: &LiveAgent,
    cases: Vec<Scenario>,
    on_result: &mut dyn FnMut(&Scenario, Result<&Baseline, &LiveError>),
) -> Vec<Baseline> {
    let played = each(
        agent,
        cases,
        |agent, suite, case| async move {
            let base = base(&suite, &agent, &agent.command.clone(), &case).await;
            (case, base)
        },
        suite,
    )
    .await;
    let mut bases = Vec::new();
    for (case, base) in played {
        on_result(&case, base.as_ref());
        bases.extend(base.ok());
    }
    bases
}

async fn base(
    suite: &Suite,
    agent: &LiveAgent,
    command: &[String],
    case: &Scenario,
) -> Result<Baseline, LiveError> {
    let played = played(agent, command, case).await?;
    Baseline::played(suite, case, &agent.profile, played)
        .map_err(|source| LiveError::Baseline { case: case.name.clone(), source })
}

async fn played(agent: &LiveAgent, command: &[String], case: &Scenario) -> Result<PlayResult, LiveError> {
    let options =
        PlayOptions { command: Some(command.to_vec()), patience: agent.patience, ..PlayOptions::default() };
    let failed = |source| LiveError::Play { case: case.name.clone(), source: Box::new(source) };
    play(case, &agent.profile, &options).await.map_err(failed)
}

/// One trial. Without a mutator, the proxy changes nothing.
struct LiveRun {
    base: Arc<Baseline>,
    change: Option<(Mutator, usize, Application)>,
}

/// Runs `count` trials with a live agent. `seed` determines the case and the place of each trial. For each
/// selected case, one more trial runs with a proxy that changes nothing. `program` is the path of this
/// binary.
///
/// A trial is not counted if its place does not occur when the case is played again.
///
/// # Errors
/// If a case can no longer be played or judged.
pub async fn run(
    suite: &Suite,
    agent: &LiveAgent,
    program: &Path,
    bases: &[Baseline],
    (count, seed): (usize, u64),
    only: &[String],
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, LiveError> {
    let trials = draw_runs(bases, count, seed, only);
    let all = trials.len();
    let program: Arc<PathBuf> = Arc::new(program.to_owned());
    let made = each(
        agent,
        trials,
        move |agent, suite, run| {
            let program = program.clone();
            async move { run_live(&suite, &agent, &program, run).await }
        },
        suite,
    )
    .await;
    let mut outcome = Outcome::default();
    for (at, one) in made.into_iter().enumerate() {
        outcome.add(one?);
        on_progress(at + 1, all);
    }
    Ok(outcome)
}

/// Runs `work` for each item, with at most `agent.jobs` at a time; returns the results in the order of the
/// items.
async fn each<T, R, F>(
    agent: &LiveAgent,
    all: Vec<T>,
    work: impl Fn(Arc<LiveAgent>, Suite, T) -> F,
    suite: &Suite,
) -> Vec<R>
where
    F: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let places = Arc::new(Semaphore::new(agent.jobs.max(1)));
    let agent = Arc::new(agent.clone());
    let mut tasks = JoinSet::new();
    for (at, one) in all.into_iter().enumerate() {
        let (places, work) = (places.clone(), work(agent.clone(), suite.clone(), one));
        tasks.spawn(async move {
            // The semaphore is never closed, so this cannot fail.
            let _place = places.acquire().await;
            (at, work.await)
        });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn draw_runs(bases: &[Baseline], count: usize, seed: u64, only: &[String]) -> Vec<LiveRun> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut mutators: Vec<Mutator> = mutators();
    mutators.retain(|mutator| {
        works_live(mutator) && (only.is_empty() || only.iter().any(|name| name == mutator.name))
    });
    let mut trials = Vec::new();
    let mut cases = Vec::new();
    // Mutators are used in turn, so that each gets its share. Not all of them apply to every case.
    rng.shuffle(&mut mutators);
    let mut tries = 0;
    while trials.len() < count && tries < count * 50 && !mutators.is_empty() && !bases.is_empty() {
        let mutator = mutators[tries % mutators.len()];
        tries += 1;
        let case = rng.usize(0..bases.len());
        let places = mutator.applications(&bases[case].stream);
        if places.is_empty() {
            continue;
        }
        let at = rng.usize(0..places.len());
        let base = Arc::new(bases[case].clone());
        if !cases.contains(&case) {
            cases.push(case);
            trials.push(LiveRun { base: base.clone(), change: None });
        }
        trials.push(LiveRun { base, change: Some((mutator, at, places[at].clone())) });
    }
    trials
}

async fn run_live(
    suite: &Suite,
    agent: &LiveAgent,
    program: &Path,
    run: LiveRun,
) -> Result<Outcome, LiveError> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log.json");
    let case = &run.base.case;
    let mut command =
        vec![text(program.as_os_str()), "proxy".into(), "--dialect".into(), case.dialect.clone()];
    if let Some((mutator, at, _)) = &run.change {
        command.extend(["--mutator".into(), mutator.name.into(), "--at".into(), at.to_string()]);
    }
    command.extend(["--log".into(), text(log.as_os_str()), "--".into()]);
    command.extend(agent.command.iter().cloned());
    let played = played(agent, &command, case).await?;
    let faults = failed_checks(suite, case, &agent.profile, &played)
        .map_err(|source| LiveError::Baseline { case: case.name.clone(), source: source.into() })?;
    let mut outcome = Outcome::default();
    let Some((mutator, _, application)) = &run.change else {
        outcome.count_neutral(PROXY_ALONE, case, faults.first().map(String::as_str));
        return Ok(outcome);
    };
    let log: Value =
        std::fs::read(&log).ok().and_then(|log| serde_json::from_slice(&log).ok()).unwrap_or_default();
    // A killed proxy leaves no log; its change was to hang, or not to end.
    let applied = !log["applied"].is_null() || log.is_null();
    if applied {
        let told = |name: &str| log["applied"][name].as_str().unwrap_or_default().to_owned();
        let wrong = faults.is_empty().then(|| WrongOutcome {
            name: mutator.name,
            case: case.name.clone(),
            place: format!("live, line {} {}", log["applied"]["line"], told("place")),
            before: told("before"),
            after: if log.is_null() { format!("{:?}", application.effect) } else { told("after") },
        });
        outcome.count_defect(mutator.name, wrong);
    }
    Ok(outcome)
}

fn text(path: &OsStr) -> String {
    path.to_string_lossy().into_owned()
}
