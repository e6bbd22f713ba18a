//! What environment variables ask for.

use super::Environment;

/// Wishes that come with the environment, as pi reads them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `PI_OFFLINE`: nothing is fetched at the start.
    pub offline: bool,
    /// `PI_CACHE_RETENTION=long`: providers are asked to keep what they cache for longer.
    pub long_cache: bool,
}

impl Surroundings {
    /// Reads the variables; a value that means nothing counts as not set.
    pub fn read(environment: &dyn Environment) -> Self {
        let says = |name: &str, values: &[&str]| {
            let value = environment.get(name).unwrap_or_default().to_string_lossy().to_lowercase();
            values.contains(&value.as_str())
        };
        Self {
            offline: says("PI_OFFLINE", &["1", "true", "yes"]),
            long_cache: says("PI_CACHE_RETENTION", &["long"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn only_values_that_mean_something_count() {
        let read = |value: &'static str| Surroundings::read(&move |_: &str| Some(OsString::from(value)));
        assert_eq!(read("TRUE"), Surroundings { offline: true, long_cache: false });
        assert_eq!(read("long"), Surroundings { offline: false, long_cache: true });
        assert_eq!(read("0"), Surroundings::default());
        assert_eq!(Surroundings::read(&|_: &str| None), Surroundings::default());
    }
}
