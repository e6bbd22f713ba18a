//! Conversion of settings files to [`Settings`].

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::config_warning::{ConfigWarning, LIMIT};
use super::jsonc::from_jsonc;
use super::setting::{Setting, describe, kind};
use super::text_file::read_text;
use super::yaml::{from_yaml, is_yaml};
use super::{AgentPaths, ApprovalSettings, Settings, TaskSettings, Trust, expand_home, resolve};

#[cfg(test)]
mod tests;

/// The result of reading the files.
#[derive(Debug, Default)]
pub struct LoadedSettings {
    /// The settings after all files were applied.
    pub settings: Settings,
    /// Warnings for the user about parts of the files that have no effect.
    pub warnings: Vec<ConfigWarning>,
    /// Decision of the user about the working directory.
    pub trust: Trust,
    /// Path of the working directory's settings file, if the file would change a setting and is ignored because the
    /// directory is not trusted.
    pub ignored_project_file: Option<PathBuf>,
}

/// Reads the user's settings, and then the settings of the working directory if it is trusted. `paths` names both
/// files. `trust` is an earlier decision about the working directory, if any. Never fails: an unreadable part becomes a
/// warning, and its default applies.
///
/// The user's own file can also grant trust, see [`Trust::of`]. The file of the working directory cannot.
pub fn load_settings(
    paths: &AgentPaths,
    agent_dir: Option<&Path>,
    cwd: &Path,
    home: Option<&Path>,
    trust: Option<bool>,
) -> LoadedSettings {
    let mut loaded =
        LoadedSettings { trust: trust.map_or(Trust::Undecided, Trust::from), ..LoadedSettings::default() };
    let LoadedSettings { settings, warnings, trust: decision, ignored_project_file } = &mut loaded;
    if let Some(path) = agent_dir.map(|directory| directory.join(paths.settings))
        && let Some(object) = read_object(&path, paths.comments, warnings, settings)
    {
        if trust.is_none() {
            *decision = Trust::of(&object, cwd, home);
        }
        apply_file(settings, warnings, &path, object, home, paths.reports_unknown);
    }
    let path = cwd.join(paths.project);
    if *decision == Trust::Granted {
        if let Some(mut object) = read_object(&path, paths.comments, warnings, settings) {
            // Only the user may remove this protection.
            if let Some(Value::Object(host)) = object.get_mut("extensionHost") {
                host.remove("unguarded");
            }
            // Only the user may choose the servers that receive keys.
            for key in ["httpProxy", "httpCaFile"] {
                object.shift_remove(key);
            }
            let own = settings.limits;
            apply_file(settings, warnings, &path, object, home, paths.reports_unknown);
            // A project makes limits stricter, never looser.
            settings.limits = settings.limits.within(own);
        }
    } else if would_change_settings(settings, paths, &path, home) {
        *ignored_project_file = Some(path);
    }
    loaded
}

/// Returns true if a file would change a setting or cause a warning. Does not apply the file.
fn would_change_settings(settings: &Settings, paths: &AgentPaths, path: &Path, home: Option<&Path>) -> bool {
    let (mut ignored, mut changed) = (Vec::new(), settings.clone());
    let Some(object) = read_object(path, paths.comments, &mut ignored, &mut changed) else {
        return !ignored.is_empty();
    };
    apply_file(&mut changed, &mut ignored, path, object, home, false);
    changed.other.clone_from(&settings.other);
    changed != *settings || !ignored.is_empty()
}

/// Returns the object in a file, or `None` if the file is missing or unusable. If an unusable file possibly contains
/// approval settings, every tool requires approval from then on.
fn read_object(
    path: &Path,
    comments: bool,
    warnings: &mut Vec<ConfigWarning>,
    settings: &mut Settings,
) -> Option<Map<String, Value>> {
    let path = path.to_owned();
    let mut may_protect = true;
    let warning = match read_text(&path, LIMIT) {
        Err(error) if error.is_not_found() => return None,
        Err(source) => ConfigWarning::Unreadable { path, source },
        Ok(file) if file.truncated => ConfigWarning::TooLong { path },
        // Some editors leave an empty file behind.
        Ok(file) if file.text.trim().is_empty() => return None,
        Ok(file) => {
            let reason = match parse(&path, &file.text, comments) {
                Ok(Value::Object(object)) => return Some(object),
                Ok(other) => format!("expected an object, found {}", kind(&other)),
                Err(reason) => reason,
            };
            may_protect = file.text.contains("approval");
            ConfigWarning::NotJson { path, reason }
        }
    };
    if may_protect {
        settings.approval.tools.push(ApprovalSettings::ALL_TOOLS.to_owned());
    }
    warnings.push(warning);
    None
}

