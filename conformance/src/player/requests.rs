//! Checks of the requests that the model received.

use agentese::types::{CaseNeed, CheckLevel, ModelRequest, Profile, Scenario};

use serde_json::Value;

use super::needs::plays_the_script;
use crate::decode::protocol;
use crate::matching::Pattern;
use crate::matching::near::first_difference;
use crate::model::history_faults;
use crate::suggestions::counted;

/// Finding of a check of the model's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFinding {
    /// Description of the check.
    pub description: String,
    /// Level of the check.
    pub level: CheckLevel,
    /// Reason of the failure; `None` if the check holds.
    pub failure: Option<String>,
    /// Path of the wrong member in the request. Empty if no single member is wrong.
    pub path: String,
    /// `true` if the check may have failed only because a request is missing.
    pub missing: bool,
}

/// Performs the case's checks of the model's requests. Returns no findings for an agent that plays the
/// script itself.
pub fn check_requests(case: &Scenario, profile: &Profile, requests: &[ModelRequest]) -> Vec<RequestFinding> {
    if plays_the_script(profile) {
        return Vec::new();
    }
    let level = || case.level.unwrap_or(CheckLevel::Should);
    let mut findings = Vec::new();
    if let Some(wanted) = case.request_count {
        let count = requests.len() as u64;
        findings.push(RequestFinding {
            description: format!("the model receives {}", counted_requests(wanted)),
            level: level(),
            failure: (count != wanted).then(|| format!("it received {}", counted_requests(count))),
            path: String::new(),
            missing: count < wanted,
        });
    }
    if !requests.is_empty() {
        let faults = requests.iter().flat_map(|request| {
            history_faults(request).into_iter().map(|fault| format!("request {}, {fault}", request.n))
        });
        findings.push(RequestFinding {
            description: "each history is valid for a provider".to_owned(),
            // The document of a protocol has no requirements about models.
            level: if protocol(&case.dialect).is_some() { CheckLevel::Info } else { CheckLevel::Must },
            failure: faults.reduce(|all, fault| format!("{all}; {fault}")),
            path: String::new(),
            missing: false,
        });
    }
    for check in case.requests.iter().flatten() {
        let place = if check.request < 0 {
            i64::try_from(requests.len()).unwrap_or(i64::MAX) + check.request
        } else {
            check.request
        };
        let request = usize::try_from(place).ok().and_then(|place| requests.get(place));
        let expect = without_tools(&check.expect, profile);
        let (failure, path) = match (request, Pattern::new(&expect)) {
            (_, Err(error)) => (Some(error.to_string()), String::new()),
            (None, _) => (Some(format!("no request {}", check.request)), String::new()),
            (Some(request), Ok(pattern)) => request_difference(check.request, request, &expect, &pattern),
        };
        let level = check.level.unwrap_or_else(level);
        // A negative index counts from the end, so it selects another request if some are missing.
        let missing = failure.is_some() && (request.is_none() || check.request < 0);
        findings.push(RequestFinding { description: check.says.clone(), level, failure, path, missing });
    }
    findings
}

/// Describes the first difference between a request and its pattern, and returns the path of the differing
/// member. The description is `None` if there is no difference.
fn request_difference(
    place: i64,
    request: &ModelRequest,
    expect: &Value,
    pattern: &Pattern,
) -> (Option<String>, String) {
    let value = serde_json::to_value(request).unwrap_or_default();
    if pattern.fits(&value) {
        return (None, String::new());
    }
    match first_difference(expect, &value) {
        Some(difference) => (Some(format!("request {place}: {}", difference.message)), difference.path),
        None => (Some(format!("request {place} does not match {expect}")), String::new()),
    }
}

/// Adapts the expected request to the profile. If the agent has no tools, the request contains no tools,
/// and no system prompt about them.
fn without_tools(expect: &Value, profile: &Profile) -> Value {
    let mut expect = expect.clone();
    let has_none = profile
        .claims
        .as_ref()
        .is_some_and(|claims| claims.without.iter().flatten().any(|lack| *lack == CaseNeed::Tools));
    if let Some(members) = expect.as_object_mut().filter(|_| has_none) {
        members.retain(|name, _| name != "tools" && name != "system");
    }
    expect
}

fn counted_requests(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "request", "requests")
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentese::types::ProfileBuilder;

    #[test]
    fn checks_name_the_missing_request() {
        let case: Scenario = serde_json::from_value(serde_json::json!({
            "scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "steps": [], "request_count": 2,
            "requests": [
                {"request": 0, "expect": {"messages": {"$last": {"text": "hi"}}}, "says": "a"},
                {"request": -1, "expect": {"system": {"$has": true}}, "says": "b", "level": "must"},
                {"request": 5, "expect": {}, "says": "c"},
            ],
        }))
        .unwrap();
        let request: ModelRequest = serde_json::from_value(serde_json::json!({
            "n": 0, "api": "anthropic-messages", "path": "/", "messages": [{"role": "user", "text": "hi"}],
            "tools": [], "options": {},
        }))
        .unwrap();
        let profile = ProfileBuilder {
            profile: 1,
            name: "p".to_owned(),
            dialect: "pi@0.55".to_owned(),
            agent: "a".to_owned(),
        }
        .build();
        let findings = check_requests(&case, &profile, &[request]);
        let failures: Vec<_> = findings.iter().map(|finding| finding.failure.as_deref()).collect();
        assert_eq!(
            failures,
            [
                Some("it received 1 request"),
                None,
                None,
                Some(r#"request -1: `system` is missing, expected {"$has":true}"#),
                Some("no request 5"),
            ]
        );
        let missing: Vec<bool> = findings.iter().map(|finding| finding.missing).collect();
        assert_eq!(missing, [true, false, false, true, true]);
        assert_eq!((findings[3].level, findings[3].path.as_str()), (CheckLevel::Must, "system"));
    }
}
