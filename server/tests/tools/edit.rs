use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use serde_json::json;

use agentese_server::tools::{EditTool, Tool, ToolContext, ToolOutput, ToolSet};

use crate::support::{Place, call, fails, succeeds};

#[tokio::test]
async fn results_read_as_recorded() {
    let place = Place::new();
    let context = place.context();
    place.file("notes.txt", "alpha\nbeta\ngamma\n");
    let edit = json!({"path": "notes.txt", "oldText": "beta", "newText": "BETA"});
    let output = call(&context, "edit", edit.clone()).await;
    assert_eq!(output.all_text(), "Successfully replaced text in notes.txt.");
    let details = json!({"diff": " 1 alpha\n-2 beta\n+2 BETA\n 3 gamma", "firstChangedLine": 2});
    assert_eq!(output.details, Some(details));
    assert_eq!(place.content("notes.txt"), b"alpha\nBETA\ngamma\n");
    assert_eq!(
        fails(&context, "edit", edit).await,
        "Could not find the exact text in notes.txt. The old text must match exactly including all whitespace and \
         newlines."
    );
}

#[tokio::test]
async fn ambiguous_and_invalid_edits_are_rejected_without_a_change() {
    let place = Place::new();
    let context = place.context();
    place.file("a", "x y x “z” 'z' \"z\"");
    place.file("latin", b"caf\xe9 x\n");
    fs::create_dir(place.work().join("directory")).unwrap();
    symlink("/dev/null", place.work().join("null")).unwrap();
    for (path, old, new, words) in [
        ("a", "x", "q", "2 times"),
        ("a", "", "q", "oldText is empty"),
        ("a", "y", "y", "nothing was replaced"),
        ("a", "nope", "q", "Could not find the exact text in a."),
        ("latin", "x", "y", "not valid UTF-8 (at byte 3)"),
        ("missing", "x", "y", "File not found: missing"),
        ("directory", "x", "y", "not a regular file"),
        ("null", "x", "y", "not a regular file"),
    ] {
        let text = fails(&context, "edit", json!({"path": path, "oldText": old, "newText": new})).await;
        assert!(text.contains(words), "{path}: {text}");
    }
    assert_eq!(place.content("latin"), b"caf\xe9 x\n");
    assert_eq!(place.names(), ["a", "directory", "latin", "null"]);
}

