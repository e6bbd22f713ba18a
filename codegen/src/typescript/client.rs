//! A typed method for every command.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command, RunRole, Timeout};

use super::rows::{fields, is_session};
use super::signature::{data_type, params_type};
use super::{docs, quote};
use crate::names::{camel, snake};

/// Adds the classes of the dialect's runs and clients.
pub fn classes(out: &mut String, index: &Index) {
    out.push_str("/** A run of this dialect. */\nexport class Run extends AnyRun<Types> {\n  declare readonly client: Client;\n");
    for command in index.commands.iter().filter(|c| matches!(c.run, RunRole::Acts | RunRole::Stops)) {
        out.push('\n');
        run_method(out, index, command);
    }
    out.push_str("}\n\n");
    let _ = writeln!(
        out,
        "/** A client of the {} dialect: a method for every command. */\nexport class Client extends RpcClient<Types> {{\n  \
         constructor(transport: Transport, options?: ClientOptions<Types>) {{\n    super(spec, transport, options);\n  }}",
        index.dialect.name
    );
    for command in &index.commands {
        out.push('\n');
        method(out, index, command);
    }
    out.push_str("}\n");
}

/// Returns `params` for a method signature, with a comma after it. Returns an empty text for a command without
/// parameters.
fn params(index: &Index, command: &Command) -> String {
    match command.params {
        None => String::new(),
        Some(name) if fields(index, command).iter().any(|field| field.presence.is_required()) => {
            format!("params: {name}, ")
        }
        Some(name) => format!("params: {name} = {{}}, "),
    }
}

fn run_method(out: &mut String, index: &Index, command: &Command) {
    docs(out, "  ", command.doc, &failures(command));
    // Shortens `agent_abort` to `abort` on a run.
    let name = camel(command.name.strip_prefix("agent_").unwrap_or(command.name));
    let helper = camel(command.name);
    let data = promised(command);
    let session = fields(index, command).iter().find(|field| is_session(index, field));
    let rest = fields(index, command).iter().filter(|field| !is_session(index, field)).count();
    let _ = match (session, rest) {
        (Some(member), 0) => writeln!(
            out,
            "  {name}(options?: CallOptions): Promise<{data}> {{\n    return this.client.{helper}({{ {}: this.session }}, options);\n  }}",
            member.name
        ),
        (Some(member), _) => writeln!(
            out,
            "  {name}(params: Omit<{}, {}>, options?: CallOptions): Promise<{data}> {{\n    return this.client.{helper}({{ ...params, {}: this.session }}, options);\n  }}",
            params_type(command),
            quote(member.name),
            member.name
        ),
        (None, 0) => writeln!(
            out,
            "  {name}(options?: CallOptions): Promise<{data}> {{\n    return this.client.{helper}(options);\n  }}"
        ),
        (None, _) => writeln!(
            out,
            "  {name}({}options?: CallOptions): Promise<{data}> {{\n    return this.client.{helper}(params, options);\n  }}",
            params(index, command)
        ),
    };
}

fn method(out: &mut String, index: &Index, command: &Command) {
    let mut more = Vec::new();
    let starts = command.run == RunRole::Starts;
    if starts {
        more.push(
            match command.answer {
                Answer::Done | Answer::Never => "Resolves at once with the run; the run fails where the command is rejected.",
                Answer::Accepted => "Resolves with the run when the agent has accepted the command; rejects where the agent rejects it.",
                Answer::Acknowledged => {
                    "Resolves with the run when the agent has acknowledged the command; a later failure fails the run."
                }
            }
            .to_owned(),
        );
        more.push(String::new());
    }
    more.extend(failures(command));
    docs(out, "  ", command.doc, &more);
    let name = camel(command.name);
    let params = params(index, command);
    let given = if params.is_empty() { "{}" } else { "params" };
    let wire = quote(command.wire);
    let _ = if starts {
        writeln!(
            out,
            "  {name}({params}options?: RunOptions): Promise<Run> {{\n    return this.start(Run, {wire}, {given}, options);\n  }}"
        )
    } else {
        writeln!(
            out,
            "  {name}({params}options?: CallOptions): Promise<{}> {{\n    return this.call({wire}, {given}, options);\n  }}",
            promised(command)
        )
    };
}

fn promised(command: &Command) -> String {
    if command.result.is_none() { "void".to_owned() } else { data_type(command) }
}

/// Returns the documented failures of a command, as tags of a doc comment.
fn failures(command: &Command) -> Vec<String> {
    let mut lines: Vec<String> = command
        .errors
        .iter()
        .map(|error| {
            let code = error.code.map(|code| format!(" ({code})")).unwrap_or_default();
            format!("@throws RefusedError `{}`{code}: {}.", snake(error.kind), error.when)
        })
        .collect();
    match command.timeout {
        Timeout::Milliseconds(milliseconds) => {
            lines.push(format!("@throws TimedOutError No answer within {} s.", milliseconds / 1000));
        }
        Timeout::Never => lines.insert(0, "No timeout by default.".to_owned()),
    }
    lines
}
