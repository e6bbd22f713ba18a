//! The form of the generated tables.

pub use crate::generated::DIALECTS;
pub use crate::generated::words::*;

/// What the declaration says of a dialect.
#[derive(Debug)]
pub struct Tables {
    /// Its name.
    pub name: &'static str,
    /// Its revision.
    pub revision: &'static str,
    /// The command that probes an unknown agent: it has no parameters and changes nothing.
    pub probe_command: &'static str,
    /// Its commands.
    pub commands: &'static [Command],
    /// Its events: their types, and the records of their members.
    pub events: &'static [(&'static str, &'static str)],
    /// Its dialogs: their methods, and the records of their parameters.
    pub dialogs: &'static [(&'static str, &'static str)],
    /// Documented failures that belong to no single command: codes and texts.
    pub errors: &'static [(Option<i32>, &'static str)],
    /// How transcripts are compared.
    pub matching: Matching,
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Its name on the wire.
    pub wire: &'static str,
    /// The record of its parameters.
    pub params: Option<&'static str>,
    /// The type of its answer's data.
    pub result: Option<Ty>,
    /// Its documented failures: codes and texts.
    pub errors: &'static [(Option<i32>, &'static str)],
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// A whole number.
    Integer,
    /// A whole number from zero.
    Count,
    /// A number.
    Number,
    /// Any value.
    Any,
    /// Any object.
    Object,
    /// An array.
    List(&'static Ty),
    /// An object with free keys.
    Map(&'static Ty),
    /// A declared type.
    Named(&'static str),
}

/// A declared type.
#[derive(Debug)]
pub struct TypeDef {
    /// Its name.
    pub name: &'static str,
    /// What it looks like.
    pub shape: Shape,
}

/// The value of a member that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant {
    /// A string.
    String(&'static str),
    /// A boolean.
    Boolean(bool),
}

/// A member of a record.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub required: bool,
    /// Whether it may be null.
    pub nullable: bool,
    /// The type of its value.
    pub ty: Ty,
}

/// What a declared type looks like.
#[derive(Debug)]
pub enum Shape {
    /// An object.
    Record {
        /// Members with one value.
        constants: &'static [(&'static str, Constant)],
        /// The other members.
        fields: &'static [Field],
    },
    /// One of several records, told apart by a member.
    Union {
        /// That member.
        tag: &'static str,
        /// Whether other values of it may come.
        open: bool,
        /// The records.
        variants: &'static [&'static str],
    },
    /// One of several types.
    Choice {
        /// The types, in the order in which they are tried.
        alternatives: &'static [Ty],
    },
    /// A set of strings.
    Strings {
        /// Whether other strings may come.
        open: bool,
        /// The strings.
        values: &'static [&'static str],
    },
}
