//! Creation and opening of sessions.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::error::OpenError;
use super::file::{Content, Migration, Opened, SessionFile};
use super::header::{Header, VERSION};
use super::large::load_large;
use super::load::{Repairs, load};
use super::transcript::Kept;
use super::tree::Tree;
use super::writer::Writer;
use super::{Session, Start, Store, names, time};

impl Session {
    /// Creates an empty session that is only in memory.
    pub fn in_memory(start: Start) -> Self {
        let id = start.id.clone().unwrap_or_else(|| start.ids.uuid());
        let timestamp = time::iso(start.clock.now_ms());
        let header = Header::new(&id, &timestamp, &start.cwd.to_string_lossy(), start.parent.as_deref());
        Self {
            start,
            header,
            entries: Vec::new(),
            tree: Tree::default(),
            leaf: None,
            spoken: Vec::new(),
            kept: Kept::default(),
            compacted: 0,
            told_again: None,
            edited: HashMap::new(),
            forgotten: HashSet::new(),
            name: None,
            file: None,
            repairs: Repairs::default(),
            elsewhere: None,
        }
    }

    /// Creates an empty session in a store. Its file appears with the user's first message; [`Session::file`] returns
    /// the path before.
    pub fn create(store: &Store, start: Start) -> Self {
        let mut session = Self::in_memory(start);
        session.keep_in(store);
        session
    }

    /// Creates an empty session with that file, which appears later. Fails if the path exists.
    pub fn create_at(path: &Path, start: Start) -> Result<Self, OpenError> {
        let path = start.absolute(path);
        match start.storage.identity(&path) {
            Ok(_) => return Err(OpenError::Exists { path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(OpenError::Io { path, source }),
        }
        let mut session = Self::in_memory(start);
        session.keep_at(&path);
        Ok(session)
    }

    /// Opens the session of a file, which belongs to this session alone until its end. A relative path starts in the
    /// directory of `start`. A file of an older version is replaced, and its content kept beside it. A file of a later
    /// version can be read but not written. An empty file becomes an empty session. Fails, with the file unchanged, if
    /// it is not a session, is in use, or cannot be read.
    pub fn open(path: &Path, start: Start) -> Result<Self, OpenError> {
        let path = start.absolute(path);
        let Opened { mut file, content } =
            SessionFile::open(path.clone(), start.storage.clone(), start.file_threads(), start.large)?;
        let loaded = match content {
            Content::Bytes(bytes) => load(bytes, || start.ids.entry()),
            Content::There(shelf) => load_large(shelf, || start.ids.entry())
                .map_err(|source| OpenError::Io { path: path.clone(), source })?,
        };
        let Some(loaded) = loaded.map_err(|reason| OpenError::NotASession { path, reason })? else {
            let mut session = Self::in_memory(start);
            session.write_to(file);
            return Ok(session);
        };
        if let Some(cwd) = loaded.header.cwd().filter(|cwd| start.needs_directory && !Path::new(cwd).is_dir())
        {
            return Err(OpenError::NoDirectory { cwd: cwd.to_owned(), path: file.path().to_owned() });
        }
        let migration = loaded
            .migrated_from
            .map(|from| Migration { from, temporary: format!(".agentese-{}.tmp", start.ids.uuid()) });
        file.found(loaded.entries.len() + 1, loaded.tail, migration);
        if loaded.header.version() > VERSION {
            let (path, version) = (file.path().display().to_string(), loaded.header.version());
            file.refuse(format!(
                "{path} has version {version}, this program writes {VERSION}: it can be read and not written"
            ));
        }
        let mut session = Self::in_memory(start);
        session.header = loaded.header;
        session.repairs = loaded.repairs;
        session.write_to(file);
        session.take(loaded.entries);
        if session.repairs != Repairs::default() {
            tracing::warn!(file = ?session.file(), repairs = ?session.repairs, "a session file is damaged");
        }
        session.save_here();
        Ok(session)
    }

    /// Opens the session of a file, or creates one if there is no such file.
    pub fn open_or_create(path: &Path, start: Start) -> Result<Self, OpenError> {
        match Self::open(path, start.clone()) {
            Err(OpenError::Missing { .. }) => Self::create_at(path, start),
            other => other,
        }
    }

    pub(super) fn keep_in(&mut self, store: &Store) {
        let name = names::file(self.header.timestamp(), self.header.id());
        self.keep_at(&store.directory().join(name));
    }

    fn keep_at(&mut self, path: &Path) {
        let (storage, threads) = (self.start.storage.clone(), self.start.file_threads());
        self.write_to(SessionFile::future(path.to_owned(), storage, threads));
    }

    fn write_to(&mut self, file: SessionFile) {
        self.file = Some(Writer::new(file, self.start.writers()));
    }
}
