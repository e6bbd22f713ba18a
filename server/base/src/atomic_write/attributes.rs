//! Attributes that a new file inherits from the file that it replaces.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Attributes that describe the old content, or that grant rights to a program. The system itself removes
/// these attributes when a file is written.
const CONTENT_ATTRIBUTES: &[&[u8]] = &[b"security.capability", b"security.ima", b"security.evm"];

/// Maximum size in bytes of a list of extended attributes (`XATTR_LIST_MAX`) and of one value
/// (`XATTR_SIZE_MAX`).
const LARGEST: usize = 64 * 1024;

/// Returns the mode without the set-user-id and set-group-id bits, because the content is new.
pub(super) fn mode(old: &Metadata) -> u32 {
    old.permissions().mode() & 0o1777
}

pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Copies the owner, the group and the extended attributes (including access lists) of the file at `target`
/// to `new`. Returns true if `new` then has all of them.
pub(super) fn copy_attributes(target: &Path, old: &Metadata, new: &File) -> bool {
    copy_owner(old, new).is_ok_and(|same| same) && copy_xattrs(target, new).is_ok_and(|same| same)
}

fn copy_owner(old: &Metadata, new: &File) -> io::Result<bool> {
    let have = new.metadata()?;
    if (have.uid(), have.gid()) == (old.uid(), old.gid()) {
        return Ok(true);
    }
    std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))?;
    Ok(true)
}

fn copy_xattrs(target: &Path, new: &File) -> io::Result<bool> {
    let mut list = vec![0; LARGEST];
    let names = |result: rustix::io::Result<usize>, list: &[u8]| -> io::Result<Vec<Vec<u8>>> {
        let length = match result {
            // This file system has no extended attributes.
            Err(Errno::NOTSUP | Errno::NOSYS) => 0,
            other => other?,
        };
        let names = list[..length].split(|byte| *byte == 0);
        Ok(names
            .filter(|name| !name.is_empty() && !CONTENT_ATTRIBUTES.contains(name))
            .map(<[u8]>::to_vec)
            .collect())
    };
    let result = rustix::fs::listxattr(target, &mut list[..]);
    let wanted = names(result, &list)?;
    let result = rustix::fs::flistxattr(new, &mut list[..]);
    let have = names(result, &list)?;
    // These attributes come from the directory.
    for name in have.iter().filter(|name| !wanted.contains(name)) {
        rustix::fs::fremovexattr(new, &name[..])?;
    }
    let mut value = vec![0; LARGEST];
    let mut there = vec![0; LARGEST];
    for name in &wanted {
        let length = rustix::fs::getxattr(target, &name[..], &mut value[..])?;
        let same = have.contains(name)
            && rustix::fs::fgetxattr(new, &name[..], &mut there[..])
                .is_ok_and(|count| there[..count] == value[..length]);
        if !same {
            rustix::fs::fsetxattr(new, &name[..], &value[..length], XattrFlags::empty())?;
        }
    }
    Ok(true)
}
