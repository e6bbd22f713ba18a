//! Sets of strings: the `strings!` macro.

/// Declares a set of strings. An open set keeps unknown values in `Other`.
macro_rules! strings {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident closed {
            $( $(#[doc = $vdoc:literal])* $variant:ident = $value:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[doc = $vdoc])* $variant, )*
        }

        impl $name {
            /// All values, in the order of the document.
            pub const ALL: &'static [$name] = &[ $( $name::$variant ),* ];

            /// Returns the string on the wire.
            pub const fn as_str(&self) -> &'static str {
                match self { $( $name::$variant => $value, )* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $( $value => Ok($name::$variant), )*
                    other => Err(format!("\"{other}\"{}{}", $crate::wire::NONE_OF, [$( $value ),*].join(", "))),
                }
            }
        }

        $crate::wire::strings! { @codec $name }
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident open {
            $( $(#[doc = $vdoc:literal])* $variant:ident = $value:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[doc = $vdoc])* $variant, )*
            /// The value is not declared.
            Other(String),
        }

        impl $name {
            /// Returns the string on the wire.
            pub fn as_str(&self) -> &str {
                match self { $( $name::$variant => $value, )* $name::Other(text) => text }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Ok(match text { $( $value => $name::$variant, )* other => $name::Other(other.to_owned()) })
            }
        }

        $crate::wire::strings! { @codec $name }
    };
    (@codec $name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::wire::private::serde::Serialize for $name {
            fn serialize<S: $crate::wire::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::wire::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::wire::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                struct Text;
                impl $crate::wire::private::serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a string (", stringify!($name), ")"))
                    }
                    fn visit_str<E: $crate::wire::private::serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

pub(crate) use strings;
