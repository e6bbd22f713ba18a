//! The commands that verify a subagent's work. Arguments of the call take precedence over a profile in the settings.
//! Texts of rejections are the same as in pisces 13.18, because clients know them.

use agentese::types::{FailurePolicy, VerifyCommand};
use serde_json::{Map, Value};

use crate::config::VerificationSettings;

const NOT_ISOLATED: &str =
    "Verification requires isolated task execution. Pass isolated: true or disable verify.";
const NO_PROFILE: &str = "Verification requested but no verification profile or commands were provided.";
const LSP: &str = "LSP-based task verification is not implemented yet. Use command checks for now.";
const NO_COMMANDS: &str = "Verification requires at least one command. Provide verify.commands or configure task.verification.profiles.";
const DISABLED: &str = "Verification is disabled (task.verification.enabled is false). Omit verify.";

/// Plan for the verification of a subagent's work.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationPlan {
    pub profile: Option<String>,
    pub commands: Vec<VerifyCommand>,
    /// True if the commands are from the call, false if they are from the settings.
    pub from_call: bool,
    pub on_failure: FailurePolicy,
    pub max_retries: u64,
}

/// Returns the plan for the argument `verify` of a call. Returns `None` if the work is not to be verified. Fails with a
/// message for the model.
pub fn resolve(
    settings: &VerificationSettings,
    isolated: bool,
    verify: Option<&Value>,
) -> Result<Option<VerificationPlan>, String> {
    if verify == Some(&Value::Bool(false)) {
        return Ok(None);
    }
    let required = settings.enabled == Some(true) && settings.require_for_isolated;
    match (isolated, verify) {
        (false, Some(_)) => return Err(NOT_ISOLATED.to_owned()),
        (false, None) => return Ok(None),
        (true, None) if !required => return Ok(None),
        (true, Some(_)) if settings.enabled == Some(false) => return Err(DISABLED.to_owned()),
        (true, _) => {}
    }
    let empty = Map::new();
    let (named, inline) = match verify {
        None | Some(Value::Bool(_)) => (None, &empty),
        Some(Value::String(name)) => (Some(name.as_str()), &empty),
        Some(Value::Object(inline)) => (inline.get("profile").and_then(Value::as_str), inline),
        Some(_) => {
            return Err("verify: expected true, false, the name of a profile or an object".to_owned());
        }
    };
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    let profile = named.or(Some(settings.default_profile.trim()).filter(|name| !name.is_empty()));
    let base = match profile {
        None if !inline.contains_key("commands") => return Err(NO_PROFILE.to_owned()),
        None => &empty,
        Some(name) => settings
            .profiles
            .get(name)
            .and_then(Value::as_object)
            .ok_or_else(|| format!("Unknown or invalid verification profile \"{name}\"."))?,
    };
    let merged = |name: &str| {
        let there = |members: &&Map<String, Value>| members.get(name).is_some_and(|value| !value.is_null());
        [inline, base].into_iter().find(there).map(|members| &members[name])
    };
    let mode = merged("mode").map_or(Some("command"), Value::as_str);
    match mode {
        Some("none") => return Ok(None),
        Some("lsp" | "profile") => return Err(LSP.to_owned()),
        Some("command") => {}
        _ => return Err("verify.mode: expected none or command".to_owned()),
    }
    if merged("lspDiagnostics") == Some(&Value::Bool(true)) {
        return Err(LSP.to_owned());
    }
    let commands = merged("commands").map_or_else(|| Ok(Vec::new()), commands)?;
    if commands.is_empty() {
        return Err(NO_COMMANDS.to_owned());
    }
    Ok(Some(VerificationPlan {
        profile: profile.map(str::to_owned),
        commands,
        from_call: inline.get("commands").is_some_and(|commands| !commands.is_null()),
        on_failure: merged("onFailure").map_or(Ok(FailurePolicy::ReturnFailure), policy)?,
        max_retries: merged("maxRetries").and_then(Value::as_u64).unwrap_or(settings.max_retries),
    }))
}

fn commands(value: &Value) -> Result<Vec<VerifyCommand>, String> {
    let listed = value.as_array().ok_or("verify.commands: expected a list")?;
    let read = |(index, command): (usize, &Value)| {
        serde_json::from_value::<VerifyCommand>(command.clone())
            .ok()
            .filter(|command| !command.command.trim().is_empty())
            .ok_or_else(|| format!("verify.commands[{index}]: expected a name and a command"))
    };
    listed.iter().enumerate().map(read).collect()
}

