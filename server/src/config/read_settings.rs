//! From settings files to [`Settings`].

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::complaint::{Complaint, LIMIT};
use super::setting::{Setting, describe, kind};
use super::text_file::read_text;
use super::yaml::{from_yaml, is_yaml};
use super::{ApprovalSettings, Home, Settings, Trust, expand_home, resolve};

#[cfg(test)]
mod tests;

/// What the files gave.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The settings as they count.
    pub settings: Settings,
    /// What does not count, for the user.
    pub complaints: Vec<Complaint>,
    /// Whether the working directory is trusted.
    pub trust: Trust,
    /// The working directory's file, where it would change something and does not for lack of trust.
    pub left_out: Option<PathBuf>,
}

/// Reads the user's settings in the agent directory, and over them those of a trusted working
/// directory, from the files that `of` names. `trust` is what has been decided about it already, if anything. Never fails: what cannot be read becomes
/// a complaint, and the default counts.
///
/// Trust also comes from the user's own file, see [`Trust::of`]. The working directory's file has no say in it.
pub fn load_settings(
    of: &Home,
    agent_dir: Option<&Path>,
    cwd: &Path,
    home: Option<&Path>,
    trust: Option<bool>,
) -> Loaded {
    let mut loaded = Loaded { trust: trust.map_or(Trust::Undecided, Trust::from), ..Loaded::default() };
    let Loaded { settings, complaints, trust: decided, left_out } = &mut loaded;
    if let Some(path) = agent_dir.map(|directory| directory.join(of.settings))
        && let Some(object) = object(&path, complaints)
    {
        if trust.is_none() {
            *decided = Trust::of(&object, cwd, home);
        }
        apply(settings, complaints, &path, object, home);
    }
    let path = cwd.join(of.project);
    if *decided == Trust::Granted {
        if let Some(mut object) = object(&path, complaints) {
            // What protects the user is the user's alone to take away.
            if let Some(Value::Object(host)) = object.get_mut("extensionHost") {
                host.remove("unguarded");
            }
            apply(settings, complaints, &path, object, home);
        }
    } else if would_count(settings, &path, home) {
        *left_out = Some(path);
    }
    loaded
}

/// Whether a file would change anything. Reading is not obeying.
fn would_count(settings: &Settings, path: &Path, home: Option<&Path>) -> bool {
    let mut ignored = Vec::new();
    let Some(object) = object(path, &mut ignored) else { return !ignored.is_empty() };
    let mut changed = settings.clone();
    apply(&mut changed, &mut ignored, path, object, home);
    changed.other.clone_from(&settings.other);
    changed != *settings || !ignored.is_empty()
}

/// The object in a file; none where there is no file, or none that can be used.
fn object(path: &Path, complaints: &mut Vec<Complaint>) -> Option<Map<String, Value>> {
    let path = path.to_owned();
    let complaint = match read_text(&path, LIMIT) {
        Err(error) if error.is_not_found() => return None,
        Err(source) => Complaint::Unreadable { path, source },
        Ok(file) if file.cut => Complaint::TooLong { path },
        // An empty file is what an editor leaves behind that was closed at once.
        Ok(file) if file.text.trim().is_empty() => return None,
        Ok(file) => match parse(&path, &file.text) {
            Ok(Value::Object(object)) => return Some(object),
            Ok(other) => {
                let reason = format!("an object was expected, not {}", kind(&other));
                Complaint::NotJson { path, reason }
            }
            Err(reason) => Complaint::NotJson { path, reason },
        },
    };
    complaints.push(complaint);
    None
}

/// The value in a file's text; its name says what it is written in.
fn parse(path: &Path, text: &str) -> Result<Value, String> {
    if is_yaml(path) {
        from_yaml(text)
    } else {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// Lays what a file says over the settings.
fn apply(
    settings: &mut Settings,
    complaints: &mut Vec<Complaint>,
    path: &Path,
    object: Map<String, Value>,
    home: Option<&Path>,
) {
    let mut file = File { path, object, complaints };
    file.set("defaultProvider", &mut settings.default_provider);
    file.set("defaultModel", &mut settings.default_model);
    file.set("defaultThinkingLevel", &mut settings.default_thinking_level);
    file.set("enabledModels", &mut settings.enabled_models);
    file.set("steeringMode", &mut settings.steering_mode);
    file.set("followUpMode", &mut settings.follow_up_mode);
    file.set("compaction.enabled", &mut settings.compaction.enabled);
    file.set("compaction.reserveTokens", &mut settings.compaction.reserve_tokens);
    file.set("compaction.keepRecentTokens", &mut settings.compaction.keep_recent_tokens);
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
    file.approvals(&mut settings.approval.tools);
    file.set("approval.timeoutMs", &mut settings.approval.timeout_ms);
    file.paths("extensions", &mut settings.extensions, home);
    file.paths("skills", &mut settings.skills, home);
    file.paths("prompts", &mut settings.prompts, home);
    file.set("rpc.persistDefaults", &mut settings.persist_defaults);
    file.set("rpc.hideKeys", &mut settings.hide_keys);
    file.set("rpc.trustDialogMs", &mut settings.trust_dialog_ms);
    if let Some(shell) = &mut settings.shell_path {
        *shell = expand_home(shell, home);
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

/// One file while it is applied; what was applied is gone from its object.
struct File<'a> {
    path: &'a Path,
    object: Map<String, Value>,
    complaints: &'a mut Vec<Complaint>,
}

impl File<'_> {
    /// Sets a field where the file has that key, in the right form.
    fn set<T: Setting>(&mut self, key: &str, field: &mut T) {
        // As everywhere in the pi family, null is the same as absent.
        let Some(value) = self.take(key).filter(|value| !value.is_null()) else { return };
        match T::read(&value) {
            Some(value) => *field = value,
            None => self.complain(key, T::EXPECTED, describe(&value, T::IS_NAME)),
        }
    }

    /// Adds the paths that the file lists; relative ones begin where the file is.
    fn paths(&mut self, key: &str, field: &mut Vec<PathBuf>, home: Option<&Path>) {
        let mut listed: Vec<String> = Vec::new();
        self.set(key, &mut listed);
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let listed = listed.iter().filter(|path| !path.is_empty());
        field.extend(listed.map(|path| resolve(directory, &expand_home(Path::new(path), home))));
    }

    /// Adds the tools that need a yes. What cannot be read protects all the more: every tool needs one then.
    fn approvals(&mut self, tools: &mut Vec<String>) {
        let before = self.complaints.len();
        let mut listed = Vec::new();
        self.set("approval.tools", &mut listed);
        if self.complaints.len() > before {
            listed.push(ApprovalSettings::EVERY.to_owned());
        }
        tools.extend(listed);
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        let Some((outer, inner)) = key.split_once('.') else { return self.object.shift_remove(key) };
        let value = match self.object.get_mut(outer)? {
            Value::Object(members) => {
                let value = members.shift_remove(inner);
                if !members.is_empty() {
                    return value;
                }
                value
            }
            Value::Null => None,
            other => {
                let found = kind(other).to_owned();
                self.complain(outer, "an object", found);
                None
            }
        };
        self.object.shift_remove(outer);
        value
    }

    fn complain(&mut self, key: &str, expected: &'static str, found: String) {
        let (path, key) = (self.path.to_owned(), key.to_owned());
        self.complaints.push(Complaint::WrongType { path, key, expected, found });
    }
}
