//! Unions for commands and dialogs, whose variant is named outside of the parameters: the `named!` macro.

use serde::de::{DeserializeSeed, MapAccess, Visitor};

use super::record::{Envelope, Record};

/// Decoder of a record whose object also contains the members of an envelope.
#[derive(Debug)]
pub struct RecordSeed<T> {
    envelope: Envelope,
    record: std::marker::PhantomData<T>,
}

impl<T> RecordSeed<T> {
    /// Creates a decoder with that envelope.
    pub fn new(envelope: Envelope) -> Self {
        RecordSeed { envelope, record: std::marker::PhantomData }
    }
}

impl<'de, T: Record> DeserializeSeed<'de> for RecordSeed<T> {
    type Value = T;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Record> Visitor<'de> for RecordSeed<T> {
    type Value = T;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::decode(map, self.envelope)
    }
}

/// Decodes a record inside an envelope from text.
///
/// # Errors
/// The error names the missing or wrong member.
pub fn decode_record<T: Record>(text: &str, envelope: Envelope) -> Result<T, serde_json::Error> {
    super::read_leniently(text, |text| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let record = RecordSeed::new(envelope).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(record)
    })
}

/// Declares a union whose variant is named in the envelope.
macro_rules! named {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {}
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {}

        impl $crate::wire::NamedUnion for $name {
            const NAMES: &'static [&'static str] = &[];

            fn name(&self) -> &'static str {
                match *self {}
            }

            fn decode(_: &str, _: &str, _: $crate::wire::Envelope) -> Option<Result<Self, serde_json::Error>> {
                None
            }

            fn encode<M: $crate::wire::private::serde::ser::SerializeMap>(&self, _: &mut M) -> Result<(), M::Error> {
                match *self {}
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $( $(#[doc = $vdoc:literal])* $variant:ident($ty:ty) = $wire:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[doc = $vdoc])* $variant($ty), )*
        }

        impl $crate::wire::NamedUnion for $name {
            const NAMES: &'static [&'static str] = &[ $( $wire ),* ];

            fn name(&self) -> &'static str {
                match self { $( $name::$variant(_) => $wire, )* }
            }

            fn decode(
                name: &str,
                text: &str,
                envelope: $crate::wire::Envelope,
            ) -> Option<Result<Self, serde_json::Error>> {
                match name {
                    $( $wire => Some($crate::wire::private::decode_record::<$ty>(text, envelope).map($name::$variant)), )*
                    _ => None,
                }
            }

            fn encode<M: $crate::wire::private::serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $( $name::$variant(value) => $crate::wire::Record::encode(value, map), )* }
            }
        }
    };
}

pub(crate) use named;