/// Parses a file as YAML or JSON, depending on its name. `comments` permits comments in JSON.
fn parse(path: &Path, text: &str, comments: bool) -> Result<Value, String> {
    if is_yaml(path) {
        from_yaml(text)
    } else {
        match (serde_json::from_str(text), comments) {
            (Err(strict), true) => from_jsonc(text).map_err(|_| strict.to_string()),
            (read, _) => read.map_err(|error| error.to_string()),
        }
    }
}

/// Applies a file to the settings; `reports_unknown` enables a warning about unknown keys.
fn apply_file(
    settings: &mut Settings,
    warnings: &mut Vec<ConfigWarning>,
    path: &Path,
    object: Map<String, Value>,
    home: Option<&Path>,
    reports_unknown: bool,
) {
    let mut file = SettingsReader { path, known: Vec::new(), object, warnings };
    file.set("defaultProvider", &mut settings.default_provider);
    file.set("defaultModel", &mut settings.default_model);
    file.set("defaultThinkingLevel", &mut settings.default_thinking_level);
    file.set("enabledModels", &mut settings.enabled_models);
    file.set("steeringMode", &mut settings.steering_mode);
    file.set("followUpMode", &mut settings.follow_up_mode);
    file.set("compaction.enabled", &mut settings.compaction.enabled);
    file.set("compaction.reserveTokens", &mut settings.compaction.reserve_tokens);
    file.set("compaction.keepRecentTokens", &mut settings.compaction.keep_recent_tokens);
    file.set("compaction.autoContinue", &mut settings.compaction.auto_continue);
    file.set("retry.enabled", &mut settings.retry.enabled);
    file.set("retry.maxRetries", &mut settings.retry.max_retries);
    file.set("retry.baseDelayMs", &mut settings.retry.base_delay_ms);
    file.set("retry.maxDelayMs", &mut settings.retry.max_delay_ms);
    file.set("branchSummary.reserveTokens", &mut settings.branch_summary.reserve_tokens);
    file.set("branchSummary.skipPrompt", &mut settings.branch_summary.skip_prompt);
    file.set("thinkingBudgets.minimal", &mut settings.thinking_budgets.minimal);
    file.set("thinkingBudgets.low", &mut settings.thinking_budgets.low);
    file.set("thinkingBudgets.medium", &mut settings.thinking_budgets.medium);
    file.set("thinkingBudgets.high", &mut settings.thinking_budgets.high);
    file.set("shellPath", &mut settings.shell_path);
    file.set("shellCommandPrefix", &mut settings.shell_command_prefix);
    file.set("images.autoResize", &mut settings.images.auto_resize);
    file.set("images.blockImages", &mut settings.images.block_images);
    file.set("httpConnectTimeoutMs", &mut settings.network.connect_timeout);
    file.set("httpIdleTimeoutMs", &mut settings.network.idle_timeout);
    file.set("httpProxy", &mut settings.network.proxy);
    file.set("httpCaFile", &mut settings.network.ca_file);
    if let Some(path) = &mut settings.network.ca_file {
        *path = expand_home(path, home);
    }
    file.approvals(&mut settings.approval.tools);
    file.set("approval.timeoutMs", &mut settings.approval.timeout_ms);
    file.set("ttsr.enabled", &mut settings.rules.enabled);
    file.set("ttsr.contextMode", &mut settings.rules.context);
    file.set("ttsr.interruptMode", &mut settings.rules.interrupt);
    file.set("ttsr.repeatMode", &mut settings.rules.repeat);
    file.set("ttsr.repeatGap", &mut settings.rules.repeat_gap);
    file.set("todo.enabled", &mut settings.todo.enabled);
    // This key comes first: if the limit is in the nested form, the rest of the object is not a boolean.
    file.set("todo.reminders.max", &mut settings.todo.max_reminders);
    file.set("todo.reminders", &mut settings.todo.reminders);
    file.paths("extensions", &mut settings.extensions, home);
    file.paths("skills", &mut settings.skills, home);
    file.paths("prompts", &mut settings.prompts, home);
    file.set("rpc.persistDefaults", &mut settings.persist_defaults);
    file.set("rpc.hideKeys", &mut settings.hide_keys);
    file.set("rpc.trustDialogMs", &mut settings.trust_dialog_ms);
    file.set("limits.maxTurns", &mut settings.limits.max_turns);
    file.set("limits.maxCostUsd", &mut settings.limits.max_cost_usd);
    file.set("limits.maxTimeMs", &mut settings.limits.max_time_ms);
    file.set("limits.maxEqualCalls", &mut settings.limits.max_equal_calls);
    apply_task(&mut file, &mut settings.task);
    if let Some(shell) = &mut settings.shell_path {
        *shell = expand_home(shell, home);
    }
    let keys = if reports_unknown { unknown_keys(&file.object, &file.known) } else { Vec::new() };
    if !keys.is_empty() {
        file.warnings.push(ConfigWarning::Unknown { path: path.to_owned(), keys });
    }
    for (key, value) in file.object {
        match (settings.other.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            (_, value) => {
                settings.other.insert(key, value);
            }
        }
    }
}

