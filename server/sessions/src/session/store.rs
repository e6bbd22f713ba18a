//! The directories in which sessions are kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::claims::{self, Key};
use super::disk::Disk;
use super::error::Holder;
use super::names;
use super::record::{Record, header};
use super::storage::{Claim, Storage};

/// Where the sessions of one working directory are, and those of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    directory: PathBuf,
    root: Option<PathBuf>,
    cwd: PathBuf,
}

/// Keeps the identifier of a session from other processes.
pub struct IdClaim {
    _claim: Claim,
}

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of the working directory.
    Here,
    /// All.
    All,
}

/// Why no session was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No session has that identifier.
    #[error("no session begins with \"{0}\"")]
    Unknown(String),
    /// It is neither an identifier nor a path.
    #[error("\"{0}\" is not a session id; a path has a slash in it or ends in .jsonl")]
    NotAnId(String),
    /// It belongs to another working directory.
    #[error("session {id} belongs to {cwd}; give its path to go on with it here: {}", .path.display())]
    Elsewhere {
        /// Its identifier.
        id: String,
        /// Its working directory.
        cwd: String,
        /// Its file.
        path: PathBuf,
    },
}

impl Store {
    /// The sessions of a working directory within an agent directory. Nothing need be there.
    pub fn new(agent_dir: &Path, cwd: &Path) -> Self {
        let root = agent_dir.join("sessions");
        Self { directory: root.join(names::directory(cwd)), root: Some(root), cwd: cwd.to_owned() }
    }

    /// As [`Store::new`], with the directory named by the way from the user's home or the one for temporary files, as
    /// users of omp know it.
    pub fn short(agent_dir: &Path, cwd: &Path, home: Option<&Path>, temp: &Path) -> Self {
        let root = agent_dir.join("sessions");
        let directory = root.join(names::short_directory(cwd, home, temp));
        Self { directory, root: Some(root), cwd: cwd.to_owned() }
    }

    /// A directory that holds the files itself, whatever their working directories are; a relative
    /// one begins in the working directory.
    pub fn at(directory: &Path, cwd: &Path) -> Self {
        Self { directory: cwd.join(directory).components().collect(), root: None, cwd: cwd.to_owned() }
    }

    /// All sessions of its agent directory in one directory, whatever their working directories are; of a directory that
    /// holds the files itself, that one.
    pub fn shared(&self, cwd: &Path) -> Self {
        Self::at(self.root.as_deref().unwrap_or(&self.directory), cwd)
    }

    /// The file of the session with that identifier, in this directory; none where there is none.
    pub fn find(&self, id: &str) -> Option<PathBuf> {
        self.find_in(Scope::Here, id)
    }

    /// As [`Store::find`], wherever the session was begun.
    pub fn find_in(&self, scope: Scope, id: &str) -> Option<PathBuf> {
        let (path, header) = find(self.files(scope), id)?;
        (header.id() == id).then_some(path)
    }

    /// The directory into which new sessions go.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes that directory where it is not there, as pi does before anything is said.
    pub fn create_directory(&self) -> std::io::Result<()> {
        Disk.create_directory(&self.directory)
    }

    /// Removes what programs left that were killed while they began a session or replaced one: empty files under
    /// the names of sessions, and temporary files, unless they are young or in use. Never fails.
    pub fn sweep(&self) {
        crate::replace::sweep(&self.directory);
        for entry in entries(&self.directory) {
            let name = entry.file_name();
            let is_empty = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0);
            if is_empty && names::is_file(&name.to_string_lossy()) && crate::replace::is_left_behind(&entry) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// The sessions, the one in which somebody spoke last first. Every file is read to its end; files
    /// that are no sessions are left out.
    pub fn list(&self, scope: Scope) -> Vec<Record> {
        let files = self.files(scope);
        let mut records: Vec<Record> = files.iter().filter_map(|path| Record::read(path)).collect();
        records
            .sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
        records
    }

    /// As [`Store::list`], for those who know sessions by their identifiers: of several files with one identifier the one
    /// that [`Store::find_in`] gives.
    pub fn list_by_id(&self, scope: Scope) -> Vec<Record> {
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

    /// Keeps an identifier for this process, until what is given is dropped or the process ends: nobody else begins a session
    /// under it meanwhile. None where the directory takes no files. Fails with whoever has it. Blocks.
    pub fn claim(&self, id: &str) -> Result<Option<IdClaim>, Holder> {
        let claimed =
            self.create_directory().and_then(|()| claims::claim_alone(&self.directory, Key::of_id(id)));
        match claimed {
            Ok(claimed) => claimed.map(|claim| Some(IdClaim { _claim: claim })),
            Err(error) => {
                tracing::warn!(%error, id, "the id of a session is not kept from other processes");
                Ok(None)
            }
        }
    }

    /// A part of the sessions, the file that was written last first. Only the files of the part are
    /// read.
    pub fn page(&self, scope: Scope, skip: usize, limit: usize) -> Vec<Record> {
        let files = self.files(scope);
        files
            .iter()
            .filter(|path| header(path).is_some())
            .skip(skip)
            .take(limit)
            .filter_map(|path| Record::read(path))
            .collect()
    }

    /// The file of the working directory that was written last.
    pub fn latest(&self) -> Option<PathBuf> {
        self.files(Scope::Here).into_iter().find(|path| header(path).is_some())
    }

    /// The file that a user means: a path where the text has a slash or ends in `.jsonl`, which need
    /// not be there; else the beginning of an identifier. A whole identifier counts before a
    /// beginning, and of several the one that was written last.
    pub fn resolve(&self, text: &str) -> Result<PathBuf, ResolveError> {
        if text.contains(['/', '\\']) || text.ends_with(".jsonl") {
            return Ok(self.cwd.join(text).components().collect());
        }
        if !names::may_be_id(text) {
            return Err(ResolveError::NotAnId(text.to_owned()));
        }
        if let Some((path, _)) = find(self.files(Scope::Here), text) {
            return Ok(path);
        }
        match find(self.files(Scope::All), text) {
            Some((path, header)) => Err(ResolveError::Elsewhere {
                id: header.id().to_owned(),
                cwd: header.cwd().unwrap_or("another directory").to_owned(),
                path,
            }),
            None => Err(ResolveError::Unknown(text.to_owned())),
        }
    }

    /// The files that may be sessions, the one that was written last first.
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
        // A link is not followed: it could lead anywhere.
        if path.extension().is_some_and(|extension| extension == "jsonl")
            && let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
    }
}
