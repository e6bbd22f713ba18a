//! Choices: unions whose alternatives are distinguished by their JSON kind or members. The `choice!` macro and
//! its support code.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The JSON kind of an alternative in a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonShape {
    /// The alternative is a string.
    Text,
    /// The alternative is a boolean.
    Flag,
    /// The alternative is an array.
    Array,
    /// The alternative is an object with any members.
    Object,
    /// The alternative is an object that must match a record.
    Members,
}

/// Implemented by each generated choice: a union whose alternatives differ by their JSON kind or members.
pub trait ChoiceUnion: Sized {
    /// The type's name, for messages.
    const NAME: &'static str;
    /// The JSON kinds of the alternatives, in order.
    const ARMS: &'static [JsonShape];

    /// Decodes the alternative at the given position.
    ///
    /// # Errors
    /// Fails with the error of the alternative.
    fn arm<'de, D: serde::Deserializer<'de>>(position: usize, deserializer: D) -> Result<Self, D::Error>;
}

/// Decoder of a choice that selects the alternative by its JSON kind.
#[derive(Debug)]
pub struct ChoiceVisitor<T>(PhantomData<T>);

/// Decodes a choice.
///
/// # Errors
/// Fails if no alternative matches.
pub fn visit_choice<'de, T: ChoiceUnion, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(ChoiceVisitor(PhantomData))
}

fn position<T: ChoiceUnion, E: Error>(kind: JsonShape, found: &str) -> Result<usize, E> {
    T::ARMS
        .iter()
        .position(|arm| *arm == kind)
        .ok_or_else(|| E::custom(format_args!("{} cannot be {found}", T::NAME)))
}

impl<'de, T: ChoiceUnion> Visitor<'de> for ChoiceVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::arm(position::<T, E>(JsonShape::Text, "a string")?, text.into_deserializer())
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        T::arm(position::<T, E>(JsonShape::Flag, "a boolean")?, flag.into_deserializer())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        let arm = position::<T, A::Error>(JsonShape::Array, "an array")?;
        T::arm(arm, SeqAccessDeserializer::new(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        if let Some(arm) = T::ARMS.iter().position(|arm| *arm == JsonShape::Object) {
            return T::arm(arm, MapAccessDeserializer::new(map));
        }
        let mut members = Map::new();
        while let Some((name, value)) = map.next_entry()? {
            members.insert(name, value);
        }
        let mut reasons = String::new();
        for (arm, kind) in T::ARMS.iter().enumerate() {
            if *kind != JsonShape::Members {
                continue;
            }
            match T::arm(arm, &Value::Object(members.clone())) {
                Ok(value) => return Ok(value),
                Err(reason) => {
                    if !reasons.is_empty() {
                        reasons.push_str("; ");
                    }
                    reasons.push_str(&reason.to_string());
                }
            }
        }
        Err(A::Error::custom(format_args!("the value fits no form of {}: {reasons}", T::NAME)))
    }
}

/// Declares a union whose alternatives are distinguished by JSON kind or by members.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $( $variant:ident($ty:ty) $shape:ident, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum $name {
            $( $variant($ty), )*
        }

        impl $crate::wire::private::ChoiceUnion for $name {
            const NAME: &'static str = stringify!($name);
            const ARMS: &'static [$crate::wire::private::JsonShape] =
                &[ $( $crate::wire::private::JsonShape::$shape ),* ];

            fn arm<'de, D: $crate::wire::private::serde::Deserializer<'de>>(
                position: usize,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                #[allow(unused_mut, unused_assignments)]
                let mut at = 0usize;
                $(
                    if position == at {
                        return <$ty as $crate::wire::private::serde::Deserialize>::deserialize(deserializer)
                            .map($name::$variant);
                    }
                    at += 1;
                )*
                Err($crate::wire::private::serde::de::Error::custom("no such arm"))
            }
        }

        impl $crate::wire::private::serde::Serialize for $name {
            fn serialize<S: $crate::wire::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                match self { $( $name::$variant(value) => value.serialize(serializer), )* }
            }
        }

        impl<'de> $crate::wire::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::wire::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::wire::private::visit_choice(deserializer)
            }
        }

        $(
            impl From<$ty> for $name {
                fn from(value: $ty) -> Self {
                    $name::$variant(value)
                }
            }
        )*
    };
}

pub(crate) use choice;
