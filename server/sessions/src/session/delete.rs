//! Moves to an earlier entry, and deletion of sessions.

use std::path::PathBuf;
use std::sync::Arc;

use super::disk::Disk;
use super::storage::{Storage, StoredFile, lock};
use super::store::{Scope, Store};
use super::{DeleteError, ForkError, Session, file_names, session_summary};

impl Session {
    /// Moves to an entry, so that it becomes the parent of the next entry. Later entries stay in the file as a branch.
    /// The file changes only with the next entry. Fails without a change if the entry does not exist.
    pub fn go_to(&mut self, entry: &str) -> Result<(), ForkError> {
        let position = self.tree.find(&self.entries, entry).ok_or(ForkError::Unknown)?;
        self.leaf = Some(position);
        self.reload();
        Ok(())
    }
}

impl Store {
    /// Deletes a session in the directory, with all of its files. `id` must be the whole identifier. Fails if no
    /// session has it, or if this or another process uses the session.
    pub fn delete(&self, id: &str) -> Result<(), DeleteError> {
        self.delete_in(Scope::Here, id)
    }

    /// Deletes a session as [`Store::delete`] does, in the given scope.
    pub fn delete_in(&self, scope: Scope, id: &str) -> Result<(), DeleteError> {
        if !file_names::may_be_id(id) {
            return Err(DeleteError::Unknown(id.to_owned()));
        }
        let mut files = self.files(scope);
        files.retain(|path| session_summary::header(path).is_some_and(|header| header.id() == id));
        if files.is_empty() {
            return Err(DeleteError::Unknown(id.to_owned()));
        }
        // All files are locked before the first is removed.
        let held =
            files.into_iter().map(|path| LockedFile::acquire(id, path)).collect::<Result<Vec<_>, _>>()?;
        held.into_iter().try_for_each(LockedFile::remove)
    }
}

/// A file that is locked for deletion.
struct LockedFile {
    path: PathBuf,
    file: Arc<dyn StoredFile>,
}

impl LockedFile {
    fn acquire(id: &str, path: PathBuf) -> Result<Self, DeleteError> {
        let failed = |source| DeleteError::Io { path: path.clone(), source };
        let file = Disk.open(&path, true).map_err(failed)?;
        match lock(&Disk, &path, &*file).map_err(failed)? {
            Ok(()) => Ok(Self { path, file }),
            Err(holder) => Err(DeleteError::Locked { id: id.to_owned(), holder }),
        }
    }

    fn remove(self) -> Result<(), DeleteError> {
        let removed = Disk.remove(&self.path).and_then(|()| match self.path.parent() {
            Some(directory) => Disk.sync_directory(directory),
            None => Ok(()),
        });
        removed.map_err(|source| DeleteError::Io { path: self.path.clone(), source })
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use agentese::types::{AgentMessage, InputContent, UserMessage};

    use super::*;
    use crate::runtime::{RandomIds, SystemClock};
    use crate::session::SessionOptions;

    fn message(text: &str) -> Arc<AgentMessage> {
        Arc::new(UserMessage::new(InputContent::Text(text.to_owned()), 1).into())
    }

    fn texts(session: &Session) -> Vec<String> {
        let text = |message: &Arc<AgentMessage>| match &**message {
            AgentMessage::User(UserMessage { content: InputContent::Text(text), .. }) => text.clone(),
            other => format!("{other:?}"),
        };
        session.messages().iter().map(text).collect()
    }

    fn start(directory: &Path) -> SessionOptions {
        SessionOptions::new(directory, Arc::new(SystemClock), Arc::new(RandomIds))
    }

    #[test]
    fn a_session_goes_back_in_place_and_goes_on_from_there() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::at(directory.path(), directory.path());
        let mut session = Session::create(&store, start(directory.path()));
        let first = session.append(message("a"));
        session.append(message("b"));
        let id = session.id().to_owned();
        assert!(session.go_to("nobody").is_err());
        assert_eq!(texts(&session), ["a", "b"]);
        session.go_to(first.as_str()).unwrap();
        assert_eq!((texts(&session), session.id()), (vec!["a".to_owned()], id.as_str()));
        session.append(message("c"));
        assert_eq!(texts(&session), ["a", "c"]);
        let path = session.file().unwrap().to_owned();
        drop(session);
        let again = Session::open(&path, start(directory.path())).unwrap();
        assert_eq!((texts(&again), again.entries().len()), (vec!["a".to_owned(), "c".to_owned()], 3));
    }

    #[test]
    fn a_session_is_deleted_by_its_full_id_and_only_if_unused() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::at(directory.path(), directory.path());
        std::fs::write(directory.path().join("other.txt"), "kept").unwrap();
        let mut session = Session::create(&store, start(directory.path()));
        session.append(message("a"));
        let (id, path) = (session.id().to_owned(), session.file().unwrap().to_owned());
        for wrong in ["", "..", "../x", &id[..8], "other.txt"] {
            assert!(matches!(store.delete(wrong), Err(DeleteError::Unknown(_))), "{wrong}");
        }
        assert!(matches!(store.delete(&id), Err(DeleteError::Locked { .. })));
        assert!(path.exists());
        drop(session);
        store.delete(&id).unwrap();
        assert!(!path.exists() && directory.path().join("other.txt").exists());
        assert!(matches!(store.delete(&id), Err(DeleteError::Unknown(_))));
    }
}
