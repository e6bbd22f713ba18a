//! Attacks on an agent: kills, storms, hostile lines, full disks. Each is drawn from a seed, ends within its time, and
//! holds an agent to what every dialect promises: one answer for each command, nothing lost, nothing left behind,
//! memory within bounds.

mod abort;
mod commands;
mod disk;
mod kills;
mod lines;
mod pipeline;
mod random;
mod slow;
mod speech;
mod starts;
mod victim;

use std::time::{Duration, Instant};

use agentese::types::Profile;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::player::PlayError;
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
    /// The attacks to carry out.
    pub attacks: Vec<Attack>,
}

/// An attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// SIGKILL at any moment of a run.
    Kills,
    /// Random commands.
    Commands,
    /// Lines that are no frames, or hardly.
    Lines,
    /// Many agents at once.
    Starts,
    /// Questions with big answers, written without reading.
    Pipeline,
    /// A long answer that nobody reads.
    Slow,
    /// A disk that is full.
    Disk,
    /// An abort at each event of a run.
    Aborts,
}

impl Attack {
    /// All of them, in the order in which they are carried out.
    pub const ALL: [Self; 8] = [
        Self::Lines,
        Self::Commands,
        Self::Aborts,
        Self::Kills,
        Self::Slow,
        Self::Pipeline,
        Self::Disk,
        Self::Starts,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kills => "kills",
            Self::Commands => "commands",
            Self::Lines => "lines",
            Self::Starts => "starts",
            Self::Pipeline => "pipeline",
            Self::Slow => "slow-reader",
            Self::Disk => "full-disk",
            Self::Aborts => "aborts",
        }
    }

    /// What is done, and what has to hold.
    pub fn says(self) -> &'static str {
        match self {
            Self::Kills => "SIGKILL at any moment of a run: no finished message is lost, no process is left",
            Self::Commands => "random commands, as declared and not: each has exactly one answer",
            Self::Lines => "broken, giant and deep lines: the next command is answered, memory is bounded",
            Self::Starts => "many agents at once: each answers, ends with its stdin and leaves nothing",
            Self::Pipeline => "questions with big answers, written without reading: memory is bounded",
            Self::Slow => {
                "a long answer that nobody reads, then an abort: memory is bounded, the abort works"
            }
            Self::Disk => "a home on a disk that is full: it lives, and says that entries are not kept",
            Self::Aborts => "an abort at each event of a run: answered, and the next prompt works",
        }
    }

    async fn carry_out(self, round: &mut Round<'_>) -> Result<Counts, Trouble> {
        match self {
            Self::Kills => kills::attack(round).await,
            Self::Commands => commands::attack(round).await,
            Self::Lines => lines::attack(round).await,
            Self::Starts => starts::attack(round).await,
            Self::Pipeline => pipeline::attack(round).await,
            Self::Slow => slow::attack(round).await,
            Self::Disk => disk::attack(round).await,
            Self::Aborts => abort::attack(round).await,
        }
    }
}

/// What was done how often.
type Counts = Vec<(&'static str, u64)>;

/// What an attack is carried out with.
struct Round<'a> {
    field: &'a Field,
    rng: Rng,
    /// Nothing new begins after that. One thing is always done.
    deadline: Instant,
    starts: usize,
}

impl Round<'_> {
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
    let field = Field { profile: profile.clone(), command: plan.command.clone(), memory: plan.memory };
    let share = plan.time / u32::try_from(plan.attacks.len()).unwrap_or(1).max(1);
    let mut all = Vec::new();
    for attack in &plan.attacks {
        let begun = Instant::now();
        // Each draws from a seed of its own, so that it does the same alone.
        let own = attack.name().bytes().fold(plan.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(byte));
        let mut round =
            Round { field: &field, rng: Rng::with_seed(own), deadline: begun + share, starts: plan.starts };
        let (outcome, counts) = match attack.carry_out(&mut round).await {
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
