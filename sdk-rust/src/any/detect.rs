//! Detection of an agent's dialect. The client sends one harmless command in each framing and compares the
//! responses with the declarations of all dialects. An agent that rejects them as JSON-RPC receives the handshakes of
//! the protocols that have no client.

use std::io::Cursor;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::table::probe_of;
use crate::bridged::BridgedProtocol;
use crate::dynamic::CLIENTS;
use crate::error::Error;
use crate::frame::ServerFrame;
use crate::framing::FrameText;
use crate::schema::{Side, schema};
use crate::spec::{Dialect, Framing, Spec};
use crate::transport::Transport;

/// Default time limit for the first response.
pub(super) const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Time limit for the other responses after the first one.
const LATER_RESPONSES_TIMEOUT: Duration = Duration::from_millis(300);

/// Maximum number of lines read during detection.
const MAX_LINES: usize = 300;

/// Prefix of the ids of detection requests.
const PROBE_ID_PREFIX: &str = "agentese-detect-";

/// A dialect and its score.
struct Candidate {
    spec: &'static Spec,
    /// Points for frames that match the dialect, minus points for frames that do not.
    score: i32,
}

/// Result of the detection.
pub struct Detection {
    /// The tables of the dialect.
    pub spec: &'static Spec,
    /// The connection to the agent. It delivers again all frames that arrived during the detection, except
    /// the responses to the detection requests.
    pub transport: Transport,
    /// `true` if the agent answered every detection request. Otherwise, responses to these requests may still
    /// arrive. No other request has their ids, and rejections may have no id.
    pub is_answered: bool,
}

/// Detects the dialect of the agent at the other end. `first` limits the wait for the first response. Must be
/// called on a tokio runtime.
///
/// # Errors
/// [`Error::NotRecognised`] if no received frame belongs to a known dialect. [`Error::BridgeNeeded`] if the agent speaks
/// a protocol that has no client.
pub async fn detect(transport: Transport, first: Duration) -> Result<Detection, Error> {
    let Transport { reader, mut writer, child } = transport;
    let questions = probes();
    let mut text = String::new();
    for question in &questions {
        text.push_str(&question.line);
        text.push('\n');
    }
    // A write error is ignored: the output of a program that has ended can still be read.
    let written = async { writer.write_all(text.as_bytes()).await.and(writer.flush().await) };
    let _ = tokio::time::timeout(first, written).await;
    let mut reader = BufReader::new(reader);
    let mut others: Vec<u8> = Vec::new();
    let mut lines: Vec<FrameText> = Vec::new();
    let mut line = Vec::new();
    let mut has_ended;
    let mut has_sent_handshakes = false;
    let until = tokio::time::Instant::now() + first;
    loop {
        // A rejection carries little information; the response to the other request may be slow.
        let limit = if lines.iter().any(is_success) {
            until.min(tokio::time::Instant::now() + LATER_RESPONSES_TIMEOUT)
        } else {
            until
        };
        // After a timeout `line` keeps the bytes of an incomplete line.
        let read = tokio::time::timeout_at(limit, reader.read_until(b'\n', &mut line)).await;
        has_ended = matches!(read, Ok(Ok(0) | Err(_)));
        if !matches!(read, Ok(Ok(1..))) || !line.ends_with(b"\n") {
            break;
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if !has_sent_handshakes && is_rejected_probe(&text) {
            has_sent_handshakes = true;
            let requests = handshakes();
            let written = async { writer.write_all(requests.as_bytes()).await.and(writer.flush().await) };
            let _ = tokio::time::timeout_at(until, written).await;
        }
        if let Some(protocol) = bridged_protocol(&text) {
            drop(writer);
            if let Some(child) = child {
                child.shutdown().await;
            }
            return Err(protocol.error());
        }
        if is_answer(&text) {
            lines.push(FrameText::from(text));
        } else {
            if !text.is_empty() && text.starts_with('{') {
                lines.push(FrameText::from(text));
            }
            others.extend_from_slice(&line);
        }
        line.clear();
        if lines.len() >= MAX_LINES || is_conclusive(&lines, &questions) {
            break;
        }
    }
    others.append(&mut line);
    let found = best_dialect(&lines, &questions);
    let reader = Box::new(Cursor::new(others).chain(reader));
    match found {
        Some(spec) => {
            let transport = Transport { reader, writer, child };
            Ok(Detection { spec, transport, is_answered: is_conclusive(&lines, &questions) })
        }
        None => {
            let reason = match lines.first() {
                None => match (has_ended, child) {
                    (true, Some(child)) => {
                        let exit = child.shutdown().await;
                        let last = exit.stderr_tail.trim().lines().last().unwrap_or_default();
                        format!("it ended without output ({exit}): {}", crate::redact::redact_text(last))
                    }
                    (true, None) => "it ended without output".to_owned(),
                    (false, _) => format!("it sent no output within {first:?}"),
                },
                Some(line) => {
                    // Redaction precedes the cut, because half a key is not recognised as a key.
                    let shown: String = crate::redact::redact(line.as_str()).chars().take(80).collect();
                    format!("unknown output `{shown}`")
                }
            };
            Err(Error::NotRecognised { reason })
        }
    }
}

/// A command sent for detection.
struct ProbeRequest {
    id: String,
    command: String,
    line: String,
}

/// Returns the commands to send. Commands with equal framing and name are sent once.
fn probes() -> Vec<ProbeRequest> {
    let mut asked: Vec<(bool, String)> = Vec::new();
    for spec in CLIENTS {
        let Some(probe) = probe_of(spec.name) else { continue };
        let question = (is_rpc(spec), probe);
        if !asked.contains(&question) {
            asked.push(question);
        }
    }
    let line = |(place, (is_rpc, command)): (usize, (bool, String))| {
        let id = format!("{PROBE_ID_PREFIX}{place}");
        let frame = match is_rpc {
            true => json!({"jsonrpc": "2.0", "id": id, "method": command, "params": {}}),
            false => json!({"id": id, "type": command}),
        };
        ProbeRequest { id, command, line: frame.to_string() }
    };
    asked.into_iter().enumerate().map(line).collect()
}

/// Returns the handshakes of the protocols without clients, one per line.
fn handshakes() -> String {
    let line = |protocol: &BridgedProtocol| format!("{}\n", protocol.request(&handshake_id(protocol)));
    BridgedProtocol::all().iter().map(line).collect()
}

fn handshake_id(protocol: &BridgedProtocol) -> String {
    format!("{PROBE_ID_PREFIX}{}", protocol.name)
}

/// Returns `true` if a line is the rejection of a detection request in JSON-RPC.
fn is_rejected_probe(text: &str) -> bool {
    let Ok(frame) = crate::wire::decode::<Value>(text) else { return false };
    let is_probe = frame["id"].as_str().is_some_and(|id| id.starts_with(PROBE_ID_PREFIX));
    is_probe && frame["jsonrpc"] == "2.0" && !frame["error"].is_null()
}

/// Returns the protocol of the agent if a line is the answer to its handshake.
fn bridged_protocol(text: &str) -> Option<&'static BridgedProtocol> {
    let frame = crate::wire::decode::<Value>(text).ok()?;
    let mut protocols = BridgedProtocol::all().iter();
    protocols.find(|protocol| frame["id"] == *handshake_id(protocol) && protocol.is_answer(&frame))
}

