//! Unions distinguished by a tag: the `tagged!` macro and its support code.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::replay::Replay;

/// Implemented by each generated union whose variants are distinguished by a tag.
pub trait TaggedUnion: Sized {
    /// The type's name, for messages.
    const NAME: &'static str;
    /// The member that distinguishes the variants.
    const TAG: &'static str;

    /// Decodes the variant for a tag that was already read. Returns `Ok(Err(map))` if no variant has this tag.
    ///
    /// # Errors
    /// Fails with the error of the variant.
    fn variant<'de, A: MapAccess<'de>>(tag: &str, map: A) -> Result<Result<Self, A>, A::Error>;

    /// Returns the value for an undeclared tag. Returns `None` if the union is closed.
    fn unknown(tag: String, members: Map<String, Value>) -> Option<Self>;
}

/// Decoder of a union. If the tag is the first member, nothing is buffered.
#[derive(Debug)]
pub struct TagVisitor<T>(PhantomData<T>);

impl<T> TagVisitor<T> {
    /// Creates a visitor for `T`.
    pub fn new() -> Self {
        TagVisitor(PhantomData)
    }
}

impl<T> Default for TagVisitor<T> {
    fn default() -> Self {
        TagVisitor::new()
    }
}

impl<'de, T: TaggedUnion> Visitor<'de> for TagVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}` ({})", T::TAG, T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut ahead: Vec<(String, Value)> = Vec::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key != T::TAG {
                ahead.push((key.into_owned(), map.next_value()?));
                continue;
            }
            let tag: String =
                map.next_value().map_err(|error| A::Error::custom(format_args!("`{}`: {error}", T::TAG)))?;
            return if ahead.is_empty() {
                match T::variant(&tag, map)? {
                    Ok(value) => Ok(value),
                    Err(map) => unknown(tag, ahead, map),
                }
            } else {
                match T::variant(&tag, Replay::new(ahead, map))? {
                    Ok(value) => Ok(value),
                    Err(map) => unknown(tag, Vec::new(), map),
                }
            };
        }
        Err(A::Error::missing_field(T::TAG))
    }
}

fn unknown<'de, T: TaggedUnion, A: MapAccess<'de>>(
    tag: String,
    ahead: Vec<(String, Value)>,
    mut map: A,
) -> Result<T, A::Error> {
    let mut members: Map<String, Value> = ahead.into_iter().collect();
    members.insert(T::TAG.to_owned(), Value::String(tag.clone()));
    while let Some((name, value)) = map.next_entry()? {
        members.insert(name, value);
    }
    T::unknown(tag.clone(), members).ok_or_else(|| {
        A::Error::custom(format_args!("`{}` is \"{tag}\", which {} does not know", T::TAG, T::NAME))
    })
}

/// Declares a union of records that are distinguished by a tag.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident by $tag:literal $open:ident {
            $( $(#[doc = $vdoc:literal])* $variant:ident($ty:ty) = $value:literal, )*
        }
    ) => {
        $crate::wire::tagged! { @enum $open
            $(#[doc = $doc])* $name { $( $(#[doc = $vdoc])* $variant($ty), )* }
        }

        impl $name {
            /// Returns the value of the tag.
            pub fn tag(&self) -> &str {
                $crate::wire::tagged!(@match $open self { $( $name::$variant(_) => $value, )* } unknown => &unknown.tag)
            }
        }

        impl $crate::wire::private::TaggedUnion for $name {
            const NAME: &'static str = stringify!($name);
            const TAG: &'static str = $tag;

            fn variant<'de, A: $crate::wire::private::serde::de::MapAccess<'de>>(
                tag: &str,
                map: A,
            ) -> Result<Result<Self, A>, A::Error> {
                #[allow(unused_variables, reason = "a set without declared variants has no use for it")]
                let envelope = $crate::wire::Envelope { members: &[], known: Some($tag) };
                match tag {
                    $( $value => <$ty as $crate::wire::Record>::decode(map, envelope).map($name::$variant).map(Ok), )*
                    _ => Ok(Err(map)),
                }
            }

            #[allow(unused_variables)]
            fn unknown(tag: String, members: serde_json::Map<String, serde_json::Value>) -> Option<Self> {
                $crate::wire::tagged!(@unknown $open $name tag members)
            }
        }

        impl $crate::wire::private::serde::Serialize for $name {
            fn serialize<S: $crate::wire::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                $crate::wire::tagged!(@match $open self {
                    $( $name::$variant(value) => value.serialize(serializer), )*
                } unknown => unknown.serialize(serializer))
            }
        }

        impl<'de> $crate::wire::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::wire::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::wire::private::TagVisitor::<$name>::new())
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

    (@enum open $(#[doc = $doc:literal])* $name:ident { $( $(#[doc = $vdoc:literal])* $variant:ident($ty:ty), )* }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant)]
        pub enum $name {
            $( $(#[doc = $vdoc])* $variant($ty), )*
            /// An undeclared variant, with all of its members.
            Unknown($crate::wire::UnknownVariant),
        }
    };
    (@enum closed $(#[doc = $doc:literal])* $name:ident { $( $(#[doc = $vdoc:literal])* $variant:ident($ty:ty), )* }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant)]
        pub enum $name {
            $( $(#[doc = $vdoc])* $variant($ty), )*
        }
    };

    (@match open $self:ident { $( $name:ident::$variant:ident($value:tt) => $result:expr, )* } $unknown:ident => $other:expr) => {
        match $self { $( Self::$variant($value) => $result, )* Self::Unknown($unknown) => $other }
    };
    (@match closed $self:ident { $( $name:ident::$variant:ident($value:tt) => $result:expr, )* } $unknown:ident => $other:expr) => {
        match $self { $( Self::$variant($value) => $result, )* }
    };

    (@unknown open $name:ident $tag:ident $members:ident) => {
        Some($name::Unknown($crate::wire::UnknownVariant { tag: $tag, members: $members }))
    };
    (@unknown closed $name:ident $tag:ident $members:ident) => { None };
}

pub(crate) use tagged;
