//! Tests of every way in which an answer can break off, as a client observes it.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::http::{End, LONG, post, read, send, start};

/// Returns `true` if the stream provides neither further bytes nor an end. It is called after the
/// answer to a later request, which proves that enough time has passed.
fn is_silent(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0; 64]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn with(member: &str, value: Value) -> Value {
    let mut answer = json!({"blocks": [{"text": ["one", "two", "three"]}]});
    answer[member] = value;
    json!({"responses": [answer, {"text": "next"}]})
}

#[tokio::test]
async fn a_cut_answer_ends_without_its_last_chunk() {
    let model = start(with("fin_after", json!(2))).await;
    let response = post(model.address(), "/v1/messages", &json!({})).await;
    assert_eq!(response.end, End::Cut);
    assert!(response.body.contains("two") && !response.body.contains("three"), "{}", response.body);
    // By its head, the connection stays open after the response.
    assert!(!response.head.contains("connection: close"), "{}", response.head);
    assert!(post(model.address(), "/v1/messages", &json!({})).await.body.contains("next"));
}

#[tokio::test]
async fn a_dropped_answer_is_a_reset() {
    let model = start(with("drop_after", json!(1))).await;
    let response = post(model.address(), "/v1/chat/completions", &json!({})).await;
    assert_eq!(response.end, End::Reset);
    assert!(response.body.contains("one") && !response.body.contains("two"), "{}", response.body);
}

#[tokio::test]
async fn without_chunks_a_cut_looks_like_an_end() {
    let mut script = with("fin_after", json!(1));
    script["responses"][0]["chunked"] = json!(false);
    let model = start(script).await;
    let response = post(model.address(), "/v1/messages", &json!({})).await;
    assert_eq!(response.end, End::Complete);
    assert!(response.head.contains("connection: close") && !response.head.contains("chunked"));
    assert!(response.body.contains("one") && !response.body.contains("two"), "{}", response.body);
}