fn is_rpc(spec: &Spec) -> bool {
    matches!(spec.framing, Framing::JsonRpc { .. })
}

/// Returns `true` if a line is a response to a detection request, or a failure without an id. Some agents
/// reject unknown commands without an id.
fn is_answer(text: &str) -> bool {
    let Ok(frame) = crate::wire::decode::<Value>(text) else { return false };
    let asked = frame["id"].as_str().is_some_and(|id| id.starts_with(PROBE_ID_PREFIX));
    // Events may have an `error` too.
    let fails = frame["success"] == false || !frame["error"].is_null();
    asked || frame["id"].is_null() && fails && is_response(&frame)
}

/// Returns `true` if a frame is a response to any command.
fn is_response(frame: &Value) -> bool {
    frame["type"] == "response" || frame["jsonrpc"] == "2.0" && frame.get("method").is_none()
}

/// Returns `true` if a line is a successful response.
fn is_success(line: &FrameText) -> bool {
    let frame = crate::wire::decode::<Value>(line.as_str()).unwrap_or_default();
    frame["success"] == true || !frame["result"].is_null()
}

/// Returns `true` if at least one request succeeded and as many responses as requests arrived.
fn is_conclusive(lines: &[FrameText], questions: &[ProbeRequest]) -> bool {
    let frames: Vec<Value> =
        lines.iter().filter_map(|line| crate::wire::decode(line.as_str()).ok()).collect();
    let good = lines.iter().any(is_success);
    good && frames.iter().filter(|frame| is_response(frame)).count() >= questions.len()
}

