//! One process of the agent for each thread, up to a maximum number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentese::any::{self, Agent};
use agentese::spec::Spec;
use futures::future::join_all;
use tokio::sync::OwnedMutexGuard;

use super::super::fidelity_report::{FidelityReport, FrameCounts};
use super::super::launch::child;
use super::active_run::ActiveRun;
use super::questions::Questions;
use super::translator::AguiEventTranslator;
use crate::options::BridgeOptions;
use agentese_process::stderr::Stderr;

/// The maximum number of threads with an agent. When it is reached, a new thread replaces the least recently used one.
const MOST: usize = 16;
/// The time limit for waiting until the thread's previous run, which was stopped, has ended.
const RESERVE_LIMIT: Duration = Duration::from_secs(15);
/// The time limit for each response of an agent, except responses to prompts. The first response includes the start of
/// the agent.
const RESPONSE_LIMIT: Duration = Duration::from_secs(120);

/// A conversation of the client, and the agent that serves it.
pub(super) struct Thread {
    pub agent: Agent,
    pub questions: Questions,
    pub translator: AguiEventTranslator,
    /// The run that is suspended until its questions are answered.
    pub suspended: Option<ActiveRun>,
}

/// A lock on a thread for one run. Contains `None` if the thread has no agent.
pub(super) type ReservedThread = OwnedMutexGuard<Option<Thread>>;

struct ThreadSlot {
    thread: Arc<tokio::sync::Mutex<Option<Thread>>>,
    last_used: Instant,
}

/// The reason why a thread is not available.
#[derive(Debug, thiserror::Error)]
pub(super) enum ThreadError {
    /// A run of the thread is in progress.
    #[error("a run of this thread is in progress")]
    Busy,
    /// The limit is reached, and all threads are busy.
    #[error("{MOST} threads have a run in progress, which is the limit; retry later")]
    Full,
}

/// The threads, and the options to start their agents.
pub(super) struct Threads {
    pub options: BridgeOptions,
    pub spec: &'static Spec,
    pub fidelity: Arc<FidelityReport>,
    stderr: Stderr,
    counts: Arc<FrameCounts>,
    slots: Mutex<HashMap<String, ThreadSlot>>,
    /// All started agents, for the shutdown.
    agents: Mutex<Vec<Agent>>,
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

    /// Reserves a thread for one run. Fails if the thread or all possible threads are busy.
    pub async fn reserve(&self, id: &str) -> Result<ReservedThread, ThreadError> {
        let thread = self.slot(id)?;
        tokio::time::timeout(RESERVE_LIMIT, thread.lock_owned()).await.map_err(|_| ThreadError::Busy)
    }

    fn slot(&self, id: &str) -> Result<Arc<tokio::sync::Mutex<Option<Thread>>>, ThreadError> {
        let mut slots = self.slots();
        if !slots.contains_key(id) && slots.len() >= MOST {
            let idle = slots.iter().filter(|(_, slot)| slot.thread.try_lock().is_ok());
            let oldest = idle.min_by_key(|(_, slot)| slot.last_used).map(|(id, _)| id.clone());
            let gone = slots.remove(&oldest.ok_or(ThreadError::Full)?);
            if let Some(thread) = gone.and_then(|slot| slot.thread.try_lock_owned().ok()?.take()) {
                let agent = thread.agent.clone();
                self.agents()
                    .retain(|known| known.as_dynamic().process_id() != agent.as_dynamic().process_id());
                tokio::spawn(async move { agent.close().await });
            }
        }
        let slot = slots
            .entry(id.to_owned())
            .or_insert_with(|| ThreadSlot { thread: Arc::default(), last_used: Instant::now() });
        slot.last_used = Instant::now();
        Ok(slot.thread.clone())
    }

    fn agents(&self) -> MutexGuard<'_, Vec<Agent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an agent for a thread.
    pub async fn start(&self) -> Result<Thread, String> {
        let prefix = random_prefix().map_err(|error| format!("cannot create a random id: {error}"))?;
        let questions = Questions::new(prefix.clone());
        let mut connect = any::Options::new().on_question(questions.clone()).timeout(RESPONSE_LIMIT);
        if self.options.report.is_some() {
            connect.tap = Some(self.counts.clone());
        }
        connect.dialect = Some(self.options.from.clone().unwrap_or_else(|| self.spec.name.to_owned()));
        let child = child(&self.options, &self.stderr).map_err(|error| error.to_string())?;
        let agent =
            Agent::spawn(child, connect).await.map_err(|error| format!("cannot use the agent: {error}"))?;
        self.agents().push(agent.clone());
        if let Err(error) = agent.session().await {
            agent.close().await;
            return Err(format!("cannot query the session of the agent: {error}"));
        }
        Ok(Thread { agent, questions, translator: AguiEventTranslator::new(prefix), suspended: None })
    }

    /// Ends all agents.
    pub async fn end(&self) {
        self.slots().clear();
        let agents = std::mem::take(&mut *self.agents());
        join_all(agents.iter().map(Agent::close)).await;
    }
}

/// Returns a random prefix for the ids of an agent's messages.
fn random_prefix() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
