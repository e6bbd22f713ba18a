//! The few things that a session does with files, so that a test can let each of them fail.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::claims::{self, Key};
use super::error::Holder;

/// Tells a file from every other one, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    /// The file with that number on that device.
    pub fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }
}

/// Something that this process alone has, until it is dropped.
pub type Claim = Box<dyn Send + Sync>;

/// Files and directories.
pub trait Storage: Send + Sync {
    /// Makes a directory and those above it, for the user alone. Existing ones stay as they are.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes a file for the user alone. Fails where something has that name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;

    /// Opens a regular file to read it and, where `write` says so, to write at its end.
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn StoredFile>>;

    /// Which file has that name now.
    fn identity(&self, path: &Path) -> io::Result<Identity>;

    /// The path without symbolic links.
    fn real(&self, path: &Path) -> io::Result<PathBuf>;

    /// Gives a file a second name. Fails where something has that name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name, at once and in place of what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a directory are on the disk.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Keeps a file for this process without a lock on it. The caller has it locked, and gives it free afterwards.
    fn claim(&self, path: &Path, identity: Identity) -> io::Result<Claim>;

    /// The process that has claimed a file; none where nobody has. The caller has it locked.
    fn claimed(&self, path: &Path, identity: Identity) -> io::Result<Option<Holder>>;
}

/// An open file.
pub trait StoredFile: Send + Sync {
    /// All of it.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// What stands at a place, once; gives how many bytes were read, none at the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// How long it is.
    fn length(&self) -> io::Result<u64>;

    /// The last byte; none where it is empty.
    fn last_byte(&self) -> io::Result<Option<u8>>;

    /// Writes at the end, once; gives how many bytes were written.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts it.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Waits until its content is on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Takes it for this opener alone, until `unlock` or the end of the process; false where another
    /// has it. Files whose system has no locks are anybody's.
    fn try_lock(&self) -> io::Result<bool>;

    /// Gives it free.
    fn unlock(&self);

    /// The process that has it, where the system says so.
    fn holder(&self) -> Option<u32>;

    /// Which file it is.
    fn identity(&self) -> io::Result<Identity>;
}

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

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
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

    fn claimed(&self, path: &Path, identity: Identity) -> io::Result<Option<Holder>> {
        claims::claimed(directory(&path.canonicalize()?), Key::of_file(identity))
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Opens a file again. Fails where another one has its name now.
pub(super) fn reopen(
    storage: &dyn Storage,
    path: &Path,
    write: bool,
    identity: Identity,
) -> io::Result<Arc<dyn StoredFile>> {
    let file = storage.open(path, write)?;
    match file.identity()? == identity {
        true => Ok(file),
        false => Err(io::Error::other("another file has taken its place")),
    }
}

/// Takes a file for this process alone, or says who has it.
pub(super) fn lock(
    storage: &dyn Storage,
    path: &Path,
    file: &dyn StoredFile,
) -> io::Result<Result<(), Holder>> {
    if !file.try_lock()? {
        return Ok(Err(Holder(file.holder())));
    }
    match storage.claimed(path, file.identity()?) {
        Ok(None) => Ok(Ok(())),
        other => {
            file.unlock();
            other.map(|holder| Err(holder.unwrap_or(Holder(None))))
        }
    }
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

#[cfg(target_os = "linux")]
pub(super) fn holder(file: &File) -> Option<u32> {
    let metadata = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let number = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    // Lines as in `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let [kind, _, _, process, locked] = std::array::from_fn(|_| words.next().unwrap_or_default());
        (kind == "FLOCK" && locked == number).then(|| process.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holder(_: &File) -> Option<u32> {
    None
}
