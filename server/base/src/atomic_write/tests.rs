use super::*;
use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use rustix::fs::XattrFlags;

fn options(scratch: &Path) -> Options<'_> {
    Options { scratch, mode: 0o666, exact_mode: None }
}

fn put(target: &Path, content: &str) -> Result<(), WriteError> {
    // In two pieces, as from an edit.
    let (one, two) = content.split_at(content.len() / 2);
    replace(target, &[one.as_bytes(), two.as_bytes()], &options(Path::new("/nowhere")), || Ok(()))
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn place(content: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a");
    fs::write(&file, content).unwrap();
    (directory, file)
}

#[test]
fn the_mode_is_kept_without_the_set_user_id_bit() {
    let (directory, file) = place("old");
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    for links in [1, 2] {
        put(&file, "new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o755, "{links} links");
        fs::hard_link(&file, directory.path().join("b")).unwrap_or_default();
        fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    }
    assert_eq!(names(directory.path()), ["a", "b"]);
}

#[test]
fn as_root_the_owner_stays() {
    let (_directory, file) = place("old");
    if std::os::unix::fs::chown(&file, Some(64_917), Some(64_918)).is_err() {
        eprintln!("skipped: only the superuser gives files away");
        return;
    }
    put(&file, "new").unwrap();
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (64_917, 64_918));
    assert_eq!(fs::read(&file).unwrap(), b"new");
}

#[test]
fn hard_links_stay_links() {
    let (directory, file) = place("old, and long");
    let other = directory.path().join("b");
    fs::hard_link(&file, &other).unwrap();
    for content in ["new", "", "longer than what was there before"] {
        put(&file, content).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), content);
        assert_eq!(names(directory.path()), ["a", "b"]);
    }
}

#[test]
fn extended_attributes_stay() {
    let (_directory, file) = place("old");
    if let Err(error) = rustix::fs::setxattr(&file, "user.origin", b"canary", XattrFlags::empty()) {
        eprintln!("skipped: this file system has no attributes of users ({error})");
        return;
    }
    let inode = fs::metadata(&file).unwrap().ino();
    put(&file, "new").unwrap();
    let mut value = [0; 20];
    let length = rustix::fs::getxattr(&file, "user.origin", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"canary");
    assert_ne!(fs::metadata(&file).unwrap().ino(), inode, "nothing is lost by a new file, so it is one");
}

