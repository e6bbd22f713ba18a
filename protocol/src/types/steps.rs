//! The steps of a case's client.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Opt, Str};

protocol! {
    /// The position at which a wait starts its search.
    strings WaitFrom(closed) {
        /// The search starts after the frame that the last wait found.
        "last",
        /// The search starts at the first frame. The start of the next wait does not change.
        "start",
    }

    /// A signal for the agent's process.
    strings StepSignal(closed) {
        /// A request for termination.
        "SIGTERM",
        /// The signal of Ctrl-C.
        "SIGINT",
        /// The signal of a closed terminal.
        "SIGHUP",
        /// The signal for immediate termination.
        "SIGKILL",
    }

    /// A repeated text that replaces a token in a raw line.
    record RawRepeat {
        /// Token in the line.
        token: Str,
        /// Text that replaces the token.
        text: Str,
        /// Number of repetitions.
        n: Count,
    }

    /// Waits until the agent is ready, by the pattern of the profile; continues at once if the profile has no such
    /// pattern.
    record ReadyStep(ready = true) {
        /// Timeout in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"ready": true}
    }

    /// Sends one line of JSON.
    record SendStep {
        /// The JSON value of the line. Variables in its strings are substituted.
        send: Any,
        ;
        example {"send": {"id": "p1", "type": "prompt", "message": "Hello"}}
    }

    /// Sends a raw line.
    record RawStep {
        /// The line without its end. Variables in it are substituted.
        raw: Str,
        /// The end of the line; a line feed by default, no line end if empty.
        eol: Opt<Str>,
        /// Repeated text in the line.
        repeat: Opt<RawRepeat>,
        /// Number of bytes per write, even if it splits a character; all bytes by default.
        piece_bytes: Opt<Count>,
        /// Pause between two writes in milliseconds.
        pause_ms: Opt<Count>,
        ;
        example {"raw": "{\"id\":\"a\",\"ty", "eol": ""}
    }

    /// Sends bytes, one write for each piece.
    record BytesStep {
        /// The pieces, in base64.
        bytes: List<Str>,
        /// Pause between two pieces in milliseconds.
        pause_ms: Opt<Count>,
        ;
        example {"bytes": ["eyJ0eXBlIjoi", "Z2V0X3N0YXRlIn0K"], "pause_ms": 20}
    }

    /// Waits for a frame of the agent.
    record WaitStep {
        /// Pattern of the frame.
        wait: Any,
        /// Timeout in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        /// Number of matching frames; 1 by default.
        count: Opt<Count>,
        /// Start of the search; after the last match by default.
        from: Opt<WaitFrom>,
        /// `true` if the next wait starts its search at the same position.
        peek: Opt<Bool>,
        /// Variables captured from the frame: their names, with paths such as `data.messages.0.entryId`.
        capture: Opt<Map<Str>>,
        /// `true` if the scenario continues when no frame matches.
        optional: Opt<Bool>,
        ;
        example {"wait": {"type": "response", "id": "p1"}, "timeout_ms": 5000}
    }

    /// Waits until the scripted model has received a request. Continues at once if the agent plays the script itself,
    /// as its requests are then not observable.
    record ModelRequestStep {
        /// Total number of requests that the model must have received.
        model_asked: Count,
        /// Pattern of a request's record: only matching requests are counted. By default all requests are counted.
        fits: Opt<Any>,
        /// Timeout in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"model_asked": 1}
    }

    /// Pauses the client, so that its next input arrives later than the current activity.
    record PauseStep {
        /// Duration of the pause in milliseconds.
        pause_ms: Count,
        ;
        example {"pause_ms": 300}
    }

    /// Waits until the agent has sent no frames for some time.
    record QuietStep {
        /// Duration of the silence in milliseconds.
        quiet_ms: Count,
        /// Timeout in milliseconds; 20 000 by default. The scenario continues in any case.
        timeout_ms: Opt<Count>,
        /// `true` if later waits search later frames only.
        skip: Opt<Bool>,
        ;
        example {"quiet_ms": 400}
    }

    /// Stops reading the output of the agent, like a busy client. A wait finds no frame until reading resumes. Reading
    /// resumes at the end of the scenario in any case.
    record HoldStep(hold_reading = true) {
        ;
        example {"hold_reading": true}
    }

    /// Resumes reading the output of the agent.
    record ResumeStep(resume_reading = true) {
        ;
        example {"resume_reading": true}
    }

    /// Runs a command in the work directory, with the agent's environment, and records its output.
    record ShellStep {
        /// Command line for `/bin/sh`. Variables in it are substituted.
        shell: Str,
        /// Timeout in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"shell": "git status --short"}
    }

    /// Closes the agent's stdin.
    record CloseStep(close_stdin = true) {
        ;
        example {"close_stdin": true}
    }

    /// Waits for the end of the agent. The transcript records the end.
    record ExitStep {
        /// Timeout in milliseconds.
        wait_exit_ms: Count,
        ;
        example {"wait_exit_ms": 5000}
    }

    /// Sends a signal to the agent's process.
    record SignalStep {
        /// Signal for the agent's process.
        signal: StepSignal,
        ;
        example {"signal": "SIGTERM"}
    }

    /// Answers the request of the agent that the last wait found, with the id of the request. For dialects with
    /// JSON-RPC.
    record ReplyStep {
        /// The other members of the answer: `result` or `error`. An object `{"$from": [path, …]}` stands for the first
        /// value that the request has at one of the paths.
        reply: Any,
        ;
        example {"reply": {"result": {"outcome": {"outcome": "cancelled"}}}}
    }

    /// Ends the case as not applicable, unless the frame that the last wait found matches a pattern.
    record RequireStep {
        /// Pattern of the frame.
        require: Any,
        /// Reason in the report, as in `the agent does not offer session/list`.
        reason: Str,
        ;
        example {
            "require": {"result": {"agentCapabilities": {"loadSession": true}}},
            "reason": "the agent does not offer loadSession"
        }
    }

    /// Ends the agent and starts it again in the same directories. Later waits search its new frames only.
    record RestartStep(restart = true) {
        ;
        example {"restart": true}
    }

    /// Writes a note into the transcript.
    record NoteStep {
        /// Text of the note. Variables in it are substituted.
        note: Str,
        ;
        example {"note": "the second session begins"}
    }

    /// A step of the client.
    choice ScenarioStep {
        Ready(ReadyStep), Send(SendStep), Raw(RawStep), Bytes(BytesStep), Wait(WaitStep), ModelRequest(ModelRequestStep),
        Pause(PauseStep), Quiet(QuietStep), Hold(HoldStep), Resume(ResumeStep), Shell(ShellStep), Close(CloseStep), Exit(ExitStep), Signal(SignalStep),
        Note(NoteStep), Reply(ReplyStep), Require(RequireStep), Restart(RestartStep)
    }
}
