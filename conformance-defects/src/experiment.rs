//! The experiment: all mutators in all cases, a sample of the places, and what the suite says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentese::types::Scenario;
use agentese_conformance::suite::{Suite, SuiteError};
use serde_json::{Value, json};

use crate::trial::Base;
use crate::{Application, Mutator, mutators, neutrals};

/// What is tried.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many places of each mutator are tried in each case; all where it is 0.
    pub sample: usize,
    /// How many trials there are at most in all; without limit where it is 0.
    pub most: usize,
    /// What the sample is drawn with: the same seed, the same sample.
    pub seed: u64,
    /// How many trials are made at the same time.
    pub jobs: usize,
    /// Only these mutators and neutral changes, where there are any.
    pub only: Vec<String>,
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// What came of the trials with one mutator, or one neutral change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many places there are, in all cases.
    pub places: usize,
    /// How many were tried.
    pub tried: usize,
    /// How many of them came out as they have to: a defect was caught, a neutral change passed.
    pub right: usize,
}

/// A trial that came out wrong: a defect that was missed, or a neutral change that was taken for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The mutator or the neutral change.
    pub name: &'static str,
    /// The case.
    pub case: String,
    /// The line of the agent and the place within it, where there is one.
    pub place: String,
    /// The line as it was.
    pub before: String,
    /// What stands in its place; for a neutral change, what the suite says.
    pub after: String,
}

/// What came of all trials.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// By the name of the mutator.
    pub defects: BTreeMap<&'static str, Count>,
    /// By the name of the neutral change.
    pub neutral: BTreeMap<&'static str, Count>,
    /// Those that came out wrong.
    pub wrong: Vec<Wrong>,
}

/// The least part of the defects that has to be caught, in percent.
pub const CAUGHT: f64 = 98.0;

impl Outcome {
    /// All defects.
    pub fn all_defects(&self) -> Count {
        total(&self.defects)
    }

    /// All neutral changes.
    pub fn all_neutral(&self) -> Count {
        total(&self.neutral)
    }

    /// Whether the suite is as good as it has to be: 98 in a hundred defects are caught, and no neutral change is.
    /// False where nothing was tried.
    pub fn is_good(&self) -> bool {
        let (defects, neutral) = (self.all_defects(), self.all_neutral());
        let tried = defects.tried + neutral.tried > 0;
        tried && defects.percent() >= CAUGHT && neutral.right == neutral.tried
    }

    pub(super) fn add(&mut self, other: Outcome) {
        for (all, more) in [(&mut self.defects, other.defects), (&mut self.neutral, other.neutral)] {
            for (name, count) in more {
                all.entry(name).or_default().add(count);
            }
        }
        self.wrong.extend(other.wrong);
    }

    /// Counts a defect that was tried; `wrong` where it was missed.
    pub(super) fn count_defect(&mut self, name: &'static str, wrong: Option<Wrong>) {
        count(&mut self.defects, name, wrong.is_none());
        self.wrong.extend(wrong);
    }

    /// Counts a neutral change that was tried; `fault` where it was noticed.
    pub(super) fn count_neutral(&mut self, name: &'static str, case: &Scenario, fault: Option<&str>) {
        count(&mut self.neutral, name, fault.is_none());
        self.wrong.extend(fault.map(|fault| Wrong {
            name,
            case: case.name.clone(),
            place: String::new(),
            before: String::new(),
            after: fault.to_owned(),
        }));
    }

