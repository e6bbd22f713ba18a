//! The file behind a session.
//!
//! Whole lines are appended, and a thread syncs them to the disk. Lines that cannot be written stay in memory, and the
//! next entry tries to write them again. Between writes, only a limited number of files stay open. The other files are
//! closed but claimed, so that no other process uses them. The functions here block, and `writer` can call them on a
//! thread.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::appender::{Appender, LinePosition};
use super::error::{OpenError, StorageError};
use super::line_text::{LazyFile, LineText};
use super::load::Tail;
use super::storage::{Identity, Storage, StoredFile, lock};
use super::sync::SyncProgress;
use super::thread_pool::{OpenFileSlots, ThreadPool};

/// Maximum length in bytes of a file that can be opened: 4 GiB.
const LARGEST: u64 = 1 << 32;

/// Length in bytes of a file from which on the texts of its lines are not kept in memory. The texts of shorter files
/// are in memory, so that nothing is lost if another program truncates the file.
pub(super) const LARGE: u64 = 16 << 20;

/// Maximum number of attempts to open a file that another program replaces at the same time.
const ATTEMPTS: usize = 8;

/// The file of a session. It need not exist yet.
pub(super) struct SessionFile {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    open: Option<Appender>,
    /// Number of lines of the session that are in the file.
    written: usize,
    /// Migration that must be done before the next write.
    migration: Option<Migration>,
    /// Reason why the file can never be written; `None` if it can.
    read_only_reason: Option<StorageError>,
    error: Option<StorageError>,
    /// Numbers of lines whose texts are lost, so that they cannot be written again.
    lost_lines: BTreeSet<usize>,
    /// The error about the lost lines; `None` if no line is lost.
    loss_error: Option<StorageError>,
    resources: FileResources,
}

/// Threads and slots that all session files of a process share.
#[derive(Clone, Default)]
pub(super) struct FileResources {
    /// Threads that sync files to the disk. Without them, each write syncs its file.
    pub syncers: Option<Arc<ThreadPool>>,
    /// Slots for files that may stay open between writes. Without them, every file stays open.
    pub slots: Option<Arc<OpenFileSlots>>,
}

/// The pending conversion of a file to the current version.
#[derive(Debug)]
pub(super) struct Migration {
    /// Version of the old file.
    pub from: u64,
    /// Name of the file with the new content, until it is renamed to the name of the old file.
    pub temporary: String,
}

impl std::fmt::Debug for SessionFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionFile")
            .field("path", &self.path)
            .field("written", &self.written)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// The state of a file after it was opened or written.
#[derive(Debug, Clone, Default)]
pub(super) struct FileStatus {
    /// Number of lines of the session that are in the file.
    pub written: usize,
    /// Identity of the file; `None` if the file was not created or opened yet.
    pub identity: Option<Identity>,
    /// Reason why the file can never be written; `None` if it can.
    pub read_only_reason: Option<StorageError>,
    /// Reason why the file cannot be written now.
    pub error: Option<StorageError>,
    /// Progress of the sync of the written lines to the disk.
    pub sync_progress: Option<SyncProgress>,
}

/// A file after it was opened and locked, with its content.
pub(super) struct OpenedFile {
    pub file: SessionFile,
    pub content: FileContent,
}

/// The content of a file.
pub(super) enum FileContent {
    /// The whole content of the file.
    Bytes(Vec<u8>),
    /// The reader of a file that is too large for memory.
    Lazy(Arc<LazyFile>),
}

impl SessionFile {
    /// Returns a session file that the first call of [`SessionFile::write`] creates on the disk.
    pub fn deferred(path: PathBuf, storage: Arc<dyn Storage>, resources: FileResources) -> Self {
        Self {
            path,
            storage,
            open: None,
            written: 0,
            migration: None,
            read_only_reason: None,
            error: None,
            lost_lines: BTreeSet::new(),
            loss_error: None,
            resources,
        }
    }

