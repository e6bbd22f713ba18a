use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use agentese_server::tools::{StructuredOutput, ToolContent, ToolOutput};
use base64::Engine;
use serde_json::json;

use crate::support::skip::skipped;
use crate::support::{Place, call, fails, succeeds};

#[tokio::test]
async fn results_read_as_recorded() {
    let place = Place::new();
    let context = place.context();
    place.file("notes.txt", "alpha\nBETA\ngamma\n");
    let read = |arguments| succeeds(&context, "read", arguments);
    assert_eq!(read(json!({"path": "notes.txt"})).await, "alpha\nBETA\ngamma\n");
    assert_eq!(
        read(json!({"path": "notes.txt", "offset": 2, "limit": 1})).await,
        "BETA\n\n[2 more lines in file. Use offset=3 to continue.]"
    );
    assert_eq!(read(json!({"path": "notes.txt", "offset": 3})).await, "gamma\n");
    assert_eq!(read(json!({"path": "notes.txt", "offset": 0, "limit": "9"})).await, "alpha\nBETA\ngamma\n");
    assert_eq!(read(json!({"path": "notes.txt", "offset": 4})).await, "");
    assert_eq!(
        fails(&context, "read", json!({"path": "notes.txt", "offset": 5})).await,
        "Offset 5 is past the end of the file (4 lines)"
    );
    let missing = place.work().join("missing.txt");
    assert_eq!(
        fails(&context, "read", json!({"path": "missing.txt"})).await,
        format!("ENOENT: no such file or directory, access '{}'", missing.display())
    );
    let twelve = place.work().join("12");
    assert_eq!(
        fails(&context, "read", json!({"path": 12})).await,
        format!("ENOENT: no such file or directory, access '{}'", twelve.display())
    );
    place.file("empty", "");
    assert_eq!(read(json!({"path": "empty"})).await, "");
}

