//! Unpacking of the embedded program: into a private folder, under a name derived from its content,
//! completely or not at all.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The program; its sources are in `extensions/pi-host/`.
const PROGRAM: &[u8] = include_bytes!("agentese-pi-host.mjs");
/// The hash of the program.
const HASH: &str = include_str!("agentese-pi-host.sha256");
const NAME: &str = "agentese-pi-host.mjs";

/// Result of the unpacking.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnpackedHost {
    /// The program's file.
    pub program: PathBuf,
    /// Folder for compiled code of the program.
    pub cache: PathBuf,
}

/// Unpacks into the first usable folder. Fails with the error of each folder.
pub(super) fn unpack(folders: &[PathBuf]) -> Result<UnpackedHost, String> {
    let mut wrong = Vec::new();
    for folder in folders {
        match unpack_into(folder) {
            Ok(unpacked) => return Ok(unpacked),
            Err(error) => wrong.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(format!("their host cannot be unpacked ({})", wrong.join("; ")))
}

fn unpack_into(folder: &Path) -> io::Result<UnpackedHost> {
    create_private(folder)?;
    let own = folder.join(format!("pi-host-{}", &HASH[..16]));
    create_private(&own)?;
    let (program, cache) = (own.join(NAME), own.join("compiled"));
    create_private(&cache)?;
    // A truncated or modified file is replaced, so that only the embedded program runs.
    if fs::read(&program).is_ok_and(|found| found == PROGRAM) {
        return Ok(UnpackedHost { program, cache });
    }
    let mut file = tempfile::NamedTempFile::new_in(&own)?;
    file.write_all(PROGRAM)?;
    file.persist(&program)?;
    Ok(UnpackedHost { program, cache })
}

/// Creates a folder that only its owner can access. Fails if the folder exists and another user can write to
/// it.
fn create_private(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(folder)?;
    let mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_dir() && mine && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} must be a folder that only this user can write to", folder.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sha2::{Digest, Sha256};

    use super::*;

    fn hex(bytes: impl AsRef<[u8]>) -> String {
        bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_program() {
        assert_eq!(hex(Sha256::digest(PROGRAM)), HASH.trim());
    }

    #[test]
    fn it_is_unpacked_once_for_its_user_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("cache/agentese");
        let unpacked = unpack(std::slice::from_ref(&folder)).unwrap();
        assert_eq!(fs::read(&unpacked.program).unwrap(), PROGRAM);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let own = unpacked.program.parent().unwrap();
        assert_eq!([mode(&folder), mode(own), mode(&unpacked.cache)], [0o700; 3]);
        assert_eq!(mode(&unpacked.program), 0o600);
        let inode = fs::metadata(&unpacked.program).unwrap().ino();
        assert_eq!(unpack(&[folder]).unwrap(), unpacked);
        assert_eq!(fs::metadata(&unpacked.program).unwrap().ino(), inode);
        let names: Vec<_> = fs::read_dir(own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn a_file_that_is_another_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let folders = [directory.path().join("agentese")];
        let unpacked = unpack(&folders).unwrap();
        fs::write(&unpacked.program, "console.log('not ours')").unwrap();
        assert_eq!(unpack(&folders).unwrap(), unpacked);
        assert_eq!(fs::read(&unpacked.program).unwrap(), PROGRAM);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let (open, good) = (directory.path().join("open"), directory.path().join("good"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let unpacked = unpack(&[open.clone(), good.clone()]).unwrap();
        assert!(unpacked.program.starts_with(&good));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&good, &link).unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = unpack(&[open.clone(), link.clone(), file.clone()]).unwrap_err();
        for path in [open, link, file] {
            assert!(error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}
