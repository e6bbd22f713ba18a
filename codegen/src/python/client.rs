//! A typed method for every command, from the same rows for threads and for asyncio.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command, Field, RunRole};

use super::docs;
use super::literal::quote;
use super::parameters::{failures, fields, head, is_session, members};
use super::ty;
use crate::names::snake;

/// Returns the commands that are also methods of a run.
fn acting(index: &Index) -> impl Iterator<Item = &'static Command> + '_ {
    index.commands.iter().copied().filter(|c| matches!(c.run, RunRole::Acts | RunRole::Stops))
}

/// Returns the name of a command as a method of a run, such as `abort` for `agent_abort`.
fn on_run(command: &Command) -> String {
    snake(command.name.strip_prefix("agent_").unwrap_or(command.name))
}

fn doc(out: &mut String, index: &Index, command: &Command, asynchronous: bool) {
    let mut more = Vec::new();
    if command.run == RunRole::Starts {
        let when = if asynchronous {
            "Sends the command and returns the run at once. Await the run to wait until the agent has accepted it."
        } else {
            match command.answer {
                Answer::Done | Answer::Never => {
                    "Returns the run at once; the run's result says how the command ended."
                }
                Answer::Accepted => {
                    "Returns the run when the agent has accepted the command; raises RefusedError where it rejects it."
                }
                Answer::Acknowledged => {
                    "Returns the run when the agent has acknowledged the command; a later failure is raised by the run."
                }
            }
        };
        more.push(when.to_owned());
    }
    more.extend(failures(index, command));
    docs(out, "        ", command.doc, &more);
}

const ASK: &str = "Sends a prompt, waits for the end of the run and returns the text of its last message.\n\n\
                   Raises TimedOutError where the run is not over after `timeout` seconds, and how the run failed.";

/// Returns the command for a plain prompt, which is the first command that starts a run.
fn starting(index: &Index) -> Option<&'static Command> {
    index.commands.iter().copied().find(|command| command.run == RunRole::Starts)
}

/// Returns the parameters of a command's method. If the command starts a run, `limits` is one of them.
fn given(command: &Command, fields: &[&Field], typed: bool) -> String {
    let head = head(fields, typed);
    match (command.run == RunRole::Starts, typed) {
        (true, true) => format!("{head}, limits: RunLimits | None = None"),
        (true, false) => format!("{head}, limits=None"),
        (false, _) => head,
    }
}

/// Returns the parameters of the method `ask`. Its `timeout` applies to the whole run.
fn asking(command: &Command, fields: &[&Field], typed: bool) -> String {
    let head = given(command, fields, typed);
    let (from, to) = match typed {
        true => ("timeout: Timeout = ...", "timeout: float | None = None"),
        false => ("timeout=DEFAULT", "timeout=None"),
    };
    head.replace(from, to)
}

/// Adds the runtime classes.
pub fn classes(out: &mut String, index: &Index) {
    out.push_str("\n\nclass _Commands:\n    __slots__ = ()\n");
    for command in &index.commands {
        let fields: Vec<&Field> = fields(index, command).iter().collect();
        let _ = writeln!(out, "\n    def {}(self, {}):", snake(command.name), given(command, &fields, false));
        doc(out, index, command, false);
        let (call, more) =
            if command.run == RunRole::Starts { ("_start", ", limits") } else { ("_call", "") };
        let _ = writeln!(
            out,
            "        return self.{call}({}, {}, timeout{more})",
            quote(command.wire),
            members(&fields, None)
        );
    }
    if let Some(command) = starting(index) {
        let fields: Vec<&Field> = fields(index, command).iter().collect();
        let _ = writeln!(out, "\n    def ask(self, {}):", asking(command, &fields, false));
        docs(out, "        ", ASK, &[]);
        let _ = writeln!(
            out,
            "        return self._start({}, {}, DEFAULT, limits).text(timeout=timeout)",
            quote(command.wire),
            members(&fields, None)
        );
    }
    out.push_str("\n\nclass _Acts:\n    __slots__ = ()\n");
    for command in acting(index) {
        let all = fields(index, command);
        let session = all.iter().find(|field| is_session(index, field)).map(|field| field.name);
        let own: Vec<&Field> = all.iter().filter(|field| !is_session(index, field)).collect();
        let _ = writeln!(out, "\n    def {}(self, {}):", on_run(command), head(&own, false));
        doc(out, index, command, false);
        let _ = writeln!(
            out,
            "        return self.client._call({}, {}, timeout)",
            quote(command.wire),
            members(&all.iter().collect::<Vec<_>>(), session)
        );
    }
    let name = index.dialect.name;
    let _ = writeln!(
        out,
        "\n\nclass Run(_Acts, SyncRun):\n    \"\"\"The work that a prompt of the {name} dialect started.\"\"\"\n\n    __slots__ = ()\n\n\n\
         class AsyncRun(_Acts, AsyncRunBase):\n    \"\"\"The work that a prompt of the {name} dialect started.\"\"\"\n\n    __slots__ = ()\n\n\n\
         class Client(_Commands, SyncClient):\n    \"\"\"A client of the {name} dialect: a method for every command.\"\"\"\n\n    __slots__ = ()\n    dialect = DIALECT\n    _run = Run\n\n\n\
         class AsyncClient(_Commands, AsyncClientBase):\n    \"\"\"A client of the {name} dialect for asyncio: a method for every command.\"\"\"\n\n    __slots__ = ()\n    dialect = DIALECT\n    _run = AsyncRun"
    );
}

