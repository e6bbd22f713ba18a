//! Members of a row's frames that come from the agent, and changes that a command causes. Both are computed
//! from the declared meanings. A member comes from the agent if the agent's frames contain a value with the
//! same neutral path.

use std::collections::BTreeSet;

use serde::Serialize;

use super::table::{CommandMapping, IntentTable};
use crate::generated::intents::Intent;
use crate::spec::Spec;
use crate::view::meaning::{Case, Condition, Reducer, Rule, Rules, Source};

/// A member of a row's frames whose value comes from the agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// Path of the member: names separated by dots, `[]` for each item of a list. In responses the path
    /// begins with `data`.
    pub path: String,
    /// Members, each with a required value. The agent provides this member only in frames with these values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<(String, String)>,
    /// Neutral path of the value: its position in a form that all dialects share, as in
    /// `message<assistant>.blocks<text>.text`.
    pub neutral: String,
}

/// Maximum depth of nested values. The limit is necessary because a value may contain values of its own kind.
const MAX_READER_DEPTH: usize = 6;

/// Members that the translator generates itself: times and keys.
const TRANSLATOR_MEMBERS: &[&str] = &["time", "at", "key"];

/// Neutral paths of tool results. Tools of different families give different results.
const TOOL_RESULTS: &[&str] = &["tool.output", "tool.result", "tool.details", "tool.state", "message<tool>"];

/// The members of a row's frames, divided by their origin.
pub(super) struct MemberPartition {
    /// Members whose values the agent provides.
    pub provided: Vec<Member>,
    /// Members of the dialect that the agent does not provide.
    pub missing: Vec<Member>,
}

