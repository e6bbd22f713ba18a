//! Torture: an agent that does everything that the documents allow and that client authors forget.
//!
//! Each seed changes a recorded session. Frames arrive byte by byte, or many at once. Objects have their
//! members in any order, and undeclared members. Answers arrive late, many dialogs arrive at once, and the
//! agent ends or stops reading at any point. The checks of client mode compare the driver's reports with the
//! frames. The same seed results in the same session.

mod pool;
mod session;
mod values;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentese::types::{CheckLevel, Scenario, ScenarioBuilder, TranscriptHeader};

use self::pool::Pool;
pub use self::session::TRICKS;
use self::session::session;
use super::{AgentScript, Client, ClientRun, judge_script};
use crate::judge::could_not_play;
use crate::run::{CaseResult, Progress, RunOptions, play_all};
use crate::suite::{Suite, SuiteError};
use crate::verdict::Verdict;

/// Reason why no session can be created for the client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TortureError {
    /// A case or a transcript of the suite is invalid.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The dialect is unknown.
    #[error("{0}")]
    Dialect(String),
    /// The suite has no recorded session of the dialect.
    #[error("the suite has no recorded session of {0}")]
    NoSessions(String),
}

/// Plays the session of each seed to a client; `without` names the [`TRICKS`] to leave out.
///
/// Only failed sessions keep their recordings. A client that hangs fails a check, because every wait ends
/// after ten seconds, multiplied by the patience.
///
/// # Errors
/// If the suite has no session of the dialect, or an invalid one.
pub async fn torture(
    suite: &Suite,
    dialect: &str,
    seeds: Range<u64>,
    without: &[String],
    client: &Client,
    options: &RunOptions,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ClientRun, TortureError> {
    let spec = agentese::dynamic::spec(dialect).map_err(|error| TortureError::Dialect(error.to_string()))?;
    let pool = Pool::new(suite, spec)?;
    let cases: Vec<Scenario> = seeds.map(|seed| case(&pool, seed)).collect();
    let library = Arc::new(Mutex::new(None));
    let shared = Arc::new((pool, without.to_vec(), client.clone(), options.clone(), library.clone()));
    let play = |case: Scenario, _| {
        let shared = shared.clone();
        async move {
            let (pool, without, client, options, library) = &*shared;
            let begin = Instant::now();
            if options.stop.is_cancelled() {
                return CaseResult::not_played(could_not_play(
                    &case,
                    "the run was interrupted before this case",
                ));
            }
            let session = session(pool, seed_of(&case), without);
            let part = AgentScript {
                spec: pool.spec,
                actions: session.actions,
                ends_mid_run: session.ends_mid_run,
                encoder: session.encoder,
                rush: session.rush,
            };
            let header = TranscriptHeader::new(1, pool.spec.agent);
            let mut played = tokio::select! {
                biased;
                () = options.stop.cancelled() => {
                    return CaseResult::not_played(could_not_play(&case, "the run was interrupted"));
                }
                played = judge_script(&case, Ok(part), &header, client) => played,
            };
            played.judgement.case.title = session.description;
            if matches!(played.judgement.verdict(options.level), Verdict::Pass | Verdict::Lenient) {
                played.judgement.recording = None;
            }
            let mut library = library.lock().unwrap_or_else(PoisonError::into_inner);
            *library = library.take().or(played.library);
            CaseResult::played(played.judgement, begin.elapsed())
        }
    };
    let ran = play_all(&cases, cases.iter().map(|_| None).collect(), options.jobs, play, on_progress).await;
    let library = library.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(ClientRun { ran, library })
}

/// Creates the case of a seed, which names it in reports.
fn case(pool: &Pool, seed: u64) -> Scenario {
    let mut case = ScenarioBuilder {
        scenario: 1,
        name: format!("seed-{seed}"),
        dialect: pool.spec.id(),
        title: format!("session of seed {seed}"),
        steps: Vec::new(),
    }
    .build();
    case.level = Some(CheckLevel::Must);
    case
}

fn seed_of(case: &Scenario) -> u64 {
    case.name.strip_prefix("seed-").and_then(|seed| seed.parse().ok()).unwrap_or_default()
}
