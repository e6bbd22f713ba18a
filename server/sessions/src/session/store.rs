//! The directories that contain session files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::claims::{self, Key};
use super::disk::Disk;
use super::error::Holder;
use super::file_names;
use super::session_summary::{SessionSummary, header};
use super::storage::{Claim, Storage};

/// The directory for the sessions of one working directory, inside the directory for all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    directory: PathBuf,
    root: Option<PathBuf>,
    cwd: PathBuf,
}

/// A reservation of a session's identifier. Dropping it ends the reservation.
pub struct IdClaim {
    _claim: Claim,
}

/// The sessions that a list or a search includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Sessions of the working directory.
    Here,
    /// All sessions.
    All,
}

/// The reason why a session was not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No session has an identifier that begins with the text.
    #[error("no session id begins with \"{0}\"")]
    Unknown(String),
    /// The text is neither an identifier nor a path.
    #[error("\"{0}\" is not a session id; a path has a slash in it or ends in .jsonl")]
    NotAnId(String),
    /// The session belongs to another working directory.
    #[error("session {id} belongs to {cwd}; to continue it here, use its path: {}", .path.display())]
    OtherDirectory {
        /// Identifier of the session.
        id: String,
        /// Working directory of the session.
        cwd: String,
        /// Path of the file.
        path: PathBuf,
    },
}

impl Store {
    /// Creates a store for a working directory. Its directory is inside the agent directory. Neither directory needs to
    /// exist.
    pub fn new(agent_dir: &Path, cwd: &Path) -> Self {
        let root = agent_dir.join("sessions");
        Self { directory: root.join(file_names::directory_name(cwd)), root: Some(root), cwd: cwd.to_owned() }
    }

    /// Creates a store as [`Store::new`] does. The name of its directory has the form of omp: relative to the user's
    /// home or to the temporary directory.
    pub fn short(agent_dir: &Path, cwd: &Path, home: Option<&Path>, temp: &Path) -> Self {
        let root = agent_dir.join("sessions");
        let directory = root.join(file_names::short_directory_name(cwd, home, temp));
        Self { directory, root: Some(root), cwd: cwd.to_owned() }
    }

    /// Creates a store whose files are directly in `directory`, for sessions of any working directory. If the path is
    /// relative, it starts in `cwd`.
    pub fn at(directory: &Path, cwd: &Path) -> Self {
        Self { directory: cwd.join(directory).components().collect(), root: None, cwd: cwd.to_owned() }
    }

    /// Creates a store whose files are directly in the directory for all sessions, for any working directory. A store
    /// made by [`Store::at`] keeps its directory.
    pub fn shared(&self, cwd: &Path) -> Self {
        Self::at(self.root.as_deref().unwrap_or(&self.directory), cwd)
    }

    /// Returns the file of a session in this directory. Returns `None` if no session has this identifier.
    pub fn find(&self, id: &str) -> Option<PathBuf> {
        self.find_in(Scope::Here, id)
    }

    /// Returns the file of a session as [`Store::find`] does, from the sessions in `scope`.
    pub fn find_in(&self, scope: Scope, id: &str) -> Option<PathBuf> {
        let (path, header) = find(self.files(scope), id)?;
        (header.id() == id).then_some(path)
    }

    /// Returns the directory for new sessions.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the directory for new sessions if it does not exist, as pi does before the first message.
    pub fn create_directory(&self) -> std::io::Result<()> {
        Disk.create_directory(&self.directory)
    }

