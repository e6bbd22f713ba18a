//! The data of answers: the `replies!` macro.

/// Declares a union of the data of all answers of a dialect.
macro_rules! replies {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $( $(#[doc = $vdoc:literal])* $variant:ident $kind:ident $( ($ty:ty) )? = $wire:literal, )*
        }
    ) => {
        $crate::wire::replies! { @enum [$(#[doc = $doc])*] $name [] $( [$(#[doc = $vdoc])*] $variant $kind $( ($ty) )?, )* }

        impl $crate::wire::Answered for $name {
            fn decode(command: &str, data: Option<&str>) -> Option<Result<Self, serde_json::Error>> {
                let data = data.unwrap_or("null");
                match command {
                    $( $wire => Some($crate::wire::replies!(@decode $name $variant data $kind $( ($ty) )?)), )*
                    _ => None,
                }
            }

            fn encode(&self) -> Result<Option<String>, serde_json::Error> {
                $crate::wire::replies!(@encode self [] $( $variant $kind, )*)
            }
        }
    };

    (@enum [$($doc:tt)*] $name:ident [$($done:tt)*]) => {
        $($doc)*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant)]
        pub enum $name { $($done)* }
    };
    (@enum [$($doc:tt)*] $name:ident [$($done:tt)*] [$($vdoc:tt)*] $variant:ident empty, $($rest:tt)*) => {
        $crate::wire::replies! { @enum [$($doc)*] $name [$($done)* $($vdoc)* $variant,] $($rest)* }
    };
    (@enum [$($doc:tt)*] $name:ident [$($done:tt)*] [$($vdoc:tt)*] $variant:ident data ($ty:ty), $($rest:tt)*) => {
        $crate::wire::replies! { @enum [$($doc)*] $name [$($done)* $($vdoc)* $variant($ty),] $($rest)* }
    };
    (@enum [$($doc:tt)*] $name:ident [$($done:tt)*] [$($vdoc:tt)*] $variant:ident nullable ($ty:ty), $($rest:tt)*) => {
        $crate::wire::replies! { @enum [$($doc)*] $name [$($done)* $($vdoc)* $variant(Option<$ty>),] $($rest)* }
    };

    (@decode $name:ident $variant:ident $data:ident empty) => { Ok($name::$variant) };
    (@decode $name:ident $variant:ident $data:ident data ($ty:ty)) => {
        $crate::wire::decode::<$ty>($data).map($name::$variant)
    };
    (@decode $name:ident $variant:ident $data:ident nullable ($ty:ty)) => {
        $crate::wire::decode::<Option<$ty>>($data).map($name::$variant)
    };

    (@encode $self:ident [$($done:tt)*]) => { match $self { $($done)* } };
    (@encode $self:ident [$($done:tt)*] $variant:ident empty, $($rest:tt)*) => {
        $crate::wire::replies!(@encode $self [$($done)* Self::$variant => Ok(None),] $($rest)*)
    };
    (@encode $self:ident [$($done:tt)*] $variant:ident $kind:ident, $($rest:tt)*) => {
        $crate::wire::replies!(@encode $self
            [$($done)* Self::$variant(data) => serde_json::to_string(data).map(Some),] $($rest)*)
    };
}

pub(crate) use replies;