    /// Opens and locks an existing file. A file of at least `large` bytes is not read into memory. Fails if the file
    /// does not exist, cannot be read, or is in use.
    pub fn open(
        path: PathBuf,
        storage: Arc<dyn Storage>,
        resources: FileResources,
        large: u64,
    ) -> Result<OpenedFile, OpenError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => OpenError::Missing { path: path.clone() },
            _ => OpenError::Io { path: path.clone(), source },
        };
        for _ in 0..ATTEMPTS {
            let (file, refused) = match storage.open(&path, true) {
                Err(error) if is_unwritable(&error) => {
                    let refused = format!("{} cannot be written: {error}", path.display());
                    (storage.open(&path, false).map_err(failed)?, Some(refused.into()))
                }
                other => (other.map_err(failed)?, None),
            };
            if let Err(holder) = lock(&*storage, &path, &*file).map_err(failed)? {
                return Err(OpenError::Locked { path, holder });
            }
            let identity = file.identity().map_err(failed)?;
            // Another program may have replaced the file before it was locked.
            if storage.identity(&path).map_err(failed)? != identity {
                continue;
            }
            let length = file.length().map_err(failed)?;
            if length > LARGEST {
                return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 GiB")));
            }
            let content = Self::content(&storage, &path, &file, length < large).map_err(failed)?;
            let length = match &content {
                FileContent::Bytes(bytes) => bytes.len() as u64,
                FileContent::Lazy(_) => length,
            };
            let open = Appender::new(storage.clone(), path.clone(), file, length, resources.syncers.clone());
            let mut open = open.map_err(failed)?;
            if let FileContent::Lazy(lazy_file) = &content {
                open.set_lazy_file(lazy_file.clone());
            }
            let mut file = Self::deferred(path, storage, resources);
            file.open = Some(open);
            file.error.clone_from(&refused);
            file.read_only_reason = refused;
            return Ok(OpenedFile { file, content });
        }
        Err(failed(io::Error::other("it was replaced repeatedly")))
    }

    fn content(
        storage: &Arc<dyn Storage>,
        path: &Path,
        file: &Arc<dyn StoredFile>,
        whole: bool,
    ) -> io::Result<FileContent> {
        match whole {
            true => file.read().map(FileContent::Bytes),
            false => {
                let lazy_file = LazyFile::new(storage.clone(), path.to_owned(), file.clone())?;
                Ok(FileContent::Lazy(Arc::new(lazy_file)))
            }
        }
    }

    /// Records the results of parsing an opened file: number of lines, state of the last line, and necessary migration.
    pub fn set_loaded(&mut self, lines: usize, tail: Tail, migration: Option<Migration>) {
        self.written = lines;
        self.migration = migration;
        if let Some(open) = &mut self.open {
            open.tail = tail;
            if let Tail::Torn(at) = tail {
                open.length = at;
            }
        }
    }

    /// Makes the file read-only, for the given reason.
    pub fn forbid_writes(&mut self, reason: String) {
        let reason = StorageError::from(reason);
        self.read_only_reason = Some(reason.clone());
        self.error = Some(reason);
    }

    /// Returns the path of the file, which need not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the storage of the file.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns the state of the file.
    pub fn status(&self) -> FileStatus {
        FileStatus {
            written: self.written,
            identity: self.open.as_ref().map(|open| open.identity),
            read_only_reason: self.read_only_reason.clone(),
            error: self.error.clone(),
            sync_progress: self.open.as_ref().map(|open| open.syncer.progress()),
        }
    }

    /// Writes the lines that are not yet in the file. On failure, stores the reason, and the next call tries again.
    pub fn write(&mut self, lines: &[LineText]) {
        if self.read_only_reason.is_some() {
            return;
        }
        match self.try_write(lines) {
            Ok(()) if self.loss_error.is_some() => self.error.clone_from(&self.loss_error),
            Ok(()) => {
                if self.error.take().is_some() {
                    tracing::info!(file = %self.path.display(), "the session is written again");
                }
            }
            Err(error) => {
                let waiting = lines.len() - self.written.min(lines.len());
                let path = self.path.display();
                let message = format!("{path} cannot be written, {waiting} lines wait: {error}");
                if self.error.is_none() {
                    tracing::error!("{message}");
                }
                self.error = Some(message.into());
            }
        }
    }

    /// Removes and returns the positions of lines written since the last call, with a reader of their texts.
    pub fn take_positions(&mut self) -> Option<(Vec<LinePosition>, Arc<LazyFile>)> {
        self.open.as_mut()?.take_positions()
    }

    /// Closes the file until the next write, unless a slot for a file that stays open is free.
    pub fn close_if_idle(&mut self) {
        if let (Some(open), Some(slots)) = (&mut self.open, &self.resources.slots) {
            open.close_if_idle(slots);
        }
    }

    fn try_write(&mut self, lines: &[LineText]) -> io::Result<()> {
        if self.written >= lines.len() && self.migration.is_none() {
            return Ok(());
        }
        if let Some(open) = &self.open {
            match self.storage.identity(&self.path) {
                Ok(identity) if identity == open.identity => {}
                Ok(_) => return Err(io::Error::other("another file has replaced it")),
                // The file was removed: the lines of the session make a new one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tracing::warn!(file = %self.path.display(), "the session file was removed and is written again");
                    // The texts that stay in the file are readable as long as it is open.
                    let _open = lines.iter().find_map(LineText::open);
                    self.record_lost(lines);
                    (self.open, self.written, self.migration) = (None, 0, None);
                    return self.write_missing(lines);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(migration) = &self.migration {
            let open = self.replace(migration, lines)?;
            (self.open, self.written, self.migration) = (Some(open), lines.len(), None);
            return Ok(());
        }
        if self.written > 0
            && let Some(open) = &mut self.open
            && let Some(left) = open.surviving_lines(lines, &self.lost_lines)?
        {
            tracing::warn!(file = %self.path.display(), left, "another program has truncated the session file; it is written again");
            self.written = left;
        }
        self.write_missing(lines)
    }

    /// Records the lines that are lost: their texts were only in the file, and it was removed while it was closed.
    fn record_lost(&mut self, lines: &[LineText]) {
        let missing = lines.iter().enumerate().filter(|(_, line)| line.is_file_missing());
        self.lost_lines.extend(missing.map(|(number, _)| number));
        if !self.lost_lines.is_empty() {
            let (path, lost) = (self.path.display(), self.lost_lines.len());
            let loss = format!(
                "{path} was removed, and {lost} lines of the session that existed nowhere else are lost"
            );
            tracing::error!("{loss}");
            self.loss_error = Some(loss.into());
        }
    }

    /// Writes the lines that are not yet in the file. Creates the file if it does not exist.
    fn write_missing(&mut self, lines: &[LineText]) -> io::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                self.open.insert(Appender::create(&self.storage, &self.path, self.resources.syncers.clone())?)
            }
        };
        while self.written < lines.len() {
            self.written += open.append(lines, self.written, &self.lost_lines)?;
        }
        Ok(())
    }

    /// Replaces the old file by a new file in the current version. The old file stays under a backup name.
    fn replace(&self, migration: &Migration, lines: &[LineText]) -> io::Result<Appender> {
        let path = self.storage.canonicalize(&self.path)?;
        let temporary = path.with_file_name(&migration.temporary);
        match self.storage.remove(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut open = Appender::create(&self.storage, &temporary, None)?;
        let replaced = (|| {
            let mut written = 0;
            while written < lines.len() {
                written += open.append(lines, written, &self.lost_lines)?;
            }
            if let Some(reason) = open.syncer.progress().failed() {
                return Err(io::Error::other(reason));
            }
            self.keep_backup(&path, migration.from)?;
            self.storage.rename(&temporary, &path)
        })();
        if let Err(error) = replaced {
            let _ = self.storage.remove(&temporary);
            return Err(error);
        }
        open.set_path(self.path.clone(), path, self.resources.syncers.clone());
        Ok(open)
    }

    /// Gives the file a second name as a backup. The name contains the version of the file.
    fn keep_backup(&self, path: &Path, version: u64) -> io::Result<()> {
        let identity = self.storage.identity(path)?;
        for number in 0..100 {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(if number == 0 {
                format!(".v{version}.bak")
            } else {
                format!(".v{version}.{number}.bak")
            });
            let backup = path.with_file_name(name);
            match self.storage.link(path, &backup) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // An earlier attempt that failed left this link.
                    if self.storage.identity(&backup).is_ok_and(|kept| kept == identity) {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("it has too many backups"))
    }
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
