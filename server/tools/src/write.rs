//! The tool that writes files.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolOutput, blocking, locks, paths, replace};
use crate::os_error;
use agentese_server_base::atomic_write as files;
use agentese_server_base::encoding::Encoding;

/// Writes a file, and replaces any existing content.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteTool;

impl Tool for WriteTool {
    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> &str {
        "Writes a file: creates it, with the directories it needs, or replaces all of its content. To change a part of \
         a file use edit."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
                "content": {"type": "string", "description": "All of the file's new content"},
            },
            "required": ["path", "content"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { execute(context, arguments).await.into() }.boxed()
    }
}

async fn execute(context: &ToolContext, mut arguments: Value) -> Result<ToolOutput, String> {
    let given = arguments["path"].as_str().unwrap_or_default().to_owned();
    let Value::String(content) = arguments["content"].take() else {
        return Err("content must be string".into());
    };
    let path = paths::resolve(&context.cwd, &given);
    let target = files::resolve_symlinks(&path).map_err(|error| os_error::describe(&error, "open", &path))?;
    let _alone = locks::lock_unless_aborted(&target, &context.abort).await?;
    let abort = context.abort.clone();
    let done = |bytes: usize| ToolOutput::text(format!("Successfully wrote {bytes} bytes to {given}"));
    if context.editor_files.as_ref().is_some_and(|files| files.can_write()) {
        let bytes = content.len();
        context.write_in_editor(&target, content).await?;
        return Ok(done(bytes));
    }
    let scratch = context.temp_dir.clone();
    let job = move || {
        // A file keeps the encoding of its byte order mark.
        let content = Encoding::of_file(&target).encode_file(&content);
        replace::replace(&target, &[&*content], &scratch, || locks::check_not_aborted(&abort))?;
        Ok(content.len())
    };
    // Not raced against the abort: the result reports the actual change of the file.
    blocking::run(job).await.map(done)
}