/// Applies the settings `task.*`.
fn apply_task(file: &mut SettingsReader<'_>, task: &mut TaskSettings) {
    file.set("task.isolation.mode", &mut task.isolation);
    file.set("task.isolation.merge", &mut task.merge);
    file.set("task.maxConcurrency", &mut task.max_concurrency);
    file.set("task.maxRecursionDepth", &mut task.max_recursion_depth);
    let verification = &mut task.verification;
    file.set("task.verification.enabled", &mut verification.enabled);
    file.set("task.verification.defaultProfile", &mut verification.default_profile);
    file.set("task.verification.requireForIsolated", &mut verification.require_for_isolated);
    file.set("task.verification.maxRetries", &mut verification.max_retries);
    file.set("task.verification.failureContextLineLimit", &mut verification.failure_context_line_limit);
    // Profiles of several files are combined.
    let mut profiles = Map::new();
    file.set("task.verification.profiles", &mut profiles);
    verification.profiles.extend(profiles);
    let budget = &mut task.budget;
    file.set("task.budget.maxWallTimeMs", &mut budget.max_wall_time_ms);
    file.set("task.budget.maxInputTokens", &mut budget.max_input_tokens);
    file.set("task.budget.maxOutputTokens", &mut budget.max_output_tokens);
    file.set("task.budget.maxTotalTokens", &mut budget.max_total_tokens);
    file.set("task.budget.maxCostUsd", &mut budget.max_cost_usd);
    file.set("task.budget.maxToolCalls", &mut budget.max_tool_calls);
    file.set("task.budget.maxSubagents", &mut budget.max_subagents);
    file.set("task.budget.warnAtRatio", &mut budget.warn_at_ratio);
}

/// A settings file while it is applied. Members that were applied are removed from `object`.
struct SettingsReader<'a> {
    path: &'a Path,
    /// Keys that the program has looked up in the file so far.
    known: Vec<&'static str>,
    object: Map<String, Value>,
    warnings: &'a mut Vec<ConfigWarning>,
}

