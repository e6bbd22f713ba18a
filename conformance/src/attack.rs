//! Attacks on an agent (kills, storms, hostile lines, full disks) and on programs around it (a page, a
//! bridge, an editor, MCP servers, subagents, tools). Each attack is drawn from a seed, ends within its time
//! limit, and checks requirements that are common to all dialects. Each command has one answer, no message is
//! lost, no process is left behind, and memory is bounded.

mod abort;
mod acp;
mod agent;
mod bridge;
mod codec;
mod commands;
mod disk;
mod kills;
mod lines;
mod mcp;
mod opal;
mod pipeline;
mod random;
mod slow;
pub mod stand_in;
mod starts;
mod subagents;
mod surfaces;
mod tools;
mod usage;
mod web;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use agentese::types::Profile;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::player::PlayError;
use agent::AgentConfig;
pub use surfaces::Surfaces;

/// Parameters of the attacks.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Approximate time limit for all attacks together.
    pub time: Duration,
    /// Maximum memory of an agent, in MiB.
    pub memory: u64,
    /// Maximum number of agents started at once.
    pub starts: usize,
    /// The command of the agent, in place of the profile's command.
    pub command: Option<Vec<String>>,
    /// Start commands of the programs around the agent.
    pub surfaces: Surfaces,
    /// The attacks to carry out.
    pub attacks: Vec<Attack>,
}

/// An attack. Each file of this folder defines one in its constant `ATTACK`.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    name: &'static str,
    description: &'static str,
    run: for<'a> fn(&'a mut AttackContext) -> AttackFuture<'a>,
}

/// An attack in progress.
type AttackFuture<'a> = Pin<Box<dyn Future<Output = Result<Counts, AttackError>> + 'a>>;

impl Attack {
    /// All attacks, in the order of their execution.
    pub const ALL: &[Self] = &[
        lines::ATTACK,
        commands::ATTACK,
        abort::ATTACK,
        kills::ATTACK,
        slow::ATTACK,
        pipeline::ATTACK,
        disk::ATTACK,
        tools::ATTACK,
        opal::ATTACK,
        mcp::ATTACK,
        subagents::ATTACK,
        acp::ATTACK,
        bridge::ATTACK,
        web::ATTACK,
        starts::ATTACK,
    ];

    /// Returns the name of the attack on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns a description: the actions of the attack, and the properties that the agent must keep.
    pub fn description(&self) -> &'static str {
        self.description
    }
}

/// Names of the performed actions, each with its number.
type Counts = Vec<(&'static str, u64)>;

/// Context of an attack.
#[derive(Debug)]
struct AttackContext {
    config: AgentConfig,
    rng: Rng,
    /// Time after which no further action starts. Each attack performs at least one action.
    deadline: Instant,
    starts: usize,
}

impl AttackContext {
    fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }
}

/// Reason why an attack ended early.
#[derive(Debug)]
enum AttackError {
    /// The agent violated a requirement.
    Finding(String),
    /// The attack does not apply to the agent or to this machine.
    NotApplicable(String),
    /// The environment of the attack failed.
    Environment(String),
}

impl AttackError {
    fn finding(text: impl Into<String>) -> Self {
        Self::Finding(text.into())
    }
}

/// Findings so far, for an attack that continues after a finding.
#[derive(Debug, Default)]
struct AttackFindings(Vec<String>);

