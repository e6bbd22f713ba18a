//! The words that declarations use for types. Each is a marker that rustc resolves, so that a
//! misspelt type is refused at the very token.

use core::marker::PhantomData;

use crate::model::{Presence, Ty, TypeDef};

/// Something that has a type on the wire.
pub trait Typed {
    /// That type.
    const TY: Ty;
}

/// Something that may stand behind a member: a type, or a type that may be absent or null.
pub trait Member {
    /// Whether it has to be there, and whether it may be null.
    const PRESENCE: Presence;
    /// The type of its value.
    const MEMBER: Ty;
}

/// Something that may be the data of an answer.
pub trait Data {
    /// The type of the data, where there is any.
    const DATA: Option<Ty>;
    /// Whether the data may be null.
    const NULLABLE: bool;
}

/// A type that a row declares.
pub trait Declared {
    /// The declaration.
    const DEF: TypeDef;
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident = $ty:expr;)*) => { $(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Typed for $name { const TY: Ty = $ty; }
        impl Member for $name {
            const PRESENCE: Presence = Presence::Required;
            const MEMBER: Ty = $ty;
        }
        impl Data for $name {
            const DATA: Option<Ty> = Some($ty);
            const NULLABLE: bool = false;
        }
    )* };
}

words! {
    /// A string.
    Str = Ty::String;
    /// A boolean.
    Bool = Ty::Boolean;
    /// A whole number.
    Int = Ty::Integer;
    /// A whole number from zero.
    Count = Ty::Count;
    /// A number, kept as written.
    Num = Ty::Number;
    /// Any value.
    Any = Ty::Any;
    /// Any object.
    Object = Ty::Object;
}

/// No data at all.
#[derive(Debug)]
pub struct Nothing;
impl Data for Nothing {
    const DATA: Option<Ty> = None;
    const NULLABLE: bool = false;
}

macro_rules! wrappers {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => { $(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name<T>(PhantomData<T>);
    )* };
}

wrappers! {
    /// An array.
    List;
    /// An object with free keys.
    Map;
    /// May be left out.
    Opt;
    /// May be null.
    Nullable;
    /// May be left out or null.
    OptNull;
}

impl<T: Typed> Typed for List<T> {
    const TY: Ty = Ty::List(&T::TY);
}
impl<T: Typed> Typed for Map<T> {
    const TY: Ty = Ty::Map(&T::TY);
}
impl<T: Typed> Member for List<T> {
    const PRESENCE: Presence = Presence::Required;
    const MEMBER: Ty = Self::TY;
}
impl<T: Typed> Member for Map<T> {
    const PRESENCE: Presence = Presence::Required;
    const MEMBER: Ty = Self::TY;
}
impl<T: Typed> Data for List<T> {
    const DATA: Option<Ty> = Some(Self::TY);
    const NULLABLE: bool = false;
}
impl<T: Typed> Member for Opt<T> {
    const PRESENCE: Presence = Presence::Optional;
    const MEMBER: Ty = T::TY;
}
impl<T: Typed> Member for Nullable<T> {
    const PRESENCE: Presence = Presence::Nullable;
    const MEMBER: Ty = T::TY;
}
impl<T: Typed> Member for OptNull<T> {
    const PRESENCE: Presence = Presence::OptionalNullable;
    const MEMBER: Ty = T::TY;
}
impl<T: Typed> Data for Nullable<T> {
    const DATA: Option<Ty> = Some(T::TY);
    const NULLABLE: bool = true;
}
