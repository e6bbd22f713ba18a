//! The types of the generated tables.

pub use crate::generated::DIALECTS;
pub use crate::generated::rules::*;

/// Declared facts of a dialect.
#[derive(Debug)]
pub struct Tables {
    /// Name of the dialect.
    pub name: &'static str,
    /// Revision of the dialect.
    pub revision: &'static str,
    /// Command that probes an unknown agent: it has no parameters and changes nothing.
    pub probe_command: &'static str,
    /// Commands of the dialect.
    pub commands: &'static [Command],
    /// Events: types, and names of the records with their members.
    pub events: &'static [(&'static str, &'static str)],
    /// Dialogs: methods, and names of the records with their parameters.
    pub dialogs: &'static [(&'static str, &'static str)],
    /// Documented failures that belong to no particular command: codes and texts.
    pub errors: &'static [(Option<i32>, &'static str)],
    /// Rules for the comparison of transcripts.
    pub matching: Matching,
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Name on the wire.
    pub wire: &'static str,
    /// Record of the parameters.
    pub params: Option<&'static str>,
    /// Type of the data in the answer.
    pub result: Option<Ty>,
    /// Documented failures: codes and texts.
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
    /// Name of the type.
    pub name: &'static str,
    /// Shape of the type.
    pub shape: Shape,
}

/// Value of a member that never changes.
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
    /// An object.
    Record {
        /// Members with a constant value.
        constants: &'static [(&'static str, Constant)],
        /// Other members.
        fields: &'static [Field],
    },
    /// One of several records, distinguished by a tag.
    Union {
        /// Member with the tag.
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
    /// A set of strings.
    Strings {
        /// `true` if other strings are allowed.
        open: bool,
        /// Declared strings.
        values: &'static [&'static str],
    },
}
