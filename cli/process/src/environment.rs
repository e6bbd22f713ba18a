//! Environment variables of this process.

use std::ffi::OsString;

/// Returns a variable. If `HOME` is unset, which is common in services, returns the home directory from the
/// system's user database, as pi does.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| name != "HOME" || !value.is_empty()).or_else(|| {
        let users = (name == "HOME").then(|| std::fs::read_to_string("/etc/passwd").ok()).flatten()?;
        home_of(&users, rustix::process::getuid().as_raw())
    })
}

/// Returns the home directory of the user with the id `number`, from the lines of `/etc/passwd`.
fn home_of(users: &str, number: u32) -> Option<OsString> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, of, _, _, home, ..] = fields[..] else { return None };
        (of.parse() == Ok(number) && home.starts_with('/')).then(|| home.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_directory_comes_from_the_user_list() {
        let users = "root:x:0:0:root:/root:/bin/bash\n# 7\nnobody:x:65534:65534::nonexistent:/bin/false\n\
                     one:x:1000:1000:,,,:/home/one:/bin/sh\n";
        assert_eq!(home_of(users, 1000).as_deref(), Some("/home/one".as_ref()));
        assert_eq!(home_of(users, 0).as_deref(), Some("/root".as_ref()));
        assert_eq!((home_of(users, 65534), home_of(users, 7)), (None, None));
    }
}
