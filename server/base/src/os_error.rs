//! Operating system errors in the form known to clients of the pi family.
//!
//! pi prints the message of its runtime: the symbolic code, a fixed text, the system call, the path. Clients
//! match on the code, so this module produces the same form.

use std::error::Error;
use std::io;
use std::path::Path;

use rustix::io::Errno;

/// Returns a text such as `ENOENT: no such file or directory, access '/a/b'`. If the error code is not in the
/// table, the text begins with the message of the system.
pub fn describe(error: &io::Error, call: &str, path: &Path) -> String {
    format!("{}, {call} '{}'", reason(error), path.display())
}

/// Returns the symbolic code and its fixed text, without the system call and the path.
pub fn reason(error: &io::Error) -> String {
    let known = code(error).and_then(|code| {
        TABLE
            .iter()
            .find(|(errno, ..)| errno.raw_os_error() == code)
            .map(|(_, name, text)| format!("{name}: {text}"))
    });
    known.unwrap_or_else(|| error.to_string())
}

/// Returns the error number of the system, also if a library has wrapped the error.
fn code(error: &io::Error) -> Option<i32> {
    let mut wrapped = error.get_ref().map(|wrapped| wrapped as &dyn Error);
    let mut code = error.raw_os_error();
    while let (None, Some(inner)) = (code, wrapped) {
        code = inner.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        wrapped = inner.source();
    }
    code
}

const TABLE: &[(Errno, &str, &str)] = &[
    (Errno::NOENT, "ENOENT", "no such file or directory"),
    (Errno::ACCESS, "EACCES", "permission denied"),
    (Errno::PERM, "EPERM", "operation not permitted"),
    (Errno::ISDIR, "EISDIR", "illegal operation on a directory"),
    (Errno::NOTDIR, "ENOTDIR", "not a directory"),
    (Errno::EXIST, "EEXIST", "file already exists"),
    (Errno::LOOP, "ELOOP", "too many symbolic links encountered"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (Errno::NOSPC, "ENOSPC", "no space left on device"),
    (Errno::DQUOT, "EDQUOT", "disk quota exceeded"),
    (Errno::ROFS, "EROFS", "read-only file system"),
    (Errno::FBIG, "EFBIG", "file too large"),
    (Errno::IO, "EIO", "i/o error"),
    (Errno::MFILE, "EMFILE", "too many open files"),
    (Errno::NFILE, "ENFILE", "file table overflow"),
    (Errno::NOMEM, "ENOMEM", "not enough memory"),
    (Errno::AGAIN, "EAGAIN", "resource temporarily unavailable"),
    (Errno::BUSY, "EBUSY", "resource busy or locked"),
    (Errno::TXTBSY, "ETXTBSY", "text file is busy"),
    (Errno::TOOBIG, "E2BIG", "argument list too long"),
    (Errno::NXIO, "ENXIO", "no such device or address"),
    (Errno::NOEXEC, "ENOEXEC", "not an executable file"),
    (Errno::STALE, "ESTALE", "stale file handle"),
    (Errno::INVAL, "EINVAL", "invalid argument"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_have_pis_shape() {
        let error = std::fs::File::open("/nowhere/at/all").unwrap_err();
        assert_eq!(
            describe(&error, "access", Path::new("/nowhere/at/all")),
            "ENOENT: no such file or directory, access '/nowhere/at/all'"
        );
        assert_eq!(reason(&io::Error::other("odd")), "odd");
        assert_eq!(reason(&io::Error::other(io::Error::from(Errno::MFILE))), "EMFILE: too many open files");
    }
}
