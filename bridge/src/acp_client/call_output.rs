//! The output of a tool call, from its content, the output of its commands and its raw output.

use agentese::acp::{AcpAgentTerminalExit, AcpContentBlock, AcpRawExitCode, AcpRawOutput, AcpToolContent};
use agentese_server_tools::ToolContent;
use serde_json::{Map, Value};

use super::call_details::{CallDetails, content_text, json_object};
use super::call_extensions::fitting;
use super::shown_diff::ShownDiff;

/// The maximum number of bytes of a command's output in an update of a running call. The result has all output.
const MAX_RUNNING: usize = 50_000;

/// The maximum depth at which the text of a raw output is searched.
const MAX_DEPTH: usize = 4;

/// Returns the output so far of a running call.
pub(super) fn running_output(call: &CallDetails) -> Vec<ToolContent> {
    blocks(call, None, tail)
}

/// Returns the output of a call that has ended. A failed call has changed no file, so its changes are only shown if
/// there is no other output.
pub(super) fn result_output(call: &CallDetails, failed: bool) -> Vec<ToolContent> {
    let changes_files = call.diffs().next().is_some();
    // The text of a command may be JSON, that of a change is JSON only if the agent wrote its result so.
    let object = call.raw_output().filter(|_| changes_files).and_then(json_object);
    let raw = object.as_ref().or(call.raw_output());
    let mut output = blocks(call, raw.and_then(|raw| output_text(raw, MAX_DEPTH)), str::to_owned);
    let unknown = raw.filter(|raw| !is_exit(raw) && output_text(raw, MAX_DEPTH).is_none());
    if output.is_empty() && (failed || !changes_files) {
        output.extend(unknown.map(|raw| ToolContent::Text(raw.to_string())));
    }
    if output.is_empty() || !failed {
        output.extend(call.diffs().map(|diff| ToolContent::Text(ShownDiff::new(diff).text())));
    }
    output.extend(exit_text(call, raw).map(ToolContent::Text));
    if output.is_empty() {
        output.push(ToolContent::Text(String::new()));
    }
    output
}

/// Returns the content of a call, with the output of a command in the place of its terminal. `raw` is the text of the
/// raw output. It counts if there is no other output, if it is newer than the content, if a terminal has no output, and if
/// it completes a command's output.
fn blocks(call: &CallDetails, raw: Option<String>, shorten: impl Fn(&str) -> String) -> Vec<ToolContent> {
    let mut commands: Vec<_> = call.commands().terminals().collect();
    let completes = |text: &str| raw.as_ref().filter(|raw| raw.contains(text.trim_end())).map(String::as_str);
    let command_text = |text: &str| shorten(completes(text).unwrap_or(text));
    let lacks_output = commands.is_empty();
    let mut output = Vec::new();
    for item in call.content() {
        match item {
            AcpToolContent::Content(content) => output.push(block(&content.content)),
            AcpToolContent::Terminal(terminal) => {
                let known = commands.iter().position(|command| command.id == terminal.terminal_id);
                output.extend(known.map(|at| ToolContent::Text(command_text(&commands.remove(at).text))));
            }
            _ => {}
        }
    }
    output.retain(|block| !matches!(block, ToolContent::Text(text) if text.is_empty()));
    for command in commands {
        if !contains(&output, &command.text) {
            output.push(ToolContent::Text(command_text(&command.text)));
        }
    }
    let has_terminal = call.content().iter().any(|item| matches!(item, AcpToolContent::Terminal(_)));
    let is_needed = output.is_empty() || (lacks_output && (has_terminal || call.is_raw_output_newer()));
    if let Some(raw) = raw.filter(|raw| is_needed && !raw.is_empty() && !contains(&output, raw)) {
        output.retain(|block| !matches!(block, ToolContent::Text(text) if has_lines(&raw, text)));
        output.push(ToolContent::Text(raw));
    }
    output
}

