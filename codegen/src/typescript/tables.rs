//! The tables of a dialect: common tables for all revisions, and the differences of each revision from them.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::{Barrier, Fingerprint, Framing, HandlerFailure, RunEnd};
use agentese_protocol::index::Reply;
use agentese_protocol::meaning::Condition;
use agentese_protocol::model::{Answer, Command, Dialog, Event, RunEffect, RunRole, Timeout};
use agentese_protocol::secrets::SECRET_EVENTS;

use super::{key, quote};
use crate::outcome::{OutcomeRule, of_event};

/// The default time limit of a command in milliseconds, which the tables omit.
const USUAL_TIMEOUT: u64 = 30_000;

pub fn write(out: &mut String, index: &Index) {
    let dialect = index.dialect;
    out.push_str("/** The tables of this dialect. */\nexport const spec: Spec<Types> = {\n  name: dialect,\n  revision,\n");
    let framing = match index.framing() {
        Framing::Flat => "flat",
        Framing::Enveloped => "enveloped",
        Framing::JsonRpc { .. } => "json-rpc",
    };
    let _ = writeln!(out, "  framing: {},", quote(framing));
    if let Framing::JsonRpc { notification } = index.framing() {
        let _ = writeln!(out, "  notification: {},", quote(notification));
    }
    if let Some(member) = dialect.event_members.first() {
        let _ = writeln!(out, "  session: {},", quote(member.name));
    }
    if let Some(frames) = index.dialog_frames() {
        let _ = writeln!(
            out,
            "  dialogFrames: {{ request: {}, answer: {} }},",
            quote(frames.request),
            quote(frames.answer)
        );
    }
    if let Some(chunks) = index.chunks() {
        let names = [
            ("event", chunks.event),
            ("id", chunks.id),
            ("index", chunks.index),
            ("count", chunks.count),
            ("length", chunks.length),
            ("data", chunks.data),
        ];
        let mut members: Vec<String> =
            names.iter().map(|(name, value)| format!("{name}: {}", quote(value))).collect();
        members.push(format!("most: {}", chunks.most));
        members.push("assembler: (chunks, tap) => new ChunkAssembler(chunks, tap)".to_owned());
        let _ = writeln!(out, "  chunks: {},", object(&members));
    }
    let _ = writeln!(out, "  others: {},", others(index));
    let _ = writeln!(out, "  parseCommand: {},", quote(index.revision.edges.parse_command));
    if let HandlerFailure::ParseWithoutId { except, .. } = index.revision.edges.handler_failure {
        let except: Vec<String> = except.iter().map(|name| quote(name)).collect();
        let _ = writeln!(out, "  failsWithId: [{}],", except.join(", "));
    }
    let _ = writeln!(out, "  failures: {{ prefix: parsePrefixes.{0}, texts: failures }},", dialect.name);
    let _ = writeln!(out, "  runEnd: {},", run_end(index.revision.run_end));
    if has_own_lines(index) {
        out.push_str("  lines,\n");
    }
    revisions(out, index);
    out.push_str("  commands: {\n");
    for command in &index.commands {
        let _ = writeln!(out, "    {}: {},", key(command.wire), command_spec(index, command));
    }
    out.push_str("  },\n  events: {\n");
    for event in &index.events {
        let _ = writeln!(out, "    {}: {},", key(event.name), event_spec(index, event));
    }
    out.push_str("  },\n  dialogs: {\n");
    for dialog in &index.dialogs {
        let _ = writeln!(out, "    {}: {},", key(dialog.wire), dialog_spec(index, dialog));
    }
    out.push_str("  },\n};\n\n");
}

/// Returns the name of the list of dialects whose framing differs from this dialect's.
pub fn others(index: &Index) -> &'static str {
    match index.framing() {
        Framing::JsonRpc { .. } => "lineDialects",
        _ => "rpcDialects",
    }
}

/// Returns `true` if revisions rename parameters, limit the length of commands, or send events of which
/// clients keep only the type.
pub fn has_own_lines(index: &Index) -> bool {
    index.events.iter().any(|event| SECRET_EVENTS.contains(&event.name))
        || index.commands.iter().any(|command| !index.renamed(command).is_empty())
        || index.dialect.revisions.iter().any(|revision| revision.edges.longest_command.is_some())
}

/// Returns the run end as an object literal.
fn run_end(end: RunEnd) -> String {
    let command = |name: &str, asked: Option<Barrier>| {
        asked.map_or_else(String::new, |asked| {
            let idle = asked.idle.map(|idle| format!("idle: {}, ", quote(idle))).unwrap_or_default();
            format!(
                "{name}: {{ command: {}, busy: {}, {idle}limit: {} }}, ",
                quote(asked.command),
                quote(asked.busy),
                asked.limit_ms
            )
        })
    };
    let barrier = command("barrier", end.barrier) + &command("state", end.state);
    format!("{{ {barrier}gap: {}, answerEnds: {} }}", end.gap_ms, end.answer_ends)
}

