//! What is wrong with a settings file, for its author.

use std::path::PathBuf;

use super::text_file::TextFileError;

/// The longest settings file that is read, in bytes.
pub(super) const LIMIT: u64 = 1 << 20;

/// Something in a settings file that does not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Complaint {
    /// The file is there and cannot be read. It is left alone.
    #[error("{path}: {source}; the file is ignored", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TextFileError,
    },
    /// It is too long to be one that somebody wrote.
    #[error("{path}: longer than {LIMIT} bytes; the file is ignored", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON. It is left alone, so that its author can mend it.
    #[error("{path}: it is not JSON: {reason}; the file is ignored", path = path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// One value has the wrong form; the one before it counts.
    #[error("{path}: {key} is to be {expected}, but is {found}; it is ignored", path = path.display())]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The key, with dots between levels.
        key: String,
        /// What would count.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Keys that mean nothing here, each with the known one that it is like.
    #[error("{path}: these keys have no effect: {}", shown(keys), path = path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The keys, with dots between levels.
        keys: Vec<(String, Option<&'static str>)>,
    },
}

/// How many keys of one file are named.
const SHOWN: usize = 10;

fn shown(keys: &[(String, Option<&'static str>)]) -> String {
    let one = |(key, near): &(String, Option<&'static str>)| match near {
        Some(near) => format!("{key} (did you mean {near}?)"),
        None => key.clone(),
    };
    // Those that may be mistakes first.
    let mut all: Vec<_> = keys.iter().collect();
    all.sort_by_key(|(_, near)| near.is_none());
    let mut shown: Vec<_> = all.iter().take(SHOWN).map(|key| one(key)).collect();
    if all.len() > SHOWN {
        shown.push(format!("and {} more", all.len() - SHOWN));
    }
    shown.join(", ")
}
