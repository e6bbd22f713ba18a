//! Rows as in a single revision, and rows for clients that support all revisions.
//!
//! Changed rows live until the program ends: generators create their views once.

use crate::dialect::{Change, Dialect, Revision};
use crate::model::{
    Command, Dialog, ErrorText, Event, Field, Presence, RunEffect, Shape, Span, StringValue, TypeDef,
};

/// The revisions of a view: one, or all of a dialect.
#[derive(Debug, Clone)]
pub struct View {
    /// For each revision, the ids that it includes: its own, those of earlier revisions, and those of its parents.
    included_ids: Vec<Vec<String>>,
    /// `true` if the view merges several revisions.
    merged: bool,
}

/// Returns the id of a revision and the ids of all revisions that it includes: earlier ones, and those of its parents.
pub fn included_ids(dialect: &Dialect, revision: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut parent = None;
    for known in dialect.revisions {
        ids.push(format!("{}@{}", dialect.name, known.name));
        parent = known.parent;
        if known.name == revision {
            break;
        }
    }
    if let (Some(older), Some(revision)) = (dialect.parent, parent) {
        ids.extend(included_ids(older, revision));
    }
    ids
}

impl View {
    /// Creates the view of a single revision.
    pub fn exact(dialect: &Dialect, revision: &Revision) -> Self {
        Self { included_ids: vec![included_ids(dialect, revision.name)], merged: false }
    }

    /// Creates the view of the first revision of every dialect, for the shared types in file formats and extensions.
    pub fn pinned() -> Self {
        let ids = crate::DIALECTS.iter().map(|dialect| format!("{}@{}", dialect.name, dialect.pinned().name));
        Self { included_ids: vec![ids.collect()], merged: false }
    }

    /// Creates the view of all revisions of a dialect, for its clients.
    pub fn client(dialect: &Dialect) -> Self {
        let of = |revision: &Revision| included_ids(dialect, revision.name);
        Self { included_ids: dialect.revisions.iter().map(of).collect(), merged: true }
    }

    /// Returns `true` if the span holds in at least one revision of the view.
    pub fn has(&self, span: Span) -> bool {
        self.included_ids.iter().any(|ids| span.holds(ids))
    }

    /// Returns `true` if the span holds in all revisions of the view.
    pub fn always_has(&self, span: Span) -> bool {
        self.included_ids.iter().all(|ids| span.holds(ids))
    }

    /// Returns a type as in the revisions of the view.
    pub fn type_def(&self, def: &'static TypeDef) -> &'static TypeDef {
        let def = with_changes(def);
        if is_plain(def) {
            return def;
        }
        let shape = match def.shape {
            Shape::Record { constants, fields } => {
                let fields = match self.merged {
                    true => merged(fields),
                    false => fields
                        .iter()
                        .filter(|field| self.has(field.span))
                        .map(|field| Field {
                            name: self.name(field),
                            span: Span::ALWAYS,
                            renamed: None,
                            ..*field
                        })
                        .collect(),
                };
                Shape::Record { constants, fields: leak(fields) }
            }
            Shape::Union { tag, open, variants } if !self.merged => {
                let declared = crate::declared_types::declared_types();
                let has =
                    |name: &&&'static str| declared.get(**name).is_none_or(|record| self.has(record.span));
                Shape::Union { tag, open, variants: leak(variants.iter().filter(has).copied().collect()) }
            }
            Shape::Strings { open, values } => {
                let has = |value: &&StringValue| self.merged || self.has(value.span);
                let seen = |value: &StringValue| StringValue {
                    doc: if self.merged { with_span_note(value.doc, value.span) } else { value.doc },
                    span: Span::ALWAYS,
                    ..*value
                };
                Shape::Strings { open, values: leak(values.iter().filter(has).map(seen).collect()) }
            }
            shape => shape,
        };
        let doc = if self.merged { with_span_note(def.doc, def.span) } else { def.doc };
        Box::leak(Box::new(TypeDef { shape, doc, span: Span::ALWAYS, ..*def }))
    }

    /// Returns the name of a member in a single revision.
    fn name(&self, field: &Field) -> &'static str {
        match field.renamed {
            Some((name, span)) if self.has(span) => name,
            _ => field.name,
        }
    }

