//! Comparison of members whose values may differ, such as ids, paths and times.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Number, Value};

use super::place::Place;
use super::state::ComparisonState;
use super::tables::{Form, Sameness};
use crate::matching::difference::{Difference, Weight, brief, short};

/// Compares two values by the rule for their member. Returns `None` if the rule does not apply to these
/// values; they must then be equal.
pub(super) fn compare(
    state: &mut ComparisonState<'_>,
    same: Sameness,
    golden: &Value,
    observed: &Value,
    place: Place<'_>,
) -> Option<impl Iterator<Item = Difference> + use<>> {
    let found = match (same, golden, observed) {
        (Sameness::Id, Value::String(golden), Value::String(observed)) => {
            binding_conflict(state.texts.bindings.id(golden, observed))
        }
        (Sameness::File, Value::String(golden), Value::String(observed)) => file(state, golden, observed),
        (Sameness::Version, Value::String(_), Value::String(_)) => None,
        (Sameness::Words, Value::String(golden), Value::String(observed)) => {
            error_text(state, golden, observed)
        }
        (Sameness::Duration, Value::Number(_), Value::Number(observed)) => {
            let is_negative = observed.as_f64().is_none_or(|number| number < 0.0);
            is_negative.then(|| must_difference(format!("{observed} is not a duration")))
        }
        (Sameness::Estimate, Value::Number(golden), Value::Number(observed)) => estimate(golden, observed),
        (Sameness::Moment, Value::Number(_) | Value::String(_), _) => moment(state, golden, observed, place),
        _ => return None,
    };
    Some(found.into_iter())
}

fn must_difference(message: String) -> Difference {
    Difference::new(Weight::Must, "", message)
}

fn binding_conflict(bound: Result<(), String>) -> Option<Difference> {
    bound.err().map(|message| Difference::new(Weight::Case, "", message))
}

fn file(state: &mut ComparisonState<'_>, golden: &str, observed: &str) -> Option<Difference> {
    if state.texts.bindings.is_fixed(golden) {
        return binding_conflict(state.texts.bindings.id(golden, observed));
    }
    let differs = state.texts.difference(golden, observed);
    if let Err(message) = state.texts.bindings.file(golden, observed) {
        return Some(Difference::new(Weight::Case, "", message));
    }
    let message = differs?;
    let ending = |path: &str| path.rsplit('/').next()?.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let difference = Difference::new(Weight::Case, "", message);
    let form = |form: &Form| matches!(form, Form::OtherFolder).then_some(());
    match state.rules.with_form(form) {
        // The path may be in any other folder if it is absolute.
        Some((allowance, ())) if ending(golden) == ending(observed) && is_absolute(observed) => {
            Some(difference.allowed(allowance.name))
        }
        _ => Some(difference),
    }
}

/// Returns `true` if the path is absolute.
fn is_absolute(path: &str) -> bool {
    path.len() > 1 && std::path::Path::new(path).is_absolute()
}

fn error_text(state: &mut ComparisonState<'_>, golden: &str, observed: &str) -> Option<Difference> {
    let differs = state.texts.difference(golden, observed);
    if observed.is_empty() && !golden.is_empty() {
        return Some(must_difference("the text is empty".to_owned()));
    }
    if (differs.is_some() || golden == observed)
        && let Err(message) = state.texts.bindings.bind_text(golden, observed)
    {
        return Some(Difference::new(Weight::Case, "", message));
    }
    let weight = if state.same_agent { Weight::Case } else { Weight::Info };
    differs.map(|message| Difference::new(weight, "", message))
}

fn estimate(golden: &Number, observed: &Number) -> Option<Difference> {
    const PART: f64 = 0.2;
    const LEAST: f64 = 10.0;
    let (expected, actual) = (golden.as_f64()?, observed.as_f64()?);
    let far = (expected - actual).abs() > (PART * expected.abs()).max(LEAST);
    far.then(|| {
        Difference::new(Weight::Case, "", format!("the estimate {actual} is too far from {expected}"))
    })
}

/// Compares two times. Type and unit must be equal. All frames of a record must contain the same time for
/// it.
fn moment(
    state: &mut ComparisonState<'_>,
    golden: &Value,
    observed: &Value,
    place: Place<'_>,
) -> Option<Difference> {
    /// Maximum ratio of two times in the same unit. Between milliseconds and seconds, the ratio is 1,000.
    const UNIT: f64 = 3.0;
    let fits = match (golden, observed) {
        (Value::String(_), Value::String(observed)) => {
            let digits = observed.bytes().take(10).filter(u8::is_ascii_digit).count();
            digits == 8 && observed.len() > 10
        }
        (Value::Number(golden), Value::Number(observed)) => {
            let (expected, actual) = (golden.as_f64()?, observed.as_f64()?);
            golden.is_f64() == observed.is_f64() && actual > expected / UNIT && actual < expected * UNIT
        }
        _ => false,
    };
    if !fits {
        let message = format!("{} is not a time in the form of {}", brief(observed), brief(golden));
        return Some(must_difference(message));
    }
    let (expected, actual) = (golden.to_string(), observed.to_string());
    if state.texts.bindings.is_fixed(expected.trim_matches('"')) {
        let message =
            format!("{} instead of {}, which comes from the case", short(&actual), short(&expected));
        return (expected != actual).then(|| Difference::new(Weight::Case, "", message));
    }
    binding_conflict(state.texts.bindings.moment(moment_key(state, &expected, place)?, &actual))
}

/// Returns the key under which the time of a record is bound. Growing records with equal times share one
/// key.
fn moment_key(state: &ComparisonState<'_>, moment: &str, place: Place<'_>) -> Option<String> {
    let (golden, _) = place.parents?;
    let grows = state.rules.tables.matching.snapshots.as_ref().is_some_and(|row| row.record == place.record);
    if grows || place.record == "*" {
        return Some(format!("{} {} {moment}", place.record, place.member));
    }
    let mut hasher = DefaultHasher::new();
    for (name, value) in golden {
        name.hash(&mut hasher);
        value.to_string().hash(&mut hasher);
    }
    Some(format!("{} {} {moment} {:x}", place.record, place.member, hasher.finish()))
}

/// Compares two numbers. Fractions may differ in the last digits.
pub(super) fn numbers(golden: &Number, observed: &Number) -> bool {
    const DIGITS: f64 = 1e-9;
    if golden == observed {
        return true;
    }
    match (golden.as_i128(), observed.as_i128(), golden.as_f64(), observed.as_f64()) {
        (Some(was), Some(came), ..) => was == came,
        (_, _, Some(was), Some(came)) => (was - came).abs() <= DIGITS * was.abs().max(came.abs()),
        _ => false,
    }
}