    /// As JSON, for programs.
    pub fn json(&self) -> Value {
        let count = |count: &Count| json!({"places": count.places, "tried": count.tried, "right": count.right, "percent": count.percent()});
        let counts = |all: &BTreeMap<&'static str, Count>| -> Value {
            all.iter()
                .map(|(name, one)| ((*name).to_owned(), count(one)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let wrong = self.wrong.iter().map(|wrong| {
            json!({"name": wrong.name, "case": wrong.case, "place": wrong.place, "before": wrong.before, "after": wrong.after})
        });
        json!({
            "good": self.is_good(),
            "defects": {"all": count(&self.all_defects()), "by_mutator": counts(&self.defects)},
            "neutral": {"all": count(&self.all_neutral()), "by_change": counts(&self.neutral)},
            "wrong": wrong.collect::<Vec<_>>(),
        })
    }
}

impl Count {
    fn add(&mut self, other: Count) {
        self.places += other.places;
        self.tried += other.tried;
        self.right += other.right;
    }

    /// How many of a hundred came out right; a hundred where none was tried.
    pub fn percent(&self) -> f64 {
        if self.tried == 0 { 100.0 } else { self.right as f64 * 100.0 / self.tried as f64 }
    }
}

fn total(counts: &BTreeMap<&'static str, Count>) -> Count {
    counts.values().fold(Count::default(), |mut all, count| {
        all.add(*count);
        all
    })
}

/// One trial.
enum Trial<'a> {
    Defect(&'a Base, Application),
    Neutral(&'a Base, crate::Neutral, u64),
}

/// Makes the trials of a plan. `tell` hears how many of how many are done.
///
/// # Errors
/// Where the suite cannot judge.
pub fn run(
    suite: &Suite,
    bases: &[Base],
    plan: &Plan,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> Result<Outcome, SuiteError> {
    let mut outcome = Outcome::default();
    let trials = drawn(bases, plan, &mut outcome);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<Outcome, SuiteError> {
        let mut outcome = Outcome::default();
        while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            made(suite, trial, &mut outcome)?;
            tell(done.fetch_add(1, Ordering::Relaxed) + 1, trials.len());
        }
        Ok(outcome)
    };
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    parts.into_iter().for_each(|part| outcome.add(part));
    outcome.wrong.sort_by(|one, other| {
        (one.name, &one.case, &one.place).cmp(&(other.name, &other.case, &other.place))
    });
    Ok(outcome)
}

/// Draws the sample, and counts what there is to draw from.
fn drawn<'a>(bases: &'a [Base], plan: &Plan, outcome: &mut Outcome) -> Vec<Trial<'a>> {
    let mut rng = fastrand::Rng::with_seed(plan.seed);
    let mutators: Vec<Mutator> = mutators().into_iter().filter(|mutator| plan.wants(mutator.name)).collect();
    let mut trials = Vec::new();
    for base in bases {
        for mutator in &mutators {
            let mut found = base.applications(mutator);
            outcome.defects.entry(mutator.name).or_default().places += found.len();
            if plan.sample > 0 {
                rng.shuffle(&mut found);
                found.truncate(plan.sample);
            }
            trials.extend(found.into_iter().map(|found| Trial::Defect(base, found)));
        }
        for neutral in neutrals().into_iter().filter(|neutral| plan.wants(neutral.name)) {
            outcome.neutral.entry(neutral.name).or_default().places += 1;
            trials.push(Trial::Neutral(base, neutral, rng.u64(..)));
        }
    }
    if plan.most > 0 {
        rng.shuffle(&mut trials);
        trials.truncate(plan.most);
    }
    trials
}

fn made(suite: &Suite, trial: &Trial<'_>, outcome: &mut Outcome) -> Result<(), SuiteError> {
    match trial {
        Trial::Defect(base, application) => {
            let caught = !base.defect(suite, application)?.is_empty();
            outcome.count_defect(application.mutator, (!caught).then(|| missed(base, application)));
        }
        Trial::Neutral(base, neutral, seed) => {
            let Some(faults) = base.neutral(suite, neutral, *seed)? else { return Ok(()) };
            outcome.count_neutral(neutral.name, &base.case, faults.first().map(String::as_str));
        }
    }
    Ok(())
}

fn count(counts: &mut BTreeMap<&'static str, Count>, name: &'static str, right: bool) {
    counts.entry(name).or_default().add(Count { places: 0, tried: 1, right: usize::from(right) });
}

fn missed(base: &Base, application: &Application) -> Wrong {
    let before = base.stream.said.get(application.at).map(|said| said.line.clone()).unwrap_or_default();
    let after = application.bytes(&before);
    let place = application.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
    Wrong {
        name: application.mutator,
        case: base.case.name.clone(),
        place: format!("line {}{place}", application.at),
        after: after.map_or_else(
            || format!("{:?}", application.effect),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        ),
        before,
    }
}
