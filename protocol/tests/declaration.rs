//! Properties beyond the checks of rustc and the const checks: references between files, documents, counts.

use std::collections::BTreeMap;

use agentese_protocol::dialect::{Fingerprint, Framing};
use agentese_protocol::index::{declared_types, references};
use agentese_protocol::model::{Presence, Row, RunRole, Shape, Span, TypeDef};
use agentese_protocol::{BRIDGED, DIALECTS, Index};

fn count(index: &Index) -> (usize, usize, usize) {
    (index.commands.len(), index.events.len(), index.dialogs.len())
}

#[test]
fn the_dialects_have_what_their_documents_list() {
    let of = |name: &str| Index::named(name).unwrap();
    assert_eq!(count(&of("pi")), (28, 15, 9));
    // 9 dialogs and the undocumented `cancel`, which pisces inherits from omp.
    assert_eq!(count(&of("omp")), (29, 17, 10));
    assert_eq!(count(&of("pisces")), (29, 25, 10));
    for name in ["omp", "pisces"] {
        assert_eq!(of(name).dialogs.iter().filter(|dialog| dialog.undocumented).count(), 1, "{name}");
    }
    assert_eq!(of("operator").commands.len(), 7);
    // 19 events and the undeclared `unknown`.
    assert_eq!(count(&of("opal")), (23, 20, 3));
    assert_eq!(of("opal").events.iter().filter(|event| event.undocumented).count(), 1);
    assert_eq!(of("pisces").settings.len(), 14);
}

#[test]
fn acp_and_ag_ui_are_declared_and_are_no_dialects() {
    let acp = Index::protocols().into_iter().find(|index| index.dialect.name == "acp").unwrap();
    assert_eq!(count(&acp), (14, 0, 12));
    assert!(Index::named("acp").is_none());
    let agui = Index::protocols().into_iter().find(|index| index.dialect.name == "agui").unwrap();
    assert_eq!(count(&agui), (1, 17, 0));
    assert!(Index::named("agui").is_none());
    assert!(DIALECTS.iter().all(|dialect| !["acp", "agui"].contains(&dialect.name)));
}

#[test]
fn omp_removes_what_its_document_removes() {
    let omp = Index::named("omp@12.7").unwrap();
    let has = |name: &str| omp.commands.iter().any(|command| command.name == name);
    for gone in ["fork", "get_fork_messages", "get_commands"] {
        assert!(!has(gone), "{gone}");
    }
    for new in ["branch", "get_branch_messages", "set_interrupt_mode", "abort_and_prompt"] {
        assert!(has(new), "{new}");
    }
}

#[test]
fn revisions_are_chosen_by_name() {
    assert!(Index::named("pi").is_some());
    assert!(Index::named("pi@0.55").is_some());
    assert!(Index::named("pi@9.9").is_none());
    assert!(Index::named("po").is_none());
}

#[test]
fn every_reference_is_declared() {
    let types = declared_types();
    for def in types.values() {
        for name in references(def) {
            assert!(types.contains_key(name), "{} names {name}, which is not declared", def.name);
        }
    }
    for index in Index::all().into_iter().chain(Index::protocols()) {
        for command in &index.commands {
            if let Some(params) = command.params {
                assert!(index.type_def(params).is_some(), "{}: {params}", command.name);
            }
        }
        for name in index.dialect.without {
            let parent = Index::client(index.dialect.parent.expect("only a child dialect removes commands"));
            assert!(
                parent.commands.iter().any(|command| command.name == *name),
                "{name} is not in the parent"
            );
        }
        if let Some(barrier) = index.revision.run_end.barrier {
            assert!(index.commands.iter().any(|command| command.wire == barrier.command), "no {barrier:?}");
        }
        assert!(index.commands.iter().any(|command| command.run == RunRole::Starts), "no start of a run");
    }
}

