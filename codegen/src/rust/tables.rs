//! Generates the Rust tables that describe each revision of a dialect, and those of its clients.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::{
    Barrier, Behavior, EndOfInput, Fingerprint, Framing, HandlerFailure, ResponseOrder,
};
use agentese_protocol::meaning::Condition;
use agentese_protocol::model::{
    Answer, Command, Lane, OwnFrames, Presence, RunEffect, RunRole, Shape, Timeout,
};

use crate::declaration::{answer_members, opens_session};
use crate::names::{pascal, snake};
use crate::outcome::{OutcomeRule, of_event, parts};

/// Returns the name of the static with the tables of a client.
pub fn client_name(index: &Index) -> &'static str {
    if index.dialect.revisions.len() == 1 { "SPEC" } else { "CLIENT" }
}

/// Adds the tables of each revision. Adds separate tables of a client if they differ from those of the first
/// revision.
pub fn specs(out: &mut String, index: &Index) {
    let dialect = index.dialect;
    let name = |position: usize| match position {
        0 => "SPEC".to_owned(),
        later => format!("SPEC_{}", snake(dialect.revisions[later].name).to_uppercase()),
    };
    let all: Vec<String> =
        (0..dialect.revisions.len()).map(|position| format!("&{}", name(position))).collect();
    let all = all.join(", ");
    let _ = writeln!(
        out,
        "/// The tables of each revision, the oldest first.\npub static REVISIONS: &[&spec::Spec] = &[{all}];\n"
    );
    for (position, revision) in dialect.revisions.iter().enumerate() {
        let doc = format!("The tables of revision {}.", revision.name);
        spec(out, &Index::exact(dialect, revision), &name(position), &doc, "");
    }
    if client_name(index) == "CLIENT" {
        spec(out, index, "CLIENT", "The tables of clients: what any revision has.", &all);
    }
}

fn behavior(of: &Behavior) -> String {
    format!(
        "spec::Behavior {{ skips_textless_answers: {:?}, blind_model_detail: {:?}, retried_words: &{:?}, \
         reports_listener_failures: {:?} }}",
        of.skips_textless_answers, of.blind_model_detail, of.retried_words, of.reports_listener_failures
    )
}

fn fingerprint(fingerprint: &Fingerprint) -> String {
    match fingerprint {
        Fingerprint::Event(event) => format!("spec::Fingerprint::Event({event:?})"),
        Fingerprint::EventMember(event, member) => {
            format!("spec::Fingerprint::EventMember({event:?}, {member:?})")
        }
        Fingerprint::EventWithout(event, member) => {
            format!("spec::Fingerprint::EventWithout({event:?}, {member:?})")
        }
        Fingerprint::AnswerMember(command, member) => {
            format!("spec::Fingerprint::AnswerMember({command:?}, {member:?})")
        }
        Fingerprint::AnswerWithout(command, member) => {
            format!("spec::Fingerprint::AnswerWithout({command:?}, {member:?})")
        }
        Fingerprint::AnswerBare(command) => format!("spec::Fingerprint::AnswerBare({command:?})"),
        Fingerprint::BareEvent => "spec::Fingerprint::BareEvent".to_owned(),
        Fingerprint::WrappedEvent => "spec::Fingerprint::WrappedEvent".to_owned(),
    }
}

