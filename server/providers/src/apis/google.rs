//! The generative language API of Google.

mod reader;
mod request;

use std::time::Duration;

use serde_json::Value;

use super::api::{Api, Reader, RequestContext, WireRequest};
use super::fallbacks::Fallback;
use super::http_errors::body_error;
use crate::{ProviderError, ProviderErrorKind, tool_schema};

/// The format `google-generative-ai`.
#[derive(Debug)]
pub(super) struct Google;

impl Api for Google {
    fn name(&self) -> &'static str {
        "google-generative-ai"
    }

    fn tool_rules(&self) -> &'static tool_schema::ToolRules {
        &tool_schema::GOOGLE
    }

    fn request(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
        request::write(context)
    }

    fn fallbacks(&self) -> &'static [Fallback] {
        request::FALLBACKS
    }

    fn reader(&self, context: &RequestContext<'_>) -> Box<dyn Reader> {
        Box::new(reader::CandidateReader::new(context.now))
    }

    fn http_error(&self, status: u16, body: &str) -> ProviderError {
        let mut failure = body_error(status, body);
        // The text names a quota for limits per minute, too; such errors contain a delay.
        if let Some(wait) = retry_delay(body) {
            if failure.kind == ProviderErrorKind::Quota {
                failure.kind = ProviderErrorKind::RateLimited;
            }
            failure.retry_after = Some(wait);
        }
        failure
    }
}

/// Returns the delay that the server requests in `error.details[].retryDelay`, such as `"34.07s"`.
fn retry_delay(body: &str) -> Option<Duration> {
    let value = agentese::wire::decode::<Value>(body).ok()?;
    let details = value["error"]["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fm_f62_a_limit_with_a_delay_is_no_quota() {
        let body = |details: Value| {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            json!({"error": {"code": 429, "message": message, "details": details}}).to_string()
        };
        let failure = Google.http_error(429, &body(json!([])));
        assert_eq!((failure.kind, failure.retry_after), (ProviderErrorKind::Quota, None));
        let failure = Google.http_error(429, &body(json!([{"x": 1}, {"retryDelay": "34.5s"}])));
        assert_eq!(failure.kind, ProviderErrorKind::RateLimited);
        assert_eq!(failure.retry_after, Some(Duration::from_millis(34_500)));
        assert_eq!(Google.http_error(429, &body(json!([{"retryDelay": "-1s"}]))).retry_after, None);
    }
}