fn promised(command: &Command) -> String {
    match command.result {
        None => "None".to_owned(),
        Some(ty) if command.result_nullable || command.result_optional => {
            format!("{} | None", ty::read(&ty, "types."))
        }
        Some(ty) => ty::read(&ty, "types."),
    }
}

/// Adds the type stubs.
pub fn stubs(out: &mut String, index: &Index) {
    let name = index.dialect.name;
    for asynchronous in [false, true] {
        let (run, base) = if asynchronous { ("AsyncRun", "AsyncRunBase") } else { ("Run", "SyncRun") };
        let _ = writeln!(
            out,
            "\nclass {run}({base}[Event, {}Client]):\n    \"\"\"The work that a prompt of the {name} dialect started.\"\"\"",
            if asynchronous { "Async" } else { "" }
        );
        for command in acting(index) {
            let own: Vec<&Field> =
                fields(index, command).iter().filter(|field| !is_session(index, field)).collect();
            method(out, index, command, &on_run(command), &own, asynchronous);
        }
    }
    for asynchronous in [false, true] {
        let (class, base, how) = if asynchronous {
            ("AsyncClient", "AsyncClientBase", " for asyncio")
        } else {
            ("Client", "SyncClient", "")
        };
        let _ = writeln!(
            out,
            "\nclass {class}({base}[Event, {}]):\n    \"\"\"A client of the {name} dialect{how}: a method for every command.\"\"\"\n    dialect: ClassVar[str]",
            dialogs_class(index, asynchronous)
        );
        for command in &index.commands {
            let fields: Vec<&Field> = fields(index, command).iter().collect();
            method(out, index, command, &snake(command.name), &fields, asynchronous);
        }
        if let Some(command) = starting(index) {
            let fields: Vec<&Field> = fields(index, command).iter().collect();
            let given = if asynchronous { "Coroutine[Any, Any, str]" } else { "str" };
            let _ = writeln!(out, "    def ask(self, {}) -> {given}:", asking(command, &fields, true));
            docs(out, "        ", ASK, &[]);
        }
    }
}

/// Returns the class of a handler for the dialogs of this dialect, or `None` for a dialect without dialogs.
pub fn dialogs_class(index: &Index, asynchronous: bool) -> &'static str {
    match (index.dialogs.is_empty(), asynchronous) {
        (true, _) => "None",
        (false, true) => "Dialogs | AsyncDialogs",
        (false, false) => "Dialogs",
    }
}

fn method(
    out: &mut String,
    index: &Index,
    command: &Command,
    name: &str,
    fields: &[&Field],
    asynchronous: bool,
) {
    let given = match (command.run == RunRole::Starts, asynchronous) {
        (true, true) => "AsyncRun".to_owned(),
        (true, false) => "Run".to_owned(),
        (false, true) => format!("Coroutine[Any, Any, {}]", promised(command)),
        (false, false) => promised(command),
    };
    let _ = writeln!(out, "    def {name}(self, {}) -> {given}:", self::given(command, fields, true));
    doc(out, index, command, asynchronous);
}
