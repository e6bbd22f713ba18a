//! Tool calls and their results. Details unfold when the line with the subject is clicked.

use std::borrow::Cow;

use maud::{Markup, html};
use serde_json::Value;

use super::content::{json, picture, unknown};
use super::fields::{flag, list, optional_text, text};
use super::format::preview;
use super::highlight::{Highlighter, Language};
use agentese_server_base::clean::clean;

/// Names of the arguments of a tool that are shown in a special way.
struct ToolPresentation {
    name: &'static str,
    /// Name of the argument that describes the call best.
    subject: &'static str,
    /// Names of the arguments that are not in the list of other arguments.
    shown: &'static [&'static str],
}

const PRESENTATIONS: &[ToolPresentation] = &[
    ToolPresentation { name: "bash", subject: "command", shown: &["command"] },
    ToolPresentation { name: "read", subject: "path", shown: &["path"] },
    ToolPresentation { name: "write", subject: "path", shown: &["path", "content"] },
    ToolPresentation { name: "edit", subject: "path", shown: &["path", "oldText", "newText", "edits"] },
    ToolPresentation { name: "grep", subject: "pattern", shown: &["pattern"] },
    ToolPresentation { name: "find", subject: "pattern", shown: &["pattern"] },
    ToolPresentation { name: "ls", subject: "path", shown: &["path"] },
];

fn shape(name: &str) -> Option<&'static ToolPresentation> {
    PRESENTATIONS.iter().find(|shape| shape.name == name)
}

/// Returns a short description of a call: the command, the file, or the search pattern.
pub(super) fn subject(call: &Value, longest: usize) -> String {
    let arguments = &call["arguments"];
    let known = shape(text(call, "name")).and_then(|shape| optional_text(arguments, shape.subject));
    let first_text = || arguments.as_object()?.values().find_map(Value::as_str);
    preview(known.or_else(first_text).unwrap_or_default(), longest)
}

/// The result of a call.
pub(super) struct CallResult<'a> {
    /// The HTML `id` of the result on the page.
    pub anchor: String,
    /// Entry of the result.
    pub entry: Cow<'a, Value>,
}

impl CallResult<'_> {
    fn message(&self) -> &Value {
        &self.entry["message"]
    }
}

/// Renders a call with its result, if there is one.
pub(super) fn call(call: &Value, result: Option<&CallResult>, highlighter: &Highlighter) -> Markup {
    let name = text(call, "name");
    let failed = result.is_some_and(|result| flag(result.message(), "isError"));
    html! {
        details.call.failed[failed] {
            summary {
                span.what { (if name.is_empty() { "unnamed tool" } else { name }) }
                " " code.subject { (subject(call, 200)) }
                @if failed { " " span.state { "failed" } }
                @if result.is_none() { " " span.state { "no result" } }
            }
            div.inside {
                (arguments(call, result, highlighter))
                @if let Some(result) = result {
                    div.result id=(result.anchor) { (output(call, result.message(), highlighter)) }
                }
            }
        }
    }
}

/// Renders a result whose call is unknown.
pub(super) fn orphan(message: &Value, highlighter: &Highlighter) -> Markup {
    html! {
        details.call.failed[flag(message, "isError")] {
            summary { span.what { (text(message, "toolName")) } " " span.state { "result without its call" } }
            div.inside { div.result { (output(&Value::Null, message, highlighter)) } }
        }
    }
}

fn arguments(call: &Value, result: Option<&CallResult>, highlighter: &Highlighter) -> Markup {
    let arguments = &call["arguments"];
    let name = text(call, "name");
    let path = text(arguments, "path");
    let Some(shape) = shape(name).filter(|shape| optional_text(arguments, shape.subject).is_some()) else {
        return match arguments.as_object().is_none_or(|members| members.is_empty()) {
            true => html! {},
            false => json(arguments, highlighter),
        };
    };
    html! {
        (other_arguments(arguments, shape.shown))
        @match name {
            "bash" => pre.command { code { (highlighter.code(text(arguments, "command"), Language::Named("sh"))) } },
            "write" => pre { code { (highlighter.code(text(arguments, "content"), Language::OfFile(path))) } },
            "edit" => (diff(&edit_diff(arguments, result))),
            _ => {},
        }
    }
}

/// Renders the arguments that are not in `shown`, on one line.
fn other_arguments(arguments: &Value, shown: &[&str]) -> Markup {
    let members = arguments.as_object().into_iter().flatten();
    let others: Vec<_> = members.filter(|(name, _)| !shown.contains(&name.as_str())).collect();
    html! {
        @if !others.is_empty() {
            p.arguments {
                @for (name, value) in others {
                    span { (name) " " code { (value.as_str().map_or_else(|| value.to_string(), str::to_owned)) } } " "
                }
            }
        }
    }
}

/// Returns the diff in the result of an edit. Without a result, returns the requested change as a diff.
fn edit_diff(arguments: &Value, result: Option<&CallResult>) -> String {
    let diff = result.and_then(|result| optional_text(&result.message()["details"], "diff"));
    if let Some(diff) = diff {
        return diff.to_owned();
    }
    let edits = match list(arguments, "edits") {
        [] => std::slice::from_ref(arguments),
        edits => edits,
    };
    let marked =
        |mark: char, text: &str| text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let asked = |edit: &Value| marked('-', text(edit, "oldText")) + &marked('+', text(edit, "newText"));
    edits.iter().map(asked).collect::<Vec<_>>().join("...\n")
}

