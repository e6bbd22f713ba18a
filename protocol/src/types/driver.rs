//! What the conformance suite and a client driver say to each other: JSON lines, instructions on the
//! driver's stdin and reports on its stdout.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Object, Opt, OptNull, Str};

protocol! {
    /// Starts the agent and drives it. The first instruction, answered with `ready`.
    record DriverStart(instruction = "start") {
        /// The dialect, with its revision.
        dialect: Str,
        /// The agent's program and its arguments, to be started as a child with pipes.
        command: List<Str>,
        ;
        example {"instruction": "start", "dialect": "pi@0.55", "command": ["/tmp/run/agent", "client-agent", "/tmp/run/a.sock"]}
    }

    /// Calls a command. Its end is reported whenever it comes; further instructions may come before.
    record DriverCall(instruction = "call") {
        /// The call's name in reports.
        call: Str,
        /// The command's name on the wire.
        command: Str,
        /// Its parameters, with the names of the wire.
        params: Object,
        ;
        example {"instruction": "call", "call": "c1", "command": "prompt", "params": {"message": "Hi"}}
    }

    /// Answers a dialog that was reported.
    record DriverAnswer(instruction = "answer") {
        /// The dialog's name, as it was reported.
        dialog: Str,
        /// The answer's members, with the names of the wire; missing or null dismisses the dialog.
        answer: OptNull<Object>,
        ;
        example {"instruction": "answer", "dialog": "d1", "answer": {"confirmed": true}}
    }

    /// Closes the connection, waits for the agent's end, reports `closed` and ends. The last instruction.
    record DriverClose(instruction = "close") {
        ;
        example {"instruction": "close"}
    }

    /// What the suite tells a client driver to do.
    union DriverInstruction(instruction, closed) { DriverStart, DriverCall, DriverAnswer, DriverClose }

    /// The agent is started, and events and dialogs are listened to.
    record DriverReady(report = "ready") {
        /// The version of the driver protocol, 1.
        driver: Count,
        /// The client library and its version.
        library: Str,
        /// Whether the library has handles for runs, so that their ends are reported.
        runs: Opt<Bool>,
        /// Commands that the library sends by itself, such as a question for the state when a run ends.
        sends: Opt<List<Str>>,
        ;
        example {"report": "ready", "driver": 1, "library": "agentese 0.1.0", "runs": true, "sends": ["get_state"]}
    }

    /// A call succeeded.
    record DriverResult(report = "result") {
        /// The call.
        call: Str,
        /// The data of the answer as the library decoded it, written as JSON; null or missing where there is none.
        value: Opt<Any>,
        ;
        example {"report": "result", "call": "c2", "value": {"text": "Hello!"}}
    }

    /// Why a call or a run failed.
    strings DriverFailure(open) {
        /// The agent said so.
        "refused",
        /// The connection is over.
        "terminated",
        /// The library waited too long.
        "timed_out",
        /// It failed in another way.
        "failed",
    }

    /// A call failed.
    record DriverError(report = "error") {
        /// The call.
        call: Str,
        /// Why.
        kind: DriverFailure,
        /// What the agent said, or else what the library says.
        message: Str,
        /// The agent's code, in dialects that have codes.
        code: OptNull<Int>,
        ;
        example {"report": "error", "call": "c3", "kind": "refused", "message": "Session name cannot be empty"}
    }

    /// The library has no way to do what was asked. The case is not applicable.
    record DriverUnsupported(report = "unsupported") {
        /// What it cannot do.
        reason: Str,
        ;
        example {"report": "unsupported", "reason": "the library has no compact"}
    }

    /// An event came.
    record DriverEvent(report = "event") {
        /// The event without its envelope, as the library decoded it.
        event: Object,
        ;
        example {"report": "event", "event": {"type": "agent_start"}}
    }

    /// A dialog or a notice came.
    record DriverDialog(report = "dialog") {
        /// The driver's name for it.
        dialog: Str,
        /// Its method.
        method: Str,
        /// Its parameters, without what stands around them, as the library decoded them.
        params: Object,
        ;
        example {"report": "dialog", "dialog": "d1", "method": "confirm", "params": {"title": "Delete?", "message": "All of it?"}}
    }

    /// A run that a call started is over, as its handle says.
    record DriverRunEnd(report = "run_end") {
        /// The call that started it.
        call: Str,
        /// Why it failed, where it did.
        error: OptNull<DriverFailure>,
        /// What the agent said, or else what the library says.
        message: Opt<Str>,
        ;
        example {"report": "run_end", "call": "c1"}
    }

    /// The connection ended without the driver's doing.
    record DriverTerminated(report = "terminated") {
        /// The agent's exit code.
        code: OptNull<Int>,
        /// The number of the signal that ended it.
        signal: OptNull<Int>,
        ;
        example {"report": "terminated", "code": 3}
    }

    /// The connection is closed, and everything that came of it has been reported. The last report.
    record DriverClosed(report = "closed") {
        ;
        example {"report": "closed"}
    }

    /// What a client driver tells the suite.
    union DriverReport(report, closed) {
        DriverReady, DriverResult, DriverError, DriverUnsupported, DriverEvent, DriverDialog, DriverRunEnd,
        DriverTerminated, DriverClosed
    }
}
