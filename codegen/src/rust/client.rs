//! A typed client method for every command.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command, Field, RunRole, Shape, Timeout};

use super::docs;
use super::signature::{params_type, result_type};
use super::types::argument;

pub fn helpers(out: &mut String, index: &Index, marker: &str) {
    let _ = writeln!(out, "/// The commands of this dialect.\nimpl crate::RpcClient<{marker}> {{");
    for (position, command) in index.commands.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        helper(out, index, command);
    }
    out.push_str("}\n\n");
    let acting: Vec<_> =
        index.commands.iter().filter(|c| matches!(c.run, RunRole::Acts | RunRole::Stops)).collect();
    let _ = writeln!(out, "/// Commands that act on the run.\nimpl crate::Run<{marker}> {{");
    for (position, command) in acting.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        let fields = fields(index, command);
        let required: Vec<&Field> =
            fields.iter().filter(|f| f.presence.is_required() && !is_session(index, f)).collect();
        let arguments: Vec<(String, String)> = required.iter().map(|field| argument(field)).collect();
        let parameters: String = arguments.iter().map(|(parameter, _)| format!(", {parameter}")).collect();
        docs(out, "    ", command.doc);
        errors(out, command);
        let name = run_helper(command.name);
        let _ = writeln!(
            out,
            "    pub async fn {name}(&self{parameters}) -> Result<{}, crate::Error> {{",
            result_type(command)
        );
        let session = fields.iter().any(|field| is_session(index, field));
        let mut values: Vec<String> = required.iter().map(|field| argument(field).1).collect();
        if session {
            values.insert(0, "self.session().to_owned()".to_owned());
        }
        let _ = writeln!(out, "        self.client().{}({}).await\n    }}", command.name, values.join(", "));
    }
    out.push_str("}\n\n");
}

/// Returns the name of a command as a method of a run, such as `abort` for `agent_abort`.
fn run_helper(name: &str) -> &str {
    name.strip_prefix("agent_").unwrap_or(name)
}

fn is_session(index: &Index, field: &Field) -> bool {
    index.dialect.event_members.iter().any(|member| member.name == field.name)
}

/// Returns the members of a command's parameters.
pub fn fields(index: &Index, command: &Command) -> &'static [Field] {
    let Some(def) = command.params.and_then(|name| index.type_def(name)) else { return &[] };
    match def.shape {
        Shape::Record { fields, .. } => fields,
        _ => &[],
    }
}

fn errors(out: &mut String, command: &Command) {
    out.push_str("    ///\n    /// # Errors\n");
    for error in command.errors {
        let code = error.code.map(|code| format!(" ({code})")).unwrap_or_default();
        let _ = writeln!(out, "    /// `{}`{code}: {}.", error.text.replace('`', "'"), error.when);
    }
    match command.timeout {
        Timeout::Milliseconds(milliseconds) => {
            let _ = writeln!(
                out,
                "    /// [`crate::Error`] if the agent rejects the command, ends, or does not answer within {} s.",
                milliseconds / 1000
            );
        }
        Timeout::Never => {
            out.push_str(
                "    /// [`crate::Error`] if the agent rejects the command or ends. No timeout by default.\n",
            );
        }
    }
}

fn helper(out: &mut String, index: &Index, command: &Command) {
    let fields = fields(index, command);
    let params = params_type(command);
    let starts = command.run == RunRole::Starts;
    let result = if starts { "Run".to_owned() } else { result_type(command) };
    let call = if starts {
        "start"
    } else if command.result.is_none() {
        "call_empty"
    } else {
        "call"
    };
    docs(out, "    ", command.doc);
    if starts {
        let when = match command.answer {
            Answer::Done | Answer::Never => {
                "Returns at once with the run; its result says how the command ended."
            }
            Answer::Accepted => "Returns when the agent has accepted the command; a rejection is the error.",
            Answer::Acknowledged => {
                "Returns when the agent has acknowledged the command; a later failure is the run's error."
            }
        };
        let _ = writeln!(out, "    ///\n    /// {when}");
    }
    errors(out, command);
    if command.params.is_none() {
        let _ = writeln!(
            out,
            "    pub async fn {}(&self) -> Result<{result}, crate::Error> {{\n        self.{call}({:?}, &NoParams::default()).await\n    }}",
            command.name, command.wire
        );
        return;
    }
    let arguments: Vec<(String, String)> =
        fields.iter().filter(|field| field.presence.is_required()).map(argument).collect();
    let parameters: String = arguments.iter().map(|(parameter, _)| format!(", {parameter}")).collect();
    let values: Vec<&str> =
        arguments.iter().map(|(parameter, _)| parameter.split(':').next().unwrap_or_default()).collect();
    let optional = fields.iter().any(|field| !field.presence.is_required());
    if optional {
        let _ = writeln!(
            out,
            "    pub async fn {}(&self{parameters}) -> Result<{result}, crate::Error> {{\n        self.{}_with({params}::new({})).await\n    }}\n",
            command.name,
            command.name,
            values.join(", ")
        );
        let _ = writeln!(out, "    /// As [`Self::{}`], with all parameters.", command.name);
        errors(out, command);
        let _ = writeln!(
            out,
            "    pub async fn {}_with(&self, params: {params}) -> Result<{result}, crate::Error> {{\n        self.{call}({:?}, &params).await\n    }}",
            command.name, command.wire
        );
    } else {
        let _ = writeln!(
            out,
            "    pub async fn {}(&self{parameters}) -> Result<{result}, crate::Error> {{\n        self.{call}({:?}, &{params}::new({})).await\n    }}",
            command.name,
            command.wire,
            values.join(", ")
        );
    }
}
