//! The tool that replaces parts of a file.

mod job;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::diff::Diff;
use super::{Tool, ToolContext, ToolOutput, blocking, locks, paths};
use crate::os_error;
use agentese_server_base::atomic_write as files;
use job::{EditJob, Replacement};

/// Replaces parts of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditTool {
    /// One replacement for each call: `{path, oldText, newText}`.
    #[default]
    One,
    /// Several replacements for each call: `{path, edits: [{oldText, newText}]}`. Each `oldText` refers to the file
    /// before the call. If one replacement fails, the file stays unchanged.
    List,
}

impl Tool for EditTool {
    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> &str {
        match self {
            Self::One => {
                "Replaces a piece of a text file. oldText has to be in the file exactly once, white space and line \
                 breaks included; give as many lines around the change as that takes."
            }
            Self::List => {
                "Replaces pieces of a text file. Each oldText has to be in the file exactly once, white space and \
                 line breaks included; give as many lines around the change as that takes. Name all changes of a file \
                 in one call, and those that touch each other as one."
            }
        }
    }

    fn parameters(&self) -> Value {
        let path = json!({"type": "string", "description": "The file, relative to the working directory or absolute"});
        let old =
            json!({"type": "string", "description": "The text to replace, exactly as it is in the file"});
        let new = json!({"type": "string", "description": "The text to put in its place"});
        match self {
            Self::One => json!({
                "type": "object",
                "properties": {"path": path, "oldText": old, "newText": new},
                "required": ["path", "oldText", "newText"],
            }),
            Self::List => {
                let edit = json!({
                    "type": "object",
                    "properties": {"oldText": old, "newText": new},
                    "required": ["oldText", "newText"],
                });
                let about = "The replacements, each of them looked for in the file as it is before the call";
                json!({
                    "type": "object",
                    "properties": {
                        "path": path,
                        "edits": {"type": "array", "description": about, "items": edit},
                    },
                    "required": ["path", "edits"],
                })
            }
        }
    }

    fn read_only(&self) -> bool {
        false
    }

    fn normalize_arguments(&self, arguments: Value) -> Value {
        match (self, arguments) {
            (Self::List, Value::Object(members)) => Value::Object(normalize_edits(members)),
            (_, arguments) => arguments,
        }
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { self.run(context, &arguments).await.into() }.boxed()
    }
}

impl EditTool {
    async fn run(self, context: &ToolContext, arguments: &Value) -> Result<ToolOutput, String> {
        let given = arguments["path"].as_str().unwrap_or_default().to_owned();
        let edits = self.replacements(arguments)?;
        let path = paths::resolve_existing(&context.cwd, &given);
        let target =
            files::resolve_symlinks(&path).map_err(|error| os_error::describe(&error, "open", &path))?;
        let _alone = locks::lock_unless_aborted(&target, &context.abort).await?;
        let count = edits.len();
        let job = EditJob {
            target,
            scratch: context.temp_dir.clone(),
            edits,
            abort: context.abort.clone(),
            given: given.clone(),
        };
        let diff = match context.edits_in_editor() {
            true => edit_in_editor(context, job).await?,
            // Not raced against the abort: the result reports the actual change of the file.
            false => blocking::run(move || job.run()).await?,
        };
        let mut details = json!({"diff": diff.text, "firstChangedLine": diff.first_changed_line});
        let text = match self {
            Self::One => format!("Successfully replaced text in {given}."),
            Self::List => {
                details["patch"] = diff.patch(&given).into();
                let pieces = if count == 1 { "piece" } else { "pieces" };
                format!("Replaced {count} {pieces} of {given}.")
            }
        };
        Ok(ToolOutput::text(text).with_details(details))
    }

    fn replacements(self, arguments: &Value) -> Result<Vec<Replacement>, String> {
        let edits = match self {
            Self::One => std::slice::from_ref(arguments),
            Self::List => arguments["edits"].as_array().map(Vec::as_slice).unwrap_or_default(),
        };
        if edits.is_empty() {
            return Err("edits is empty: name at least one replacement.".to_owned());
        }
        let replacement = |(at, edit): (usize, &Value)| {
            let text = |name: &str| edit[name].as_str().map(str::to_owned);
            let both = text("oldText").zip(text("newText"));
            let (old, new) =
                both.ok_or_else(|| format!("edits[{at}] needs oldText and newText, two strings."))?;
            Ok(Replacement { old, new })
        };
        edits.iter().enumerate().map(replacement).collect()
    }
}

/// Returns arguments with the replacements as a list. Some models write the list as a string, pass one replacement
/// without a list, or put `oldText` and `newText` beside the path.
fn normalize_edits(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let is_one = |value: &Value| value["oldText"].is_string() && value["newText"].is_string();
    let mut edits = arguments.get("edits").cloned();
    if let Some(Value::String(text)) = &edits
        && let Ok(read) = serde_json::from_str::<Value>(text)
        && (read.is_array() || is_one(&read))
    {
        edits = Some(read);
    }
    if edits.as_ref().is_some_and(is_one) {
        edits = edits.map(|one| Value::Array(vec![one]));
    }
    if let (Some(old @ Value::String(_)), Some(new @ Value::String(_))) =
        (arguments.get("oldText").cloned(), arguments.get("newText").cloned())
    {
        arguments.shift_remove("oldText");
        arguments.shift_remove("newText");
        let mut list = match edits {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        list.push(json!({"oldText": old, "newText": new}));
        edits = Some(Value::Array(list));
    }
    if let Some(edits) = edits {
        arguments.insert("edits".to_owned(), edits);
    }
    arguments
}

/// Replaces the text in an editor of the client. If the editor cannot read the file, changes the file on this machine.
async fn edit_in_editor(context: &ToolContext, job: EditJob) -> Result<Diff, String> {
    let Some(text) = context.read_in_editor(&job.target).await? else {
        return blocking::run(move || job.run()).await;
    };
    let change = job.locate(&text)?;
    let diff = change.diff(&text);
    context.write_in_editor(&job.target, change.slices(&text).concat()).await?;
    Ok(diff)
}
