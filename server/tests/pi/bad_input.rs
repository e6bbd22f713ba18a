//! Tests of lines that are not commands. Each receives a response, changes nothing, and reading continues.

use agentese::serve::Options;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

/// Sends a line, and returns the response, which must state that the line cannot be read.
async fn refused(link: &mut Link, line: &[u8]) -> Value {
    link.send_raw(line).await;
    link.send_raw(b"\n").await;
    let answer = link.next().await.unwrap();
    let shown = String::from_utf8_lossy(line);
    assert_eq!(
        (&answer["type"], &answer["command"]),
        (&json!("response"), &json!("parse")),
        "{shown}: {answer}"
    );
    assert_eq!((&answer["success"], answer.get("id")), (&json!(false), None), "{shown}: {answer}");
    assert!(answer["error"].as_str().unwrap().starts_with("Failed to parse command: "), "{shown}: {answer}");
    answer
}

#[tokio::test]
async fn fm_f07_fm_f16_fm_f19_non_object_gets_a_parse_error() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let before = link.state().await;
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let deep_object =
        format!("{{\"type\":\"get_state\",\"x\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        &b""[..],
        b"   ",
        b"\r",
        b"not json",
        b"{\"type\":\"get_state\"",
        b"{\"type\":\"get_state\"} trailing",
        b"null",
        b"42",
        b"true",
        b"\"get_state\"",
        b"[{\"type\":\"get_state\"}]",
        b"{}",
        b"\xEF\xBB\xBF{\"type\":\"get_state\"}",
        b"{\"type\":\"prompt\",\"message\":\"\xFF\"}",
        b"{\"type\":\"get_state\",\"x\":tru}",
        &deep,
        deep_object.as_bytes(),
    ] {
        refused(&mut link, line).await;
    }
    assert_eq!(link.state().await, before);
}

#[tokio::test]
async fn fm_f12_fm_f14_a_line_over_the_limit_is_refused_and_skipped() {
    let (builder, _place) = builder(json!({"responses": []}));
    let mut options = Options::default();
    options.max_line = 100;
    let mut link = Link::serving_with(builder.build(), options, 64);
    let long = format!("{{\"type\":\"prompt\",\"message\":\"{}\"}}", "x".repeat(10_000));
    refused(&mut link, long.as_bytes()).await;
    assert_eq!(link.state().await["messageCount"], 0);
}

#[tokio::test]
async fn crlf_ends_a_line_and_other_separators_do_not() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    link.send_raw(b"{\"id\":1,\"type\":\"get_state\"}\r\n").await;
    assert_eq!(link.next().await.unwrap()["id"], 1);
    link.send_raw("{\"type\":\"set_session_name\",\"name\":\"a\u{2028}b\u{2029}c\u{85}d\"}\n".as_bytes())
        .await;
    assert_eq!(link.next().await.unwrap()["success"], true);
    assert_eq!(link.state().await["sessionName"], "a\u{2028}b\u{2029}c\u{85}d");
    // White space between tokens, including a lone CR.
    link.send_raw(b"{\"id\":2,\r\"type\":\"get_state\"}\n").await;
    assert_eq!(link.next().await.unwrap()["id"], 2);
}

#[tokio::test]
async fn fm_f01_a_line_may_come_in_pieces_and_many_at_once() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let line = "{\"id\":\"ü😀\",\"type\":\"get_state\"}\n";
    for byte in line.as_bytes() {
        link.send_raw(&[*byte]).await;
    }
    assert_eq!(link.next().await.unwrap()["id"], "ü😀");
    link.send_raw(line.repeat(100).as_bytes()).await;
    for _ in 0..100 {
        assert_eq!(link.next().await.unwrap()["id"], "ü😀");
    }
}

