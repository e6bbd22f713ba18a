//! Events with the usage of a run. Clients use them to end a run that reaches a limit.
//!
//! Paths are member names separated by dots.

/// Events of a dialect with the usage of a run.
#[derive(Debug, Clone, Copy)]
pub struct Measures {
    /// Name of the dialect.
    pub dialect: &'static str,
    /// Type of the event that starts a turn. Each turn is one request to the model.
    pub turn: &'static str,
    /// Member with the cost of an answer in US dollars. `None` if the dialect does not report it.
    pub cost: Option<MemberPlace>,
    /// Event that starts a tool call.
    pub call: CallEvent,
    /// Event with the result of a tool call.
    pub result: CallResultEvent,
}

/// A member of an event.
#[derive(Debug, Clone, Copy)]
pub struct MemberPlace {
    /// Type of the event.
    pub event: &'static str,
    /// Path of the member.
    pub path: &'static str,
}

/// The event that starts a tool call, and the paths of its members.
#[derive(Debug, Clone, Copy)]
pub struct CallEvent {
    /// Type of the event.
    pub event: &'static str,
    /// Path of the call's id.
    pub id: &'static str,
    /// Path of the tool's name.
    pub tool: &'static str,
    /// Path of the arguments.
    pub arguments: &'static str,
}

/// The event with the result of a tool call, and the paths of its members.
#[derive(Debug, Clone, Copy)]
pub struct CallResultEvent {
    /// Type of the event.
    pub event: &'static str,
    /// Path of the call's id.
    pub id: &'static str,
    /// Path of the member that shows if the call failed, and the member's value after a failure.
    pub failed: (&'static str, &'static str),
    /// Path of the result.
    pub output: &'static str,
}

/// The events from which the usage of a run is computed, in pi and in the dialects that inherit its events.
const PI: Measures = Measures {
    dialect: "pi",
    turn: "turn_start",
    cost: Some(MemberPlace { event: "message_end", path: "message.usage.cost.total" }),
    call: CallEvent { event: "tool_execution_start", id: "toolCallId", tool: "toolName", arguments: "args" },
    result: CallResultEvent {
        event: "tool_execution_end",
        id: "toolCallId",
        failed: ("isError", "true"),
        output: "result",
    },
};

/// The events of each dialect from which the usage of a run is computed.
pub const MEASURES: &[Measures] = &[
    PI,
    Measures { dialect: "omp", ..PI },
    Measures { dialect: "pisces", ..PI },
    Measures {
        dialect: "operator",
        turn: "turn_start",
        cost: Some(MemberPlace { event: "message_end", path: "message.usage.cost.total" }),
        call: CallEvent {
            event: "tool_execution_start",
            id: "tool_call.id",
            tool: "tool_call.name",
            arguments: "tool_call.args",
        },
        result: CallResultEvent {
            event: "tool_execution_end",
            id: "tool_result.id",
            failed: ("tool_result.is_error", "true"),
            output: "tool_result.content",
        },
    },
    Measures {
        dialect: "opal",
        turn: "message_start",
        cost: None,
        call: CallEvent { event: "tool_execution_start", id: "call_id", tool: "tool", arguments: "args" },
        result: CallResultEvent {
            event: "tool_execution_end",
            id: "call_id",
            failed: ("result.ok", "false"),
            output: "result",
        },
    },
];
