//! Members that may be absent, null, or have a value.

/// A member that may be left out or be null, with the two kept apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Maybe<T> {
    /// The member was left out.
    #[default]
    Absent,
    /// The member is null.
    Null,
    /// The member has a value.
    Value(T),
}

impl<T> Maybe<T> {
    /// The value, where there is one.
    pub fn as_option(&self) -> Option<&T> {
        match self {
            Maybe::Value(value) => Some(value),
            Maybe::Absent | Maybe::Null => None,
        }
    }

    /// The value, where there is one.
    pub fn into_option(self) -> Option<T> {
        match self {
            Maybe::Value(value) => Some(value),
            Maybe::Absent | Maybe::Null => None,
        }
    }

    /// True where the member was left out.
    pub fn is_absent(&self) -> bool {
        matches!(self, Maybe::Absent)
    }

    /// A value, or null where there is none.
    pub fn or_null(value: Option<T>) -> Self {
        value.map_or(Maybe::Null, Maybe::Value)
    }
}

/// A value, or nothing at all where there is none.
impl<T> From<Option<T>> for Maybe<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Maybe::Absent, Maybe::Value)
    }
}

impl<T> From<T> for Maybe<T> {
    fn from(value: T) -> Self {
        Maybe::Value(value)
    }
}