#[tokio::test]
async fn ids_are_returned_unchanged() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    for id in ["1", "null", "true", "\"\"", "{\"a\":[1,2]}", "12345678901234567890", "1.50", "[]"] {
        link.send_raw(format!("{{\"id\":{id},\"type\":\"abort\"}}\n").as_bytes()).await;
        let answer = link.next().await.unwrap();
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
        assert_eq!(answer["success"], true);
    }
    link.send(json!({"type": "abort"})).await;
    assert_eq!(link.next().await.unwrap().get("id"), None);
}

#[tokio::test]
async fn fm_f21_unknown_commands_echo_the_id() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let answer = link.request(json!({"type": "do_magic"})).await;
    assert_eq!(
        answer,
        json!({"id": answer["id"], "type": "response", "command": "do_magic", "success": false,
               "error": "Unknown command: do_magic"})
    );
    for kind in [json!(5), Value::Null, json!("")] {
        let answer = link.request(json!({"type": kind})).await;
        assert_eq!(answer["success"], false);
    }
}

#[tokio::test]
async fn a_wrong_field_is_named_and_nothing_changes() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    let before = link.state().await;
    for (command, field) in [
        (json!({"type": "prompt"}), "message"),
        (json!({"type": "prompt", "message": 7}), "message"),
        (json!({"type": "prompt", "message": "x", "images": "nope"}), "images"),
        (json!({"type": "prompt", "message": "x", "images": [{"type": "image"}]}), "data"),
        (json!({"type": "prompt", "message": "x", "streamingBehavior": "bogus"}), "streamingBehavior"),
        (json!({"type": "steer"}), "message"),
        (json!({"type": "follow_up", "message": null}), "message"),
        (json!({"type": "set_session_name"}), "name"),
        (json!({"type": "set_session_name", "name": 7}), "name"),
        // The text is the document's; an absent value is `undefined`, as in pi.
        (json!({"type": "set_model", "provider": "x"}), "Model not found: x/undefined"),
        (json!({"type": "set_thinking_level", "level": "loud"}), "level"),
        (json!({"type": "new_session", "parentSession": 7}), "parentSession"),
        (json!({"type": "fork"}), "entryId"),
    ] {
        let answer = link.request(command.clone()).await;
        assert_eq!((&answer["success"], &answer["command"]), (&json!(false), &command["type"]));
        assert!(answer["error"].as_str().unwrap().contains(field), "{command}: {answer}");
    }
    assert_eq!(link.state().await, before);
    // Undeclared members are ignored.
    link.data(json!({"type": "set_session_name", "name": "n", "extra": {"deep": [1]}})).await;
}

#[tokio::test]
async fn fm_f128_unsupported_images_are_rejected_by_their_index() {
    const DOT: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "seen"}}));
    let image = |data: &str, mime_type: &str| json!({"type": "image", "data": data, "mimeType": mime_type});
    for (images, part) in [
        (
            json!([image(DOT, "image/png"), image("?", "image/png")]),
            "images[1]: the image data is not valid base64",
        ),
        (json!([image("AAAA", "image/png")]), "images[0]: the data is not a PNG"),
        (json!([image(DOT, "image/jpeg")]), "images[0]: the image is declared as image/jpeg"),
        (json!([image(&DOT[..60], "image/png")]), "images[0]: the image cannot be decoded"),
    ] {
        for command in ["prompt", "steer", "follow_up"] {
            let answer = link.request(json!({"type": command, "message": "look", "images": images})).await;
            let error = answer["error"].as_str().unwrap_or_default();
            assert!(answer["success"] == false && error.starts_with(part), "{command}: {answer}");
        }
    }
    assert_eq!(link.state().await["pendingMessageCount"], 0);
    link.send(json!({"type": "prompt", "message": "look", "images": [image(DOT, "image/png")]})).await;
    link.until_event("agent_end").await;
    let expected = json!([{"type": "text", "text": "look"}, image(DOT, "image/png")]);
    assert_eq!(link.messages().await[0]["content"], expected);
}