    /// Returns a command as in the revisions of the view. For clients, the time of its answer is that of the oldest
    /// revision.
    pub fn command(&self, row: &'static Command) -> &'static Command {
        let spans = [row.span, row.result_span];
        let errors = row.errors.iter().any(|error| error.span != Span::ALWAYS);
        let answer = match row.later_answer {
            Some((later, span)) if !self.merged && self.has(span) => later,
            _ => row.answer,
        };
        let plain = !errors && spans.iter().all(|span| *span == Span::ALWAYS);
        if plain && row.later_answer.is_none() {
            return row;
        }
        let result_optional =
            row.result.is_some() && self.has(row.result_span) && !self.always_has(row.result_span);
        let mut doc = if self.merged && !self.always_has(row.span) {
            with_span_note(row.doc, row.span)
        } else {
            row.doc
        };
        if result_optional {
            doc = with_note(doc, "Answered with data", row.result_span);
        }
        Box::leak(Box::new(Command {
            doc,
            result: row.result.filter(|_| self.has(row.result_span)),
            result_span: Span::ALWAYS,
            result_optional,
            answer,
            later_answer: None,
            example_result: row.example_result.filter(|_| self.has(row.result_span)),
            errors: self.errors(row.errors),
            span: Span::ALWAYS,
            ..*row
        }))
    }

    /// Returns the failures that the revisions of the view have.
    pub fn errors(&self, errors: &'static [ErrorText]) -> &'static [ErrorText] {
        if errors.iter().all(|error| error.span == Span::ALWAYS) {
            return errors;
        }
        let has = errors.iter().filter(|error| self.has(error.span));
        leak(has.map(|error| ErrorText { span: Span::ALWAYS, ..*error }).collect())
    }

    /// Returns an event as in the revisions of the view. For clients, the event and its effect on runs are those of the
    /// oldest revision that has the event.
    pub fn event(&self, row: &'static Event) -> &'static Event {
        let row = changed_event(row);
        let payload = self.type_def(row.payload);
        let spans = [row.span, row.run_span, row.snapshot_span];
        let plain = spans.iter().all(|span| *span == Span::ALWAYS);
        if plain && std::ptr::eq(payload, row.payload) {
            return row;
        }
        let doc = if self.merged && !self.always_has(row.span) {
            with_span_note(row.doc, row.span)
        } else {
            row.doc
        };
        let run = match row.later_run {
            _ if self.has(row.run_span) => row.run,
            Some((later, span)) if self.has(span) => later,
            _ => RunEffect::None,
        };
        Box::leak(Box::new(Event {
            doc,
            payload,
            run,
            run_span: Span::ALWAYS,
            later_run: None,
            snapshot: row.snapshot && self.has(row.snapshot_span),
            snapshot_span: Span::ALWAYS,
            span: Span::ALWAYS,
            ..*row
        }))
    }

    /// Returns a dialog as in the revisions of the view.
    pub fn dialog(&self, row: &'static Dialog) -> &'static Dialog {
        let params = self.type_def(row.params);
        if row.span == Span::ALWAYS && std::ptr::eq(params, row.params) {
            return row;
        }
        let doc = if self.merged && !self.always_has(row.span) {
            with_span_note(row.doc, row.span)
        } else {
            row.doc
        };
        Box::leak(Box::new(Dialog { doc, params, span: Span::ALWAYS, ..*row }))
    }
}

/// Returns the changes of all revisions to rows in other files.
fn changes() -> impl Iterator<Item = &'static Change> {
    let revisions = crate::DIALECTS.iter().flat_map(|dialect| dialect.revisions);
    revisions.flat_map(|revision| revision.changes)
}

/// Returns a type with the changes of later revisions.
fn with_changes(def: &'static TypeDef) -> &'static TypeDef {
    let mut def = def;
    for change in changes() {
        let shape = match (change, def.shape) {
            (Change::Member(name, field), Shape::Record { constants, fields }) if *name == def.name => {
                Shape::Record { constants, fields: leak(fields.iter().chain([field]).copied().collect()) }
            }
            (Change::ValueUntil(name, gone, until), Shape::Strings { open, values }) if *name == def.name => {
                let ends = |value: &StringValue| match value.value == *gone {
                    true => StringValue { span: Span { until, ..value.span }, ..*value },
                    false => *value,
                };
                Shape::Strings { open, values: leak(values.iter().map(ends).collect()) }
            }
            _ => continue,
        };
        def = Box::leak(Box::new(TypeDef { shape, ..*def }));
    }
    def
}

/// Returns an event with the changes of a later revision.
fn changed_event(row: &'static Event) -> &'static Event {
    let mut row = row;
    for change in changes() {
        if let Change::Run(name, run, span) = change
            && *name == row.name
        {
            let until: Vec<&str> = row.run_span.until.iter().chain(span.since).copied().collect();
            let run_span = Span { until: leak(until), ..row.run_span };
            row = Box::leak(Box::new(Event { run_span, later_run: Some((*run, *span)), ..*row }));
        }
    }
    row
}

/// Returns a type for clients: with the members and values of all revisions of all dialects.
pub fn merged_type(def: &'static TypeDef) -> &'static TypeDef {
    View { included_ids: Vec::new(), merged: true }.type_def(def)
}

/// Returns `true` if a type is the same in all views.
fn is_plain(def: &TypeDef) -> bool {
    let always = |span: &Span| *span == Span::ALWAYS;
    always(&def.span)
        && match def.shape {
            Shape::Record { fields, .. } => {
                fields.iter().all(|field| always(&field.span) && field.renamed.is_none())
            }
            Shape::Union { .. } => false,
            Shape::Choice { .. } => true,
            Shape::Strings { values, .. } => values.iter().all(|value| always(&value.span)),
        }
}

/// Returns the members of all revisions. A member is optional if some revisions lack it.
fn merged(fields: &[Field]) -> Vec<Field> {
    let mut all: Vec<Field> = Vec::new();
    for field in fields {
        let Some(known) = all.iter_mut().find(|known| known.name == field.name) else {
            all.push(*field);
            continue;
        };
        // The member is declared again for other revisions: the second declaration starts at the end of the first.
        let both = Span { since: known.span.since, until: field.span.until };
        let meets = known.span.until == field.span.since;
        let required = meets && known.presence.is_required() && field.presence.is_required();
        let nullable = known.presence.is_nullable() || field.presence.is_nullable();
        known.presence = presence(required, nullable);
        known.span = both;
        known.doc = field.doc;
    }
    for field in &mut all {
        if field.span != Span::ALWAYS {
            field.presence = presence(false, field.presence.is_nullable());
            field.doc = with_span_note(field.doc, field.span);
        }
        if let Some((name, span)) = field.renamed {
            field.doc = with_note(field.doc, &format!("Called `{name}`"), span);
        }
        field.span = Span::ALWAYS;
    }
    all
}

fn presence(required: bool, nullable: bool) -> Presence {
    match (required, nullable) {
        (true, false) => Presence::Required,
        (true, true) => Presence::Nullable,
        (false, false) => Presence::Optional,
        (false, true) => Presence::OptionalNullable,
    }
}

/// Adds the revisions of a span to a doc text.
fn with_span_note(doc: &'static str, span: Span) -> &'static str {
    if span == Span::ALWAYS { doc } else { with_note(doc, "", span) }
}

fn with_note(doc: &'static str, what: &str, span: Span) -> &'static str {
    let mut parts = Vec::new();
    if !span.since.is_empty() {
        parts.push(format!("since {}", span.since.join(", ")));
    }
    if !span.until.is_empty() {
        parts.push(format!("until {}", span.until.join(", ")));
    }
    let note = match what {
        "" => parts.join(", "),
        what => format!("{what} {}", parts.join(", ")),
    };
    let mut letters = note.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let note: String = first.into_iter().chain(letters).collect();
    Box::leak(format!("{} {note}.\n", doc.trim_end()).into_boxed_str())
}

fn leak<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Ty;

    const FIELD: Field = Field {
        name: "a",
        doc: "A member.\n",
        presence: Presence::Required,
        ty: Ty::String,
        span: Span::ALWAYS,
        renamed: None,
    };
    const SINCE: Span = Span { since: &["pi@1.5"], until: &[] };
    const UNTIL: Span = Span { since: &[], until: &["pi@1.5"] };

    #[test]
    fn a_member_of_some_revisions_is_optional_for_clients() {
        let all = merged(&[FIELD, Field { name: "b", span: SINCE, ..FIELD }]);
        assert_eq!((all[0].presence, all[1].presence), (Presence::Required, Presence::Optional));
        assert_eq!(all[1].doc, "A member. Since pi@1.5.\n");
    }

    #[test]
    fn a_member_that_is_declared_again_is_one_member() {
        let null = Field { presence: Presence::Nullable, span: UNTIL, ..FIELD };
        let all = merged(&[null, Field { presence: Presence::Optional, span: SINCE, ..FIELD }]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].presence, all[0].doc), (Presence::OptionalNullable, FIELD.doc));
        let all = merged(&[null, Field { span: SINCE, ..FIELD }]);
        assert_eq!(all[0].presence, Presence::Nullable);
    }

    #[test]
    fn a_child_dialect_includes_what_its_parent_includes() {
        let ids = included_ids(&crate::dialects::pisces::PISCES, "13.18");
        assert_eq!(ids, ["pisces@13.18", "omp@12.7", "pi@0.55"]);
    }
}