#[tokio::test]
async fn fm_f85_marks_endings_and_ends_stay_as_they_are() {
    let place = Place::new();
    let context = place.context();
    for (before, old, new, after) in [
        ("\u{feff}a\r\nb\r\n", "a\nb", "c\nd\ne", "\u{feff}c\r\nd\r\ne\r\n"),
        ("\u{feff}a\r\nb\r\n", "\u{feff}a", "x", "\u{feff}x\r\nb\r\n"),
        ("a\r\nb\nc\r\nd", "b\nc", "1\n2\n3", "a\r\n1\n2\n3\r\nd"),
        ("a\nb\r\nc", "b\nc", "1\n2", "a\n1\r\n2"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("one line", "line", "l\nm", "one l\nm"),
        ("x “q” – \u{a0}y  \nz\u{a0}1", "\"q\" -", "R", "x R \u{a0}y  \nz\u{a0}1"),
        ("a\n\n\nb", "a\n", "", "\n\nb"),
        ("lone\rreturn\n", "lone\r", "x", "xreturn\n"),
    ] {
        place.file("f", before);
        succeeds(&context, "edit", json!({"path": "f", "oldText": old, "newText": new})).await;
        assert_eq!(String::from_utf8(place.content("f")).unwrap(), after, "{before:?}");
    }
}

#[tokio::test]
async fn fm_f85_a_large_file_is_edited_in_place() {
    let place = Place::new();
    let mut content = "0123456789 abcdefghij\r\n".repeat(1 << 20);
    content.insert_str(12 << 20, "needle “x”\r\n");
    let path = place.file("large", &content);
    let edit = json!({"path": "large", "oldText": "needle \"x\"\n", "newText": "found\n"});
    succeeds(&place.context(), "edit", edit).await;
    assert!(fs::read(path).unwrap() == content.replace("needle “x”", "found").as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn fm_f85_bytes_outside_the_region_are_equal(
        before in "[a-c “”\u{a0}é\r\n]{0,20}", after in "[a-c “”\u{a0}é\r\n]{0,20}", bom in any::<bool>(),
        (region, old) in prop_oneof![
            Just(("KEY", "KEY")), Just(("K “1”", "K \"1\"")), Just(("K\r\nL", "K\nL")), Just(("K \u{a0}\nL", "K\nL")),
        ],
    ) {
        let place = Place::new();
        let bom = if bom { "\u{feff}" } else { "" };
        place.file("f", [bom, &before, region, &after].concat());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let edit = json!({"path": "f", "oldText": old, "newText": "new"});
        runtime.block_on(succeeds(&place.context(), "edit", edit));
        prop_assert_eq!(String::from_utf8(place.content("f")).unwrap(), [bom, &before, "new", &after].concat());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fm_f86_concurrent_edits_of_one_file_are_all_in_it() {
    let place = Place::new();
    let context = place.context();
    place.file("f", (0..20).map(|n| format!("<{n}>\n")).collect::<String>());
    symlink("f", place.work().join("link")).unwrap();
    let edits = (0..20).map(|n| {
        let context = context.clone();
        // Two names of one file are one file.
        let path = if n % 2 == 0 { "f" } else { "link" };
        tokio::spawn(async move {
            let edit = json!({"path": path, "oldText": format!("<{n}>"), "newText": format!("[{n}]")});
            succeeds(&context, "edit", edit).await
        })
    });
    for edit in futures::future::join_all(edits).await {
        edit.unwrap();
    }
    assert_eq!(place.content("f"), (0..20).map(|n| format!("[{n}]\n")).collect::<String>().as_bytes());
    assert_eq!(place.names(), ["f", "link"]);
}

#[tokio::test]
async fn fm_f86_the_match_is_done_on_the_current_content() {
    let place = Place::new();
    let context = place.context();
    place.file("f", "old words\n");
    succeeds(&context, "read", json!({"path": "f"})).await;
    place.file("f", "other words\n");
    let edit = |old: &str| json!({"path": "f", "oldText": old, "newText": "new"});
    fails(&context, "edit", edit("old")).await;
    succeeds(&context, "edit", edit("other")).await;
    assert_eq!(place.content("f"), b"new words\n");
}

/// Calls the tool `edit` with a list of edits.
async fn list(context: &ToolContext, arguments: serde_json::Value) -> ToolOutput {
    let mut tools = ToolSet::builtin();
    tools.exchange(std::sync::Arc::new(EditTool::List));
    tools.call(context, "edit", arguments).await
}

#[tokio::test]
async fn a_list_of_replacements_is_made_as_a_whole_in_the_file_as_it_was() {
    let place = Place::new();
    let context = place.context();
    place.file("f", "\u{feff}one\r\ntwo\r\nthree\r\nfour\r\n");
    let edits = json!([
        {"oldText": "four", "newText": "4\nfive"},
        {"oldText": "one", "newText": "two"},
        {"oldText": "two\nthree", "newText": "2"},
    ]);
    let output = list(&context, json!({"path": "f", "edits": edits})).await;
    assert_eq!(output.all_text(), "Replaced 3 pieces of f.");
    let details = json!({
        "diff": "-1 one\n 2 two\n-3 three\n-4 four\n+2 2\n+3 4\n+4 five",
        "firstChangedLine": 1,
        "patch": "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-one\n two\n-three\n-four\n+2\n+4\n+five\n",
    });
    assert_eq!(output.details, Some(details));
    assert_eq!(place.content("f"), "\u{feff}two\r\n2\r\n4\r\nfive\r\n".as_bytes());
}

#[tokio::test]
async fn a_list_is_refused_as_a_whole_and_the_replacement_at_fault_is_named() {
    let place = Place::new();
    let context = place.context();
    place.file("f", "a b c b\n");
    let edit = |old: &str| json!({"oldText": old, "newText": "x"});
    for (edits, words) in [
        (json!([]), "edits is empty"),
        (json!([edit("a"), edit("nope")]), "edits[1].oldText is not in f"),
        (json!([edit("a"), edit("b")]), "edits[1].oldText is in f 2 times"),
        (json!([edit(""), edit("a")]), "edits[0].oldText is empty"),
        (json!([edit("c b"), edit("a"), edit("b c")]), "edits[0] and edits[2] overlap in f"),
        (json!([edit("a"), {"oldText": "b"}]), "edits[1] needs oldText and newText"),
        (json!([{"oldText": "a", "newText": "a"}, {"oldText": "c", "newText": "c"}]), "nothing was replaced"),
        (json!("[{\"oldText\""), "edits: must be array"),
    ] {
        let output = list(&context, json!({"path": "f", "edits": edits})).await;
        assert!(output.is_error && output.all_text().contains(words), "{edits}: {output:?}");
    }
    assert_eq!(place.content("f"), b"a b c b\n");
}

#[tokio::test]
async fn single_edits_and_encoded_lists_are_accepted_as_lists() {
    let place = Place::new();
    let context = place.context();
    let edit = json!({"oldText": "a", "newText": "x"});
    for arguments in [
        json!({"path": "f", "oldText": "a", "newText": "x"}),
        json!({"path": "f", "edits": edit}),
        json!({"path": "f", "edits": edit.to_string()}),
        json!({"path": "f", "edits": json!([edit]).to_string()}),
        json!({"path": "f", "edits": [], "oldText": "a", "newText": "x"}),
    ] {
        place.file("f", "a\n");
        let output = list(&context, arguments.clone()).await;
        assert_eq!(output.all_text(), "Replaced 1 piece of f.", "{arguments}");
        assert_eq!(place.content("f"), b"x\n");
    }
    assert_eq!(EditTool::One.normalize_arguments(json!({"edits": "[]"})), json!({"edits": "[]"}));
}

#[tokio::test]
async fn a_file_in_utf_16_keeps_its_encoding() {
    let place = Place::new();
    let context = place.context();
    for encode in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let bytes =
            |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(encode).collect::<Vec<u8>>();
        place.file("file", bytes("eins\r\nzwei ü 😀\r\ndrei\r\n"));
        let edit = json!({"path": "file", "oldText": "zwei ü", "newText": "zwei ö\nund"});
        assert_eq!(succeeds(&context, "edit", edit).await, "Successfully replaced text in file.");
        assert_eq!(place.content("file"), bytes("eins\r\nzwei ö\r\nund 😀\r\ndrei\r\n"));
        // The whole content is new, and the encoding stays.
        succeeds(&context, "write", json!({"path": "file", "content": "neu ü\n"})).await;
        assert_eq!(place.content("file"), bytes("neu ü\n"));
        // Half of a surrogate pair would be lost.
        let broken = [bytes("a"), encode(0xd83d).to_vec(), encode(u16::from(b'b')).to_vec()].concat();
        place.file("file", &broken);
        let text = fails(&context, "edit", json!({"path": "file", "oldText": "a", "newText": "b"})).await;
        assert!(text.contains("file is not valid UTF-16 (at byte 4)"), "{text}");
        assert_eq!(place.content("file"), broken);
    }
}
