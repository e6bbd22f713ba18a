//! Names of session files and their directories.

use std::path::Path;

/// Maximum length of a file name in bytes.
const LONGEST: usize = 255;

/// Returns the name that pi gives to the directory for the sessions of a working directory. A name that would be too
/// long is cut and ends in a hash of the path.
pub(super) fn directory_name(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    let path = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd);
    let encoded = path.replace(['/', '\\', ':'], "-");
    let name = format!("--{encoded}--");
    if name.len() <= LONGEST {
        return name;
    }
    let tail = format!("-{:016x}--", fnv(cwd.as_bytes()));
    let mut end = LONGEST - tail.len() - 2;
    while !encoded.is_char_boundary(end) {
        end -= 1;
    }
    format!("--{}{tail}", &encoded[..end])
}

/// Returns the name that omp gives to this directory. If possible, it is relative to the home directory or to the
/// temporary directory.
pub(super) fn short_directory_name(cwd: &Path, home: Option<&Path>, temp: &Path) -> String {
    let within = |base: &Path, prefix: &str| {
        let way = cwd.strip_prefix(base).ok()?.to_string_lossy().replace(['/', '\\', ':'], "-");
        Some(if way.is_empty() { prefix.to_owned() } else { format!("{prefix}-{way}") })
    };
    // The home directory has precedence, because it may be within the one for temporary files.
    let short = home.and_then(|home| within(home, "")).or_else(|| within(temp, "-tmp"));
    short
        .map(|name| if name.is_empty() { "-".to_owned() } else { name })
        .filter(|name| name.len() <= LONGEST)
        .unwrap_or_else(|| directory_name(cwd))
}

/// Converts the name of a session to one line.
pub fn one_line(name: &str) -> String {
    name.split(['\r', '\n']).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the name of a session file, which contains the start time (ISO text) and the identifier of the session.
pub(super) fn session_file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Returns true if a file name has the form of [`session_file_name`].
pub(super) fn is_session_file_name(name: &str) -> bool {
    let parts = name.strip_suffix(".jsonl").and_then(|name| name.split_once('_'));
    parts.is_some_and(|(time, id)| {
        time.len() == "2026-01-02T03-04-05-678Z".len()
            && time.starts_with(|c: char| c.is_ascii_digit())
            && may_be_id(id)
    })
}

/// Returns true if a text can be the identifier of a session, or its beginning. It consists of letters, digits, `.`,
/// `_` and `-`, and begins with a letter or a digit. So it cannot lead out of a directory.
pub fn may_be_id(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric()) && text.bytes().all(known)
}

/// Computes the FNV-1a hash, which is the same on all systems.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f109_directories_have_valid_names() {
        for (cwd, name) in [
            ("/work-dir", "--work-dir--"),
            ("/home/some one/ä b", "--home-some one-ä b--"),
            ("C:\\Users\\x", "--C--Users-x--"),
            ("/", "----"),
            ("/con", "--con--"),
        ] {
            assert_eq!(directory_name(Path::new(cwd)), name);
        }
        let long = |last: &str| directory_name(Path::new(&format!("/{}{last}", "ä/".repeat(1365))));
        assert!((253..=255).contains(&long("x").len()), "{}", long("x").len());
        assert!(long("x").ends_with("--") && !long("x").contains('/'));
        assert_ne!(long("x"), long("y"));
        // Later versions must find the same directory.
        assert_eq!(
            directory_name(Path::new(&format!("/{}", "a".repeat(300)))),
            format!("--{}-1fd0dee1f84411d2--", "a".repeat(234))
        );
    }

    #[test]
    fn fm_f111_identifiers_lead_nowhere() {
        for id in ["11111111-2222-3333-4444-555555555555", "a", "0", "A.b_c-d"] {
            assert!(may_be_id(id), "{id}");
        }
        for id in ["", "..", "../x", "/etc/passwd", "a/b", "a\\b", "C:x", "a\0b", "-a", ".a", "ä", "a b"] {
            assert!(!may_be_id(id), "{id}");
        }
    }
}