#[test]
fn an_access_list_stays_and_that_of_the_directory_is_not_taken() {
    let (directory, file) = place("old");
    // Version 2: the owner, user 64917, the group, the mask, all others.
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in
        [(1_u16, 6_u16, u32::MAX), (2, 6, 64_917), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    const LIST: &str = "system.posix_acl_access";
    if let Err(error) = rustix::fs::setxattr(&file, LIST, &list, XattrFlags::empty()) {
        eprintln!("skipped: this file system has no access lists ({error})");
        return;
    }
    let get = || {
        let mut value = [0; 100];
        rustix::fs::getxattr(&file, LIST, &mut value[..]).map(|length| value[..length].to_vec())
    };
    let before = get().unwrap();
    put(&file, "new").unwrap();
    assert_eq!(get().unwrap(), before);
    rustix::fs::removexattr(&file, LIST).unwrap();
    rustix::fs::setxattr(directory.path(), "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
    put(&file, "newer").unwrap();
    assert!(get().is_err(), "no user has more rights than before");
}

fn fails_half_way(file: &mut dyn Write) -> io::Result<()> {
    file.write_all(b"ne")?;
    Err(rustix::io::Errno::NOSPC.into())
}

#[test]
fn fm_f87_an_interrupted_write_leaves_the_old_content_and_nothing_else() {
    let (directory, file) = place("old content");
    let before = ["a", "b"];
    for (links, names_before) in [(1, &before[..1]), (2, &before[..])] {
        let options = options(directory.path());
        let failed = replace_with(&file, &fails_half_way, &options, &mut || Ok(())).unwrap_err();
        assert!(matches!(failed, WriteError::System { call: "write", .. }), "{links}: {failed:?}");
        assert_eq!(failed.into_io().kind(), io::ErrorKind::StorageFull);
        let unwanted = replace(&file, &[b"new"], &options, || Err("aborted".to_owned())).unwrap_err();
        assert!(matches!(unwanted, WriteError::Unwanted(reason) if reason == "aborted"));
        assert_eq!(fs::read(&file).unwrap(), b"old content");
        assert_eq!(names(directory.path()), names_before);
        fs::hard_link(&file, directory.path().join("b")).unwrap_or_default();
    }
}

#[test]
fn fm_f87_while_a_file_is_written_in_place_its_old_content_is_on_the_disk() {
    let (directory, file) = place("old content");
    fs::hard_link(&file, directory.path().join("b")).unwrap();
    let seen = std::cell::RefCell::new(Vec::new());
    let looks = |new: &mut dyn Write| {
        new.write_all(b"half")?;
        // A program that is killed here leaves this file.
        let copy = names(directory.path()).into_iter().find(|name| name.ends_with(".old")).unwrap();
        assert!(copy.starts_with(".a.agentese-"), "{copy}");
        let copy = directory.path().join(copy);
        // Another process sees that the copy is in use.
        assert_eq!(in_place::abandoned_backups(directory.path(), Some(&file)), [] as [PathBuf; 0]);
        *seen.borrow_mut() = fs::read(&copy).unwrap();
        assert_eq!(fs::metadata(copy).unwrap().mode() & 0o777, 0o600);
        Ok(())
    };
    replace_with(&file, &looks, &options(directory.path()), &mut || Ok(())).unwrap();
    assert_eq!(seen.into_inner(), b"old content");
    assert_eq!(fs::read(&file).unwrap(), b"half");
    assert_eq!(names(directory.path()), ["a", "b"]);
}

#[test]
fn fm_f87_the_backup_of_an_interrupted_write_is_found_and_stays() {
    let (directory, file) = place("torn");
    let copy = directory.path().join(".a.agentese-0123456789abcdef.old");
    fs::write(&copy, "old").unwrap();
    for name in [".b.agentese-0123456789abcdef.old", ".a.agentese-0.old", "a.agentese-0123456789abcdef.old"] {
        fs::write(directory.path().join(name), "other").unwrap();
    }
    symlink("a", directory.path().join(".a.agentese-1123456789abcdef.old")).unwrap();
    assert_eq!(in_place::abandoned_backups(directory.path(), Some(&file)), std::slice::from_ref(&copy));
    assert_eq!(in_place::abandoned_backups(directory.path(), None).len(), 2);
    fs::hard_link(&file, directory.path().join("c")).unwrap();
    put(&file, "new").unwrap();
    assert_eq!((fs::read(&file).unwrap(), fs::read(&copy).unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_program_that_is_killed_leaves_no_temporary_file() {
    let (directory, file) = place("old");
    let looks = |new: &mut dyn Write| {
        new.write_all(b"new")?;
        let there = names(directory.path());
        if there == ["a"] {
            return Ok(());
        }
        // On a file system without unnamed files, the file has a name with this pattern.
        assert!(there.len() == 2 && there[0].starts_with(".agentese-") && there[0].ends_with(".tmp"));
        Ok(())
    };
    replace_with(&file, &looks, &options(directory.path()), &mut || Ok(())).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
}

#[test]
fn only_abandoned_temporary_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let make = |name: &str, time: SystemTime| {
        let file = File::create(directory.path().join(name)).unwrap();
        file.set_modified(time).unwrap();
        file
    };
    drop(make(".agentese-left.tmp", long_ago));
    drop(make(".agentese-young.tmp", SystemTime::now()));
    drop(make(".a.agentese-0.old", long_ago));
    drop(make("agentese-mine.tmp", long_ago));
    let busy = make(".agentese-busy.tmp", long_ago);
    rustix::fs::flock(&busy, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    sweep(directory.path());
    let kept = [".a.agentese-0.old", ".agentese-busy.tmp", ".agentese-young.tmp", "agentese-mine.tmp"];
    assert_eq!(names(directory.path()), kept);
}

#[test]
fn links_lead_to_their_target_even_when_it_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir(root.join("d")).unwrap();
    symlink("d/b", root.join("a")).unwrap();
    symlink("c", root.join("d/b")).unwrap();
    assert_eq!(resolve_symlinks(&root.join("a")).unwrap(), root.join("d/c"));
    symlink("loop", root.join("loop")).unwrap();
    assert!(resolve_symlinks(&root.join("loop")).is_err());
}
