//! What generated types are made of: records that keep unknown members, unions that dispatch on
//! their tag without buffering, open sets.
//!
//! Decoding never loses anything: members that are not declared stay in [`Extra`], variants that
//! are not declared stay in [`Unknown`]. A declared member of the wrong type is an error that
//! names the member.

mod choice;
mod extra;
mod maybe;
mod named;
mod record;
mod replay;
mod strings;
mod surrogates;
mod tagged;

pub use extra::{Extra, Unknown};
pub use maybe::Maybe;
pub use record::{ConstantValue, Envelope, Record};
pub use surrogates::replace_lone_surrogates;

/// Building blocks of the macros. Not part of the public API.
#[doc(hidden)]
pub mod private {
    pub use super::choice::{ChoiceVisitor, Shape, ShapeOf, visit_choice};
    pub use super::named::decode_record;
    pub use super::record::{Expecting, Key, KeySeed, check_constant, in_member};
    pub use super::replay::Replay;
    pub use super::tagged::{TagVisitor, Union};
    pub use serde;
}

pub(crate) use choice::choice;
pub(crate) use named::named;
pub(crate) use record::record;
pub(crate) use strings::strings;
pub(crate) use tagged::tagged;

/// A generated union whose variant is named by the frame around it.
pub trait Named: Sized {
    /// The names on the wire.
    const NAMES: &'static [&'static str];

    /// The variant's name on the wire.
    fn name(&self) -> &'static str;

    /// Reads the variant of that name; none where no variant has it.
    ///
    /// # Errors
    /// Says which member is missing or wrong.
    fn decode(name: &str, text: &str, envelope: Envelope) -> Option<Result<Self, serde_json::Error>>;

    /// Writes the members.
    ///
    /// # Errors
    /// Hands on what the serializer says.
    fn encode<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

record! {
    /// No parameters; members that were sent all the same are kept.
    pub struct NoParams() {}
}

#[allow(clippy::derivable_impls, reason = "the macro writes the struct")]
impl Default for NoParams {
    fn default() -> Self {
        NoParams { extra: Extra::default() }
    }
}

/// What the refusal of a value outside a closed set says between the value and the set.
pub(crate) const NONE_OF: &str = " is none of ";

/// Decodes a value from JSON text. Lone surrogates in escapes are read as the replacement
/// character, and numbers beyond every double as the largest one.
///
/// # Errors
/// Says which member is wrong and why.
pub fn decode<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    read_leniently(text, |text| serde_json::from_str(text))
}

/// Reads, and if that fails reads once more: without lone surrogates and numbers that no double holds, and with the last
/// of two members of one name (a tag that stands twice is dispatched by the first).
fn read_leniently<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    read(text).or_else(|error| {
        let replaced = replace_lone_surrogates(text);
        let text = replaced.as_deref().unwrap_or(text);
        let limited = crate::numbers::limited(text);
        let text = limited.as_deref().unwrap_or(text);
        let plain: serde_json::Value = serde_json::from_str(text).map_err(|_| error)?;
        read(&plain.to_string())
    })
}

/// Encodes a value as one line of JSON text, without the line feed.
///
/// # Errors
/// Never for generated types; a map of the caller's own with keys that are no strings fails.
pub fn encode<T: serde::Serialize>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}

/// A generated union of events.
pub trait Eventful:
    serde::Serialize + serde::de::DeserializeOwned + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static
{
    /// The event's `type`.
    fn event_type(&self) -> &str;
    /// Whether the declaration names it.
    fn is_known(&self) -> bool;
}

/// A generated union of answers.
pub trait Answered: Sized {
    /// The wire name of the command that it answers.
    fn command(&self) -> &'static str;

    /// Reads the data of a command's answer; none where there is no such command.
    ///
    /// # Errors
    /// Says which member is missing or wrong.
    fn decode(command: &str, data: Option<&str>) -> Option<Result<Self, serde_json::Error>>;

    /// Writes the data; none where the answer has none.
    ///
    /// # Errors
    /// Never for generated types.
    fn encode(&self) -> Result<Option<String>, serde_json::Error>;
}
