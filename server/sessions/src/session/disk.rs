//! The disk of this machine.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::claims::{self, Key, holder};
use super::error::Holder;
use super::storage::{Claim, Identity, Storage, StoredFile};

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        if directory.is_dir() {
            return Ok(());
        }
        if let Some(above) = directory.parent() {
            self.create_directory(above)?;
        }
        match DirBuilder::new().mode(0o700).create(directory) {
            // A umask only takes away, and may take too much.
            Ok(()) => std::fs::set_permissions(directory, Permissions::from_mode(0o700)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn StoredFile>> {
        // Without the flag the opening of a pipe would wait for its other end.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).append(write).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Arc::new(file))
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        std::fs::metadata(path).map(|metadata| Identity::new(metadata.dev(), metadata.ino()))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn claim(&self, path: &Path, identity: Identity) -> io::Result<Claim> {
        claims::claim(directory(&path.canonicalize()?), Key::of_file(identity))
    }

    fn claim_holder(&self, path: &Path, identity: Identity) -> io::Result<Option<Holder>> {
        claims::claim_holder(directory(&path.canonicalize()?), Key::of_file(identity))
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

impl StoredFile for File {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut file = self;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, at)
    }

    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn last_byte(&self) -> io::Result<Option<u8>> {
        let Some(at) = self.length()?.checked_sub(1) else { return Ok(None) };
        let mut byte = [0];
        self.read_exact_at(&mut byte, at)?;
        Ok(Some(byte[0]))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self;
        file.write(bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        use rustix::io::Errno;
        match flock(self, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {
                tracing::warn!("this file system has no locks: two servers may write to one session");
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn unlock(&self) {
        let _ = flock(self, FlockOperation::Unlock);
    }

    fn holder(&self) -> Option<u32> {
        holder(self)
    }

    fn identity(&self) -> io::Result<Identity> {
        self.metadata().map(|metadata| Identity::new(metadata.dev(), metadata.ino()))
    }
}
