//! Objects: the `record!` macro and its support code.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::Value;

/// The fixed value of a member, such as a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantValue {
    /// The fixed value is a string.
    String(&'static str),
    /// The fixed value is a boolean.
    Boolean(bool),
}

impl serde::Serialize for ConstantValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ConstantValue::String(text) => serializer.serialize_str(text),
            ConstantValue::Boolean(value) => serializer.serialize_bool(*value),
        }
    }
}

impl ConstantValue {
    fn is(self, value: &Value) -> bool {
        match self {
            ConstantValue::String(text) => value.as_str() == Some(text),
            ConstantValue::Boolean(flag) => value.as_bool() == Some(flag),
        }
    }
}

/// Members of an object that do not belong to its record, such as the id of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Envelope {
    /// Members of the envelope. They are skipped while decoding, and not kept as undeclared members.
    pub members: &'static [&'static str],
    /// A constant that need not be checked, because its value was read already to select the record.
    pub known: Option<&'static str>,
}

impl Envelope {
    /// An envelope without members.
    pub const NONE: Envelope = Envelope { members: &[], known: None };

    /// Creates an envelope with these members.
    pub const fn of(members: &'static [&'static str]) -> Self {
        Envelope { members, known: None }
    }
}

/// A generated object type.
pub trait Record: Sized {
    /// Members with a fixed value. They are written first.
    const CONSTANTS: &'static [(&'static str, ConstantValue)];

    /// Decodes the members from a map.
    ///
    /// # Errors
    /// The error names the missing or wrong member.
    fn decode<'de, A: MapAccess<'de>>(map: A, envelope: Envelope) -> Result<Self, A::Error>;

    /// Encodes the members, constants first, undeclared members last.
    ///
    /// # Errors
    /// The error of the serializer.
    fn encode<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// The key of a member, classified while reading.
#[derive(Debug)]
pub enum Key {
    /// A declared member, by its index.
    Member(usize),
    /// A constant, by its index.
    Constant(usize),
    /// A member of the envelope.
    Skip,
    /// The key belongs to no declared member.
    Other(String),
}

/// Reader that classifies a key.
#[derive(Debug)]
pub struct KeySeed {
    /// Names of the members.
    pub members: &'static [&'static str],
    /// Members with a fixed value.
    pub constants: &'static [(&'static str, ConstantValue)],
    /// Names of the envelope's members.
    pub envelope: Envelope,
}

impl<'de> DeserializeSeed<'de> for &KeySeed {
    type Value = Key;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for &KeySeed {
    type Value = Key;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        Ok(if let Some(position) = self.members.iter().position(|member| *member == name) {
            Key::Member(position)
        } else if let Some(position) = self.constants.iter().position(|(member, _)| *member == name) {
            Key::Constant(position)
        } else if self.envelope.members.contains(&name) {
            Key::Skip
        } else {
            Key::Other(name.to_owned())
        })
    }
}

/// Compares a constant with the value on the wire.
///
/// # Errors
/// Fails if they differ.
pub fn check_constant<'de, A: MapAccess<'de>>(
    map: &mut A,
    (name, expected): (&'static str, ConstantValue),
) -> Result<(), A::Error> {
    let value: Value = map.next_value()?;
    if expected.is(&value) {
        return Ok(());
    }
    let expected = serde_json::to_string(&expected).unwrap_or_default();
    Err(A::Error::custom(format_args!("`{name}` is {value}, expected {expected}")))
}

/// Adds the name of the member to an error.
pub fn in_member<E: Error>(name: &'static str, error: E) -> E {
    E::custom(format_args!("`{name}`: {error}"))
}

/// A record's name, for messages.
#[derive(Debug)]
pub struct ExpectedObject(pub &'static str);

impl fmt::Display for ExpectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object ({})", self.0)
    }
}