#[tokio::test]
async fn a_hanging_answer_sends_its_pieces_and_keeps_the_connection() {
    let model = start(with("hang_after", json!(1))).await;
    let mut stream = send(model.address(), "/v1/messages", &json!({})).await;
    let mut seen = String::new();
    while !seen.contains("one") {
        let mut bytes = [0; 4096];
        let count = tokio::time::timeout(LONG, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    assert!(!seen.contains("two"));
    // The stream provides neither further bytes nor an end.
    assert!(post(model.address(), "/v1/messages", &json!({})).await.body.contains("next"));
    assert!(is_silent(&stream));
    drop(stream);
    // The model ends its connection to a client that has disconnected.
    tokio::time::timeout(LONG, model.stop()).await.unwrap();
}

#[tokio::test]
async fn a_model_that_hangs_before_its_head_sends_nothing() {
    let model = start(with("hang_after", json!(-1))).await;
    let stream = send(model.address(), "/v1/responses", &json!({})).await;
    let asked = async {
        while model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, asked).await.unwrap();
    assert!(post(model.address(), "/v1/responses", &json!({})).await.body.contains("next"));
    assert!(is_silent(&stream));
    // Stopping the model ends connections that hang.
    tokio::time::timeout(LONG, model.stop()).await.unwrap();
    assert_eq!(read(stream).await.status, 0);
}

#[tokio::test]
async fn an_error_within_the_stream_is_its_last_event() {
    let table = [
        (
            "/v1/messages",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        ),
        (
            "/v1/chat/completions",
            "data: {\"error\":{\"type\":\"server_error\",\"message\":\"server error\",\"code\":null}}\n\n",
        ),
        (
            "/v1/responses",
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"server error\",\"param\":null}\n\n",
        ),
        (
            "/m:streamGenerateContent",
            "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n",
        ),
    ];
    for (path, wanted) in table {
        let model = start(with("stream_error_after", json!(1))).await;
        let response = post(model.address(), path, &json!({})).await;
        assert_eq!((response.status, response.end), (200, End::Complete));
        assert!(response.body.contains("one") && !response.body.contains("two"), "{}", response.body);
        assert!(response.body.ends_with(wanted), "{path}: {}", response.body);
    }
}

#[tokio::test]
async fn an_error_in_place_of_the_answer_has_status_headers_and_the_body_of_its_api() {
    let error = json!({
        "status": 529, "type": "overloaded_error", "message": "Overloaded",
        "headers": {"retry-after": "2", "x-should-retry": null},
    });
    let script = json!({"responses": [{"error": error}, {"error": error}, {"empty_error": {"status": 413}}]});
    let model = start(script).await;
    let response = post(model.address(), "/v1/messages", &json!({})).await;
    assert_eq!(response.status, 529);
    assert!(response.head.contains("retry-after: 2") && !response.head.contains("x-should-retry"));
    assert_eq!(
        response.body,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#
    );
    let response = post(model.address(), "/v1/chat/completions", &json!({})).await;
    assert_eq!(response.body, r#"{"error":{"type":"overloaded_error","message":"Overloaded","code":null}}"#);
    let response = post(model.address(), "/v1/chat/completions", &json!({})).await;
    assert_eq!((response.status, response.body.as_str()), (413, ""));
    assert!(response.head.contains("x-should-retry: false"));
}

/// A body can be cut at any byte, here in the middle of a character.
#[tokio::test]
async fn a_body_can_be_cut_at_any_byte() {
    let script = |cut: usize| json!({"responses": [{"text": "grüß", "cut_after_bytes": cut}]});
    let model = start(json!({"responses": [{"text": "grüß"}]})).await;
    let whole = post(model.address(), "/v1/chat/completions", &json!({})).await.body;
    let middle = whole.find('ü').unwrap() + 1;
    for cut in [0, 1, middle, whole.len() - 1] {
        let model = start(script(cut)).await;
        let mut stream = send(model.address(), "/v1/chat/completions", &json!({})).await;
        let mut bytes = Vec::new();
        tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let body = &bytes[head..];
        if cut == 0 {
            assert_eq!(body, b"");
            continue;
        }
        let chunk = format!("{cut:x}\r\n").into_bytes();
        let wanted = [&chunk[..], &whole.as_bytes()[..cut], b"\r\n"].concat();
        assert_eq!(body, wanted, "{cut}");
    }
}

#[tokio::test]
async fn a_response_of_any_kind_takes_the_place_of_an_answer() {
    let script = json!({"responses": [
        {"raw": {"headers": {"content-type": "text/html"}, "body": "<h1>Sign in</h1>"}},
        {"raw": {"status": 307, "headers": {"location": "http://127.0.0.1:9/"}}},
        {"raw": {"base64": "ZGF0YTog"}},
    ]});
    let model = start(script).await;
    let response = post(model.address(), "/v1/messages", &json!({})).await;
    assert_eq!((response.status, response.body.as_str()), (200, "<h1>Sign in</h1>"));
    assert!(response.head.contains("content-type: text/html"), "{}", response.head);
    let response = post(model.address(), "/v1/messages", &json!({})).await;
    assert_eq!(response.status, 307);
    assert!(response.head.contains("location: http://127.0.0.1:9/"), "{}", response.head);
    assert_eq!(post(model.address(), "/v1/messages", &json!({})).await.body, "data: ");
}

#[tokio::test]
async fn an_answer_without_its_end_or_without_figures_is_whole_for_http() {
    let table = [
        ("/v1/messages", "message_stop", "usage"),
        ("/v1/chat/completions", "[DONE]", "usage"),
        ("/v1/responses", "response.completed", "input_tokens"),
        ("/m:streamGenerateContent", "finishReason", "usageMetadata"),
    ];
    for (path, end, figures) in table {
        let script = json!({"responses": [{"text": "x", "no_end": true}, {"text": "x", "no_usage": true}]});
        let model = start(script).await;
        let cut = post(model.address(), path, &json!({})).await;
        assert_eq!(cut.end, End::Complete, "{path}");
        assert!(cut.body.contains('x') && !cut.body.contains(end), "{path}: {}", cut.body);
        let bare = post(model.address(), path, &json!({})).await;
        assert!(
            bare.body.contains(end) && !bare.body.contains(&format!("\"{figures}\":{{")),
            "{path}: {}",
            bare.body
        );
    }
}

/// Requests with unknown paths, or with bodies that are not JSON, use no response of the script.
#[tokio::test]
async fn other_http_requests_are_rejected_and_not_counted() {
    let model = start(json!({"responses": [{"text": "answer"}]})).await;
    assert_eq!(post(model.address(), "/v1/elsewhere", &json!({})).await.status, 404);
    let mut stream = TcpStream::connect(model.address()).await.unwrap();
    let request = b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{]";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request).await.unwrap();
    let response = tokio::time::timeout(LONG, read(stream)).await.unwrap();
    assert_eq!(response.status, 400);
    assert!(model.requests().is_empty());
    assert!(post(model.address(), "/v1/messages", &json!({})).await.body.contains("answer"));
}

#[tokio::test]
async fn pauses_precede_the_answer_and_each_piece() {
    let script = json!({"responses": [{"blocks": [{"text": ["a", "b"]}], "first_ms": 60, "delay_ms": 40}]});
    let model = start(script).await;
    let begin = Instant::now();
    post(model.address(), "/v1/messages", &json!({})).await;
    assert!(begin.elapsed() >= Duration::from_millis(140), "{:?}", begin.elapsed());
}
