//! Members with which agents extend a tool call: the name of the tool, and the output of its commands.

use agentese::acp::{
    AcpAgentTerminalExit, AcpAgentTerminalOutput, AcpCallExtensions, AcpNamedTool, AcpToolIdentity,
    AcpToolKind,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The maximum length of the name of a tool in its arguments, in characters.
const MAX_NAME: usize = 100;

/// Reads members as a declared type. Members that do not fit it are of other agents, and are ignored.
pub(super) fn fitting<T: DeserializeOwned>(members: &Map<String, Value>) -> Option<T> {
    let read = |members: Map<String, Value>| serde_json::from_value::<T>(Value::Object(members));
    let one = |(name, value): (&String, &Value)| (name.clone(), value.clone());
    let fits = |member: &(&String, &Value)| read(Map::from_iter([one(*member)])).is_ok();
    read(members.iter().filter(fits).map(one).collect()).ok()
}

/// Returns the name of the tool from the extensions of a call.
pub(super) fn tool_name(meta: &Map<String, Value>, extensions: &AcpCallExtensions) -> Option<String> {
    let name = |tool: &AcpToolIdentity| tool.tool_name.as_option().cloned();
    let goose = || extensions.goose.as_option()?.tool_call.as_option().and_then(name);
    let other = || fitting::<AcpNamedTool>(meta)?.tool_name.into_option();
    let names = [
        extensions.claude_code.as_option().and_then(name),
        goose(),
        extensions.tool_name.as_option().cloned(),
        other(),
    ];
    names.into_iter().flatten().find(|name| !name.trim().is_empty())
}

/// Returns the name of the tool from arguments that contain it. The arguments may be those of another tool, with an
/// argument of that name. So the name counts if an object is beside it, or if the title contains it.
pub(super) fn named_in_arguments(arguments: &Map<String, Value>, title: Option<&str>) -> Option<String> {
    let named: AcpNamedTool = fitting(arguments)?;
    let name = named.tool.into_option().or(named.tool_name.into_option())?;
    let is_name = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_whitespace);
    let is_confirmed =
        arguments.values().any(Value::is_object) || title.is_some_and(|title| title.contains(&name));
    (is_name && is_confirmed).then_some(name)
}

/// Returns the name of the tool from the title of a call. `kind` is its kind, if it is a particular one. Without it, the
/// name may precede a description. With it, the title must be the name alone, and not look like a command or an argument.
pub(super) fn named_in_title<'a>(
    title: &'a str,
    kind: Option<&AcpToolKind>,
    arguments: &Map<String, Value>,
) -> Option<&'a str> {
    let title = title.trim();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let (name, rest) = title.split_at(title.find(|letter| !is_letter(letter)).unwrap_or(title.len()));
    if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    let repeats = |value: &Value| value.as_str().is_some_and(|text| text.contains(name));
    let is_alone = rest.is_empty() && !arguments.values().any(repeats);
    let is_command = || !name.contains(|letter: char| letter.is_ascii_uppercase() || letter == '_');
    let is_name = match kind {
        Some(AcpToolKind::Execute) => is_alone && !is_command(),
        Some(_) => is_alone,
        None => is_alone || [":", " · ", "("].iter().any(|separator| rest.starts_with(separator)),
    };
    is_name.then_some(name)
}

/// The output of the commands of a call, which the agent sends in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandOutput {
    terminals: Vec<AgentTerminal>,
}

/// The output of one command.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentTerminal {
    pub id: String,
    pub text: String,
    exit: Option<AcpAgentTerminalExit>,
}

impl CommandOutput {
    /// Adds a piece of output and the end of a command. Without an id of its own, the terminal has that of the call.
    /// Returns `true` if there is more output.
    pub fn push(&mut self, call: &str, extensions: AcpCallExtensions) -> bool {
        let pieces = [extensions.terminal_output, extensions.terminal_output_delta];
        let mut has_more = false;
        for piece in pieces.into_iter().filter_map(|piece| piece.into_option()) {
            let AcpAgentTerminalOutput { terminal_id, data, .. } = piece;
            has_more |= !data.is_empty();
            self.terminal(terminal_id.into_option().as_deref().unwrap_or(call)).text.push_str(&data);
        }
        if let Some(exit) = extensions.terminal_exit.into_option() {
            let id = exit.terminal_id.as_option().cloned();
            self.terminal(id.as_deref().unwrap_or(call)).exit = Some(exit);
        }
        has_more
    }

    fn terminal(&mut self, id: &str) -> &mut AgentTerminal {
        let known = self.terminals.iter().position(|terminal| terminal.id == id);
        let at = known.unwrap_or_else(|| {
            self.terminals.push(AgentTerminal { id: id.to_owned(), ..AgentTerminal::default() });
            self.terminals.len() - 1
        });
        &mut self.terminals[at]
    }

    /// Returns the terminals with output, in the order of their first piece.
    pub fn terminals(&self) -> impl Iterator<Item = &AgentTerminal> {
        self.terminals.iter().filter(|terminal| !terminal.text.is_empty())
    }

    /// Returns the ends of commands.
    pub fn exits(&self) -> impl Iterator<Item = &AcpAgentTerminalExit> {
        self.terminals.iter().filter_map(|terminal| terminal.exit.as_ref())
    }
}