/// Divides the members of a row's frames into those that an agent with the given tables provides, and those it
/// lacks.
pub(super) fn members(
    front: (&Spec, &'static IntentTable),
    agent: (&Spec, &'static IntentTable),
    row: &RowRef<'_>,
) -> MemberPartition {
    let known = reported_places(agent.0, agent.1);
    let is_kin = front.0.framing == agent.0.framing;
    let leaves: BTreeSet<Member> = match row {
        RowRef::Command(wire) => of_command(front.1, wire),
        RowRef::Event(name) => of_rules(front.1, front.1.meaning.events.get(*name), PlaceFilter::Named),
        RowRef::Dialog(wire) => of_rules(front.1, front.1.meaning.dialogs.get(*wire), PlaceFilter::Named),
    }
    .into_iter()
    .collect();
    let comes = |leaf: &Member| {
        let is_own = leaf.neutral.rsplit('.').next().is_some_and(|last| TRANSLATOR_MEMBERS.contains(&last));
        let of_tools = !is_kin && TOOL_RESULTS.iter().any(|tool| leaf.neutral.starts_with(tool));
        !is_own && !of_tools && names(&leaf.neutral).iter().any(|name| known.contains(name))
    };
    let (provided, missing) = leaves.into_iter().partition(comes);
    MemberPartition { provided, missing }
}

/// Returns the changes that a successful command makes to the conversation, as neutral paths. A path includes
/// everything inside its value. Empty for a command that only reads.
pub(super) fn changed(front: (&Spec, &'static IntentTable), wire: &str) -> BTreeSet<String> {
    if front.0.command(wire).is_none_or(|row| row.reads) {
        return BTreeSet::new();
    }
    let meaning = &front.1.meaning;
    let rules = [&meaning.sent, &meaning.answers].into_iter().filter_map(|rules| rules.get(wire)).flatten();
    let places = |rule: &Rule| -> Vec<String> {
        match rule.act {
            Reducer::Set | Reducer::Keep => rule.slots.keys().map(|slot| place(rule, slot)).collect(),
            Reducer::ShellDone => added(front.1, rule),
            Reducer::History | Reducer::Compacted | Reducer::Arrive => vec!["message".to_owned()],
            Reducer::Replace => vec!["message".to_owned(), "session".to_owned()],
            _ => Vec::new(),
        }
    };
    rules.flat_map(places).collect()
}

/// Returns the places that change when a rule adds a message: the message by its kinds, and the number of
/// messages.
fn added(table: &'static IntentTable, rule: &Rule) -> Vec<String> {
    let Some(Source::Read { read, .. }) = rule.slots.get("message") else { return Vec::new() };
    let cases = table.meaning.readers.get(read).into_iter().flat_map(|reader| &reader.cases);
    let kinds = cases.map(|case| format!("message{}", kind(case)));
    kinds.chain(["Count.messages".to_owned()]).collect()
}

/// A row, by its name on the wire.
pub(super) enum RowRef<'a> {
    Command(&'a str),
    Event(&'a str),
    Dialog(&'a str),
}

/// Selection of the neutral paths that are collected from the values of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceFilter {
    All,
    /// Leaves out the paths of values of an undeclared type, because the members of these values are unknown.
    Named,
}

/// Returns all values that the frames of a dialect contain, as neutral paths.
fn reported_places(spec: &Spec, table: &'static IntentTable) -> BTreeSet<String> {
    let meaning = &table.meaning;
    let known = |rules: &'static Rules, has: &dyn Fn(&str) -> bool| -> Vec<Member> {
        let rows = rules.iter().filter(|(name, _)| has(name));
        rows.flat_map(|(_, rules)| of_rules(table, Some(rules), PlaceFilter::All)).collect()
    };
    let is_command = |name: &str| spec.command(name).is_some();
    let mut leaves = known(&meaning.events, &|name| spec.event(name).is_some());
    leaves.extend(known(&meaning.dialogs, &|name| spec.dialog(name).is_some()));
    for rules in [&meaning.sent, &meaning.answers, &meaning.refused] {
        leaves.extend(known(rules, &is_command));
    }
    for intent in Intent::ALL {
        if let Some(mapping) = table.mapping(spec, *intent) {
            leaves.extend(gives(table, *intent, mapping, PlaceFilter::All));
        }
    }
    leaves.into_iter().map(|leaf| leaf.neutral).collect()
}

fn of_command(table: &'static IntentTable, wire: &str) -> Vec<Member> {
    let mut leaves = of_rules(table, table.meaning.answers.get(wire), PlaceFilter::Named);
    for intent in Intent::ALL {
        for mapping in table.mappings(*intent).iter().filter(|mapping| mapping.command == wire) {
            leaves.extend(gives(table, *intent, mapping, PlaceFilter::Named));
        }
    }
    // The agent does not report values that the client sent.
    leaves.retain(|leaf| leaf.path.starts_with("data"));
    leaves
}

fn gives(
    table: &'static IntentTable,
    intent: Intent,
    mapping: &'static CommandMapping,
    which: PlaceFilter,
) -> Vec<Member> {
    let mut walk = MemberWalk { table, which, only: Vec::new(), leaves: Vec::new() };
    for (slot, source) in &mapping.gives {
        let neutral = match slot.as_str() {
            // The number of messages.
            "messages" if matches!(source, Source::At(_)) => "Count.messages".to_owned(),
            "messages" | "message" => "message".to_owned(),
            "models" | "model" => "model".to_owned(),
            "points" => "forkPoints".to_owned(),
            "usage" | "commands" | "todos" | "thinkingLevel" | "working" => slot.clone(),
            slot if slot.contains('.') => slot.to_owned(),
            slot => format!("{}.{slot}", intent.name()),
        };
        walk.source(source, "", &neutral, 0);
    }
    walk.leaves
}

fn of_rules(
    table: &'static IntentTable,
    rules: Option<&'static Vec<Rule>>,
    which: PlaceFilter,
) -> Vec<Member> {
    let mut leaves = Vec::new();
    for rule in rules.into_iter().flatten() {
        let prefix = rule.over.as_ref().map(|list| format!("{list}[]")).unwrap_or_default();
        let only = rule.when.iter().filter_map(|test| match test {
            Condition::Is(path, word) => Some((join(&prefix, path), word.clone())),
            _ => None,
        });
        let mut walk = MemberWalk { table, which, only: only.collect(), leaves: Vec::new() };
        for (slot, source) in &rule.slots {
            walk.source(source, &prefix, &place(rule, slot), 0);
        }
        leaves.extend(walk.leaves);
    }
    leaves
}

/// Returns the neutral path to which a rule writes the value of the binding `slot`.
fn place(rule: &Rule, slot: &str) -> String {
    let kind = |slot: &str| match rule.slots.get(slot) {
        Some(Source::Is { is }) => is.as_str().unwrap_or_default(),
        _ => "",
    };
    match rule.act {
        Reducer::Begin | Reducer::Snapshot | Reducer::End | Reducer::History | Reducer::ShellDone => {
            "message".to_owned()
        }
        Reducer::Message => format!("message<assistant>.{slot}"),
        Reducer::Piece | Reducer::Block => format!("message<assistant>.blocks<{}>.{slot}", kind("type")),
        Reducer::Compacted if slot == "message" => "message".to_owned(),
        Reducer::Tool => format!("tool.{slot}"),
        Reducer::Set | Reducer::Keep if slot == "models" => "model".to_owned(),
        Reducer::Set | Reducer::Keep => slot.to_owned(),
        Reducer::Work if slot == "on" => "working".to_owned(),
        Reducer::Usage => "usage".to_owned(),
        Reducer::Ask => format!("ask<{}>.{slot}", kind("kind")),
        Reducer::Entry => format!("entry<{}>.{slot}", kind("in")),
        act => format!("{act:?}.{slot}"),
    }
}

/// Returns all neutral paths of one value. For example, the arguments of a call belong to a message and to a
/// tool.
fn names(neutral: &str) -> Vec<String> {
    let mut names = vec![neutral.to_owned()];
    for (one, other) in [
        ("tool.", "message<assistant>.blocks<tool>."),
        ("tool.result", "message<tool>.blocks"),
        ("tool.details", "message<tool>.details"),
        ("usage.", "message<assistant>.usage."),
    ] {
        names.extend(neutral.strip_prefix(one).map(|rest| format!("{other}{rest}")));
        if one != "usage." {
            names.extend(neutral.strip_prefix(other).map(|rest| format!("{one}{rest}")));
        }
    }
    // Arguments are parsed from their text; the text is unknown if only the arguments are sent.
    let read: Vec<String> = names.iter().filter(|name| name.ends_with(".arguments")).cloned().collect();
    names.extend(read.into_iter().map(|name| name + "Text"));
    names
}

struct MemberWalk {
    table: &'static IntentTable,
    which: PlaceFilter,
    only: Vec<(String, String)>,
    leaves: Vec<Member>,
}

impl MemberWalk {
    fn source(&mut self, source: &'static Source, prefix: &str, neutral: &str, depth: usize) {
        match source {
            Source::At(path)
            | Source::Map { map: path, .. }
            | Source::Times { of: path, .. }
            | Source::Text { text: path }
            | Source::Count { count: path } => {
                let (path, only) = (join(prefix, path), self.only.clone());
                self.leaves.push(Member { path, only, neutral: neutral.to_owned() });
            }
            Source::Read { read, of } => self.value(read, &join(prefix, of), neutral, depth),
            Source::Each { each, of } => {
                self.value(each, &format!("{}[]", join(prefix, of)), neutral, depth);
            }
            Source::First { first: sources } | Source::Join { join: sources } => {
                sources.iter().for_each(|source| self.source(source, prefix, neutral, depth));
            }
            Source::Is { .. } => {}
        }
    }

    fn value(&mut self, reader: &str, prefix: &str, neutral: &str, depth: usize) {
        let Some(reader) = self.table.meaning.readers.get(reader).filter(|_| depth < MAX_READER_DEPTH) else {
            return;
        };
        for case in &reader.cases {
            let neutral = format!("{neutral}{}", kind(case));
            let has_tag = !reader.tag.is_empty() && !case.tag.starts_with('(');
            if has_tag {
                self.only.push((join(prefix, &reader.tag), case.tag.clone()));
            }
            let is_any = self.which == PlaceFilter::Named && !reader.tag.is_empty();
            let is_whole = |source: &Source| matches!(source, Source::At(path) if path.is_empty());
            for (slot, source) in case.gives.iter().filter(|(_, source)| !(is_any && is_whole(source))) {
                // A list in the form of one text has no items.
                let prefix = if case.tag == "(string)" { prefix.trim_end_matches("[]") } else { prefix };
                self.source(source, prefix, &format!("{neutral}.{slot}"), depth + 1);
            }
            if has_tag {
                self.only.pop();
            }
        }
    }
}

/// Returns the kind of a message or block in angle brackets, or an empty text if the declared case names no
/// kind.
fn kind(case: &Case) -> String {
    let variant = ["role", "type"].iter().find_map(|slot| match case.gives.get(*slot) {
        Some(Source::Is { is }) => is.as_str(),
        _ => None,
    });
    variant.map(|variant| format!("<{variant}>")).unwrap_or_default()
}

fn join(prefix: &str, path: &str) -> String {
    // An index in a list becomes any index.
    let path: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    let mut joined = prefix.to_owned();
    for name in path {
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            joined.push_str("[]");
            continue;
        }
        if !joined.is_empty() {
            joined.push('.');
        }
        joined.push_str(name);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(front: &str, agent: &str, row: &RowRef<'_>) -> Vec<Member> {
        let side =
            |name: &str| (crate::dynamic::spec(name).unwrap(), super::super::table::table_of(name).unwrap());
        super::members(side(front), side(agent), row).provided
    }

    fn has(members: &[Member], path: &str, only: &[(&str, &str)]) -> bool {
        members.iter().any(|member| {
            member.path == path
                && only.iter().all(|(path, word)| {
                    member.only.iter().any(|known| (known.0.as_str(), known.1.as_str()) == (*path, *word))
                })
        })
    }

    #[test]
    #[cfg(all(feature = "pi", feature = "opal"))]
    fn the_text_of_an_answer_comes_from_the_agent_and_its_prices_do_not() {
        let end = members("pi", "opal", &RowRef::Event("message_end"));
        let text = [("message.role", "assistant"), ("message.content[].type", "text")];
        assert!(has(&end, "message.content[].text", &text), "{end:#?}");
        assert!(!has(&end, "message.usage.costs", &[]), "{end:#?}");
        assert!(!end.iter().any(|member| member.path.ends_with("thinkingSignature")), "{end:#?}");
        let state = members("pi", "opal", &RowRef::Command("get_state"));
        assert!(has(&state, "data.sessionId", &[]), "{state:#?}");
        assert!(!state.iter().any(|member| member.path.contains("cost")), "{state:#?}");
    }

    #[test]
    #[cfg(all(feature = "pi", feature = "omp"))]
    fn an_agent_of_the_family_reports_prices_and_its_own_tools() {
        let state = members("pi", "omp", &RowRef::Command("get_state"));
        assert!(has(&state, "data.model.cost", &[]), "{state:#?}");
        let ended = members("pi", "omp", &RowRef::Event("tool_execution_end"));
        assert!(has(&ended, "toolName", &[]), "{ended:#?}");
        assert!(has(&ended, "result.details", &[]), "{ended:#?}");
        let grows = members("pi", "omp", &RowRef::Event("message_update"));
        let written = [("assistantMessageEvent.type", "toolcall_delta")];
        assert!(has(&grows, "assistantMessageEvent.delta", &written), "{grows:#?}");
    }

    #[test]
    #[cfg(all(feature = "pi", feature = "opal"))]
    fn an_agent_of_another_family_reports_its_own_tools_and_no_argument_text() {
        let of =
            |name: &str| (crate::dynamic::spec(name).unwrap(), super::super::table::table_of(name).unwrap());
        for (row, path, only) in [
            ("tool_execution_end", "result.details", &[][..]),
            (
                "message_update",
                "assistantMessageEvent.delta",
                &[("assistantMessageEvent.type", "toolcall_delta")],
            ),
        ] {
            let MemberPartition { provided, missing } =
                super::members(of("pi"), of("opal"), &RowRef::Event(row));
            assert!(has(&missing, path, only) && !has(&provided, path, only), "{row}: {missing:#?}");
        }
    }

    #[test]
    #[cfg(feature = "pi")]
    fn changed_members_follow_the_rules_of_a_command() {
        let pi = (crate::dynamic::spec("pi").unwrap(), super::super::table::table_of("pi").unwrap());
        for (command, places) in [
            ("get_state", &[][..]),
            ("set_steering_mode", &["settings.steeringMode"]),
            ("bash", &["Count.messages", "message<shell>"]),
            ("switch_session", &["message", "session"]),
        ] {
            assert_eq!(changed(pi, command).into_iter().collect::<Vec<_>>(), places, "{command}");
        }
    }
}
