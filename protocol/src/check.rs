//! Checks that run while a declaration is compiled.

use crate::model::{Constant, ConstantValue, Field, Row, Shape, TypeDef};

/// Compares two strings at compile time.
pub const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

const fn documented(doc: &str) -> bool {
    !doc.as_bytes().trim_ascii().is_empty()
}

const fn has_member(def: &TypeDef, name: &str) -> bool {
    let Shape::Record { fields, .. } = def.shape else { return false };
    let mut at = 0;
    while at < fields.len() {
        if same(fields[at].name, name) {
            return true;
        }
        at += 1;
    }
    false
}

const fn fields(constants: &[Constant], fields: &[Field]) {
    let mut i = 0;
    while i < fields.len() {
        assert!(documented(fields[i].doc), "a member has no doc comment");
        let mut j = i + 1;
        while j < fields.len() {
            let again = !fields[i].span.until.is_empty() && !fields[j].span.since.is_empty();
            assert!(again || !same(fields[i].name, fields[j].name), "a member is declared twice");
            j += 1;
        }
        let mut k = 0;
        while k < constants.len() {
            assert!(!same(fields[i].name, constants[k].member), "a member is both fixed and free");
            k += 1;
        }
        i += 1;
    }
}

/// Rejects a type without doc, and a type with a repeated member or value.
pub const fn type_def(def: &TypeDef) {
    assert!(documented(def.doc), "a type has no doc comment");
    match def.shape {
        Shape::Record { constants, fields: members } => fields(constants, members),
        Shape::Union { variants, .. } => {
            assert!(!variants.is_empty(), "a union has no variants");
            let mut i = 0;
            while i < variants.len() {
                let mut j = i + 1;
                while j < variants.len() {
                    assert!(!same(variants[i], variants[j]), "a union lists a variant twice");
                    j += 1;
                }
                i += 1;
            }
        }
        Shape::Choice { alternatives } => {
            assert!(alternatives.len() > 1, "a choice needs two alternatives");
        }
        Shape::Strings { values, .. } => {
            let mut i = 0;
            while i < values.len() {
                assert!(documented(values[i].doc), "a string of a set has no doc comment");
                let mut j = i + 1;
                while j < values.len() {
                    assert!(!same(values[i].value, values[j].value), "a set lists a string twice");
                    j += 1;
                }
                i += 1;
            }
        }
    }
}

/// Returns the value of a record's constant, which unions need as their tag. Fails to compile if the record has no such
/// constant.
pub const fn tag_value(def: &TypeDef, tag: &str) -> &'static str {
    if let Shape::Record { constants, .. } = def.shape {
        let mut i = 0;
        while i < constants.len() {
            if same(constants[i].member, tag)
                && let ConstantValue::String(value) = constants[i].value
            {
                return value;
            }
            i += 1;
        }
    }
    panic!("a variant of a union has no constant for the union's tag")
}

/// Rejects a union in which two variants have the same tag.
pub const fn distinct(tags: &[&str]) {
    let mut i = 0;
    while i < tags.len() {
        let mut j = i + 1;
        while j < tags.len() {
            assert!(!same(tags[i], tags[j]), "two variants of a union have the same tag");
            j += 1;
        }
        i += 1;
    }
}

/// Rejects a row without doc or example, and two rows of the same kind with the same wire name.
pub const fn rows(rows: &[Row]) {
    let mut i = 0;
    while i < rows.len() {
        let (kind, wire) = key(&rows[i]);
        let mut j = i + 1;
        while j < rows.len() {
            let (other_kind, other) = key(&rows[j]);
            assert!(kind != other_kind || !same(wire, other), "two rows have the same wire name");
            j += 1;
        }
        i += 1;
    }
}

