//! Creation and opening of sessions.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::error::OpenError;
use super::file::{FileContent, Migration, OpenedFile, SessionFile};
use super::header::{Header, VERSION};
use super::load::{Repairs, load};
use super::load_large::load_large;
use super::message_snapshot::DecodedEntries;
use super::session_writer::SessionWriter;
use super::tree::Tree;
use super::{Session, SessionOptions, Store, file_names, time};

impl Session {
    /// Creates an empty session that is only in memory.
    pub fn in_memory(options: SessionOptions) -> Self {
        let id = options.id.clone().unwrap_or_else(|| options.ids.uuid());
        let timestamp = time::iso(options.clock.now_ms());
        let header = Header::new(&id, &timestamp, &options.cwd.to_string_lossy(), options.parent.as_deref());
        Self {
            options,
            header,
            entries: Vec::new(),
            tree: Tree::default(),
            leaf: None,
            visible: Vec::new(),
            decoded_entries: DecodedEntries::default(),
            compacted_count: 0,
            repeated_system_message: None,
            edited: HashMap::new(),
            hidden: HashSet::new(),
            name: None,
            file: None,
            repairs: Repairs::default(),
            external: None,
        }
    }

    /// Creates an empty session in a store. The file is created with the first message of user or model.
    /// [`Session::file`] returns its path from the beginning.
    pub fn create(store: &Store, start: SessionOptions) -> Self {
        let mut session = Self::in_memory(start);
        session.store_in(store);
        session
    }

    /// Creates an empty session with this path. The file is created later. Fails if the path exists.
    pub fn create_at(path: &Path, start: SessionOptions) -> Result<Self, OpenError> {
        let path = start.absolute(path);
        match start.storage.identity(&path) {
            Ok(_) => return Err(OpenError::Exists { path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(OpenError::Io { path, source }),
        }
        let mut session = Self::in_memory(start);
        session.store_at(&path);
        Ok(session)
    }

    /// Opens a session file, which then no other session can use. A relative path starts in the directory of `start`. A
    /// file of an older version is replaced; its old content stays in a second file. A file of a later version is
    /// read-only. An empty file becomes an empty session. Fails, with the file unchanged, if it is not a session, is in
    /// use, or cannot be read.
    pub fn open(path: &Path, start: SessionOptions) -> Result<Self, OpenError> {
        let path = start.absolute(path);
        let OpenedFile { mut file, content } = SessionFile::open(
            path.clone(),
            start.storage.clone(),
            start.file_resources(),
            start.large_threshold,
        )?;
        let loaded = match content {
            FileContent::Bytes(bytes) => load(bytes, || start.ids.entry()),
            FileContent::Lazy(lazy_file) => load_large(lazy_file, || start.ids.entry())
                .map_err(|source| OpenError::Io { path: path.clone(), source })?,
        };
        let Some(loaded) = loaded.map_err(|reason| OpenError::NotASession { path, reason })? else {
            let mut session = Self::in_memory(start);
            session.attach_file(file);
            return Ok(session);
        };
        if let Some(cwd) = loaded.header.cwd().filter(|cwd| start.needs_directory && !Path::new(cwd).is_dir())
        {
            return Err(OpenError::NoDirectory { cwd: cwd.to_owned(), path: file.path().to_owned() });
        }
        let migration = loaded
            .migrated_from
            .map(|from| Migration { from, temporary: format!(".agentese-{}.tmp", start.ids.uuid()) });
        file.set_loaded(loaded.entries.len() + 1, loaded.tail, migration);
        if loaded.header.version() > VERSION {
            let (path, version) = (file.path().display().to_string(), loaded.header.version());
            file.forbid_writes(format!(
                "{path} has version {version}, and this program writes {VERSION}: the session is read-only"
            ));
        }
        let mut session = Self::in_memory(start);
        session.header = loaded.header;
        session.repairs = loaded.repairs;
        session.attach_file(file);
        session.replace_entries(loaded.entries);
        if session.repairs != Repairs::default() {
            tracing::warn!(file = ?session.file(), repairs = ?session.repairs, "a session file is damaged");
        }
        session.save_inline();
        Ok(session)
    }

    /// Opens the session of a file. If the file does not exist, creates a session with this path.
    pub fn open_or_create(path: &Path, start: SessionOptions) -> Result<Self, OpenError> {
        match Self::open(path, start.clone()) {
            Err(OpenError::Missing { .. }) => Self::create_at(path, start),
            other => other,
        }
    }

    pub(super) fn store_in(&mut self, store: &Store) {
        let name = file_names::session_file_name(self.header.timestamp(), self.header.id());
        self.store_at(&store.directory().join(name));
    }

    fn store_at(&mut self, path: &Path) {
        let (storage, threads) = (self.options.storage.clone(), self.options.file_resources());
        self.attach_file(SessionFile::deferred(path.to_owned(), storage, threads));
    }

    fn attach_file(&mut self, file: SessionFile) {
        self.file = Some(SessionWriter::new(file, self.options.writer_pool()));
    }
}
