//! Simulated login by device code, for agents that log in at their provider.

use std::sync::PoisonError;

use agentese::types::ScriptDevice;
use serde_json::{Value, json};

use super::Shared;
use super::http::HttpRequest;

/// State of the login.
#[derive(Debug)]
pub(super) struct DeviceLogin {
    script: ScriptDevice,
    pending: u64,
}

impl DeviceLogin {
    pub(super) fn new(script: ScriptDevice) -> Self {
        Self { pending: script.pending.unwrap_or_default(), script }
    }
}

/// Returns the status and the body for a request of the login. Returns `None` for any other request.
pub(super) fn answer(shared: &Shared, request: &HttpRequest) -> Option<(u16, Value)> {
    let mut device = shared.device.lock().unwrap_or_else(PoisonError::into_inner);
    let status = |given: Option<u64>| given.and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    match (request.method.as_str(), request.path()) {
        ("GET", path) if path.contains("copilot_internal") => {
            Some(match status(device.script.token_status) {
                200 => (
                    200,
                    json!({
                        "token": "tid=fake;proxy-ep=proxy.individual.example.test",
                        "expires_at": 4_102_444_800_u64,
                        "endpoints": {"api": format!("http://{}", shared.address)},
                    }),
                ),
                status => (status, json!({"message": "Bad credentials"})),
            })
        }
        ("POST", "/login/device/code") => Some((
            status(device.script.code_status),
            json!({
                "device_code": "dc-1234567890",
                "user_code": "ABCD-1234",
                "verification_uri": "https://github.example.test/login/device",
                "expires_in": 899,
                "interval": device.script.interval.unwrap_or(5),
            }),
        )),
        ("POST", "/login/oauth/access_token") => Some((
            200,
            if device.pending > 0 {
                device.pending -= 1;
                json!({
                    "error": "authorization_pending",
                    "error_description": "The authorization request is still pending.",
                })
            } else if let Some(error) = &device.script.error {
                Value::Object(error.clone())
            } else {
                json!({"access_token": "gho_fake", "token_type": "bearer", "scope": "read:user"})
            },
        )),
        _ => None,
    }
}
