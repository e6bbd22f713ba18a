use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::support::{Place, fails, succeeds};

#[tokio::test]
async fn a_file_and_its_directories_are_created() {
    let place = Place::new();
    let context = place.context();
    let text =
        succeeds(&context, "write", json!({"path": "notes.txt", "content": "alpha\nbeta\ngamma\n"})).await;
    assert_eq!(text, "Successfully wrote 17 bytes to notes.txt");
    let text = succeeds(&context, "write", json!({"path": "a/b/c.txt", "content": "é😀"})).await;
    assert_eq!(text, "Successfully wrote 6 bytes to a/b/c.txt");
    assert_eq!(place.content("a/b/c.txt"), "é😀".as_bytes());
    succeeds(&context, "write", json!({"path": "a/b/c.txt", "content": ""})).await;
    assert_eq!(place.content("a/b/c.txt"), b"");
    assert_eq!(place.names(), ["a", "notes.txt"]);
}

#[tokio::test]
async fn a_link_stays_and_its_target_keeps_its_mode() {
    let place = Place::new();
    let context = place.context();
    let tool = place.file("tool.sh", "old");
    fs::set_permissions(&tool, Permissions::from_mode(0o750)).unwrap();
    symlink("tool.sh", place.work().join("link")).unwrap();
    succeeds(&context, "write", json!({"path": "link", "content": "new"})).await;
    assert_eq!(fs::read(&tool).unwrap(), b"new");
    assert_eq!(fs::metadata(&tool).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(place.work().join("link").is_symlink());
    symlink("later.txt", place.work().join("dangling")).unwrap();
    succeeds(&context, "write", json!({"path": "dangling", "content": "x"})).await;
    assert_eq!(place.content("later.txt"), b"x");
}

#[tokio::test]
async fn non_regular_file_is_rejected() {
    let place = Place::new();
    let context = place.context();
    place.file("file", "");
    fs::create_dir(place.work().join("directory")).unwrap();
    for (path, words) in [
        ("directory", "is a directory"),
        ("/dev/null", "is not a regular file"),
        ("file/below", "ENOTDIR: not a directory"),
        ("", "is a directory"),
        ("a\u{0}b", "NUL byte"),
        ("/proc/nowhere", "ENOENT"),
    ] {
        let text = fails(&context, "write", json!({"path": path, "content": "x"})).await;
        assert!(text.contains(words), "{path}: {text}");
    }
}

#[tokio::test]
async fn writes_to_one_file_leave_one_of_the_contents() {
    let place = Place::new();
    let context = place.context();
    let contents: Vec<String> =
        (b'a'..=b'h').map(|letter| char::from(letter).to_string().repeat(100_000)).collect();
    futures::future::join_all(
        contents.iter().map(|content| succeeds(&context, "write", json!({"path": "f", "content": content}))),
    )
    .await;
    let written = String::from_utf8(place.content("f")).unwrap();
    assert!(contents.contains(&written));
    assert_eq!(place.names(), ["f"]);
}