/// Returns the dialect with the best score, or `None` if no dialect matches.
fn best_dialect(lines: &[FrameText], questions: &[ProbeRequest]) -> Option<&'static Spec> {
    let mut best: Option<Candidate> = None;
    for spec in CLIENTS {
        let score = lines.iter().map(|line| score(spec, line, questions)).sum();
        // If no frame distinguishes a dialect from its base dialect, the base dialect is selected.
        if score > 0 && best.as_ref().is_none_or(|best| score > best.score) {
            best = Some(Candidate { spec, score });
        }
    }
    best.map(|best| best.spec)
}

/// Returns the points of a line for a dialect.
fn score(spec: &'static Spec, line: &FrameText, questions: &[ProbeRequest]) -> i32 {
    let Ok(frame) = crate::wire::decode::<Value>(line.as_str()) else { return 0 };
    if (frame["jsonrpc"] == "2.0") != is_rpc(spec) {
        return -10;
    }
    let asked = questions.iter().find(|question| frame["id"] == *question.id);
    let asked = asked.map(|question| question.command.as_str());
    match classify(spec, line, asked) {
        // A response without id and command reports an unknown line, in any dialect.
        Ok(LineKind::Failure) => 0,
        Ok(LineKind::Answer) => {
            let data = if is_rpc(spec) { &frame["result"] } else { &frame["data"] };
            let strange = undeclared(spec, asked.unwrap_or_default(), data);
            10 - 2 * i32::try_from(strange).unwrap_or(i32::MAX / 4)
        }
        Ok(LineKind::Known) => 3,
        Ok(LineKind::Unknown) => 0,
        Err(()) => -5,
    }
}

/// Kind of a line.
enum LineKind {
    Answer,
    Failure,
    Known,
    Unknown,
}

fn classify(spec: &Spec, line: &FrameText, asked: Option<&str>) -> Result<LineKind, ()> {
    match spec.name {
        #[cfg(feature = "pi")]
        name if name == crate::pi::SPEC.name => classify_as::<crate::pi::Pi>(line, asked),
        #[cfg(feature = "omp")]
        name if name == crate::omp::SPEC.name => classify_as::<crate::omp::Omp>(line, asked),
        #[cfg(feature = "pisces")]
        name if name == crate::pisces::SPEC.name => classify_as::<crate::pisces::Pisces>(line, asked),
        #[cfg(feature = "operator")]
        name if name == crate::operator::SPEC.name => classify_as::<crate::operator::Operator>(line, asked),
        #[cfg(feature = "opal")]
        name if name == crate::opal::SPEC.name => classify_as::<crate::opal::Opal>(line, asked),
        _ => Err(()),
    }
}

fn classify_as<D: Dialect>(line: &FrameText, asked: Option<&str>) -> Result<LineKind, ()> {
    use crate::wire::EventUnion as _;

    let frame = ServerFrame::<D>::decode(line, |_| asked.map(str::to_owned)).map_err(|_| ())?;
    Ok(match frame {
        ServerFrame::Success { .. } => LineKind::Answer,
        ServerFrame::Failure { .. } => LineKind::Failure,
        ServerFrame::Event(event) if event.is_known() => LineKind::Known,
        ServerFrame::Dialog { .. } => LineKind::Known,
        ServerFrame::Event(_) | ServerFrame::UnknownDialog(_) => LineKind::Unknown,
    })
}

/// Returns the number of undeclared members in the data of a response, according to the revision with the
/// fewest.
fn undeclared(spec: &Spec, command: &str, data: &Value) -> usize {
    let one: [&Spec; 1] = [spec];
    let revisions = if spec.revisions.is_empty() { &one[..] } else { spec.revisions };
    revisions.iter().map(|revision| undeclared_in(revision, command, data)).min().unwrap_or(0)
}

