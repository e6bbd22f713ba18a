//! Members that may be absent, null, or have a value.

/// A member that may be absent or null. Unlike `Option`, this type distinguishes the two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Maybe<T> {
    /// The member is absent.
    #[default]
    Absent,
    /// The member is null.
    Null,
    /// The member has a value.
    Value(T),
}

impl<T> Maybe<T> {
    /// Returns the value, or `None` if the member is absent or null.
    pub fn as_option(&self) -> Option<&T> {
        match self {
            Maybe::Value(value) => Some(value),
            Maybe::Absent | Maybe::Null => None,
        }
    }

    /// Returns the value, or `None` if the member is absent or null.
    pub fn into_option(self) -> Option<T> {
        match self {
            Maybe::Value(value) => Some(value),
            Maybe::Absent | Maybe::Null => None,
        }
    }

    /// Returns `true` if the member is absent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Maybe::Absent)
    }

    /// Converts an option. `None` becomes null.
    pub fn or_null(value: Option<T>) -> Self {
        value.map_or(Maybe::Null, Maybe::Value)
    }
}

/// Converts an option. `None` becomes [`Maybe::Absent`].
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