    /// Removes files of programs that were killed while they created or migrated a session: empty session files and
    /// temporary files. Keeps files that are young or in use. Never fails.
    pub fn sweep(&self) {
        crate::atomic_write::sweep(&self.directory);
        for entry in entries(&self.directory) {
            let name = entry.file_name();
            let is_empty = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0);
            if is_empty
                && file_names::is_session_file_name(&name.to_string_lossy())
                && crate::atomic_write::is_abandoned(&entry)
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Lists the sessions by the time of their newest message, newest first. Reads each file completely. Leaves out
    /// files that are not sessions.
    pub fn list(&self, scope: Scope) -> Vec<SessionSummary> {
        let files = self.files(scope);
        let mut records: Vec<SessionSummary> =
            files.iter().filter_map(|path| SessionSummary::read(path)).collect();
        records
            .sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
        records
    }

    /// Lists the sessions as [`Store::list`] does, but each identifier only once. If several files have it, the list
    /// contains the file that [`Store::find_in`] returns.
    pub fn list_by_id(&self, scope: Scope) -> Vec<SessionSummary> {
        let mut found = HashMap::new();
        for path in self.files(scope) {
            if let Some(header) = header(&path) {
                found.entry(header.id().to_owned()).or_insert(path);
            }
        }
        let mut records = self.list(scope);
        records.retain(|record| found.get(&record.id) == Some(&record.path));
        records
    }

    /// Reserves an identifier until the returned value is dropped or the process ends. Until then, no other process can
    /// begin a session with this identifier. Returns `None` if no reservation is possible, as in a read-only directory.
    /// Fails with the process that already uses the identifier. Blocks.
    pub fn claim(&self, id: &str) -> Result<Option<IdClaim>, Holder> {
        let claimed =
            self.create_directory().and_then(|()| claims::claim_exclusive(&self.directory, Key::of_id(id)));
        match claimed {
            Ok(claimed) => claimed.map(|claim| Some(IdClaim { _claim: claim })),
            Err(error) => {
                tracing::warn!(%error, id, "the id of a session is not reserved against other processes");
                Ok(None)
            }
        }
    }

    /// Lists `limit` sessions after the first `skip` ones, in the order of the last write, newest first. Reads only the
    /// files of these sessions completely.
    pub fn page(&self, scope: Scope, skip: usize, limit: usize) -> Vec<SessionSummary> {
        let files = self.files(scope);
        files
            .iter()
            .filter(|path| header(path).is_some())
            .skip(skip)
            .take(limit)
            .filter_map(|path| SessionSummary::read(path))
            .collect()
    }

    /// Returns the session file of the working directory that was written last.
    pub fn latest(&self) -> Option<PathBuf> {
        self.files(Scope::Here).into_iter().find(|path| header(path).is_some())
    }

    /// Finds the file for a text from the user. A text that contains a slash or ends in `.jsonl` is a path, which need
    /// not exist. Any other text is an identifier or its beginning. A whole identifier takes precedence. If several
    /// sessions match, returns the one written last. Fails if no session of the working directory matches.
    pub fn resolve(&self, text: &str) -> Result<PathBuf, ResolveError> {
        if text.contains(['/', '\\']) || text.ends_with(".jsonl") {
            return Ok(self.cwd.join(text).components().collect());
        }
        if !file_names::may_be_id(text) {
            return Err(ResolveError::NotAnId(text.to_owned()));
        }
        if let Some((path, _)) = find(self.files(Scope::Here), text) {
            return Ok(path);
        }
        match find(self.files(Scope::All), text) {
            Some((path, header)) => Err(ResolveError::OtherDirectory {
                id: header.id().to_owned(),
                cwd: header.cwd().unwrap_or("another directory").to_owned(),
                path,
            }),
            None => Err(ResolveError::Unknown(text.to_owned())),
        }
    }

    /// Returns the files that can be sessions, the one written last first.
    pub(super) fn files(&self, scope: Scope) -> Vec<PathBuf> {
        let mut files = Vec::new();
        match (&self.root, scope) {
            (Some(root), Scope::All) => {
                for directory in entries(root) {
                    if directory.file_type().is_ok_and(|kind| kind.is_dir()) {
                        add_files(&directory.path(), &mut files);
                    }
                }
            }
            _ => add_files(&self.directory, &mut files),
        }
        files.sort_by(|one, other| other.cmp(one));
        files.into_iter().map(|(_, path)| path).collect()
    }
}

fn find(files: Vec<PathBuf>, text: &str) -> Option<(PathBuf, super::Header)> {
    let mut begins = None;
    for path in files {
        let Some(header) = header(&path).filter(|header| header.id().starts_with(text)) else { continue };
        if header.id() == text {
            return Some((path, header));
        }
        begins = begins.or(Some((path, header)));
    }
    begins
}

fn entries(directory: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok)
}

fn add_files(directory: &Path, files: &mut Vec<(SystemTime, PathBuf)>) {
    for entry in entries(directory) {
        let path = entry.path();
        // Links are not followed, because they could lead anywhere.
        if path.extension().is_some_and(|extension| extension == "jsonl")
            && let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
    }
}
