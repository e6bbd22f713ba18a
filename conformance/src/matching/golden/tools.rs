//! Comparison of tool calls. The events of parallel calls may arrive in any order.
//!
//! An agent may send any number of partial outputs. Each must be an earlier version of the result.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::rules::Rules;
use super::tables::{ToolUpdate, Tools};
use super::transcript_streams::Frame;
use crate::matching::difference::{Difference, Weight, brief};
use crate::matching::path;

/// Returns the ids of tool calls that ran in parallel with another call.
pub(super) fn overlapping(rules: &Rules, events: &[Frame]) -> HashSet<String> {
    let Some(tools) = &rules.tables.matching.tools else { return HashSet::new() };
    let mut open: HashSet<String> = HashSet::new();
    let mut overlapping = HashSet::new();
    for event in events {
        let Some(call) = call(tools, event) else { continue };
        if event.name == tools.begins {
            if !open.is_empty() {
                overlapping.extend(open.iter().cloned());
                overlapping.insert(call.clone());
            }
            open.insert(call);
        } else if event.name == tools.ends {
            open.remove(&call);
        }
    }
    overlapping
}

/// Returns the id of the tool call that an event belongs to.
fn call(tools: &Tools, event: &Frame) -> Option<String> {
    let other = tools.others.iter().find(|(name, _)| *name == event.name).map(|(_, path)| *path);
    let is_own = event.name == tools.begins
        || event.name == tools.ends
        || tools.shows.is_some_and(|shows| shows.event == event.name);
    let path = other.or(is_own.then_some(tools.call))?;
    path::get(&event.value, path)?.as_str().map(str::to_owned)
}

/// Returns the order in which events are compared. Events of parallel calls are sorted by the id of the call.
pub(super) fn parallel_order(rules: &Rules, events: &[Frame], overlapping: &HashSet<String>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    let Some(tools) = rules.tables.matching.tools.as_ref().filter(|_| !overlapping.is_empty()) else {
        return order;
    };
    let calls: Vec<Option<String>> =
        events.iter().map(|event| call(tools, event).filter(|call| overlapping.contains(call))).collect();
    let mut from = 0;
    while from < order.len() {
        let length = calls[from..].iter().take_while(|call| call.is_some()).count();
        order[from..from + length].sort_by_key(|at| calls[*at].clone());
        from += length.max(1);
    }
    order
}

/// Returns the elements of a list in the order in which they are compared. Results of parallel calls are
/// sorted by the id of the call.
pub(super) fn in_order<'a>(list: &'a [Value], id: &str, overlapping: &HashSet<String>) -> Vec<&'a Value> {
    let call = |value: &'a Value| value.get(id)?.as_str().filter(|call| overlapping.contains(*call));
    let mut ordered: Vec<&Value> = list.iter().collect();
    let mut from = 0;
    while from < ordered.len() {
        let length = ordered[from..].iter().take_while(|value| call(value).is_some()).count();
        ordered[from..from + length].sort_by_key(|value| call(value));
        from += length.max(1);
    }
    ordered
}

/// Partial outputs of one tool call.
#[derive(Debug, Default)]
struct PartialOutputs<'a> {
    first: Option<usize>,
    count: usize,
    /// `true` if each output was an earlier version of the result.
    is_earlier: bool,
    is_inside: bool,
    /// The distinct events of this call, without their output.
    frames: Vec<Value>,
    found: Vec<(usize, String)>,
    last: Option<&'a Value>,
}

/// Compares the partial outputs in both transcripts. Returns the differences, each with its golden and its
/// observed record.
pub(super) fn compare(
    rules: &Rules,
    golden: &[Frame],
    observed: &[Frame],
    overlapping: &HashSet<String>,
) -> Vec<(Option<usize>, Option<usize>, Difference)> {
    let Some(tools) = &rules.tables.matching.tools else { return Vec::new() };
    let Some(shows) = &tools.shows else { return Vec::new() };
    let expected = partial_outputs(tools, shows, golden);
    let found = partial_outputs(tools, shows, observed);
    let mut differences = Vec::new();
    for (call, was) in &expected {
        let Some(actual) = found.get(call) else {
            let message = format!("no `{}` of call {call}; the recording has {}", shows.event, was.count);
            // A fast tool may end before its first partial output.
            let weight = if overlapping.contains(call) { Weight::Info } else { Weight::Case };
            differences.push((was.first, None, Difference::new(weight, "", message)));
            continue;
        };
        for frame in actual.frames.iter().filter(|frame| !was.frames.contains(frame)) {
            let Some(recorded) = was.frames.first() else { continue };
            let found = compare_rest(rules, shows.event, recorded, frame);
            differences.extend(found.into_iter().map(|difference| (was.first, actual.first, difference)));
        }
        if was.is_inside && !actual.is_inside {
            let message = format!("not between `{}` and `{}`", tools.begins, tools.ends);
            differences.push((was.first, actual.first, Difference::new(Weight::Must, "", message)));
        }
        if was.is_earlier {
            for (record, message) in &actual.found {
                let difference = Difference::new(Weight::Must, shows.partial, message.clone());
                differences.push((was.first, Some(*record), difference));
            }
        }
    }
    let begun: HashSet<String> = observed
        .iter()
        .filter(|event| event.name == tools.begins)
        .filter_map(|event| call(tools, event))
        .collect();
    for (call, actual) in found.iter().filter(|(call, _)| !expected.contains_key(*call)) {
        if !begun.contains(call) {
            let message = format!("`{}` of call {call}, which did not start", shows.event);
            differences.push((None, actual.first, Difference::new(Weight::Must, "", message)));
            continue;
        }
        for (record, message) in &actual.found {
            let difference = Difference::new(Weight::Must, shows.partial, message.clone());
            differences.push((None, Some(*record), difference));
        }
    }
    differences
}

