//! Types of the generated tables for the comparison of transcripts.

pub use crate::generated::DIALECTS;
pub use crate::generated::rules::*;

/// Declared properties of a dialect.
#[derive(Debug)]
pub struct Tables {
    /// Name of the dialect.
    pub name: &'static str,
    /// Revision of the dialect.
    pub revision: &'static str,
    /// Command that probes an unknown agent. It has no parameters and is read-only.
    pub probe_command: &'static str,
    /// Commands of the dialect.
    pub commands: &'static [Command],
    /// Events by type, each with the name of the record that declares its members.
    pub events: &'static [(&'static str, &'static str)],
    /// Dialogs by method, each with the name of the record that declares its parameters.
    pub dialogs: &'static [(&'static str, &'static str)],
    /// Documented failures that do not belong to a particular command: JSON-RPC codes and
    /// texts.
    pub errors: &'static [(Option<i32>, &'static str)],
    /// Rules for the comparison of transcripts.
    pub matching: Matching,
}

/// A command of the dialect.
#[derive(Debug)]
pub struct Command {
    /// Name on the wire.
    pub wire: &'static str,
    /// Name of the record that declares the parameters.
    pub params: Option<&'static str>,
    /// Type of the data in the answer.
    pub result: Option<Ty>,
    /// Documented failures of the command: JSON-RPC codes and texts.
    pub errors: &'static [(Option<i32>, &'static str)],
}

/// Declared type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// Any string.
    String,
    /// Any boolean.
    Boolean,
    /// Any integer.
    Integer,
    /// Any integer that is not negative.
    Count,
    /// Any number.
    Number,
    /// Any JSON value.
    Any,
    /// Any object.
    Object,
    /// An array with items of this type.
    List(&'static Ty),
    /// An object with arbitrary keys, whose values have this type.
    Map(&'static Ty),
    /// The declared type with this name.
    Named(&'static str),
}

/// A declared type with its name.
#[derive(Debug)]
pub struct TypeDef {
    /// Name of the type.
    pub name: &'static str,
    /// Shape of the type.
    pub shape: Shape,
}

/// Value of a member that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant {
    /// A string.
    String(&'static str),
    /// A boolean.
    Boolean(bool),
}

/// A declared member of a record.
#[derive(Debug)]
pub struct Field {
    /// Name of the member.
    pub name: &'static str,
    /// `true` if the member is required.
    pub required: bool,
    /// `true` if null is allowed.
    pub nullable: bool,
    /// Type of the value.
    pub ty: Ty,
}

/// Shape of a declared type.
#[derive(Debug)]
pub enum Shape {
    /// An object with declared members.
    Record {
        /// Members with a constant value.
        constants: &'static [(&'static str, Constant)],
        /// Members whose values vary.
        fields: &'static [Field],
    },
    /// One of several records, distinguished by the value of a tag.
    Union {
        /// Name of the member that contains the tag.
        tag: &'static str,
        /// `true` if other tags are allowed.
        open: bool,
        /// Names of the records.
        variants: &'static [&'static str],
    },
    /// One of several types.
    Choice {
        /// Types in the order in which they are tried.
        alternatives: &'static [Ty],
    },
    /// One of these strings.
    Strings {
        /// `true` if other strings are allowed.
        open: bool,
        /// The declared strings.
        values: &'static [&'static str],
    },
}
