//! Warnings about a settings file, for its author.

use std::path::PathBuf;

use super::text_file::TextFileError;

/// Maximum length of a settings file, in bytes.
pub(super) const LIMIT: u64 = 1 << 20;

/// A part of a settings file that has no effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// The file exists but cannot be read. It stays unchanged.
    #[error("{path}: {source}; the file is ignored", path = path.display())]
    Unreadable {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Reason why the file cannot be read.
        source: TextFileError,
    },
    /// The file is longer than 1 MiB, the limit for a handwritten file.
    #[error("{path}: longer than {LIMIT} bytes; the file is ignored", path = path.display())]
    TooLong {
        /// Path of the file that is too long.
        path: PathBuf,
    },
    /// The file is not JSON. It stays unchanged, so that its author can correct it.
    #[error("{path}: cannot be parsed: {reason}; the file is ignored", path = path.display())]
    NotJson {
        /// Path of the file that is not JSON.
        path: PathBuf,
        /// The error and its position.
        reason: String,
    },
    /// One value has the wrong type. It is ignored, and the setting keeps the value that it had before this
    /// file.
    #[error("{path}: {key} must be {expected}, found {found}; it is ignored", path = path.display())]
    WrongType {
        /// Path of the file with the value.
        path: PathBuf,
        /// The key, with dots between levels.
        key: String,
        /// The form that the value must have.
        expected: &'static str,
        /// The value in the file.
        found: String,
    },
    /// Keys without an effect, each with a known key of a similar name, if there is one.
    #[error("{path}: these keys have no effect: {}", shown(keys), path = path.display())]
    Unknown {
        /// Path of the file with the keys.
        path: PathBuf,
        /// The keys, with dots between levels.
        keys: Vec<(String, Option<&'static str>)>,
    },
}

/// Maximum number of keys in one warning.
const SHOWN: usize = 10;

fn shown(keys: &[(String, Option<&'static str>)]) -> String {
    let one = |(key, near): &(String, Option<&'static str>)| match near {
        Some(near) => format!("{key} (did you mean {near}?)"),
        None => key.clone(),
    };
    // Keys that may be mistakes come first.
    let mut all: Vec<_> = keys.iter().collect();
    all.sort_by_key(|(_, near)| near.is_none());
    let mut shown: Vec<_> = all.iter().take(SHOWN).map(|key| one(key)).collect();
    if all.len() > SHOWN {
        shown.push(format!("and {} more", all.len() - SHOWN));
    }
    shown.join(", ")
}