/// Adds the differences of each revision from the common tables, if there are several revisions.
fn revisions(out: &mut String, index: &Index) {
    let dialect = index.dialect;
    if dialect.revisions.len() == 1 {
        return;
    }
    out.push_str("  revisions: [\n");
    for revision in dialect.revisions {
        let exact = Index::exact(dialect, revision);
        let has = |wire: &str| exact.commands.iter().any(|command| command.wire == wire);
        let lacks = index.commands.iter().filter(|command| !has(command.wire));
        let lacks: Vec<String> = lacks.map(|command| quote(command.wire)).collect();
        let all = |name: &str| {
            index.events.iter().find(|event| event.name == name).map(|event| event_spec(index, event))
        };
        let events = exact.events.iter().filter(|event| all(event.name) != Some(event_spec(&exact, event)));
        let events: Vec<String> =
            events.map(|event| format!("{}: {}", key(event.name), event_spec(&exact, event))).collect();
        // Values that equal the common tables are omitted.
        let mut more = String::new();
        if run_end(revision.run_end) != run_end(index.revision.run_end) {
            let _ = writeln!(more, "      runEnd: {},", run_end(revision.run_end));
        }
        if let Some(longest) = revision.edges.longest_command {
            let _ = writeln!(more, "      longest: {longest},");
        }
        let renames = exact.commands.iter().filter(|command| !exact.renamed(command).is_empty());
        let renames: Vec<String> =
            renames.map(|command| format!("{}: {}", key(command.wire), renamed(&exact, command))).collect();
        if !renames.is_empty() {
            let _ = writeln!(more, "      renamed: {},", object(&renames));
        }
        let fingerprints = |all: &[Fingerprint]| all.iter().map(fingerprint).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "    {{\n      name: {},\n      lacks: [{}],\n      events: {},\n      shows: [{}],\n      excludes: [{}],\n{more}    }},",
            quote(revision.name),
            lacks.join(", "),
            object(&events),
            fingerprints(revision.shows),
            fingerprints(revision.excludes)
        );
    }
    out.push_str("  ],\n");
}

fn fingerprint(fingerprint: &Fingerprint) -> String {
    let (kind, name, member, is_absent) = match *fingerprint {
        Fingerprint::BareEvent => return object(&["isBare: true".to_owned()]),
        Fingerprint::WrappedEvent => return object(&["isBare: false".to_owned()]),
        Fingerprint::Event(name) => ("event", name, None, false),
        Fingerprint::EventMember(name, member) => ("event", name, Some(member), false),
        Fingerprint::EventWithout(name, member) => ("event", name, Some(member), true),
        Fingerprint::AnswerMember(name, member) => ("answer", name, Some(member), false),
        Fingerprint::AnswerWithout(name, member) => ("answer", name, Some(member), true),
        Fingerprint::AnswerBare(name) => ("answer", name, None, false),
    };
    let mut members = vec![format!("{kind}: {}", quote(name))];
    members.extend(member.map(|member| format!("member: {}", quote(member))));
    if is_absent {
        members.push("isAbsent: true".to_owned());
    }
    object(&members)
}

fn event_spec(index: &Index, event: &Event) -> String {
    let mut members = Vec::new();
    let (run, member) = match event.run {
        RunEffect::None => (None, None),
        RunEffect::Begins => (Some("begins"), None),
        RunEffect::MayEnd => (Some("may_end"), None),
        RunEffect::Holds => (Some("holds"), None),
        RunEffect::MayEndUnless(member) => (Some("may_end_unless"), Some(member)),
        RunEffect::MayEndIf(member) => (Some("may_end_if"), Some(member)),
        RunEffect::HoldsIf(member) => (Some("holds_if"), Some(member)),
        RunEffect::Ends => (Some("ends"), None),
    };
    members.extend(run.map(|run| format!("run: {}", quote(run))));
    members.extend(member.map(|member| format!("member: {}", quote(member))));
    if event.snapshot {
        members.push("snapshot: true".to_owned());
    }
    let rules: Vec<String> = of_event(index, event.name).iter().map(outcome).collect();
    if !rules.is_empty() {
        members.push(format!("outcome: [{}]", rules.join(", ")));
    }
    object(&members)
}

