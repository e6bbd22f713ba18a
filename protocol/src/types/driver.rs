//! The protocol between the conformance suite and a client driver: JSON lines, with instructions on the driver's stdin
//! and reports on its stdout.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Object, Opt, OptNull, Str};

protocol! {
    /// Starts the agent and connects the client library to it. This is the first instruction; the driver
    /// answers it with `ready`.
    record DriverStart(instruction = "start") {
        /// Name of the dialect, with its revision.
        dialect: Str,
        /// Program of the agent and its arguments. The driver starts it as a child process with pipes.
        command: List<Str>,
        ;
        example {"instruction": "start", "dialect": "pi@0.55", "command": ["/tmp/run/agent", "client-agent", "/tmp/run/a.sock"]}
    }

    /// Calls a command. The driver reports the end of the call at any later time, even after further
    /// instructions.
    record DriverCall(instruction = "call") {
        /// Name of the call in reports.
        call: Str,
        /// Wire name of the command.
        command: Str,
        /// Parameters of the command, with wire names.
        params: Object,
        ;
        example {"instruction": "call", "call": "c1", "command": "prompt", "params": {"message": "Hi"}}
    }

    /// Answers a reported dialog.
    record DriverAnswer(instruction = "answer") {
        /// Name of the dialog, as in its report.
        dialog: Str,
        /// Members of the answer, with wire names; absent or null to dismiss the dialog.
        answer: OptNull<Object>,
        ;
        example {"instruction": "answer", "dialog": "d1", "answer": {"confirmed": true}}
    }

    /// Closes the connection, waits for the agent's end, reports `closed` and ends. This is the last
    /// instruction.
    record DriverClose(instruction = "close") {
        ;
        example {"instruction": "close"}
    }

    /// An instruction of the suite to a client driver.
    union DriverInstruction(instruction, closed) { DriverStart, DriverCall, DriverAnswer, DriverClose }

    /// The agent has started, and the driver receives events and dialogs.
    record DriverReady(report = "ready") {
        /// Version of the driver protocol, 1.
        driver: Count,
        /// Name of the client library and its version.
        library: Str,
        /// `true` if the library has handles for runs, so that the driver reports their ends.
        runs: Opt<Bool>,
        /// Commands that the library sends by itself, such as a query of the state at the end of a run.
        sends: Opt<List<Str>>,
        ;
        example {"report": "ready", "driver": 1, "library": "agentese 0.1.0", "runs": true, "sends": ["get_state"]}
    }

    /// A call succeeded.
    record DriverResult(report = "result") {
        /// Name of the call.
        call: Str,
        /// Data of the answer as the library decoded it, in JSON; null or absent if there is no data.
        value: Opt<Any>,
        ;
        example {"report": "result", "call": "c2", "value": {"text": "Hello!"}}
    }

    /// The reason for the failure of a call or a run.
    strings DriverFailure(open) {
        /// The agent rejected the command.
        "refused",
        /// The connection ended.
        "terminated",
        /// The library reached its timeout.
        "timed_out",
        /// The call failed for another reason.
        "failed",
    }

    /// A call failed.
    record DriverError(report = "error") {
        /// Name of the call.
        call: Str,
        /// Reason for the failure.
        kind: DriverFailure,
        /// Error message of the agent, or else of the library.
        message: Str,
        /// Error code of the agent, in dialects with error codes.
        code: OptNull<Int>,
        ;
        example {"report": "error", "call": "c3", "kind": "refused", "message": "Session name cannot be empty"}
    }

    /// The library does not support an instruction. The case is not applicable.
    record DriverUnsupported(report = "unsupported") {
        /// Description of the unsupported operation.
        reason: Str,
        ;
        example {"report": "unsupported", "reason": "the library has no compact"}
    }

    /// The driver received an event.
    record DriverEvent(report = "event") {
        /// The event without its envelope, as the library decoded it.
        event: Object,
        ;
        example {"report": "event", "event": {"type": "agent_start"}}
    }

    /// The driver received a dialog or a notice.
    record DriverDialog(report = "dialog") {
        /// Name of the dialog, chosen by the driver.
        dialog: Str,
        /// Method of the dialog.
        method: Str,
        /// Parameters of the dialog without their envelope, as the library decoded them.
        params: Object,
        ;
        example {"report": "dialog", "dialog": "d1", "method": "confirm", "params": {"title": "Delete?", "message": "All of it?"}}
    }

    /// The handle of a run reports the end of that run.
    record DriverRunEnd(report = "run_end") {
        /// Name of the call that started the run.
        call: Str,
        /// Reason for the failure of the run, if it failed.
        error: OptNull<DriverFailure>,
        /// Error message of the agent, or else of the library.
        message: Opt<Str>,
        ;
        example {"report": "run_end", "call": "c1"}
    }

    /// The connection ended without an action of the driver.
    record DriverTerminated(report = "terminated") {
        /// Exit code of the agent.
        code: OptNull<Int>,
        /// Number of the signal that ended the agent.
        signal: OptNull<Int>,
        ;
        example {"report": "terminated", "code": 3}
    }

    /// The connection is closed, and the driver has reported everything that it received. This is the last
    /// report.
    record DriverClosed(report = "closed") {
        ;
        example {"report": "closed"}
    }

    /// A report of a client driver to the suite.
    union DriverReport(report, closed) {
        DriverReady, DriverResult, DriverError, DriverUnsupported, DriverEvent, DriverDialog, DriverRunEnd,
        DriverTerminated, DriverClosed
    }
}
