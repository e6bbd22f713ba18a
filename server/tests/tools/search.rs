use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use agentese_server::tools::ToolOutput;
use serde_json::json;

use crate::support::{Place, call, fails, succeeds};

fn project() -> Place {
    let place = Place::new();
    for directory in ["src/deep", "target", ".config", ".git", "-d"] {
        fs::create_dir_all(place.work().join(directory)).unwrap();
    }
    for (name, content) in [
        (".gitignore", "target\n*.log\n"),
        ("README.md", "needle in the readme\nno\nNeedle\n"),
        ("src/a.rs", "fn a() {}\n// needle\n"),
        ("src/deep/b.rs", "needle needle\n"),
        ("src/deep/c.txt", "nothing\n"),
        ("target/out.rs", "needle\n"),
        ("x.log", "needle\n"),
        (".config/hidden", "needle\n"),
        (".git/config", "needle\n"),
        ("-d/-f", "needle -e\n"),
        ("binary", "needle\0\n"),
    ] {
        place.file(name, content);
    }
    place
}

#[tokio::test]
async fn grep_finds_lines_in_the_order_of_paths() {
    let place = project();
    let context = place.context();
    let grep = |arguments| succeeds(&context, "grep", arguments);
    let all = "-d/-f:1: needle -e\n.config/hidden:1: needle\nREADME.md:1: needle in the readme\nsrc/a.rs:2: // \
               needle\nsrc/deep/b.rs:1: needle needle";
    assert_eq!(grep(json!({"pattern": "needle"})).await, all);
    assert_eq!(grep(json!({"pattern": "need.e"})).await, all);
    assert_eq!(grep(json!({"pattern": "need.e", "literal": true})).await, "No matches found");
    assert_eq!(
        grep(json!({"pattern": "^needle$", "ignoreCase": "true", "path": "README.md"})).await,
        "README.md:3: Needle"
    );
    assert_eq!(
        grep(json!({"pattern": "needle", "path": "src"})).await,
        "a.rs:2: // needle\ndeep/b.rs:1: needle needle"
    );
    assert_eq!(
        grep(json!({"pattern": "readme", "context": 1})).await,
        "README.md:1: needle in the readme\nREADME.md-2- no"
    );
    // A named file is searched even if it is ignored, and the glob does not apply.
    assert_eq!(grep(json!({"pattern": "needle", "path": "x.log", "glob": "*.rs"})).await, "x.log:1: needle");
    assert_eq!(grep(json!({"pattern": "needle", "path": "binary"})).await, "No matches found");
    let output = call(&context, "grep", json!({"pattern": "needle"})).await;
    assert_eq!(output, ToolOutput::text(all));
}

#[tokio::test]
async fn glob_selects_files() {
    let place = project();
    let context = place.context();
    for (glob, expected) in [
        ("*.rs", "src/a.rs:2: // needle\nsrc/deep/b.rs:1: needle needle"),
        ("src/*.rs", "src/a.rs:2: // needle"),
        ("**/deep/**", "src/deep/b.rs:1: needle needle"),
        ("*.{md,txt}", "README.md:1: needle in the readme"),
        ("*.log", "No matches found"),
        ("-f", "-d/-f:1: needle -e"),
        ("/README.md", "README.md:1: needle in the readme"),
    ] {
        let text = succeeds(&context, "grep", json!({"pattern": "needle", "glob": glob})).await;
        assert_eq!(text, expected, "{glob}");
    }
    let text = succeeds(&context, "grep", json!({"pattern": "needle", "glob": "!src"})).await;
    assert!(!text.contains("src/") && text.contains("README.md"), "{text}");
    let text = fails(&context, "grep", json!({"pattern": "needle", "glob": "{a"})).await;
    assert!(text.starts_with("The glob cannot be used: "), "{text}");
}

#[tokio::test]
async fn grep_reports_its_limit() {
    let place = Place::new();
    let context = place.context();
    place.file("a", "x\n".repeat(60));
    place.file("b", "x\n".repeat(60));
    let output = call(&context, "grep", json!({"pattern": "x"})).await;
    let text = output.all_text();
    assert!(
        text.ends_with(
            "\nb:40: x\n\n[Stopped after 100 matches, there are more: use limit=200, or a narrower pattern.]"
        ),
        "{text}"
    );
    assert_eq!(output.details, Some(json!({"matchLimitReached": 100})));
    assert_eq!(call(&context, "grep", json!({"pattern": "x", "limit": 120})).await.details, None);

    place.file("b", "x".repeat(600) + "\n");
    let output = call(&context, "grep", json!({"pattern": "x", "path": "b"})).await;
    assert_eq!(
        output.all_text(),
        format!(
            "b:1: {}… [cut]\n\n[Lines are cut at 500 characters; read shows them whole.]",
            "x".repeat(500)
        )
    );
    assert_eq!(output.details, Some(json!({"linesTruncated": true})));

    place.file("c", format!("{}\n", "y".repeat(500)).repeat(1000));
    let output = call(&context, "grep", json!({"pattern": "y", "limit": 500})).await;
    let details = output.details.as_ref().unwrap();
    assert_eq!(
        (
            &details["matchLimitReached"],
            &details["truncation"]["truncatedBy"],
            &details["truncation"]["totalLines"]
        ),
        (&json!(500), &json!("bytes"), &json!(500))
    );
    let text = output.all_text();
    assert!(
        text.contains("\n\n[Showing lines 1-101 of 500 (50.0KB limit). Stopped after 500 matches"),
        "{}",
        &text[51_000..]
    );
}

