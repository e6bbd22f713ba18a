//! Attacks on an agent (kills, storms, hostile lines, full disks) and on programs around it (a page, a
//! bridge, an editor, MCP servers, subagents, tools). Each attack is drawn from a seed, ends within its time,
//! and checks the common promises of all dialects. Each command has one answer, nothing is lost or left
//! behind, and memory is bounded.

mod abort;
mod acp;
mod bridge;
mod commands;
mod disk;
mod kills;
mod lines;
mod mcp;
mod opal;
mod pipeline;
mod random;
mod slow;
mod speech;
pub mod stand_in;
mod starts;
mod subagents;
mod surfaces;
mod tools;
mod usage;
mod victim;
mod web;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use agentese::types::Profile;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::player::PlayError;
pub use surfaces::Surfaces;
use victim::Field;

/// Parameters of the attacks.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Random seed.
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

/// An attack: one file of this folder and one row in the table.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    name: &'static str,
    says: &'static str,
    carry_out: for<'a> fn(&'a mut Round) -> Work<'a>,
}

/// An attack in progress.
type Work<'a> = Pin<Box<dyn Future<Output = Result<Counts, Trouble>> + 'a>>;

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

    /// Returns the name on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the actions of the attack and the required properties.
    pub fn says(&self) -> &'static str {
        self.says
    }
}

/// Actions with their counts.
type Counts = Vec<(&'static str, u64)>;

/// Context of an attack.
#[derive(Debug)]
struct Round {
    field: Field,
    rng: Rng,
    /// No further action starts after this time. At least one action is always performed.
    deadline: Instant,
    starts: usize,
}

impl Round {
    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline
    }
}

/// Reason for an early end of an attack.
#[derive(Debug)]
enum Trouble {
    /// The agent violated a requirement.
    Found(String),
    /// The attack does not apply to the agent or to this machine.
    NotHere(String),
    /// The environment of the attack failed.
    Ground(String),
}

impl Trouble {
    fn found(text: impl Into<String>) -> Self {
        Self::Found(text.into())
    }
}

/// Findings of an attack that continues after its first finding.
#[derive(Debug, Default)]
struct Findings(Vec<String>);

impl Findings {
    /// Records a finding and returns `None`. Any other error ends the attack.
    fn note<T>(&mut self, result: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Trouble::Found(text)) => {
                if !self.0.contains(&text) {
                    self.0.push(text);
                }
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Returns the counts if there are no findings.
    fn or(self, counts: Counts) -> Result<Counts, Trouble> {
        if self.0.is_empty() { Ok(counts) } else { Err(Trouble::Found(self.0.join("\n"))) }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<PlayError> for Trouble {
    fn from(error: PlayError) -> Self {
        Self::Ground(error.to_string())
    }
}

/// Outcome of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No finding.
    Held,
    /// A finding, with its description.
    Found(String),
    /// The attack does not apply to the agent or to this machine, with the reason.
    NotHere(String),
    /// The attack failed to run, with the reason.
    Broken(String),
}

/// A completed attack.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The attack.
    pub attack: Attack,
    /// Outcome of the attack.
    pub outcome: Outcome,
    /// Actions with their counts.
    pub counts: Counts,
    /// Duration of the attack.
    pub took: Duration,
}

/// Runs the attacks of a plan in order, and passes each result to `over`.
pub async fn attack(profile: &Profile, plan: &Plan, mut over: impl FnMut(&Carried)) -> Vec<Carried> {
    let field = Field {
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
        let mut round = Round {
            field: field.clone(),
            rng: Rng::with_seed(own),
            deadline: begun + share,
            starts: plan.starts,
        };
        let (outcome, counts) = match (attack.carry_out)(&mut round).await {
            Ok(counts) => (Outcome::Held, counts),
            Err(Trouble::Found(text)) => (Outcome::Found(text), Counts::new()),
            Err(Trouble::NotHere(text)) => (Outcome::NotHere(text), Counts::new()),
            Err(Trouble::Ground(text)) => (Outcome::Broken(text), Counts::new()),
        };
        let carried = Carried { attack: *attack, outcome, counts, took: begun.elapsed() };
        over(&carried);
        all.push(carried);
    }
    all
}

impl Carried {
    /// Returns one line, and further lines for findings.
    pub fn text(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        let name = self.attack.name();
        let took = self.took.as_secs_f64();
        match &self.outcome {
            Outcome::Held => format!("held       {name} ({took:.1} s): {}\n", counts.join(", ")),
            Outcome::Found(text) => {
                let text = text.replace('\n', "\n           ");
                format!("FOUND      {name} ({took:.1} s): {text}\n           {}\n", self.attack.says())
            }
            Outcome::NotHere(text) => format!("skipped: {name} ({text})\n"),
            Outcome::Broken(text) => format!("BROKEN     {name}: {text}\n"),
        }
    }

    fn json(&self) -> Value {
        let (outcome, text) = match &self.outcome {
            Outcome::Held => ("held", None),
            Outcome::Found(text) => ("found", Some(text)),
            Outcome::NotHere(text) => ("skipped", Some(text)),
            Outcome::Broken(text) => ("broken", Some(text)),
        };
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(what, count)| ((*what).to_owned(), json!(count))).collect();
        json!({
            "attack": self.attack.name(), "says": self.attack.says(), "outcome": outcome, "reason": text,
            "counts": counts, "seconds": self.took.as_secs_f64(),
        })
    }
}

/// Returns the report as JSON.
pub fn json(profile: &Profile, plan: &Plan, all: &[Carried]) -> Value {
    json!({
        "attack_report": 1, "agent": profile.agent, "dialect": profile.dialect, "seed": plan.seed,
        "seconds": plan.time.as_secs_f64(), "memory_mib": plan.memory,
        "attacks": all.iter().map(Carried::json).collect::<Vec<_>>(),
    })
}

/// Returns the exit code. 0: no finding; 1: a finding; 2: an attack could not run.
pub fn exit_code(all: &[Carried]) -> u8 {
    let any = |wanted: fn(&Outcome) -> bool| all.iter().any(|carried| wanted(&carried.outcome));
    match (
        any(|outcome| matches!(outcome, Outcome::Found(_))),
        any(|outcome| matches!(outcome, Outcome::Broken(_))),
    ) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 0,
    }
}
