//! Reports of the changes in a later revision, and of their effects on old clients. The later revisions are
//! invented for the tests.

use agentese_codegen::changes::{Change, ChangeKind, Changes, all, between};
use agentese_protocol::Index;
use agentese_protocol::model::{Command, Event, Field, Presence, RunEffect, Shape, TypeDef};

fn pi() -> Index {
    Index::named("pi").unwrap()
}

/// Returns the change that `make` causes in a revision. Fails unless there is exactly one.
#[track_caller]
fn only(make: impl FnOnce(&mut Index)) -> Change {
    let mut later = pi();
    make(&mut later);
    let mut found = between(&pi(), &later);
    assert_eq!(found.changes.len(), 1, "{found:?}");
    let change = found.changes.remove(0);
    assert_eq!(found.survives, change.survives);
    change
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Returns a copy of a record with other members.
fn with_fields(def: &TypeDef, make: impl FnOnce(&mut Vec<Field>)) -> &'static TypeDef {
    let Shape::Record { constants, fields } = def.shape else { panic!("{} is no record", def.name) };
    let mut fields = fields.to_vec();
    make(&mut fields);
    leak(TypeDef { shape: Shape::Record { constants, fields: leak(fields) }, ..*def })
}

/// Replaces the type with the same name.
fn put(index: &mut Index, def: &'static TypeDef) {
    index.types.insert(def.name, def);
}

#[test]
fn a_revision_does_not_differ_from_itself() {
    let Changes { survives, changes, .. } = between(&pi(), &pi());
    assert_eq!((survives, changes), (true, Vec::new()));
}

#[test]
fn a_client_survives_an_added_command_and_not_a_removed_one() {
    let added = only(|later| {
        let first = later.commands[0];
        later.commands.push(leak(Command { name: "frobnicate", wire: "frobnicate", ..*first }));
    });
    assert_eq!((added.change, added.what, added.name.as_str()), (ChangeKind::Added, "command", "frobnicate"));
    assert!(added.survives);
    let removed = only(|later| later.commands.retain(|command| command.wire != "get_messages"));
    assert_eq!((removed.change, removed.name.as_str()), (ChangeKind::Removed, "get_messages"));
    assert!(!removed.survives);
}

#[test]
fn a_value_that_is_removed_counts_where_clients_send_it() {
    let without_last = |name: &str| {
        only(|later| {
            let def = later.type_def(name).unwrap();
            let Shape::Strings { open, values } = def.shape else { panic!("{name} is no set of strings") };
            let values = &values[..values.len() - 1];
            put(later, leak(TypeDef { shape: Shape::Strings { open, values }, ..*def }));
        })
    };
    let sent = without_last("StreamingBehavior");
    assert_eq!(
        (sent.change, sent.what, sent.name.as_str()),
        (ChangeKind::Removed, "value", "StreamingBehavior.followUp")
    );
    assert!(!sent.survives, "{sent:?}");
    let received = without_last("StopReason");
    assert!(received.survives, "{received:?}");
}

#[test]
fn a_member_made_optional_counts_where_agents_send_it() {
    let optional = |def: &TypeDef, name: &str| {
        with_fields(def, |fields| {
            let field = fields.iter_mut().find(|field| field.name == name).unwrap();
            assert_eq!(field.presence, Presence::Required);
            field.presence = Presence::Optional;
        })
    };
    let received = only(|later| {
        let def = optional(later.type_def("SessionState").unwrap(), "sessionId");
        put(later, def);
    });
    assert_eq!(
        (received.change, received.name.as_str()),
        (ChangeKind::MadeOptional, "SessionState.sessionId")
    );
    assert!(!received.survives);
    let sent = only(|later| {
        let params = later.commands.iter().find(|command| command.wire == "prompt").unwrap().params.unwrap();
        let def = optional(later.type_def(params).unwrap(), "message");
        put(later, def);
    });
    assert_eq!(
        (sent.change, sent.what, sent.name.as_str()),
        (ChangeKind::MadeOptional, "parameter", "prompt.message")
    );
    assert!(sent.survives);
}

#[test]
fn a_client_does_not_survive_a_new_required_parameter() {
    let add = |presence: Presence| {
        only(|later| {
            let params =
                later.commands.iter().find(|command| command.wire == "prompt").unwrap().params.unwrap();
            let def = with_fields(later.type_def(params).unwrap(), |fields| {
                fields.push(Field { name: "mood", presence, ..fields[0] });
            });
            put(later, def);
        })
    };
    assert!(add(Presence::Optional).survives);
    assert!(!add(Presence::Required).survives);
}

#[test]
fn an_event_with_another_name_is_one_change() {
    let renamed = only(|later| {
        let row = later.events.iter_mut().find(|event| event.name == "turn_start").unwrap();
        *row = leak(Event { name: "model_turn_start", ..**row });
    });
    assert_eq!((renamed.change, renamed.what), (ChangeKind::Renamed, "event"));
    assert_eq!(
        (renamed.before.as_deref(), renamed.after.as_deref()),
        (Some("turn_start"), Some("model_turn_start"))
    );
    assert!(!renamed.survives);
}

#[test]
fn a_client_does_not_survive_an_event_that_no_longer_ends_the_run() {
    let change = only(|later| {
        let row = later.events.iter_mut().find(|event| event.name == "agent_end").unwrap();
        *row = leak(Event { run: RunEffect::None, ..**row });
    });
    assert_eq!((change.change, change.what, change.survives), (ChangeKind::Changed, "run", false));
}

#[test]
fn every_pair_of_revisions_has_its_changes() {
    let pairs: Vec<(String, String)> = all().into_iter().map(|found| (found.from, found.to)).collect();
    assert!(pairs.contains(&("pi@0.55".to_owned(), "pi@1.5".to_owned())), "{pairs:?}");
    let later = Index::named("pi@1.5").unwrap();
    let found = between(&pi(), &later);
    let is = |how: ChangeKind, name: &str| {
        found.changes.iter().any(|change| change.change == how && change.name == name)
    };
    assert!(
        is(ChangeKind::Added, "get_entries")
            && is(ChangeKind::Renamed, "compaction_start")
            && is(ChangeKind::MadeOptional, "SessionState.model")
    );
}

#[test]
fn behavior_that_no_frame_shows_is_a_change_that_an_old_client_survives() {
    let found = between(&Index::named("pi@1.5").unwrap(), &Index::named("pi@1.6").unwrap());
    assert!(found.survives && found.changes.iter().all(|change| change.what == "behavior"), "{found:?}");
    let names: Vec<&str> = found.changes.iter().map(|change| change.name.as_str()).collect();
    let declared =
        ["skips_textless_answers", "blind_model_detail", "retried_words", "reports_listener_failures"];
    assert_eq!(names, declared);
}