fn spec(out: &mut String, index: &Index, name: &str, doc: &str, revisions: &str) {
    let dialect = index.dialect;
    let edges = &index.revision.edges;
    let framing = match index.framing() {
        Framing::Flat => "spec::Framing::Flat".to_owned(),
        Framing::Enveloped => "spec::Framing::Enveloped".to_owned(),
        Framing::JsonRpc { notification } => {
            format!("spec::Framing::JsonRpc {{ notification: {notification:?} }}")
        }
    };
    let failure = match edges.handler_failure {
        HandlerFailure::OwnCommandAndId => "OwnCommandAndId".to_owned(),
        HandlerFailure::ParseWithoutId { except, invalid } => {
            format!("ParseWithoutId {{ except: &{except:?}, invalid: &{invalid:?} }}")
        }
        HandlerFailure::JsonRpcError => "JsonRpcError".to_owned(),
    };
    let order = match edges.response_order {
        ResponseOrder::IdFirst => "IdFirst",
        ResponseOrder::TypeFirst => "TypeFirst",
    };
    let end = match edges.end_of_input {
        EndOfInput::Finish => "Finish",
        EndOfInput::Abort => "Abort",
    };
    let dialog_frames = match index.dialog_frames() {
        Some(frames) => format!(
            "Some(spec::DialogFrames {{ request: {:?}, answer: {:?} }})",
            frames.request, frames.answer
        ),
        None => "None".to_owned(),
    };
    let pieces = dialect.text;
    let text = format!(
        "spec::TextPieces {{ begins: {:?}, event: {:?}, path: &{:?}, kind: {:?}, piece: {:?} }}",
        pieces.begins, pieces.event, pieces.path, pieces.kind, pieces.piece
    );
    let chunks = index.chunks().map_or_else(|| "None".to_owned(), |chunks| format!("Some(spec::{chunks:?})"));
    let barrier = barrier(index.revision.run_end.barrier);
    let state = asked_state(index);
    let _ = writeln!(
        out,
        "/// {doc}\npub static {name}: spec::Spec = spec::Spec {{\n    name: {:?},\n    revision: {:?},\n    \
         agent: {:?},\n    framing: {framing},\n    events_open: {},\n    dialog_frames: {dialog_frames},\n    chunks: {chunks},\n    \
         session_member: {:?},\n    opens_session: {:?},\n    text: {text},\n    edges: spec::Edges {{\n        unknown_command_echoes_id: {},\n        \
         unknown_command_text: {:?},\n        handler_failure: spec::HandlerFailure::{failure},\n        \
         parse_prefix: {:?},\n        parse_command: {:?},\n        blank_line_is_error: {},\n        unfinished_line_counts: {},\n        empty_data: {},\n        \
         response_order: spec::ResponseOrder::{order},\n        end_of_input: spec::EndOfInput::{end},\n        longest_command: {:?},\n    }},\n    \
         run_end: spec::RunEnd {{ barrier: {barrier}, state: {state}, gap: Duration::from_millis({}), answer_ends: {} }},\n    behavior: {},\n    \
         revisions: &[{revisions}],\n    shows: &[{}],\n    excludes: &[{}],\n    commands: &[",
        dialect.name,
        index.revision.name,
        dialect.agent,
        dialect.events_open,
        dialect.event_members.first().map(|field| field.name),
        opens_session(index),
        edges.unknown_command_echoes_id,
        edges.unknown_command_text,
        edges.parse_prefix,
        edges.parse_command,
        edges.blank_line_is_error,
        edges.unfinished_line_counts,
        edges.empty_data,
        edges.longest_command,
        index.revision.run_end.gap_ms,
        index.revision.run_end.answer_ends,
        behavior(&index.revision.behavior),
        index.revision.shows.iter().map(fingerprint).collect::<Vec<_>>().join(", "),
        index.revision.excludes.iter().map(fingerprint).collect::<Vec<_>>().join(", "),
    );
    for command in &index.commands {
        let _ = writeln!(out, "        {},", command_spec(index, command));
    }
    out.push_str("    ],\n    failures: &[\n");
    for error in index.failures() {
        let _ = writeln!(
            out,
            "        spec::FailureSpec {{ kind: {:?}, code: {:?}, text: {:?} }},",
            snake(error.kind),
            error.code,
            error.text
        );
    }
    out.push_str("    ],\n    events: &[\n");
    for event in &index.events {
        let run = match event.run {
            RunEffect::None => "None".to_owned(),
            RunEffect::Begins => "Begins".to_owned(),
            RunEffect::MayEnd => "MayEnd".to_owned(),
            RunEffect::Holds => "Holds".to_owned(),
            RunEffect::MayEndUnless(member) => format!("MayEndUnless({member:?})"),
            RunEffect::MayEndIf(member) => format!("MayEndIf({member:?})"),
            RunEffect::HoldsIf(member) => format!("HoldsIf({member:?})"),
            RunEffect::Ends => "Ends".to_owned(),
        };
        let _ = writeln!(
            out,
            "        spec::EventSpec {{ name: {:?}, run: spec::RunEffect::{run}, snapshot: {}, outcome: &[{}] }},",
            event.name,
            event.snapshot,
            of_event(index, event.name).iter().map(outcome).collect::<Vec<_>>().join(", ")
        );
    }
    out.push_str("    ],\n    dialogs: &[\n");
    for dialog in &index.dialogs {
        let fallback = dialog.fallback.map(compact);
        let frames = dialog.frames.map_or_else(
            || "None".to_owned(),
            |OwnFrames { request, answer, progress }| {
                let progress = progress.map(|(kind, _)| kind);
                format!(
                    "Some(spec::OwnFrames {{ request: {request:?}, answer: {answer:?}, progress: {progress:?} }})"
                )
            },
        );
        let answer: Vec<String> =
            answer_members(index, dialog).iter().map(|member| format!("{member:?}")).collect();
        let _ = writeln!(
            out,
            "        spec::DialogSpec {{ name: {:?}, wire: {:?}, answered: {}, answer: &[{}], fallback: {fallback:?}, expires: {:?}, withdraws: {:?}, frames: {frames} }},",
            dialog.name,
            dialog.wire,
            dialog.answer.is_some(),
            answer.join(", "),
            dialog.expires,
            dialog.withdraws
        );
    }
    out.push_str("    ],\n};\n\n");
}