/// Returns a rule by which an event determines the outcome of a run, as an object literal without default
/// values.
fn outcome(rule: &OutcomeRule) -> String {
    let list =
        |paths: &[&str]| format!("[{}]", paths.iter().map(|path| quote(path)).collect::<Vec<_>>().join(", "));
    let test = |test: &Condition| match *test {
        Condition::Is(path, word) => format!("{{ is: {} }}", list(&[path, word])),
        Condition::Has(path) => format!("{{ has: {} }}", quote(path)),
        other => panic!("clients cannot test {other:?}"),
    };
    let mut members = Vec::new();
    members.extend(rule.over.map(|path| format!("over: {}", quote(path))));
    if !rule.when.is_empty() {
        members.push(format!("when: [{}]", rule.when.iter().map(test).collect::<Vec<_>>().join(", ")));
    }
    if rule.outcome != "fine" {
        members.push(format!("outcome: {}", quote(rule.outcome)));
    }
    if let Some((path, words)) = &rule.value_outcomes {
        let words: Vec<String> =
            words.iter().map(|(word, outcome)| format!("{}: {}", key(word), quote(outcome))).collect();
        members.push(format!("valueOutcomes: [{}, {}]", quote(path), object(&words)));
    }
    if !rule.message.is_empty() {
        members.push(format!("message: {}", list(&rule.message)));
    }
    if !rule.text.is_empty() {
        members.push(format!("text: {}", quote(rule.text)));
    }
    if !rule.code.is_empty() {
        members.push(format!("code: {}", list(&rule.code)));
    }
    if rule.retryable {
        members.push("retryable: true".to_owned());
    }
    object(&members)
}

/// Returns an object literal in one line.
pub fn object(members: &[String]) -> String {
    if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
}

/// Returns the parameters of a command that have another name in some revisions, as an object literal.
fn renamed(index: &Index, command: &Command) -> String {
    let names: Vec<String> = index
        .renamed(command)
        .iter()
        .map(|(name, later)| format!("{}: {}", key(name), quote(later)))
        .collect();
    object(&names)
}

fn command_spec(index: &Index, command: &Command) -> String {
    let mut members = Vec::new();
    match command.answer {
        Answer::Done => {}
        Answer::Accepted => members.push("answer: \"accepted\"".to_owned()),
        Answer::Acknowledged => members.push("answer: \"acknowledged\"".to_owned()),
        Answer::Never => members.push("answer: \"never\"".to_owned()),
    }
    match command.run {
        RunRole::None => {}
        RunRole::Starts => members.push("run: \"starts\"".to_owned()),
        RunRole::Acts => members.push("run: \"acts\"".to_owned()),
        RunRole::Stops => members.push("run: \"stops\"".to_owned()),
        RunRole::Replaces => members.push("run: \"replaces\"".to_owned()),
    }
    match command.timeout {
        Timeout::Milliseconds(USUAL_TIMEOUT) => {}
        Timeout::Milliseconds(milliseconds) => members.push(format!("timeout: {milliseconds}")),
        Timeout::Never => members.push("timeout: 0".to_owned()),
    }
    if command.reads {
        members.push("reads: true".to_owned());
    }
    if !index.renamed(command).is_empty() {
        members.push(format!("renamed: {}", renamed(index, command)));
    }
    object(&members)
}

fn dialog_spec(index: &Index, dialog: &Dialog) -> String {
    let mut members = vec![format!("name: {}", quote(&crate::names::camel(dialog.name)))];
    if let Reply::Member(member) = index.reply(dialog) {
        members.push(format!("member: {}", quote(member.name)));
    }
    let answer =
        crate::declaration::answer_members(index, dialog).into_iter().map(|(name, kind, is_required)| {
            format!("{}: {}", key(name), quote(&format!("{kind}{}", if is_required { "" } else { "?" })))
        });
    let answer: Vec<String> = answer.collect();
    if !answer.is_empty() {
        members.push(format!("answer: {}", object(&answer)));
    }
    if let Some(frames) = dialog.frames {
        let mut own = vec![format!("request: {}", quote(frames.request))];
        own.extend(frames.answer.map(|kind| format!("answer: {}", quote(kind))));
        own.extend(frames.progress.map(|(kind, _)| format!("progress: {}", quote(kind))));
        members.push(format!("frames: {}", object(&own)));
    }
    if let Some(fallback) = dialog.fallback {
        let value: serde_json::Value = serde_json::from_str(fallback).unwrap_or_default();
        members.push(format!("fallback: {value}"));
    }
    // The time limit after which the agent itself chooses an answer.
    members.extend(dialog.expires.map(|member| format!("timeout: {}", quote(member))));
    members.extend(dialog.withdraws.map(|member| format!("withdraws: {}", quote(member))));
    object(&members)
}