#[tokio::test]
async fn find_takes_names_and_paths() {
    let place = project();
    let context = place.context();
    for (pattern, expected) in [
        ("*.rs", "src/a.rs\nsrc/deep/b.rs"),
        (
            "*",
            "-d/\n-d/-f\n.config/\n.config/hidden\n.gitignore\nREADME.md\nbinary\nsrc/\nsrc/a.rs\nsrc/deep/\nsrc/deep/b.rs\nsrc/deep/c.txt",
        ),
        ("src/*", "src/a.rs\nsrc/deep/"),
        ("src/**/*.rs", "src/a.rs\nsrc/deep/b.rs"),
        ("./src/*.rs", "src/a.rs"),
        ("/README.*", "README.md"),
        ("**/deep/", "src/deep/"),
        ("d*/", "src/deep/"),
        ("[a-b].rs", "src/a.rs\nsrc/deep/b.rs"),
        ("*.log", "No files found matching pattern"),
        ("", "No files found matching pattern"),
    ] {
        assert_eq!(succeeds(&context, "find", json!({"pattern": pattern})).await, expected, "{pattern}");
    }
    assert_eq!(succeeds(&context, "find", json!({"pattern": "*.rs", "path": "target"})).await, "out.rs");
    let output = call(&context, "find", json!({"pattern": "*.rs", "limit": 1})).await;
    assert_eq!(
        output.all_text(),
        "src/a.rs\n\n[Stopped after 1 paths, there are more: use limit=2, or a narrower pattern.]"
    );
    assert_eq!(output.details, Some(json!({"resultLimitReached": 1})));
}

#[tokio::test]
async fn ls_sorts_without_regard_to_case() {
    let place = Place::new();
    let context = place.context();
    assert_eq!(succeeds(&context, "ls", json!({})).await, "(empty directory)");
    for name in ["b", "A", "a", ".hidden", "C"] {
        place.file(name, "");
    }
    fs::create_dir(place.work().join("Dir")).unwrap();
    symlink("Dir", place.work().join("link")).unwrap();
    symlink("nowhere", place.work().join("lost")).unwrap();
    let expected = ".hidden\nA\na\nb\nC\nDir/\nlink/\nlost";
    assert_eq!(call(&context, "ls", json!(null)).await, ToolOutput::text(expected));
    let output = call(&context, "ls", json!({"path": place.work(), "limit": 3})).await;
    assert_eq!(output.all_text(), ".hidden\nA\na\n\n[Stopped after 3 of 8 names: use limit=8 for all.]");
    assert_eq!(output.details, Some(json!({"entryLimitReached": 3})));
}

#[tokio::test]
async fn missing_path_is_an_error_with_its_name() {
    let place = Place::new();
    let context = place.context();
    place.file("file", "");
    let _listener = UnixListener::bind(place.work().join("socket")).unwrap();
    for (tool, path, expected) in [
        ("grep", "gone", "Path not found: gone"),
        ("find", "gone", "Path not found: gone"),
        ("ls", "gone", "Path not found: gone"),
        ("find", "file", "Not a directory: file"),
        ("ls", "file", "Not a directory: file"),
        ("grep", "socket", "socket is neither a file nor a directory; only those are searched."),
    ] {
        assert_eq!(fails(&context, tool, json!({"pattern": "x", "path": path})).await, expected);
    }
}