/// Types are found by name, so one name must be one type, over all dialects.
#[test]
fn one_name_is_one_type() {
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    let mut add = |def: &TypeDef| {
        let text = format!("{:?}", def.shape);
        let old = seen.entry(def.name).or_insert_with(|| text.clone());
        assert_eq!(*old, text, "{} is declared twice", def.name);
    };
    for row in DIALECTS.iter().flat_map(|dialect| dialect.rows.iter().copied().flatten()) {
        match row {
            Row::Type(def) => add(def),
            Row::Command(command) => command.params_def.into_iter().for_each(&mut add),
            Row::Event(event) => add(event.payload),
            Row::Dialog(dialog) => add(dialog.params),
        }
    }
}

#[test]
fn helper_names_are_unique_in_each_dialect() {
    for index in Index::all() {
        let mut names: Vec<&str> = index.commands.iter().map(|command| command.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{}", index.dialect.name);
    }
}

#[test]
fn docs_are_sentences() {
    for index in Index::all() {
        let docs = index
            .commands
            .iter()
            .map(|c| (c.name, c.doc))
            .chain(index.events.iter().map(|e| (e.name, e.doc)));
        for (name, doc) in docs.chain(index.types.values().map(|def| (def.name, def.doc))) {
            let doc = doc.trim();
            assert!(doc.ends_with('.') && doc.len() > 10, "{name}: {doc:?} is no sentence");
        }
    }
}

/// The probe command returns data and has no effect.
#[test]
fn the_probe_command_changes_nothing() {
    for index in Index::all() {
        let probe = index.dialect.probe_command;
        let command = index.commands.iter().find(|command| command.wire == probe);
        let command = command.unwrap_or_else(|| panic!("{} has no command {probe}", index.dialect.name));
        assert!(command.params.is_none() && command.result.is_some(), "{probe}");
        assert_eq!(command.run, RunRole::None, "{probe}");
    }
}

/// The handshake of a bridged protocol needs nothing but its version, and a bridge can serve its clients.
#[test]
fn the_handshake_of_a_bridged_protocol_contains_only_the_version() {
    let protocols = Index::protocols();
    for bridged in BRIDGED {
        let index = protocols.iter().find(|index| index.dialect.name == bridged.protocol.name).unwrap();
        let probe = bridged.protocol.probe_command;
        let command = index.commands.iter().find(|command| command.wire == probe).unwrap();
        let required = |name: Option<&str>| -> Vec<&str> {
            let Some(Shape::Record { fields, .. }) =
                name.and_then(|name| index.type_def(name)).map(|def| def.shape)
            else {
                panic!("{probe} has no members");
            };
            let required = fields.iter().filter(|field| matches!(field.presence, Presence::Required));
            required.map(|field| field.name).collect()
        };
        assert_eq!(required(command.params), [bridged.version_member]);
        let result = command.result.as_ref().and_then(agentese_protocol::index::named);
        assert!(required(result).contains(&bridged.version_member));
        assert!(bridged.protocol.pinned().name.parse::<u64>().is_ok());
        let is_front =
            |index: &Index| format!("{}@{}", index.dialect.name, index.revision.name) == bridged.front;
        assert!(Index::all().iter().any(is_front), "{}", bridged.front);
    }
}

/// The commands about sessions, and their members, are declared.
#[test]
fn sessions_are_named_by_declared_commands_and_members() {
    for index in Index::all() {
        let command = |wire: &str| {
            let found = index.commands.iter().find(|command| command.wire == wire);
            found.unwrap_or_else(|| panic!("{} has no command {wire}", index.dialect.name))
        };
        let has = |record: Option<&str>, member: &str| {
            let Some(Shape::Record { fields, .. }) =
                record.and_then(|name| index.type_def(name)).map(|def| def.shape)
            else {
                return false;
            };
            fields.iter().any(|field| field.name == member)
        };
        let result = |wire: &str| command(wire).result.as_ref().and_then(agentese_protocol::index::named);
        let sessions = index.dialect.matching.sessions;
        if let Some((wire, member)) = sessions.history {
            assert!(has(result(wire), member), "{wire}: {member}");
        }
        if let Some(files) = sessions.files {
            assert!(has(result(files.reported_by.0), files.reported_by.1), "{files:?}");
            assert!(has(command(files.opened.0).params, files.opened.1), "{files:?}");
        }
    }
}

/// Returns every span in the declaration, with its owner.
fn spans() -> Vec<(String, Span)> {
    let mut spans = Vec::new();
    for def in declared_types().values() {
        spans.push((def.name.to_owned(), def.span));
        match def.shape {
            Shape::Record { fields, .. } => {
                spans.extend(fields.iter().map(|field| (format!("{}.{}", def.name, field.name), field.span)));
                let renamed = fields.iter().filter_map(|field| field.renamed);
                spans.extend(renamed.map(|(name, span)| (format!("{}.{name}", def.name), span)));
            }
            Shape::Strings { values, .. } => {
                spans
                    .extend(values.iter().map(|value| (format!("{} {}", def.name, value.value), value.span)));
            }
            _ => {}
        }
    }
    for dialect in DIALECTS {
        spans.extend(dialect.errors.iter().map(|error| (error.text.to_owned(), error.span)));
        for row in dialect.rows.iter().copied().flatten() {
            match row {
                Row::Type(_) => {}
                Row::Command(row) => {
                    spans.extend([(row.name.to_owned(), row.span), (row.name.to_owned(), row.result_span)]);
                    spans.extend(row.later_answer.map(|(_, span)| (row.name.to_owned(), span)));
                    spans.extend(row.errors.iter().map(|error| (error.text.to_owned(), error.span)));
                }
                Row::Event(row) => {
                    spans.extend([(row.name.to_owned(), row.span), (row.name.to_owned(), row.run_span)]);
                }
                Row::Dialog(row) => spans.push((row.name.to_owned(), row.span)),
            }
        }
    }
    spans
}

/// A span with an undeclared revision would hold in no revision, or in all.
#[test]
fn spans_name_declared_revisions() {
    let ids: Vec<String> = Index::all().iter().map(Index::id).collect();
    assert!(spans().iter().any(|(what, _)| what == "OperatorPromptParams.message"));
    for (what, span) in spans() {
        for revision in span.since.iter().chain(span.until) {
            assert!(ids.iter().any(|id| id == revision), "{what}: {revision} is not declared");
        }
    }
}

/// A member that is declared for several revisions differs in its presence and in nothing else.
#[test]
fn a_member_that_is_declared_again_keeps_its_type() {
    for def in declared_types().values() {
        let Shape::Record { fields, .. } = def.shape else { continue };
        for (position, field) in fields.iter().enumerate() {
            let again = fields[position + 1..].iter().find(|other| other.name == field.name);
            assert!(again.is_none_or(|other| other.ty == field.ty), "{}.{}", def.name, field.name);
        }
    }
}

/// Each fingerprint of a revision names a declared event or command.
#[test]
fn fingerprints_are_rows_of_the_dialect() {
    for dialect in DIALECTS {
        let all = Index::client(dialect);
        let event = |name: &str| all.events.iter().any(|event| event.name == name);
        let command = |name: &str| all.commands.iter().any(|command| command.wire == name);
        for fingerprint in
            dialect.revisions.iter().flat_map(|revision| revision.shows.iter().chain(revision.excludes))
        {
            let known = match fingerprint {
                Fingerprint::Event(name)
                | Fingerprint::EventMember(name, _)
                | Fingerprint::EventWithout(name, _) => event(name),
                Fingerprint::AnswerMember(name, _)
                | Fingerprint::AnswerWithout(name, _)
                | Fingerprint::AnswerBare(name) => command(name),
                Fingerprint::BareEvent | Fingerprint::WrappedEvent => dialect.framing == Framing::Enveloped,
            };
            assert!(known, "{}: {fingerprint:?}", dialect.name);
        }
    }
}