/// Compares two events with partial output, member by member, without the output.
fn compare_rest(rules: &Rules, event: &str, golden: &Value, observed: &Value) -> Vec<Difference> {
    let (Some(golden), Some(observed)) = (golden.as_object(), observed.as_object()) else {
        return Vec::new();
    };
    let fields = rules.event(event).map_or(&[][..], Rules::fields);
    let is_declared = |name: &str| name == "type" || fields.iter().any(|field| field.name == name);
    let mut found = Vec::new();
    for (name, value) in golden {
        let message = match observed.get(name) {
            Some(other) if other == value => continue,
            Some(other) => format!("it is {} instead of {}", brief(other), brief(value)),
            None => format!("`{name}` is missing; it is {} in the recording", brief(value)),
        };
        found.push(Difference::new(Weight::Case, name, message));
    }
    for (name, value) in observed.iter().filter(|(name, _)| !golden.contains_key(*name)) {
        // Clients ignore additional members of records.
        let weight = if is_declared(name) { Weight::Case } else { Weight::Info };
        let message = format!("unexpected `{name}`, absent from the recording: {}", brief(value));
        found.push(Difference::new(weight, name, message));
    }
    found
}

fn partial_outputs<'a>(
    tools: &Tools,
    shows: &ToolUpdate,
    events: &'a [Frame],
) -> BTreeMap<String, PartialOutputs<'a>> {
    let mut ends: HashMap<String, (usize, Option<(String, bool)>)> = HashMap::new();
    let mut begins: HashMap<String, usize> = HashMap::new();
    for event in events {
        let Some(call) = call(tools, event) else { continue };
        if event.name == tools.begins {
            begins.entry(call).or_insert(event.record);
        } else if event.name == tools.ends {
            let result = event.value.get(shows.result);
            let result = result.and_then(|result| Some((text(result, shows)?, is_cut(result, shows))));
            ends.entry(call).or_insert((event.record, result));
        }
    }
    let mut all: BTreeMap<String, PartialOutputs<'a>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.name == shows.event) {
        let Some(call) = call(tools, event) else { continue };
        let of = all.entry(call.clone()).or_insert_with(|| PartialOutputs {
            is_earlier: true,
            is_inside: true,
            ..PartialOutputs::default()
        });
        of.first = of.first.or(Some(event.record));
        of.count += 1;
        let end = ends.get(&call);
        of.is_inside &= begins.get(&call).is_some_and(|begin| *begin < event.record)
            && end.is_none_or(|(end, _)| event.record < *end);
        let frame = path::without(&event.value, &[shows.partial]);
        if !of.frames.contains(&frame) {
            of.frames.push(frame);
        }
        let partial = event.value.get(shows.partial);
        let result = end.and_then(|(_, result)| result.as_ref());
        if let Some(message) = not_earlier(partial, of.last, result, shows) {
            of.is_earlier = false;
            of.found.push((event.record, message));
        }
        of.last = partial;
    }
    all
}

fn text(value: &Value, shows: &ToolUpdate) -> Option<String> {
    let texts = path::all(value, shows.texts);
    let texts: Option<Vec<&str>> = texts.into_iter().map(Value::as_str).collect();
    texts.map(|texts| texts.concat())
}

/// Returns `true` if the beginning of the tool's output was truncated.
fn is_cut(value: &Value, shows: &ToolUpdate) -> bool {
    path::get(value, shows.cut).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the reason why a partial output is not an earlier version of the tool's result.
fn not_earlier(
    partial: Option<&Value>,
    before: Option<&Value>,
    result: Option<&(String, bool)>,
    shows: &ToolUpdate,
) -> Option<String> {
    let Some(partial) = partial else { return Some("missing".to_owned()) };
    if !partial.is_object() {
        return Some("not an object".to_owned());
    }
    let Some(shown) = text(partial, shows) else { return Some("no text".to_owned()) };
    let is_part = |whole: &str| whole.starts_with(&shown) || whole.starts_with(shown.trim_end_matches('\n'));
    // If the beginning of the result was truncated, an earlier output may consist only of the lost part.
    let comparable = |(_, cut): &&(String, bool)| !cut || is_cut(partial, shows);
    if let Some((result, _)) = result.filter(comparable).filter(|(result, _)| !is_part(result)) {
        return Some(format!("not the beginning of the result: {}", super::text::unequal(result, &shown)));
    }
    let before = before.and_then(|before| text(before, shows)).unwrap_or_default();
    (shown.len() < before.len() && !shown.starts_with(&before))
        .then(|| "shorter than the previous output".to_owned())
}