fn policy(value: &Value) -> Result<FailurePolicy, String> {
    let known = [FailurePolicy::ReturnFailure, FailurePolicy::RetryOnce, FailurePolicy::DiscardPatch];
    let name = value.as_str().unwrap_or_default();
    known
        .into_iter()
        .find(|policy| policy.as_str() == name)
        .ok_or_else(|| "verify.onFailure: expected return_failure, retry_once or discard_patch".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(json: Value) -> VerificationSettings {
        let mut settings = VerificationSettings {
            enabled: json["enabled"].as_bool(),
            require_for_isolated: json["require"] == true,
            ..VerificationSettings::default()
        };
        settings.default_profile = json["default"].as_str().unwrap_or_default().to_owned();
        settings.profiles = json!({
            "ci": {"commands": [{"name": "types", "command": "true"}], "onFailure": "discard_patch", "maxRetries": 3},
            "off": {"mode": "none"}, "lsp": {"mode": "lsp"}, "empty": {"mode": "command"}, "bad": 7,
        })
        .as_object()
        .unwrap()
        .clone();
        settings
    }

    fn names(plan: &VerificationPlan) -> Vec<&str> {
        plan.commands.iter().map(|command| command.name.as_str()).collect()
    }

    #[test]
    fn every_form_of_verify_is_resolved() {
        let plain = settings(json!({}));
        let default = settings(json!({"default": "ci"}));
        let get = |settings: &VerificationSettings, verify: Value| resolve(settings, true, Some(&verify));
        assert_eq!(get(&plain, json!(false)), Ok(None));
        assert_eq!(resolve(&default, true, None), Ok(None));
        for verify in
            [json!(true), json!(""), json!(" ci "), json!("ci"), json!({"profile": "ci"}), json!({})]
        {
            let plan = get(&default, verify.clone()).unwrap().unwrap();
            assert_eq!((plan.profile.as_deref(), names(&plan)), (Some("ci"), vec!["types"]), "{verify}");
            assert_eq!((plan.on_failure, plan.max_retries), (FailurePolicy::DiscardPatch, 3));
            assert!(!plan.from_call);
        }
        let inline = json!({"commands": [{"name": "a", "command": "b"}]});
        let plan = get(&plain, inline.clone()).unwrap().unwrap();
        assert_eq!((plan.profile.as_deref(), plan.on_failure.as_str()), (None, "return_failure"));
        // The default profile is the base; its commands are replaced.
        let plan = get(&default, inline).unwrap().unwrap();
        assert_eq!((plan.profile.as_deref(), names(&plan)), (Some("ci"), vec!["a"]));
        assert_eq!((plan.on_failure, plan.from_call), (FailurePolicy::DiscardPatch, true));
        assert_eq!(get(&plain, json!("off")), Ok(None));
    }

    #[test]
    fn invalid_verify_is_rejected_with_its_reason() {
        let plain = settings(json!({}));
        let refused = |verify: Value| resolve(&plain, true, Some(&verify)).unwrap_err();
        assert_eq!(refused(json!(true)), NO_PROFILE);
        assert_eq!(refused(json!("nope")), "Unknown or invalid verification profile \"nope\".");
        assert_eq!(refused(json!("bad")), "Unknown or invalid verification profile \"bad\".");
        assert_eq!(refused(json!("lsp")), LSP);
        assert_eq!(
            refused(json!({"commands": [{"name": "a", "command": "b"}], "lspDiagnostics": true})),
            LSP
        );
        assert_eq!(refused(json!("empty")), NO_COMMANDS);
        assert_eq!(refused(json!({"commands": []})), NO_COMMANDS);
        assert!(refused(json!({"commands": [{"name": "a"}]})).starts_with("verify.commands[0]:"));
        assert!(refused(json!({"profile": "ci", "onFailure": "shrug"})).starts_with("verify.onFailure:"));
        assert!(refused(json!(7)).starts_with("verify:"));
        assert_eq!(resolve(&plain, false, Some(&json!(true))), Err(NOT_ISOLATED.to_owned()));
        assert_eq!(resolve(&plain, false, Some(&json!(false))), Ok(None));
    }

    #[test]
    fn enabled_setting_decides_about_verification() {
        let off = settings(json!({"enabled": false, "default": "ci", "require": true}));
        assert_eq!(resolve(&off, true, Some(&json!(true))), Err(DISABLED.to_owned()));
        assert_eq!(resolve(&off, true, None), Ok(None));
        let unwritten = settings(json!({"default": "ci", "require": true}));
        assert_eq!(resolve(&unwritten, true, None), Ok(None));
        let on = settings(json!({"enabled": true, "default": "ci", "require": true}));
        assert!(resolve(&on, true, None).unwrap().is_some());
        assert_eq!(resolve(&on, false, None), Ok(None));
        assert_eq!(resolve(&on, true, Some(&json!(false))), Ok(None));
    }
}