impl AttackFindings {
    /// Returns the value of a success. For a finding, records it and returns `None`.
    ///
    /// # Errors
    /// Any other error, which ends the attack.
    fn record<T>(&mut self, result: Result<T, AttackError>) -> Result<Option<T>, AttackError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(AttackError::Finding(text)) => {
                if !self.0.contains(&text) {
                    self.0.push(text);
                }
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Returns the counts. Fails with all findings if there are any.
    fn finish(self, counts: Counts) -> Result<Counts, AttackError> {
        if self.0.is_empty() { Ok(counts) } else { Err(AttackError::Finding(self.0.join("\n"))) }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<PlayError> for AttackError {
    fn from(error: PlayError) -> Self {
        Self::Environment(error.to_string())
    }
}

/// Outcome of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttackOutcome {
    /// The agent met all requirements.
    Held,
    /// The agent violated a requirement, as described.
    Found(String),
    /// The attack does not apply to the agent or to this machine, with the reason.
    Skipped(String),
    /// The attack failed to run, with the reason.
    Broken(String),
}

/// Result of one attack.
#[derive(Debug, Clone)]
pub struct AttackResult {
    /// The attack that was run.
    pub attack: Attack,
    /// Outcome of the attack.
    pub outcome: AttackOutcome,
    /// Performed actions and their numbers.
    pub counts: Counts,
    /// Duration of the attack.
    pub took: Duration,
}

/// Runs the attacks of a plan in order, and passes each result to `on_result`.
pub async fn attack(
    profile: &Profile,
    plan: &AttackOptions,
    mut on_result: impl FnMut(&AttackResult),
) -> Vec<AttackResult> {
    let config = AgentConfig {
        profile: profile.clone(),
        command: plan.command.clone(),
        memory: plan.memory,
        surfaces: plan.surfaces.clone(),
    };
    let share = plan.time / u32::try_from(plan.attacks.len()).unwrap_or(1).max(1);
    let mut all = Vec::new();
    for attack in &plan.attacks {
        let begun = Instant::now();
        // Each attack has a seed of its own, so that it behaves the same when run alone.
        let own = attack.name().bytes().fold(plan.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(byte));
        let mut context = AttackContext {
            config: config.clone(),
            rng: Rng::with_seed(own),
            deadline: begun + share,
            starts: plan.starts,
        };
        let (outcome, counts) = match (attack.run)(&mut context).await {
            Ok(counts) => (AttackOutcome::Held, counts),
            Err(AttackError::Finding(text)) => (AttackOutcome::Found(text), Counts::new()),
            Err(AttackError::NotApplicable(text)) => (AttackOutcome::Skipped(text), Counts::new()),
            Err(AttackError::Environment(text)) => (AttackOutcome::Broken(text), Counts::new()),
        };
        let result = AttackResult { attack: *attack, outcome, counts, took: begun.elapsed() };
        on_result(&result);
        all.push(result);
    }
    all
}

impl AttackResult {
    /// Formats the result as one line, with further lines for findings.
    pub fn text(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        let name = self.attack.name();
        let took = self.took.as_secs_f64();
        match &self.outcome {
            AttackOutcome::Held => format!("held       {name} ({took:.1} s): {}\n", counts.join(", ")),
            AttackOutcome::Found(text) => {
                let text = text.replace('\n', "\n           ");
                format!("FOUND      {name} ({took:.1} s): {text}\n           {}\n", self.attack.description())
            }
            AttackOutcome::Skipped(text) => format!("skipped: {name} ({text})\n"),
            AttackOutcome::Broken(text) => format!("BROKEN     {name}: {text}\n"),
        }
    }

    fn json(&self) -> Value {
        let (outcome, text) = match &self.outcome {
            AttackOutcome::Held => ("held", None),
            AttackOutcome::Found(text) => ("found", Some(text)),
            AttackOutcome::Skipped(text) => ("skipped", Some(text)),
            AttackOutcome::Broken(text) => ("broken", Some(text)),
        };
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(what, count)| ((*what).to_owned(), json!(count))).collect();
        json!({
            "attack": self.attack.name(), "says": self.attack.description(), "outcome": outcome, "reason": text,
            "counts": counts, "seconds": self.took.as_secs_f64(),
        })
    }
}

/// Returns the report as JSON.
pub fn json(profile: &Profile, plan: &AttackOptions, all: &[AttackResult]) -> Value {
    json!({
        "attack_report": 1, "agent": profile.agent, "dialect": profile.dialect, "seed": plan.seed,
        "seconds": plan.time.as_secs_f64(), "memory_mib": plan.memory,
        "attacks": all.iter().map(AttackResult::json).collect::<Vec<_>>(),
    })
}

/// Returns the exit code. 0: no finding; 1: a finding; 2: an attack could not run.
pub fn exit_code(all: &[AttackResult]) -> u8 {
    let any = |wanted: fn(&AttackOutcome) -> bool| all.iter().any(|result| wanted(&result.outcome));
    match (
        any(|outcome| matches!(outcome, AttackOutcome::Found(_))),
        any(|outcome| matches!(outcome, AttackOutcome::Broken(_))),
    ) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 0,
    }
}
