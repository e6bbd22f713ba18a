//! The experiment: each mutator is applied to each case at a sample of places, and the suite judges every
//! changed output.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentese::types::Scenario;
use agentese_conformance::suite::{Suite, SuiteError};
use serde_json::{Value, json};

use crate::baseline::Baseline;
use crate::{Application, Mutator, mutators, neutrals};

/// Scope of the experiment.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Number of places at which each mutator is tried in each case; 0 means all.
    pub sample: usize,
    /// Maximum number of trials; 0 means no limit.
    pub most: usize,
    /// Random seed of the sample. The same seed selects the same sample.
    pub seed: u64,
    /// Number of concurrent trials.
    pub jobs: usize,
    /// Names of the mutators and neutral changes to try; all if empty.
    pub only: Vec<String>,
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Counts of the trials with one mutator or one neutral change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of places in all cases at which the change is possible.
    pub places: usize,
    /// Number of places that were tried.
    pub tried: usize,
    /// Number of trials with the required outcome: the suite caught the defect, or passed the neutral change.
    pub right: usize,
}

/// A trial with the wrong outcome: a defect that the suite did not report, or a neutral change that it
/// reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongOutcome {
    /// The mutator or the neutral change.
    pub name: &'static str,
    /// Name of the case.
    pub case: String,
    /// The line of the agent, and the place within it, if any.
    pub place: String,
    /// The line before the change.
    pub before: String,
    /// The changed line; for a neutral change, the suite's report.
    pub after: String,
}

/// Outcome of all trials.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Counts by the name of the mutator.
    pub defects: BTreeMap<&'static str, Count>,
    /// Counts by the name of the neutral change.
    pub neutral: BTreeMap<&'static str, Count>,
    /// All trials with the wrong outcome.
    pub wrong: Vec<WrongOutcome>,
}

/// Required share of caught defects, in percent.
pub const CAUGHT: f64 = 98.0;

impl Outcome {
    /// Returns the sum of the counts of all defects.
    pub fn all_defects(&self) -> Count {
        total(&self.defects)
    }

    /// Returns the sum of the counts of all neutral changes.
    pub fn all_neutral(&self) -> Count {
        total(&self.neutral)
    }

    /// Returns `true` if the suite is good enough: it catches 98 % of the defects and reports no neutral
    /// change. Returns `false` if there were no trials.
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

    /// Counts a trial of a defect. `wrong` describes the trial if the suite missed the defect.
    pub(super) fn count_defect(&mut self, name: &'static str, wrong: Option<WrongOutcome>) {
        count(&mut self.defects, name, wrong.is_none());
        self.wrong.extend(wrong);
    }

    /// Counts a trial of a neutral change. `fault` is the report of the suite, if it reported the change.
    pub(super) fn count_neutral(&mut self, name: &'static str, case: &Scenario, fault: Option<&str>) {
        count(&mut self.neutral, name, fault.is_none());
        self.wrong.extend(fault.map(|fault| WrongOutcome {
            name,
            case: case.name.clone(),
            place: String::new(),
            before: String::new(),
            after: fault.to_owned(),
        }));
    }

    /// Returns the outcome as JSON, for programs.
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

    /// Returns the percentage of trials with the required outcome; 100 if there were no trials.
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

/// A trial of a defect or of a neutral change.
enum MutantRun<'a> {
    Defect(&'a Baseline, Application),
    Neutral(&'a Baseline, crate::NeutralChange, u64),
}

/// Runs the trials of a plan. Calls `progress` with the number of finished trials and the number of all
/// trials.
///
/// # Errors
/// If the suite cannot judge.
pub fn run(
    suite: &Suite,
    bases: &[Baseline],
    plan: &Plan,
    on_progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Outcome, SuiteError> {
    let mut outcome = Outcome::default();
    let trials = draw_sample(bases, plan, &mut outcome);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<Outcome, SuiteError> {
        let mut outcome = Outcome::default();
        while let Some(run) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            run_mutant(suite, run, &mut outcome)?;
            on_progress(done.fetch_add(1, Ordering::Relaxed) + 1, trials.len());
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

/// Selects the sample of trials, and counts all places in `outcome`.
fn draw_sample<'a>(bases: &'a [Baseline], plan: &Plan, outcome: &mut Outcome) -> Vec<MutantRun<'a>> {
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
            trials.extend(found.into_iter().map(|found| MutantRun::Defect(base, found)));
        }
        for neutral in neutrals().into_iter().filter(|neutral| plan.wants(neutral.name)) {
            outcome.neutral.entry(neutral.name).or_default().places += 1;
            trials.push(MutantRun::Neutral(base, neutral, rng.u64(..)));
        }
    }
    if plan.most > 0 {
        rng.shuffle(&mut trials);
        trials.truncate(plan.most);
    }
    trials
}

fn run_mutant(suite: &Suite, run: &MutantRun<'_>, outcome: &mut Outcome) -> Result<(), SuiteError> {
    match run {
        MutantRun::Defect(base, application) => {
            let caught = !base.defect(suite, application)?.is_empty();
            outcome.count_defect(application.mutator, (!caught).then(|| missed_defect(base, application)));
        }
        MutantRun::Neutral(base, neutral, seed) => {
            let Some(faults) = base.neutral(suite, neutral, *seed)? else { return Ok(()) };
            outcome.count_neutral(neutral.name, &base.case, faults.first().map(String::as_str));
        }
    }
    Ok(())
}

fn count(counts: &mut BTreeMap<&'static str, Count>, name: &'static str, right: bool) {
    counts.entry(name).or_default().add(Count { places: 0, tried: 1, right: usize::from(right) });
}

fn missed_defect(base: &Baseline, application: &Application) -> WrongOutcome {
    let before = base.stream.lines.get(application.at).map(|said| said.text.clone()).unwrap_or_default();
    let after = application.bytes(&before);
    let place = application.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
    WrongOutcome {
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