fn undeclared_in(spec: &Spec, command: &str, data: &Value) -> usize {
    let text = schema(&spec.id(), Side::Server).unwrap_or_default();
    let Ok(schema) = serde_json::from_str::<Value>(text) else { return 0 };
    let definitions = &schema["$defs"];
    let of = definitions.as_object().into_iter().flatten().map(|(_, definition)| &definition["properties"]);
    let mut of = of.filter(|members| members["command"]["const"] == command && !members["data"].is_null());
    let reference = of.next().and_then(|members| members["data"]["$ref"].as_str());
    let Some(name) = reference.and_then(|name| name.strip_prefix("#/$defs/")) else { return 0 };
    let declared = &definitions[name]["properties"];
    data.as_object().into_iter().flatten().filter(|(name, _)| declared.get(name).is_none()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_event_is_reported_and_a_rejection_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let event = r#"{"type":"extension_error","extensionPath":"/x.ts","event":"input","error":"no"}"#;
        let refusals = [
            r#"{"type":"response","command":"parse","success":false,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
        ];
        for line in [event, refusals[0], refusals[1]] {
            assert_eq!(is_answer(line), line != event, "{line}");
        }
        theirs.write_all(format!("{event}\n{}\n", refusals[0]).as_bytes()).await.unwrap();
        theirs.shutdown().await.unwrap();
        let found = detect(Transport::from_io(reader, writer), FIRST_RESPONSE_TIMEOUT).await.unwrap();
        let (mut reader, _, _) = found.transport.into_parts();
        let mut again = String::new();
        reader.read_to_string(&mut again).await.unwrap();
        assert_eq!(again, format!("{event}\n"));
    }

    /// Agent that knows only the handshake and answers it with `result`. Returns the error of its detection.
    async fn error_with_handshake(result: Value) -> Error {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let agent = async move {
            let (input, mut output) = tokio::io::split(theirs);
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let frame: Value = serde_json::from_str(&line).unwrap();
                let protocol = BridgedProtocol::all().iter().find(|one| frame["method"] == one.handshake);
                let error = json!({"code": -32601, "message": "Method not found"});
                let answer = match protocol {
                    Some(protocol) => {
                        assert_eq!(frame["params"], json!({protocol.version_member: protocol.version}));
                        json!({"jsonrpc": "2.0", "id": frame["id"], "result": result})
                    }
                    None => json!({"jsonrpc": "2.0", "id": frame["id"], "error": error}),
                };
                if output.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                    break;
                }
            }
        };
        tokio::spawn(agent);
        let found = detect(Transport::from_io(reader, writer), FIRST_RESPONSE_TIMEOUT).await;
        found.map(|found| found.spec.name).unwrap_err()
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_answers_a_handshake_needs_a_bridge() {
        for protocol in BridgedProtocol::all() {
            let error = error_with_handshake(json!({protocol.version_member: protocol.version})).await;
            assert_eq!(error.kind(), crate::ErrorKind::NotRecognised);
            let bridge = format!("agentese bridge --to {} --from {} --", protocol.front, protocol.name);
            assert!(error.to_string().contains(&bridge), "{error}");
            // Another protocol has a handshake of the same name, with a text as its version.
            let error = error_with_handshake(json!({protocol.version_member: "2025-06-18"})).await;
            assert!(matches!(error, Error::NotRecognised { .. }), "{error}");
        }
    }

    async fn reason(transport: Transport) -> String {
        match detect(transport, FIRST_RESPONSE_TIMEOUT).await {
            Err(Error::NotRecognised { reason }) => reason,
            Ok(found) => panic!("{}", found.spec.name),
            Err(error) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn a_key_that_the_cut_would_halve_is_not_shown() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let filling = "x".repeat(55);
        let line = format!(r#"{{"weather":"{filling} sk-ant-0123456789abcdefghij"}}"#);
        theirs.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        theirs.shutdown().await.unwrap();
        let reason = reason(Transport::from_io(reader, writer)).await;
        assert!(reason.contains("weather") && !reason.contains("sk-"), "{reason}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_key_on_stderr_is_not_shown() {
        use crate::transport::ChildOptions;

        let script = "echo 'refused: sk-ant-0123456789abcdefghij' >&2; exit 3";
        let options = ChildOptions::new("sh").args(["-c", script]);
        let reason = reason(Transport::from_child(options).unwrap()).await;
        assert!(reason.contains("refused") && !reason.contains("sk-"), "{reason}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pending_answer_is_reported() {
        let data = json!({
            "thinkingLevel": "off", "isStreaming": false, "isCompacting": false, "steeringMode": "all",
            "followUpMode": "all", "sessionId": "one", "autoCompactionEnabled": true, "messageCount": 0,
            "pendingMessageCount": 0,
        });
        let asked = probes().into_iter().find(|question| question.command == "get_state").unwrap();
        let answer = json!({
            "id": asked.id, "type": "response", "command": asked.command, "success": true, "data": data,
        });
        let answer = answer.to_string();
        let refusal = r#"{"type":"response","command":"parse","success":false,"error":"no"}"#;
        for (lines, is_answered) in [(vec![answer.as_str()], false), (vec![answer.as_str(), refusal], true)] {
            let (ours, mut theirs) = tokio::io::duplex(1 << 16);
            let (reader, writer) = tokio::io::split(ours);
            theirs.write_all(format!("{}\n", lines.join("\n")).as_bytes()).await.unwrap();
            let found = detect(Transport::from_io(reader, writer), FIRST_RESPONSE_TIMEOUT).await.unwrap();
            assert_eq!(found.is_answered, is_answered, "{lines:?}");
        }
    }
}
