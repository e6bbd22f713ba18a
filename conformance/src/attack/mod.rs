//! Attacks on an agent (kills, storms, hostile lines, full disks) and on what stands before or beside it (a page, a
//! bridge, an editor, MCP servers, subagents, tools). Each is drawn from a seed, ends within its time, and
//! holds an agent to what every dialect promises: one answer for each command, nothing lost, nothing left behind,
//! memory within bounds.

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

/// How attacks are carried out.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What everything is drawn from.
    pub seed: u64,
    /// How long all attacks may take together, about.
    pub time: Duration,
    /// The most memory that an agent may take, in MiB.
    pub memory: u64,
    /// The most agents that are started at once.
    pub starts: usize,
    /// The agent, in place of the profile's command.
    pub command: Option<Vec<String>>,
    /// How what stands before the agent, or beside it, is started.
    pub surfaces: Surfaces,
    /// The attacks to carry out.
    pub attacks: Vec<Attack>,
}

/// An attack: a file of this folder has one, and one row that names it.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    name: &'static str,
    says: &'static str,
    carry_out: for<'a> fn(&'a mut Round) -> Work<'a>,
}

/// An attack that goes on.
type Work<'a> = Pin<Box<dyn Future<Output = Result<Counts, Trouble>> + 'a>>;

impl Attack {
    /// All of them, in the order in which they are carried out.
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

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What is done, and what has to hold.
    pub fn says(&self) -> &'static str {
        self.says
    }
}

/// What was done how often.
type Counts = Vec<(&'static str, u64)>;

/// What an attack is carried out with.
#[derive(Debug)]
struct Round {
    field: Field,
    rng: Rng,
    /// Nothing new begins after that. One thing is always done.
    deadline: Instant,
    starts: usize,
}

impl Round {
    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline
    }
}

/// Why an attack ended before its time.
#[derive(Debug)]
enum Trouble {
    /// The agent did what it must not.
    Found(String),
    /// The agent cannot be attacked that way, or not here.
    NotHere(String),
    /// There is nothing to attack.
    Ground(String),
}

impl Trouble {
    fn found(text: impl Into<String>) -> Self {
        Self::Found(text.into())
    }
}

/// Findings of an attack that goes on behind its first one.
#[derive(Debug, Default)]
struct Findings(Vec<String>);

impl Findings {
    /// Notes a finding. Returns `None` in its place; other trouble ends the attack.
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

    /// The counts, if nothing was found.
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

/// What came of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The agent held.
    Held,
    /// It did not, and how.
    Found(String),
    /// It cannot be attacked that way, or not on this machine, and why.
    NotHere(String),
    /// The attack could not be carried out, and why.
    Broken(String),
}

/// An attack that is over.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The attack.
    pub attack: Attack,
    /// What came of it.
    pub outcome: Outcome,
    /// What was done how often.
    pub counts: Counts,
    /// How long it took.
    pub took: Duration,
}

/// Carries out the attacks of a plan, one after the other, and hands each on when it is over.
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
        // Each draws from a seed of its own, so that it does the same alone.
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
    /// One line, and a second one where something was found.
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

/// The report as JSON.
pub fn json(profile: &Profile, plan: &Plan, all: &[Carried]) -> Value {
    json!({
        "attack_report": 1, "agent": profile.agent, "dialect": profile.dialect, "seed": plan.seed,
        "seconds": plan.time.as_secs_f64(), "memory_mib": plan.memory,
        "attacks": all.iter().map(Carried::json).collect::<Vec<_>>(),
    })
}

/// 0: the agent held; 1: something was found; 2: an attack could not be carried out.
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