fn diff(text: &str) -> Markup {
    html! {
        pre.diff { code {
            @for line in text.lines() {
                @match line.as_bytes().first() {
                    Some(b'+') => span.line.i { (line) "\n" },
                    Some(b'-') => span.line.d { (line) "\n" },
                    _ => span.line { (line) "\n" },
                }
            }
        } }
    }
}

/// Renders the output of a tool.
fn output(call: &Value, message: &Value, highlighter: &Highlighter) -> Markup {
    let name = text(call, "name");
    let failed = flag(message, "isError");
    let path = text(&call["arguments"], "path");
    let language = match name {
        "read" if !failed => Language::OfFile(path),
        _ => Language::Named(""),
    };
    let of_text = |text: &str| {
        let text = clean(text);
        html! { @if !text.trim().is_empty() { pre.output { code { (highlighter.code(&text, language)) } } } }
    };
    html! {
        @if let Some(text) = optional_text(message, "content") { (of_text(text)) }
        @for block in list(message, "content") {
            @match text(block, "type") {
                "text" => (of_text(text(block, "text"))),
                "image" => (picture(block)),
                _ => (unknown(block, highlighter)),
            }
        }
        @if shape(name).is_none() && message.get("details").is_some_and(|details| !details.is_null()) {
            details.more { summary { "Details" } (json(&message["details"], highlighter)) }
        }
    }
}

/// Renders a command of the user.
pub(super) fn bash_execution(message: &Value, highlighter: &Highlighter) -> Markup {
    let exit_code = message.get("exitCode").and_then(Value::as_i64);
    let cancelled = flag(message, "cancelled");
    let failed = cancelled || exit_code.is_some_and(|code| code != 0);
    let command = text(message, "command");
    let output = clean(text(message, "output"));
    html! {
        details.call.failed[failed] {
            summary {
                span.what { "shell" } " " code.subject { (preview(command, 200)) }
                @if let Some(code) = exit_code.filter(|code| *code != 0) { " " span.state { "exit code " (code) } }
                @if cancelled { " " span.state { "cancelled" } }
                @if flag(message, "excludeFromContext") { " " span.state { "not shown to the model" } }
            }
            div.inside {
                pre.command { code { (highlighter.code(command, Language::Named("sh"))) } }
                @if output.trim().is_empty() { p.absent { "No output." } } @else { pre.output { code { (output) } } }
                @if flag(message, "truncated") {
                    p.absent {
                        "Shortened."
                        @if let Some(path) = optional_text(message, "fullOutputPath") { " All of it: " code { (path) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(name: &str, arguments: Value, result: Option<Value>) -> String {
        let result = result.map(|message| CallResult {
            anchor: "entry-r".to_owned(),
            entry: Cow::Owned(json!({"type": "message", "id": "r", "message": message})),
        });
        let of_call = json!({"type": "toolCall", "id": "c", "name": name, "arguments": arguments});
        call(&of_call, result.as_ref(), &Highlighter::default()).0
    }

    fn result(text: &str) -> Value {
        json!({"role": "toolResult", "content": [{"type": "text", "text": text}], "isError": false})
    }

    #[test]
    fn commands_show_their_output_without_escape_sequences() {
        let shown = shown(
            "bash",
            json!({"command": "ls\npwd", "timeout": 5}),
            Some(result("\u{1b}[31m<a>\u{1b}[0m")),
        );
        assert!(shown.contains("<code class=\"subject\">ls</code>"), "{shown}");
        assert!(shown.contains("<span>timeout <code>5</code></span>"), "{shown}");
        assert!(shown.contains("id=\"entry-r\"><pre class=\"output\"><code>&lt;a&gt;</code>"), "{shown}");
    }

    #[test]
    fn edits_show_the_diff_that_was_made_or_asked_for() {
        let arguments = json!({"path": "a.rs", "oldText": "x\ny", "newText": "z"});
        let asked = shown("edit", arguments.clone(), None);
        assert!(
            asked.contains("<span class=\"line d\">-x\n</span><span class=\"line d\">-y\n</span>"),
            "{asked}"
        );
        assert!(
            asked.contains("<span class=\"line i\">+z\n</span>") && asked.contains("no result"),
            "{asked}"
        );
        let mut made = result("done");
        made["details"] = json!({"diff": " 1 a\n-2 b\n+2 c"});
        let made = shown("edit", arguments, Some(made));
        assert!(made.contains("<span class=\"line i\">+2 c\n</span>") && !made.contains("-x"), "{made}");
        let list = shown("edit", json!({"path": "a", "edits": [{"oldText": "p"}, {"newText": "q"}]}), None);
        assert!(list.contains("-p\n</span><span class=\"line\">...\n</span>"), "{list}");
    }

    #[test]
    fn files_are_highlighted_and_other_tools_show_json() {
        let read = shown("read", json!({"path": "a.rs", "offset": 3}), Some(result("fn f() {}")));
        assert!(
            read.contains("<span class=\"k\">fn </span>") && read.contains("offset <code>3</code>"),
            "{read}"
        );
        let written = shown("write", json!({"path": "a.rs", "content": "fn g() {}"}), None);
        assert!(written.contains("<span class=\"k\">fn </span>"), "{written}");
        let other = shown("weather", json!({"city": "Bern"}), None);
        assert!(other.contains("Bern</code>") && other.contains("city"), "{other}");
    }

    #[test]
    fn arguments_of_any_form_are_rendered() {
        for arguments in [json!(null), json!([1]), json!("x"), json!({}), json!({"path": 7, "command": []})] {
            for name in ["bash", "read", "write", "edit", "", "other"] {
                assert!(shown(name, arguments.clone(), None).starts_with("<details"));
            }
        }
    }
}
