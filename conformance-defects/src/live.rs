//! Trials with a live agent: the proxy stands between it and the suite.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::types::{Profile, Scenario};
use agentese_conformance::player::{PlayError, PlayOptions, Played, play};
use agentese_conformance::suite::Suite;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Application;
use crate::experiment::{Outcome, Wrong};
use crate::proxy::works_live;
use crate::trial::{Base, NoBase, faults};
use crate::{Mutator, mutators};

/// The name under which it is counted that the proxy itself changes nothing.
pub const PROXY_ALONE: &str = "proxy-alone";

/// An agent that is played.
#[derive(Debug, Clone)]
pub struct Agent {
    /// How it is started, beside the command.
    pub profile: Profile,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Waits are that many times as long as the case says.
    pub patience: f64,
    /// How many cases are played side by side.
    pub jobs: usize,
}

/// Why a trial with a live agent came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The case cannot be played.
    #[error("cannot play {case}: {source}")]
    Play {
        /// The case.
        case: String,
        /// Why.
        source: Box<PlayError>,
    },
    /// The case cannot be judged.
    #[error("cannot judge {case}: {source}")]
    Base {
        /// The case.
        case: String,
        /// Why.
        source: NoBase,
    },
    /// A file of the proxy.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What an agent says in each case. Cases that cannot be played, or of which nothing counts, are left out and told
/// of.
pub async fn bases(
    suite: &Suite,
    agent: &Agent,
    cases: Vec<Scenario>,
    tell: &mut dyn FnMut(&Scenario, Result<&Base, &LiveError>),
) -> Vec<Base> {
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
        tell(&case, base.as_ref());
        bases.extend(base.ok());
    }
    bases
}

async fn base(suite: &Suite, agent: &Agent, command: &[String], case: &Scenario) -> Result<Base, LiveError> {
    let played = played(agent, command, case).await?;
    Base::played(suite, case, &agent.profile, played)
        .map_err(|source| LiveError::Base { case: case.name.clone(), source })
}

async fn played(agent: &Agent, command: &[String], case: &Scenario) -> Result<Played, LiveError> {
    let options =
        PlayOptions { command: Some(command.to_vec()), patience: agent.patience, ..PlayOptions::default() };
    let failed = |source| LiveError::Play { case: case.name.clone(), source: Box::new(source) };
    play(case, &agent.profile, &options).await.map_err(failed)
}

/// One trial: a case, the mutator and the number of the place; without a mutator, nothing is changed.
struct Drawn {
    base: Arc<Base>,
    change: Option<(Mutator, usize, Application)>,
}

/// Makes `count` trials with a live agent, each in a case and with a place that `seed` draws, and as many with a proxy
/// that changes nothing, one for each case that was drawn. `program` is this suite's own program.
///
/// Places that do not come when the agent is played again are not counted.
///
/// # Errors
/// Where a case cannot be played or judged any more.
pub async fn run(
    suite: &Suite,
    agent: &Agent,
    program: &Path,
    bases: &[Base],
    (count, seed): (usize, u64),
    only: &[String],
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, LiveError> {
    let trials = drawn(bases, count, seed, only);
    let all = trials.len();
    let program: Arc<PathBuf> = Arc::new(program.to_owned());
    let made = each(
        agent,
        trials,
        move |agent, suite, trial| {
            let program = program.clone();
            async move { made(&suite, &agent, &program, trial).await }
        },
        suite,
    )
    .await;
    let mut outcome = Outcome::default();
    for (at, one) in made.into_iter().enumerate() {
        outcome.add(one?);
        tell(at + 1, all);
    }
    Ok(outcome)
}

/// Does something for each of many, as many at a time as the agent may be played.
async fn each<T, R, F>(
    agent: &Agent,
    all: Vec<T>,
    work: impl Fn(Arc<Agent>, Suite, T) -> F,
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
            // The semaphore is never closed.
            let _place = places.acquire().await;
            (at, work.await)
        });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn drawn(bases: &[Base], count: usize, seed: u64, only: &[String]) -> Vec<Drawn> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut mutators: Vec<Mutator> = mutators();
    mutators.retain(|mutator| {
        works_live(mutator) && (only.is_empty() || only.iter().any(|name| name == mutator.name))
    });
    let mut trials = Vec::new();
    let mut cases = Vec::new();
    // Mutators by turns, so that each has its share; not all apply in every case.
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
            trials.push(Drawn { base: base.clone(), change: None });
        }
        trials.push(Drawn { base, change: Some((mutator, at, places[at].clone())) });
    }
    trials
}

async fn made(suite: &Suite, agent: &Agent, program: &Path, trial: Drawn) -> Result<Outcome, LiveError> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log.json");
    let case = &trial.base.case;
    let mut command =
        vec![text(program.as_os_str()), "proxy".into(), "--dialect".into(), case.dialect.clone()];
    if let Some((mutator, at, _)) = &trial.change {
        command.extend(["--mutator".into(), mutator.name.into(), "--at".into(), at.to_string()]);
    }
    command.extend(["--log".into(), text(log.as_os_str()), "--".into()]);
    command.extend(agent.command.iter().cloned());
    let played = played(agent, &command, case).await?;
    let faults = faults(suite, case, &agent.profile, &played)
        .map_err(|source| LiveError::Base { case: case.name.clone(), source: source.into() })?;
    let mut outcome = Outcome::default();
    let Some((mutator, _, application)) = &trial.change else {
        outcome.count_neutral(PROXY_ALONE, case, faults.first().map(String::as_str));
        return Ok(outcome);
    };
    let log: Value =
        std::fs::read(&log).ok().and_then(|log| serde_json::from_slice(&log).ok()).unwrap_or_default();
    // A proxy that was killed has no log: it was to hang, or not to end.
    let applied = !log["applied"].is_null() || log.is_null();
    if applied {
        let told = |name: &str| log["applied"][name].as_str().unwrap_or_default().to_owned();
        let wrong = faults.is_empty().then(|| Wrong {
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