/// Returns the literal of a rule by which an event determines the outcome of a run.
fn outcome(rule: &OutcomeRule) -> String {
    let path = |path: &str| format!("&{:?}", parts(path));
    let paths =
        |paths: &[&str]| format!("&[{}]", paths.iter().map(|one| path(one)).collect::<Vec<_>>().join(", "));
    let told = |told: &str| format!("spec::ReportedOutcome::{}", pascal(told));
    let test = |test: &Condition| match *test {
        Condition::Is(of, word) => format!("spec::OutcomeTest::Is({}, {word:?})", path(of)),
        Condition::Has(of) => format!("spec::OutcomeTest::Has({})", path(of)),
        other => panic!("clients cannot test {other:?}"),
    };
    let words = rule.value_outcomes.as_ref().map_or_else(
        || "None".to_owned(),
        |(of, words)| {
            let words: Vec<String> =
                words.iter().map(|(word, means)| format!("({word:?}, {})", told(means))).collect();
            format!("Some(({}, &[{}]))", path(of), words.join(", "))
        },
    );
    format!(
        "spec::OutcomeRule {{ over: {}, when: &[{}], outcome: {}, value_outcomes: {words}, message: {}, text: {:?}, code: {}, retryable: {} }}",
        rule.over.map_or_else(|| "None".to_owned(), |list| format!("Some({})", path(list))),
        rule.when.iter().map(test).collect::<Vec<_>>().join(", "),
        told(rule.outcome),
        paths(&rule.message),
        rule.text,
        paths(&rule.code),
        rule.retryable
    )
}

fn barrier(barrier: Option<Barrier>) -> String {
    match barrier {
        Some(Barrier { command, busy, idle, limit_ms }) => format!(
            "Some(spec::Barrier {{ command: {command:?}, busy: {busy:?}, idle: {idle:?}, limit: Duration::from_millis({limit_ms}) }})"
        ),
        None => "None".to_owned(),
    }
}

/// Returns the command with which a client queries the agent's state after an unreadable line during a run.
fn asked_state(index: &Index) -> String {
    let end = index.revision.run_end;
    barrier(end.state.or(end.barrier))
}

/// Returns the JSON of an example or fallback without white space.
fn compact(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text)
        .map_or_else(|_| text.to_owned(), |value| value.to_string())
}

fn command_spec(index: &Index, command: &Command) -> String {
    let answer = match command.answer {
        Answer::Done => "Done",
        Answer::Accepted => "Accepted",
        Answer::Acknowledged => "Acknowledged",
        Answer::Never => "Never",
    };
    let run = match command.run {
        RunRole::None => "None",
        RunRole::Starts => "Starts",
        RunRole::Acts => "Acts",
        RunRole::Stops => "Stops",
        RunRole::Replaces => "Replaces",
    };
    let lane = match command.lane {
        Lane::Immediate => "Immediate",
        Lane::Session => "Session",
        Lane::Bash => "Bash",
    };
    let timeout = match command.timeout {
        Timeout::Milliseconds(milliseconds) => format!("Some(Duration::from_millis({milliseconds}))"),
        Timeout::Never => "None".to_owned(),
    };
    format!(
        "spec::CommandSpec {{ name: {:?}, wire: {:?}, answer: spec::AnswerTiming::{answer}, run: spec::RunRole::{run}, \
         lane: spec::Lane::{lane}, timeout: {timeout}, reads: {}, required: &{:?}, tolerates: &{:?}, \
         wrong: &{:?}, renamed: &{:?}, has_params: {} }}",
        command.name,
        command.wire,
        command.reads,
        required(index, command),
        command.tolerates,
        command.wrong.iter().map(|(name, kind)| (*name, snake(kind))).collect::<Vec<_>>(),
        index.renamed(command),
        command.params.is_some()
    )
}
/// Returns the required parameters of a command, in the order of the declaration.
fn required(index: &Index, command: &Command) -> Vec<&'static str> {
    let Some(Shape::Record { fields, .. }) =
        command.params.and_then(|params| index.type_def(params)).map(|params| params.shape)
    else {
        return Vec::new();
    };
    let needed = fields.iter().filter(|field| field.presence == Presence::Required);
    needed.map(|field| field.name).collect()
}