/// Declares an object type with its codec.
///
/// The kind of a member determines its type. `required`: `T`. `optional`: `Option<T>`, and null is rejected.
/// `nullable`: `Option<T>`, which is always written. `maybe`: [`Maybe<T>`](super::Maybe).
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident ( $( $constant:literal = $value:tt ),* ) {
            $( $(#[doc = $fdoc:literal])* $presence:ident $field:ident : $ty:ty = $wire:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[doc = $fdoc])* pub $field: $crate::wire::record!(@type $presence $ty), )*
            /// Members of the object that are not declared.
            pub extra: $crate::wire::ExtraMembers,
        }

        impl $crate::wire::Record for $name {
            const CONSTANTS: &'static [(&'static str, $crate::wire::ConstantValue)] =
                &[ $( ($constant, $crate::wire::record!(@constant $value)), )* ];

            #[allow(unused_variables, unused_mut, unused_assignments, clippy::never_loop)]
            fn decode<'de, A: $crate::wire::private::serde::de::MapAccess<'de>>(
                mut map: A,
                envelope: $crate::wire::Envelope,
            ) -> Result<Self, A::Error> {
                use $crate::wire::private::{Key, KeySeed};
                $( let mut $field: Option<$crate::wire::record!(@slot $presence $ty)> = None; )*
                let mut extra = $crate::wire::ExtraMembers::default();
                let mut seen = [false; Self::CONSTANTS.len()];
                let keys = KeySeed {
                    members: &[ $( $wire ),* ],
                    constants: Self::CONSTANTS,
                    envelope,
                };
                while let Some(key) = map.next_key_seed(&keys)? {
                    match key {
                        Key::Member(position) => {
                            let mut at = 0usize;
                            $(
                                if position == at {
                                    $field = Some(map.next_value()
                                        .map_err(|error| $crate::wire::private::in_member($wire, error))?);
                                    continue;
                                }
                                at += 1;
                            )*
                        }
                        Key::Constant(position) => {
                            $crate::wire::private::check_constant(&mut map, Self::CONSTANTS[position])?;
                            seen[position] = true;
                        }
                        Key::Skip => {
                            map.next_value::<$crate::wire::private::serde::de::IgnoredAny>()?;
                        }
                        Key::Other(name) => extra.insert(name, map.next_value::<serde_json::Value>()?),
                    }
                }
                for (position, (member, _)) in Self::CONSTANTS.iter().enumerate() {
                    if !seen[position] && envelope.known != Some(member) {
                        return Err($crate::wire::private::serde::de::Error::missing_field(member));
                    }
                }
                Ok(Self { $( $field: $crate::wire::record!(@take $presence $field $wire), )* extra })
            }

            #[allow(unused_variables)]
            fn encode<M: $crate::wire::private::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> Result<(), M::Error> {
                for (member, value) in Self::CONSTANTS {
                    map.serialize_entry(member, value)?;
                }
                $( $crate::wire::record!(@put $presence (self.$field) map $wire); )*
                self.extra.encode(map)
            }
        }

        impl $crate::wire::private::serde::Serialize for $name {
            fn serialize<S: $crate::wire::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                use $crate::wire::private::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $crate::wire::Record::encode(self, &mut map)?;
                map.end()
            }
        }

        impl<'de> $crate::wire::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::wire::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                struct Members;
                impl<'de> $crate::wire::private::serde::de::Visitor<'de> for Members {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "{}", $crate::wire::private::ExpectedObject(stringify!($name)))
                    }
                    fn visit_map<A: $crate::wire::private::serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$name, A::Error> {
                        <$name as $crate::wire::Record>::decode(map, $crate::wire::Envelope::NONE)
                    }
                }
                deserializer.deserialize_map(Members)
            }
        }
    };

    (@constant $value:tt) => { $crate::wire::record!(@literal $value) };
    (@literal true) => { $crate::wire::ConstantValue::Boolean(true) };
    (@literal false) => { $crate::wire::ConstantValue::Boolean(false) };
    (@literal $value:literal) => { $crate::wire::ConstantValue::String($value) };

    (@type required $ty:ty) => { $ty };
    (@type optional $ty:ty) => { Option<$ty> };
    (@type nullable $ty:ty) => { Option<$ty> };
    (@type maybe $ty:ty) => { $crate::wire::Maybe<$ty> };

    (@slot required $ty:ty) => { $ty };
    (@slot optional $ty:ty) => { $ty };
    (@slot nullable $ty:ty) => { Option<$ty> };
    (@slot maybe $ty:ty) => { Option<$ty> };

    (@take required $field:ident $wire:literal) => {
        $field.ok_or_else(|| $crate::wire::private::serde::de::Error::missing_field($wire))?
    };
    (@take nullable $field:ident $wire:literal) => {
        $field.ok_or_else(|| $crate::wire::private::serde::de::Error::missing_field($wire))?
    };
    (@take optional $field:ident $wire:literal) => { $field };
    (@take maybe $field:ident $wire:literal) => {
        match $field {
            None => $crate::wire::Maybe::Absent,
            Some(None) => $crate::wire::Maybe::Null,
            Some(Some(value)) => $crate::wire::Maybe::Value(value),
        }
    };

    (@put required ($value:expr) $map:ident $wire:literal) => { $map.serialize_entry($wire, &$value)? };
    (@put nullable ($value:expr) $map:ident $wire:literal) => { $map.serialize_entry($wire, &$value)? };
    (@put optional ($value:expr) $map:ident $wire:literal) => {
        if let Some(value) = &$value { $map.serialize_entry($wire, value)? }
    };
    (@put maybe ($value:expr) $map:ident $wire:literal) => {
        match &$value {
            $crate::wire::Maybe::Absent => {}
            $crate::wire::Maybe::Null => $map.serialize_entry($wire, &())?,
            $crate::wire::Maybe::Value(value) => $map.serialize_entry($wire, value)?,
        }
    };
}

pub(crate) use record;
