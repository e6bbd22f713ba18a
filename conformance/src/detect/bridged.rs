//! Detection of protocols that have no client, by the handshake.

use agentese::dynamic::BridgedProtocol;
use agentese::framing::FrameText;
use agentese::spec::Spec;
use serde_json::Value;

use super::{DialectGuess, Reason};

/// Weight of an answered handshake.
const HANDSHAKE: f64 = 20.0;

/// The tables of these protocols.
const SPECS: &[&Spec] = &[&agentese::acp::SPEC];

/// Returns the requests that start a connection, one for each protocol.
pub(super) fn handshakes() -> Vec<Value> {
    BridgedProtocol::all().iter().map(|protocol| protocol.request(&request_id(protocol))).collect()
}

fn request_id(protocol: &BridgedProtocol) -> String {
    format!("detect-{}", protocol.name)
}

/// Returns `true` if a line is the answer to one of these requests, or its rejection.
pub(super) fn is_response(line: &str) -> bool {
    let Ok(frame) = serde_json::from_str::<Value>(line) else { return false };
    frame.get("method").is_none() && BridgedProtocol::all().iter().any(|one| frame["id"] == *request_id(one))
}

/// Returns `true` if a line is the rejection of a request in JSON-RPC.
pub(super) fn is_rejection(line: &str) -> bool {
    let Ok(frame) = serde_json::from_str::<Value>(line) else { return false };
    frame["jsonrpc"] == "2.0" && !frame["id"].is_null() && frame["error"].is_object()
}

/// Returns the protocol of an agent that answers its handshake. `true` marks a line to the agent.
pub(super) fn guess(lines: &[(bool, &FrameText)]) -> Option<DialectGuess> {
    let frames: Vec<(bool, Value)> = lines
        .iter()
        .filter_map(|(is_sent, line)| Some((*is_sent, serde_json::from_str(line.as_str()).ok()?)))
        .collect();
    BridgedProtocol::all().iter().find_map(|protocol| {
        let asked = |frame: &Value| {
            frame["method"] == protocol.handshake && frame["params"][protocol.version_member].is_u64()
        };
        let ids: Vec<&Value> = frames
            .iter()
            .filter(|(is_sent, frame)| *is_sent && asked(frame))
            .map(|(_, frame)| &frame["id"])
            .collect();
        let answered = |(is_sent, frame): &(bool, Value)| {
            !is_sent && protocol.is_answer(frame) && ids.contains(&&frame["id"])
        };
        frames.iter().any(answered).then_some(())?;
        let spec = SPECS.iter().find(|spec| spec.name == protocol.name)?;
        let answer = format!(
            "the answer to `{}` has a number as `{}`; {}",
            protocol.handshake,
            protocol.version_member,
            protocol.error()
        );
        let reasons = vec![Reason { weight: HANDSHAKE, text: answer }];
        Some(DialectGuess { spec, confidence: 1.0, reasons, is_confirmed: true })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol_of(lines: &[(bool, Value)]) -> Option<&'static str> {
        let lines: Vec<_> =
            lines.iter().map(|(is_sent, line)| (*is_sent, FrameText::from(line.to_string()))).collect();
        let lines: Vec<_> = lines.iter().map(|(is_sent, line)| (*is_sent, line)).collect();
        guess(&lines).map(|guess| guess.spec.name)
    }

    #[test]
    fn an_answered_handshake_names_the_protocol() {
        for (protocol, request) in BridgedProtocol::all().iter().zip(handshakes()) {
            let answer = |id: &Value, version: Value| serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {protocol.version_member: version}});
            let number = answer(&request["id"], protocol.version.into());
            assert_eq!(protocol_of(&[(true, request.clone()), (false, number.clone())]), Some(protocol.name));
            assert!(is_response(&number.to_string()));
            // The answer of another protocol, of another request, and an answer that was not requested.
            let text = answer(&request["id"], "2025-06-18".into());
            assert_eq!(protocol_of(&[(true, request.clone()), (false, text)]), None);
            let other = answer(&Value::from(7), protocol.version.into());
            assert_eq!(protocol_of(&[(true, request.clone()), (false, other)]), None);
            assert_eq!(protocol_of(&[(false, number)]), None);
        }
    }
}