const fn key(row: &Row) -> (u8, &'static str) {
    match row {
        Row::Type(def) => (0, def.name),
        Row::Command(command) => {
            assert!(documented(command.doc), "a command has no doc comment");
            assert!(documented(command.example), "a command has no example");
            (1, command.wire)
        }
        Row::Event(event) => {
            assert!(documented(event.doc), "an event has no doc comment");
            assert!(documented(event.example), "an event has no example");
            (2, event.name)
        }
        Row::Dialog(dialog) => {
            assert!(documented(dialog.doc), "a dialog has no doc comment");
            assert!(documented(dialog.example), "a dialog has no example");
            if let Some(member) = dialog.expires {
                assert!(dialog.answer.is_some(), "a dialog without an answer cannot expire");
                assert!(has_member(dialog.params, member), "a dialog that expires has no such member");
            }
            if let Some(member) = dialog.withdraws {
                assert!(dialog.answer.is_none(), "a dialog that withdraws another has no answer");
                assert!(
                    has_member(dialog.params, member),
                    "a dialog that withdraws another has no such member"
                );
            }
            (3, dialog.wire)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Presence, Span, StringValue, Ty};

    const FIELD: Field = Field {
        name: "a",
        doc: "A member.",
        presence: Presence::Required,
        ty: Ty::String,
        span: Span::ALWAYS,
        renamed: None,
    };

    const fn record(fields: &'static [Field]) -> TypeDef {
        TypeDef {
            name: "T",
            doc: "A type.",
            shape: Shape::Record { constants: &[], fields },
            example: None,
            span: Span::ALWAYS,
        }
    }

    #[test]
    fn a_sound_type_passes() {
        type_def(&record(&[FIELD, Field { name: "b", ..FIELD }]));
    }

    #[test]
    #[should_panic(expected = "declared twice")]
    fn a_member_that_is_declared_twice_is_refused() {
        type_def(&record(&[FIELD, FIELD]));
    }

    #[test]
    #[should_panic(expected = "a member has no doc comment")]
    fn a_member_without_doc_is_refused() {
        type_def(&record(&[Field { doc: " ", ..FIELD }]));
    }

    #[test]
    #[should_panic(expected = "a type has no doc comment")]
    fn a_type_without_doc_is_refused() {
        type_def(&TypeDef { doc: "", ..record(&[FIELD]) });
    }

    #[test]
    #[should_panic(expected = "fixed and free")]
    fn a_member_that_is_fixed_and_free_is_refused() {
        let constants = &[Constant { member: "a", value: ConstantValue::String("x") }];
        type_def(&TypeDef { shape: Shape::Record { constants, fields: &[FIELD] }, ..record(&[]) });
    }

    #[test]
    #[should_panic(expected = "no constant for the union's tag")]
    fn a_variant_without_a_tag_is_refused() {
        tag_value(&record(&[FIELD]), "type");
    }

    #[test]
    #[should_panic(expected = "the same tag")]
    fn two_variants_with_one_tag_are_refused() {
        distinct(&["text", "image", "text"]);
    }

    #[test]
    #[should_panic(expected = "lists a string twice")]
    fn a_set_with_a_string_twice_is_refused() {
        const A: StringValue = StringValue { value: "a", doc: "One.", span: Span::ALWAYS };
        let values = &[A, A];
        type_def(&TypeDef { shape: Shape::Strings { open: true, values }, ..record(&[]) });
    }

    #[test]
    #[should_panic(expected = "the same wire name")]
    fn two_commands_with_one_wire_name_are_refused() {
        let row = Row::Command(&crate::dialects::pi::commands::prompt::ROW);
        rows(&[row, row]);
    }

    static NO_EXAMPLE: crate::model::Command =
        crate::model::Command { example: "", ..crate::dialects::pi::commands::prompt::ROW };

    #[test]
    #[should_panic(expected = "a command has no example")]
    fn a_command_without_example_is_refused() {
        rows(&[Row::Command(&NO_EXAMPLE)]);
    }

    static NO_DOC: crate::model::Command =
        crate::model::Command { doc: "\n", ..crate::dialects::pi::commands::prompt::ROW };

    #[test]
    #[should_panic(expected = "a command has no doc comment")]
    fn a_command_without_doc_is_refused() {
        rows(&[Row::Command(&NO_DOC)]);
    }
}