impl SettingsReader<'_> {
    /// Sets `field` if the file has the key with a value of the right type. Another type causes a warning.
    fn set<T: Setting>(&mut self, key: &'static str, field: &mut T) {
        // As everywhere in the pi family, null is the same as absent.
        let Some(value) = self.take(key).filter(|value| !value.is_null()) else { return };
        match T::read(&value) {
            Some(value) => *field = value,
            None => self.warn(key, T::EXPECTED, describe(&value, T::IS_NAME)),
        }
    }

    /// Adds the paths that the file lists under a key. Relative paths start in the directory of the file.
    fn paths(&mut self, key: &'static str, field: &mut Vec<PathBuf>, home: Option<&Path>) {
        let mut listed: Vec<String> = Vec::new();
        self.set(key, &mut listed);
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let listed = listed.iter().filter(|path| !path.is_empty());
        field.extend(listed.map(|path| resolve(directory, &expand_home(Path::new(path), home))));
    }

    /// Adds the tools that require approval. If the list is invalid, every tool requires approval.
    fn approvals(&mut self, tools: &mut Vec<String>) {
        let before = self.warnings.len();
        let mut listed = Vec::new();
        self.set("approval.tools", &mut listed);
        if self.warnings.len() > before {
            listed.push(ApprovalSettings::ALL_TOOLS.to_owned());
        }
        tools.extend(listed);
    }

    /// Removes and returns the value of a key. In the file, the parts of the key can be nested objects, joined by dots,
    /// or both. If several forms exist, the one with more dots applies.
    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        match take(&mut self.object, key) {
            Ok(value) => value,
            Err((outer, found)) => {
                self.warn(outer, "an object", found);
                None
            }
        }
    }

    fn warn(&mut self, key: &str, expected: &'static str, found: String) {
        let (path, key) = (self.path.to_owned(), key.to_owned());
        self.warnings.push(ConfigWarning::WrongType { path, key, expected, found });
    }
}

/// Removes and returns the value of a key in an object, and removes objects that become empty. Fails if the
/// first part of the key has a value other than an object. The error contains that part and the kind of the
/// value.
fn take<'k>(object: &mut Map<String, Value>, key: &'k str) -> Result<Option<Value>, (&'k str, String)> {
    let outermost = key.split('.').next().unwrap_or_default();
    match object.get(outermost) {
        Some(Value::Object(_) | Value::Null) | None => Ok(take_nested(object, key)),
        Some(_) if outermost == key => Ok(object.shift_remove(key)),
        Some(other) => {
            let found = kind(other).to_owned();
            object.shift_remove(outermost);
            Err((outermost, found))
        }
    }
}

fn take_nested(object: &mut Map<String, Value>, key: &str) -> Option<Value> {
    if let Some(value) = object.shift_remove(key) {
        return Some(value);
    }
    key.rmatch_indices('.').find_map(|(at, _)| {
        let (outer, inner) = (&key[..at], &key[at + 1..]);
        let members = match object.get_mut(outer)? {
            Value::Object(members) => members,
            Value::Null => &mut Map::new(),
            // `a.b` may be a value beside `a.b.c`.
            _ => return None,
        };
        let value = take_nested(members, inner);
        if members.is_empty() {
            object.shift_remove(outer);
        }
        value
    })
}

/// Keys that other modules read, so that they do not count as unknown.
const EXTERNAL_KEYS: [&str; 3] = ["extensionHost", "trustedDirectories", "defaultProjectTrust"];

/// Minimum similarity, from 0 to 1, between an unknown key and the known key that a warning suggests.
const MIN_SIMILARITY: f64 = 0.75;

/// Adds `key` to `keys`. If known keys begin with it, adds the members of its value instead.
fn collect_leaf_keys(key: String, value: &Value, known: &[&'static str], keys: &mut Vec<String>) {
    let within = |known: &&str| known.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
    match value {
        Value::Object(members) if known.iter().any(within) => {
            members
                .iter()
                .for_each(|(member, value)| collect_leaf_keys(format!("{key}.{member}"), value, known, keys));
        }
        _ => keys.push(key),
    }
}

/// Returns the keys of a file that the program did not look up, each with a similar known key, if any.
fn unknown_keys(object: &Map<String, Value>, known: &[&'static str]) -> Vec<(String, Option<&'static str>)> {
    let mut keys = Vec::new();
    for (key, value) in object.iter().filter(|(key, _)| !EXTERNAL_KEYS.contains(&key.as_str())) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(member, value)| {
                    collect_leaf_keys(format!("{key}.{member}"), value, known, &mut keys)
                });
            }
            _ => keys.push(key.clone()),
        }
    }
    let nearest = |key: &str| {
        let likeness = |known: &&str| strsim::normalized_damerau_levenshtein(key, known);
        let nearest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        nearest.filter(|known| likeness(known) >= MIN_SIMILARITY)
    };
    keys.into_iter()
        .map(|key| (nearest(&key).map(|near| (key.clone(), Some(near)))).unwrap_or((key, None)))
        .collect()
}
