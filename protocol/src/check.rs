//! Checks that run while a declaration is compiled.

use crate::model::{Constant, ConstantValue, Field, Row, Shape, TypeDef};

/// String equality that can run at compile time.
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

const fn fields(constants: &[Constant], fields: &[Field]) {
    let mut i = 0;
    while i < fields.len() {
        assert!(documented(fields[i].doc), "a member has no doc comment");
        let mut j = i + 1;
        while j < fields.len() {
            assert!(!same(fields[i].name, fields[j].name), "a member is declared twice");
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

/// Refuses a type without doc, with a member twice or a value twice.
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
                assert!(documented(values[i].1), "a string of a set has no doc comment");
                let mut j = i + 1;
                while j < values.len() {
                    assert!(!same(values[i].0, values[j].0), "a set lists a string twice");
                    j += 1;
                }
                i += 1;
            }
        }
    }
}

/// The value of a record's constant, or a compile error: unions need it as their tag.
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

/// Refuses a union in which two variants have the same tag.
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

/// Refuses a row without doc or example, and two rows of a kind with one name.
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
            (3, dialog.wire)
        }
    }
}