#[tokio::test]
async fn fm_f89_patterns_and_paths_that_look_like_options_are_data() {
    let place = project();
    let context = place.context();
    for pattern in ["-e", "--", "-", "--pre=touch x", "-f/etc/passwd", "-rf"] {
        succeeds(&context, "grep", json!({"pattern": pattern})).await;
        succeeds(&context, "find", json!({"pattern": pattern, "path": "-d"})).await;
    }
    assert_eq!(succeeds(&context, "grep", json!({"pattern": "-e", "path": "-d"})).await, "-f:1: needle -e");
    assert_eq!(
        succeeds(&context, "grep", json!({"pattern": "-e", "path": "-d/-f"})).await,
        "-f:1: needle -e"
    );
    assert_eq!(succeeds(&context, "find", json!({"pattern": "-f"})).await, "-d/-f");
    assert_eq!(succeeds(&context, "ls", json!({"path": "-d"})).await, "-f");
    // Name that many libraries interpret as standard input.
    for tool in ["grep", "find", "ls"] {
        assert_eq!(fails(&context, tool, json!({"pattern": "x", "path": "-"})).await, "Path not found: -");
    }
    place.file("-", "needle\n");
    assert_eq!(succeeds(&context, "grep", json!({"pattern": "needle", "path": "-"})).await, "-:1: needle");
}

#[tokio::test]
async fn links_are_not_followed_and_special_files_not_opened() {
    let place = project();
    let context = place.context();
    let fifo = place.work().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    symlink("/", place.work().join("root")).unwrap();
    symlink("..", place.work().join("src/up")).unwrap();
    let text = succeeds(&context, "grep", json!({"pattern": "needle", "path": "src"})).await;
    assert_eq!(text, "a.rs:2: // needle\ndeep/b.rs:1: needle needle");
    assert_eq!(succeeds(&context, "find", json!({"pattern": "up"})).await, "src/up");
    assert_eq!(succeeds(&context, "find", json!({"pattern": "fifo"})).await, "fifo");
    // A link in the path argument is followed.
    let text = succeeds(&context, "grep", json!({"pattern": "needle", "path": "src/up/README.md"})).await;
    assert_eq!(text, "README.md:1: needle in the readme");
}

#[tokio::test]
async fn line_breaks_in_file_names_are_escaped() {
    let place = Place::new();
    let context = place.context();
    place.file("a\nb", "x\n");
    assert_eq!(succeeds(&context, "find", json!({"pattern": "*"})).await, r"a\nb");
    assert_eq!(succeeds(&context, "ls", json!({})).await, r"a\nb");
    assert_eq!(succeeds(&context, "grep", json!({"pattern": "x"})).await, r"a\nb:1: x");
}

#[tokio::test]
async fn fm_f88_globs_are_linear_or_refused() {
    let place = Place::new();
    let context = place.context();
    place.file(&"a".repeat(250), "x");
    // A backtracking matcher would exceed the time limit here.
    let stars = format!("{}b", "*a".repeat(100));
    assert_eq!(
        succeeds(&context, "find", json!({"pattern": stars})).await,
        "No files found matching pattern"
    );
    let braces = format!("{}b", "{a,aa}".repeat(100));
    assert_eq!(
        succeeds(&context, "find", json!({"pattern": braces})).await,
        "No files found matching pattern"
    );
    assert_eq!(succeeds(&context, "grep", json!({"pattern": "x", "glob": stars})).await, "No matches found");
    for (tool, arguments) in [
        ("find", json!({"pattern": "*".repeat(5000)})),
        ("grep", json!({"pattern": "x", "glob": "*".repeat(5000)})),
    ] {
        assert_eq!(
            fails(&context, tool, arguments).await,
            "The glob has 4.9KB, more than the 4.0KB that can be used."
        );
    }
    assert!(fails(&context, "grep", json!({"pattern": "(x{1000}){1000}"})).await.contains("size limit"));
}

#[tokio::test]
async fn an_abort_ends_a_search() {
    let place = project();
    let context = place.context();
    context.abort.cancel();
    for tool in ["grep", "find", "ls"] {
        let text = fails(&context, tool, json!({"pattern": "x"})).await;
        assert_eq!(text, "Operation aborted");
    }
}

/// Virtual files of the kernel report no size, and reading them may block.
#[tokio::test]
async fn files_of_the_kernel_are_searched() {
    let place = Place::new();
    let context = place.context();
    let text =
        succeeds(&context, "grep", json!({"pattern": "^Name:", "path": "/proc/self", "glob": "/status"}))
            .await;
    assert!(text.starts_with("status:1: Name:"), "{text}");
}

#[tokio::test]
async fn grep_finds_lines_of_files_in_utf_16() {
    let place = Place::new();
    for (name, encode) in [("le.txt", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("be.txt", u16::to_be_bytes)] {
        let text = "\u{feff}one\nnädel two\n".encode_utf16().flat_map(encode).collect::<Vec<u8>>();
        place.file(name, text);
    }
    let found = succeeds(&place.context(), "grep", json!({"pattern": "nädel"})).await;
    assert_eq!(found, "be.txt:2: nädel two\nle.txt:2: nädel two");
}
