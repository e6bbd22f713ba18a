//! Foundation of the generated types. Records keep unknown members, unions select their variant by a tag
//! without buffering, and open sets keep unknown values.
//!
//! Decoding loses no data: undeclared members stay in [`ExtraMembers`], undeclared variants stay in
//! [`UnknownVariant`]. A declared member of the wrong type causes an error with the name of the member.

mod choice;
mod extra;
mod maybe;
mod named;
mod record;
mod replay;
mod strings;
mod surrogates;
mod tagged;

pub use extra::{ExtraMembers, UnknownVariant};
pub use maybe::Maybe;
pub use record::{ConstantValue, Envelope, Record};
pub use surrogates::replace_lone_surrogates;

/// Building blocks of the macros. Not part of the public API.
#[doc(hidden)]
pub mod private {
    pub use super::choice::{ChoiceUnion, ChoiceVisitor, JsonShape, visit_choice};
    pub use super::named::decode_record;
    pub use super::record::{ExpectedObject, Key, KeySeed, check_constant, in_member};
    pub use super::replay::Replay;
    pub use super::tagged::{TagVisitor, TaggedUnion};
    pub use serde;
}

pub(crate) use choice::choice;
pub(crate) use named::named;
pub(crate) use record::record;
pub(crate) use strings::strings;
pub(crate) use tagged::tagged;

/// A generated union whose variant is determined by a name in the surrounding frame.
pub trait NamedUnion: Sized {
    /// The names on the wire.
    const NAMES: &'static [&'static str];

    /// Returns the variant's name on the wire.
    fn name(&self) -> &'static str;

    /// Decodes the variant of the given name; returns `None` if no variant has it.
    ///
    /// # Errors
    /// The error contains the missing or wrong member.
    fn decode(name: &str, text: &str, envelope: Envelope) -> Option<Result<Self, serde_json::Error>>;

    /// Encodes the members.
    ///
    /// # Errors
    /// The error of the serializer.
    fn encode<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

record! {
    /// An object without declared parameters. Received members are kept.
    pub struct NoParams() {}
}

#[allow(clippy::derivable_impls, reason = "the macro writes the struct")]
impl Default for NoParams {
    fn default() -> Self {
        NoParams { extra: ExtraMembers::default() }
    }
}

/// Text between the value and the permitted values, in the rejection of a value that is not permitted.
pub(crate) const NONE_OF: &str = " is not one of ";

/// Decodes a value from JSON text. An escape of a lone surrogate is read as the replacement character. A number
/// beyond the largest double is read as that double.
///
/// # Errors
/// The error contains the wrong member and the reason.
pub fn decode<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    read_leniently(text, |text| serde_json::from_str(text))
}

/// Decodes a value. After a failure, decodes a corrected text. In it, lone surrogates and numbers beyond the
/// largest double are replaced, and only the last of several equally named members remains. A repeated tag is
/// an exception: its first value selects the variant.
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
/// Generated types never fail. A map of the caller fails if a key is not a string.
pub fn encode<T: serde::Serialize>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}

/// A generated union of events.
pub trait EventUnion:
    serde::Serialize + serde::de::DeserializeOwned + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static
{
    /// Returns the event's `type`.
    fn event_type(&self) -> &str;
    /// Returns `true` if the event is declared.
    fn is_known(&self) -> bool;
}

/// A generated union of answers.
pub trait ReplyUnion: Sized {
    /// Returns the wire name of the answered command.
    fn command(&self) -> &'static str;

    /// Decodes the data of a command's answer; returns `None` if there is no such command.
    ///
    /// # Errors
    /// The error contains the missing or wrong member.
    fn decode(command: &str, data: Option<&str>) -> Option<Result<Self, serde_json::Error>>;

    /// Encodes the data; returns `None` if the answer has no data.
    ///
    /// # Errors
    /// Never for generated types.
    fn encode(&self) -> Result<Option<String>, serde_json::Error>;
}
