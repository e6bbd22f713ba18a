//! One process of the agent for each thread, up to a maximum number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentese::spec::Spec;
use futures::future::join_all;
use tokio::sync::OwnedMutexGuard;

use super::super::fidelity_report::{FidelityReport, FrameCounts};
use super::active_run::ActiveRun;
use super::questions::Questions;
use super::run_log::{EventsGone, RequestKey, RunLog, RunReader, RunWriter};
use super::thread_agent::ThreadAgent;
use super::translator::AguiEventTranslator;
use crate::options::{BridgeOptions, DEFAULT_RECONNECT_LIMIT};
use agentese_process::stderr::Stderr;

/// The maximum number of threads with an agent. When it is reached, a new thread replaces the least recently used one.
const MOST: usize = 16;
/// The time limit for waiting until the thread's previous run, which was stopped, has ended.
const RESERVE_LIMIT: Duration = Duration::from_secs(15);

/// A conversation of the client, and the agent that serves it.
pub(super) struct Thread {
    /// The prefix of the ids of messages and questions.
    prefix: String,
    pub agent: ThreadAgent,
    pub questions: Questions,
    pub translator: AguiEventTranslator,
    /// The run that is suspended until its questions are answered.
    pub suspended: Option<ActiveRun>,
}

type SharedThread = Arc<tokio::sync::Mutex<Option<Thread>>>;

/// A run that can begin: its thread, and the log of its events with its writer.
pub(super) struct ReservedRun {
    pub thread: ReservedThread,
    pub log: Arc<RunLog>,
    pub writer: RunWriter,
}

/// A lock on a thread for one run. Contains `None` if the thread has no agent.
pub(super) type ReservedThread = OwnedMutexGuard<Option<Thread>>;

struct ThreadSlot {
    thread: SharedThread,
    /// The events of the latest run.
    log: Option<Arc<RunLog>>,
    last_used: Instant,
}

/// The reason why a thread is not available.
#[derive(Debug, thiserror::Error)]
pub(super) enum ThreadError {
    /// A run of the thread is in progress.
    #[error(
        "a run of this thread is in progress; wait for its end, or close its connection to stop it. To continue \
         reading it, send its request again, or the header Last-Event-ID"
    )]
    Busy,
    /// The limit is reached, and all threads are busy.
    #[error("{MOST} threads have a run in progress, which is the limit; retry later")]
    Full,
    /// The system provides no random bytes.
    #[error("cannot create a random id: {0}")]
    NoRandomId(#[from] getrandom::Error),
}

/// The threads, and the options to start their agents.
pub(super) struct Threads {
    pub options: BridgeOptions,
    pub spec: &'static Spec,
    pub fidelity: Arc<FidelityReport>,
    stderr: Stderr,
    counts: Arc<FrameCounts>,
    slots: Mutex<HashMap<String, ThreadSlot>>,
    /// All started agents by the prefix of their ids, for the shutdown.
    agents: Mutex<HashMap<String, ThreadAgent>>,
}

impl Threads {
    pub fn new(
        options: BridgeOptions,
        stderr: &Stderr,
        spec: &'static Spec,
        fidelity: Arc<FidelityReport>,
        counts: Arc<FrameCounts>,
    ) -> Self {
        let (slots, agents) = (Mutex::default(), Mutex::default());
        Self { options, spec, fidelity, stderr: stderr.clone(), counts, slots, agents }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, ThreadSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a thread for one run, and stops a run of the thread that has no connection. Fails if the thread or all
    /// possible threads are busy.
    pub async fn reserve(&self, request: RequestKey) -> Result<ReservedRun, ThreadError> {
        let (thread, log) = self.slot(&request.thread)?;
        let locked = tokio::time::timeout(RESERVE_LIMIT, thread.lock_owned());
        let stop = async {
            if let Some(log) = log {
                log.stop_without_connection().await;
            }
            std::future::pending().await
        };
        let thread = tokio::select! {
            locked = locked => locked.map_err(|_| ThreadError::Busy)?,
            never = stop => never,
        };
        let limit = self.options.reconnect_limit.unwrap_or(DEFAULT_RECONNECT_LIMIT);
        let (log, writer) = RunLog::new(random_prefix()?, request, limit);
        if let Some(slot) = self.slots().get_mut(&log.request.thread) {
            slot.log = Some(log.clone());
        }
        Ok(ReservedRun { thread, log, writer })
    }

    /// Returns the current run of a request that was sent before. Returns `None` if there is no such run in progress.
    pub fn current_run(&self, request: &RequestKey) -> Option<Arc<RunLog>> {
        let log = self.slots().get(&request.thread)?.log.clone()?;
        (log.request == *request && !log.is_ended()).then_some(log)
    }

    /// Connects a reader of the events after the one with the id `last`, of the latest run of any thread. If `run` names
    /// a thread and a run, it must be that run. Fails if these events are no longer kept.
    pub fn resume(&self, last: &str, run: Option<(&str, &str)>) -> Result<RunReader, EventsGone> {
        let is_wanted = |log: &Arc<RunLog>| {
            run.is_none_or(|run| run == (log.request.thread.as_str(), log.request.run.as_str()))
        };
        let logs: Vec<_> = self.slots().values().filter_map(|slot| slot.log.clone()).collect();
        let reader = logs.iter().filter(|log| is_wanted(log)).find_map(|log| log.resume(last).ok());
        reader.ok_or_else(|| EventsGone { after: last.to_owned() })
    }

    fn slot(&self, id: &str) -> Result<(SharedThread, Option<Arc<RunLog>>), ThreadError> {
        let mut slots = self.slots();
        if !slots.contains_key(id) && slots.len() >= MOST {
            let idle = slots.iter().filter(|(_, slot)| slot.thread.try_lock().is_ok());
            let oldest = idle.min_by_key(|(_, slot)| slot.last_used).map(|(id, _)| id.clone());
            let gone = slots.remove(&oldest.ok_or(ThreadError::Full)?);
            if let Some(thread) = gone.and_then(|slot| slot.thread.try_lock_owned().ok()?.take()) {
                self.agents().remove(&thread.prefix);
                tokio::spawn(async move { thread.agent.close().await });
            }
        }
        let slot = slots.entry(id.to_owned()).or_insert_with(|| ThreadSlot {
            thread: Arc::default(),
            log: None,
            last_used: Instant::now(),
        });
        slot.last_used = Instant::now();
        Ok((slot.thread.clone(), slot.log.clone()))
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<String, ThreadAgent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an agent for a thread.
    pub async fn start(&self) -> Result<Thread, String> {
        let prefix = random_prefix().map_err(|error| format!("cannot create a random id: {error}"))?;
        let questions = Questions::new(prefix.clone());
        let agent =
            ThreadAgent::start(&self.options, self.spec, &questions, &self.counts, &self.stderr).await?;
        self.agents().insert(prefix.clone(), agent.clone());
        let translator = AguiEventTranslator::new(prefix.clone(), self.options.overlapping_calls);
        Ok(Thread { prefix, agent, questions, translator, suspended: None })
    }

    /// Ends all agents.
    pub async fn end(&self) {
        self.slots().clear();
        let agents = std::mem::take(&mut *self.agents());
        join_all(agents.values().map(ThreadAgent::close)).await;
    }
}

/// Returns a random prefix for ids: of an agent's messages, or of a run's events.
fn random_prefix() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