#[tokio::test]
async fn long_files_are_cut_at_whole_lines_with_the_way_on() {
    let place = Place::new();
    let context = place.context();
    place.file("lines", (1..=5000).map(|n| format!("{n}\n")).collect::<String>());
    let output = call(&context, "read", json!({"path": "lines", "offset": 11})).await;
    let text = output.all_text();
    assert!(text.starts_with("11\n12\n"));
    assert!(
        text.ends_with("\n2010\n\n[Showing lines 11-2010 of 5001. Use offset=2011 to continue.]"),
        "{text}"
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!((&truncation["totalLines"], &truncation["outputLines"]), (&json!(4991), &json!(2000)));

    place.file("wide", format!("{}\n", "é".repeat(15_000)).repeat(4));
    let text = succeeds(&context, "read", json!({"path": "wide"})).await;
    assert!(text.ends_with("é\n\n[Showing lines 1-1 of 5 (50.0KB limit). Use offset=2 to continue.]"));

    let path = place.file("it's one line", "x".repeat(120_000) + "\nnext");
    let output = call(&context, "read", json!({"path": path})).await;
    let word = path.display().to_string().replace('\'', r"'\''");
    assert_eq!(
        output.all_text(),
        format!(
            "[Line 1 alone has 117.2KB, more than the 50.0KB limit. Its beginning: sed -n '1p' '{word}' | head -c 51200]"
        )
    );
    assert_eq!(output.details.unwrap()["truncation"]["firstLineExceedsLimit"], true);
}

#[tokio::test]
async fn the_limits_hold_for_bytes_that_are_no_text() {
    let place = Place::new();
    place.file("bytes", [0xff; 40_000]);
    let text = succeeds(&place.context(), "read", json!({"path": "bytes"})).await;
    assert!(text.starts_with("[Line 1 alone has "), "{text:.100}");
    place.file("latin", b"caf\xe9\n");
    assert_eq!(succeeds(&place.context(), "read", json!({"path": "latin"})).await, "caf\u{fffd}\n");
}

/// A PNG of one pixel, as in the recordings.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[tokio::test]
async fn images_are_known_by_their_content() {
    let place = Place::new();
    let context = place.context();
    place.file("dot.txt", base64::engine::general_purpose::STANDARD.decode(DOT).unwrap());
    let output = call(&context, "read", json!({"path": "dot.txt"})).await;
    let image = ToolContent::Image { data: DOT.into(), mime_type: "image/png".into() };
    let label = ToolContent::Text("Read image file [image/png]".into());
    let structured = Some(StructuredOutput::FromContent);
    let content = vec![label, image];
    assert_eq!(output, ToolOutput { content, details: None, is_error: false, took: None, structured });
    let data = output.data().unwrap();
    assert_eq!(data["note"], "Read image file [image/png]");
    assert_eq!((&data["type"], &data["data"]), (&json!("image"), &json!(DOT)));
}

#[tokio::test]
async fn large_images_are_made_smaller_unless_that_is_off() {
    let place = Place::new();
    let mut context = place.context();
    place.file("wide.png", png(2500, 10));
    let output = call(&context, "read", json!({"path": "wide.png"})).await;
    assert_eq!(
        output.all_text(),
        "Read image file [image/png]\n[The image has 2500x10 pixels and is shown with 2000x8. Multiply coordinates by \
         1.25 for the original.]"
    );
    assert_eq!((output.content.len(), output.details), (2, None));
    context.auto_resize_images = false;
    let output = call(&context, "read", json!({"path": "wide.png"})).await;
    assert_eq!((output.all_text().as_str(), output.content.len()), ("Read image file [image/png]", 2));
    context.block_images = true;
    let output = call(&context, "read", json!({"path": "wide.png"})).await;
    assert_eq!(
        output,
        ToolOutput::text(
            "Read image file [image/png]\n\n[The image is left out: the settings block images.]"
        )
    );
}

#[tokio::test]
async fn fm_f90_unsupported_image_is_reported_to_the_model() {
    let place = Place::new();
    let context = place.context();
    place.file("broken.png", &png(50, 50)[..60]);
    let text = succeeds(&context, "read", json!({"path": "broken.png"})).await;
    assert!(
        text.starts_with(
            "Read image file [image/png]\n\n[The image is left out: the image cannot be decoded: "
        ),
        "{text}"
    );
    let mut bomb = b"GIF89a\xff\xff\xff\xff\0\0\0".to_vec();
    bomb.resize(100, 0);
    place.file("bomb.gif", &bomb);
    assert_eq!(
        succeeds(&context, "read", json!({"path": "bomb.gif"})).await,
        "Read image file [image/gif]\n\n[The image is left out: the image has 65535x65535 pixels, more than can be \
         decoded; make a smaller copy and read that.]"
    );
    let sparse = File::create(place.work().join("sparse.gif")).unwrap();
    std::io::Write::write_all(&mut &sparse, b"GIF89a").unwrap();
    sparse.set_len(1 << 40).unwrap();
    let text = succeeds(&context, "read", json!({"path": "sparse.gif"})).await;
    assert!(text.contains("the file has more than 64.0MB"), "{text}");
}

#[tokio::test]
async fn fm_f84_non_regular_file_is_rejected() {
    let place = Place::new();
    let context = place.context();
    let fifo = place.work().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let _listener = UnixListener::bind(place.work().join("socket")).unwrap();
    symlink("loop", place.work().join("loop")).unwrap();
    symlink("/dev/zero", place.work().join("zero")).unwrap();
    fs::create_dir(place.work().join("directory")).unwrap();
    for (path, words) in [
        ("fifo", "is a named pipe"),
        ("socket", "is a socket"),
        ("zero", "is a device"),
        ("/dev/null", "is a device"),
        ("directory", "is a directory. Use ls"),
        ("", "is a directory. Use ls"),
        ("loop", "ELOOP: "),
        ("a\u{0}b", "NUL byte"),
        ("fifo/x", "ENOTDIR: "),
    ] {
        let text = fails(&context, "read", json!({"path": path})).await;
        assert!(text.contains(words), "{path}: {text}");
    }
    let text = succeeds(&context, "read", json!({"path": "/proc/self/status"})).await;
    assert!(text.starts_with("Name:"));
}

#[tokio::test]
async fn fm_f84_a_sparse_file_of_a_terabyte_is_refused_at_once() {
    let place = Place::new();
    File::create(place.work().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let text = fails(&place.context(), "read", json!({"path": "sparse"})).await;
    assert!(text.contains("has 1048576.0MB, more than the 256.0MB that read takes"), "{text}");
    let text =
        fails(&place.context(), "edit", json!({"path": "sparse", "oldText": "a", "newText": "b"})).await;
    assert!(text.contains("larger than the 256.0MB that edit takes"), "{text}");
}

#[tokio::test]
async fn unreadable_file_is_an_error() {
    let place = Place::new();
    let path = place.file("secret", "x");
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        return skipped("a file without read permission", "this user may read everything");
    }
    let text = fails(&place.context(), "read", json!({"path": "secret"})).await;
    assert!(text.starts_with("EACCES: permission denied"), "{text}");
}

#[tokio::test]
async fn fm_f89_f123_every_name_is_data() {
    let place = Place::new();
    let context = place.context();
    for name in
        ["-rf", "--help", "$(touch pwned)", "a;b", "`x`", "q'\"q", "new\nline", "*", "é “x”", "@at", "a b"]
    {
        succeeds(&context, "write", json!({"path": name, "content": "old"})).await;
        succeeds(&context, "edit", json!({"path": name, "oldText": "old", "newText": "new"})).await;
        assert_eq!(succeeds(&context, "read", json!({"path": name})).await, "new", "{name}");
    }
    assert_eq!(place.names().len(), 11);
}

#[tokio::test]
async fn an_abort_ends_a_read() {
    let place = Place::new();
    place.file("a", "x");
    let context = place.context();
    context.abort.cancel();
    assert_eq!(fails(&context, "read", json!({"path": "a"})).await, "Operation aborted");
    assert_eq!(fails(&context, "write", json!({"path": "a", "content": "y"})).await, "Operation aborted");
    let edit = json!({"path": "a", "oldText": "x", "newText": "y"});
    assert_eq!(fails(&context, "edit", edit).await, "Operation aborted");
    assert_eq!(place.content("a"), b"x");
    assert_eq!(place.names(), ["a"]);
}

#[tokio::test]
async fn a_file_in_utf_16_with_a_mark_is_read_as_text() {
    let place = Place::new();
    let context = place.context();
    for (name, encode) in [("le", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("be", u16::to_be_bytes)] {
        let bytes =
            |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(encode).collect::<Vec<u8>>();
        place.file(name, bytes("grün\r\n😀 two\nthree\n"));
        let read = |more: serde_json::Value| {
            let mut arguments = json!({"path": name});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            succeeds(&context, "read", arguments)
        };
        assert_eq!(read(json!({})).await, "grün\r\n😀 two\nthree\n");
        assert_eq!(
            read(json!({"offset": 2, "limit": 1})).await,
            "😀 two\n\n[2 more lines in file. Use offset=3 to continue.]"
        );
        // The text is longer than a piece of the file, is split at odd places, and ends with half of a surrogate pair.
        let long = "äx\n".repeat(60_000);
        place.file(name, [bytes(&long), encode(0xd83d).to_vec()].concat());
        let end = read(json!({"offset": 60_000})).await;
        assert_eq!(end, "äx\n\u{fffd}");
    }
    // A file without a mark is read as before.
    place.file("none", b"a\0b\0");
    assert_eq!(succeeds(&context, "read", json!({"path": "none"})).await, "a\0b\0");
}
