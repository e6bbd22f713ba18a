//! The type markers of the declarations. Each marker is a Rust type, so that rustc rejects a misspelt type at its own
//! token.

use core::marker::PhantomData;

use crate::model::{Presence, Ty, TypeDef};

/// A marker with a type on the wire.
pub trait WireType {
    /// The type on the wire.
    const TY: Ty;
}

/// A marker for the type of a member, possibly absent or null.
pub trait Member {
    /// Presence of the member: required, optional or nullable.
    const PRESENCE: Presence;
    /// Type of the member's value.
    const MEMBER: Ty;
}

/// A marker for the data of an answer.
pub trait Data {
    /// Type of the data; `None` if the answer has no data.
    const DATA: Option<Ty>;
    /// `true` if the data may be null.
    const NULLABLE: bool;
}

/// A type declared by a row.
pub trait DeclaredType {
    /// Declaration of the type.
    const DEF: TypeDef;
}

macro_rules! primitives {
    ($($(#[doc = $doc:literal])* $name:ident = $ty:expr;)*) => { $(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name;
        impl WireType for $name { const TY: Ty = $ty; }
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

primitives! {
    /// The type of a string.
    Str = Ty::String;
    /// The type of a boolean.
    Bool = Ty::Boolean;
    /// The type of an integer.
    Int = Ty::Integer;
    /// The type of a non-negative integer.
    Count = Ty::Count;
    /// The type of a number that is preserved as written.
    Num = Ty::Number;
    /// The type of any value.
    Any = Ty::Any;
    /// The type of any object.
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
    /// The type of an array.
    List;
    /// The type of an object with free keys.
    Map;
    /// The type of a member that may be absent.
    Opt;
    /// The type of a member that may be null.
    Nullable;
    /// The type of a member that may be absent or null.
    OptNull;
}

impl<T: WireType> WireType for List<T> {
    const TY: Ty = Ty::List(&T::TY);
}
impl<T: WireType> WireType for Map<T> {
    const TY: Ty = Ty::Map(&T::TY);
}
impl<T: WireType> Member for List<T> {
    const PRESENCE: Presence = Presence::Required;
    const MEMBER: Ty = Self::TY;
}
impl<T: WireType> Member for Map<T> {
    const PRESENCE: Presence = Presence::Required;
    const MEMBER: Ty = Self::TY;
}
impl<T: WireType> Data for List<T> {
    const DATA: Option<Ty> = Some(Self::TY);
    const NULLABLE: bool = false;
}
impl<T: WireType> Member for Opt<T> {
    const PRESENCE: Presence = Presence::Optional;
    const MEMBER: Ty = T::TY;
}
impl<T: WireType> Member for Nullable<T> {
    const PRESENCE: Presence = Presence::Nullable;
    const MEMBER: Ty = T::TY;
}
impl<T: WireType> Member for OptNull<T> {
    const PRESENCE: Presence = Presence::OptionalNullable;
    const MEMBER: Ty = T::TY;
}
impl<T: WireType> Data for Nullable<T> {
    const DATA: Option<Ty> = Some(T::TY);
    const NULLABLE: bool = true;
}