/// Returns `true` if a block contains all lines of a text, for example between the lines of a fence.
fn contains(output: &[ToolContent], text: &str) -> bool {
    output.iter().any(|block| matches!(block, ToolContent::Text(shown) if has_lines(shown, text)))
}

fn has_lines(text: &str, part: &str) -> bool {
    format!("\n{}\n", text.trim()).contains(&format!("\n{}\n", part.trim()))
}

fn block(content: &AcpContentBlock) -> ToolContent {
    match content {
        AcpContentBlock::Image(image) => {
            ToolContent::Image { data: image.data.clone(), mime_type: image.mime_type.clone() }
        }
        other => ToolContent::Text(content_text(other)),
    }
}

/// Returns the end of a long text, after a note.
fn tail(text: &str) -> String {
    let cut = text.len().saturating_sub(MAX_RUNNING);
    let at = (cut..text.len()).find(|at| text.is_char_boundary(*at));
    match at.filter(|_| cut > 0) {
        Some(at) => format!("[earlier output is not repeated here]\n{}", &text[at..]),
        None => text.to_owned(),
    }
}

/// Returns the text in a raw output: a text, the texts of a list, or the text of a declared member. An object without
/// such a member has no text.
fn output_text(raw: &Value, depth: usize) -> Option<String> {
    let text = |value: &Value| output_text(value, depth.checked_sub(1)?);
    match raw {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(text).collect();
            texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
        }
        Value::Object(members) => member_text(fitting(members)?, text),
        _ => None,
    }
}

/// Returns the first text of the members. A member with an empty text counts only without another one.
fn member_text(output: AcpRawOutput, text: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let of = |member: &Option<Value>| member.as_ref().and_then(&text);
    let streams = [output.stdout.into_option(), output.stderr.into_option()];
    let streams: Vec<String> = streams.iter().filter_map(of).collect();
    let written: Vec<&str> = streams.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let both = (!streams.is_empty()).then(|| written.join("\n"));
    let before = [output.formatted_output, output.aggregated_output, output.output, output.output_for_prompt];
    let after = [output.text, output.content, output.result, output.error];
    let members =
        |members: [agentese::wire::Maybe<Value>; 4]| members.map(|member| of(&member.into_option()));
    let texts = members(before).into_iter().chain([both]).chain(members(after));
    let mut texts: Vec<String> = texts.flatten().collect();
    let at = texts.iter().position(|text| !text.is_empty()).unwrap_or_default();
    (at < texts.len()).then(|| texts.swap_remove(at))
}

/// Returns the exit code of a command in a raw output.
fn raw_exit(raw: &Value) -> Option<AcpAgentTerminalExit> {
    let members = raw.as_object()?;
    let mut exit: AcpAgentTerminalExit = fitting(members)?;
    let camel = || fitting::<AcpRawExitCode>(members)?.exit_code.into_option();
    exit.exit_code = exit.exit_code.into_option().or_else(camel).into();
    Some(exit)
}

/// Returns `true` for a raw output that has only an exit code.
fn is_exit(raw: &Value) -> bool {
    let has_code = raw_exit(raw).is_some_and(|exit| exit.exit_code.as_option().is_some());
    raw.as_object().is_some_and(Map::is_empty)
        || (has_code && raw.as_object().is_some_and(|raw| raw.len() == 1))
}

/// Returns lines about commands that failed.
fn exit_text(call: &CallDetails, raw: Option<&Value>) -> Option<String> {
    let mut lines: Vec<String> = call.commands().exits().filter_map(exit_line).collect();
    if lines.is_empty() {
        lines.extend(raw.and_then(raw_exit).as_ref().and_then(exit_line));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn exit_line(exit: &AcpAgentTerminalExit) -> Option<String> {
    match (exit.signal.as_option(), exit.exit_code.as_option()) {
        (Some(signal), _) if !signal.is_empty() => Some(format!("Command was killed by signal {signal}")),
        (_, Some(code)) if *code != 0 => Some(format!("Command exited with code {code}")),
        _ => None,
    }
}
