//! What the client of a case does.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Opt, Str};

protocol! {
    /// Where a wait begins to look.
    strings WaitFrom(closed) {
        /// Behind the frame that the last wait found.
        "last",
        /// At the first frame. Where the next wait begins does not change.
        "start",
    }

    /// A signal that is sent to the agent's process.
    strings StepSignal(closed) {
        /// A request to end.
        "SIGTERM",
        /// What Ctrl-C sends.
        "SIGINT",
        /// What a closed terminal sends.
        "SIGHUP",
        /// The end without notice.
        "SIGKILL",
    }

    /// A long run of one text that takes the place of a token in a raw line.
    record RawRepeat {
        /// The token in the line.
        token: Str,
        /// What stands in its place.
        text: Str,
        /// How often.
        n: Count,
    }

    /// Waits until the agent is ready, by the profile's pattern; goes on at once where the profile has none.
    record ReadyStep(ready = true) {
        /// How long it may take, in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"ready": true}
    }

    /// Sends one line of JSON.
    record SendStep {
        /// The value. Variables in its strings are replaced.
        send: Any,
        ;
        example {"send": {"id": "p1", "type": "prompt", "message": "Hello"}}
    }

    /// Sends a line as it is written.
    record RawStep {
        /// The line without its end. Variables in it are replaced.
        raw: Str,
        /// What ends it; a line feed by default, nothing where it is empty.
        eol: Opt<Str>,
        /// A long run in it.
        repeat: Opt<RawRepeat>,
        /// How many bytes go with one write, wherever that cuts a character; all of them by default.
        piece_bytes: Opt<Count>,
        /// A pause between two writes, in milliseconds.
        pause_ms: Opt<Count>,
        ;
        example {"raw": "{\"id\":\"a\",\"ty", "eol": ""}
    }

    /// Sends bytes, one write for each piece.
    record BytesStep {
        /// The pieces, in base64.
        bytes: List<Str>,
        /// A pause between two pieces, in milliseconds.
        pause_ms: Opt<Count>,
        ;
        example {"bytes": ["eyJ0eXBlIjoi", "Z2V0X3N0YXRlIn0K"], "pause_ms": 20}
    }

    /// Waits for a frame of the agent.
    record WaitStep {
        /// The pattern that the frame fits.
        wait: Any,
        /// How long it may take, in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        /// How many such frames; 1 by default.
        count: Opt<Count>,
        /// Where to look from; behind the last match by default.
        from: Opt<WaitFrom>,
        /// Whether the next wait begins where this one began.
        peek: Opt<Bool>,
        /// Variables that are taken from the frame: their names, and paths such as `data.messages.0.entryId`.
        capture: Opt<Map<Str>>,
        /// Whether the scenario goes on where nothing came.
        optional: Opt<Bool>,
        ;
        example {"wait": {"type": "response", "id": "p1"}, "timeout_ms": 5000}
    }

    /// Waits until the scripted model has received a request. Goes on at once where the agent plays the script itself: nobody
    /// sees then when it asks.
    record AskedStep {
        /// How many requests it has received by then.
        model_asked: Count,
        /// A pattern of a request's record: only requests that fit it count. All do by default.
        fits: Opt<Any>,
        /// How long it may take, in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"model_asked": 1}
    }

    /// Lets time pass: what is sent next is to come later than what is going on.
    record PauseStep {
        /// How long, in milliseconds.
        pause_ms: Count,
        ;
        example {"pause_ms": 300}
    }

    /// Waits until the agent has said nothing for some time.
    record QuietStep {
        /// How long, in milliseconds.
        quiet_ms: Count,
        /// How long to wait for it, in milliseconds; 20 000 by default. The scenario goes on in any case.
        timeout_ms: Opt<Count>,
        /// Whether later waits look at later frames only.
        skip: Opt<Bool>,
        ;
        example {"quiet_ms": 400}
    }

    /// Stops reading what the agent writes, as a client does that is busy. What is waited for does not come
    /// until reading goes on, which it does at the end of the scenario in any case.
    record HoldStep(hold_reading = true) {
        ;
        example {"hold_reading": true}
    }

    /// Goes on reading what the agent writes.
    record ResumeStep(resume_reading = true) {
        ;
        example {"resume_reading": true}
    }

    /// Runs a command in the work directory, with the agent's environment, and notes what it says.
    record ShellStep {
        /// The command, for `/bin/sh`. Variables in it are replaced.
        shell: Str,
        /// How long it may take, in milliseconds; 20 000 by default.
        timeout_ms: Opt<Count>,
        ;
        example {"shell": "git status --short"}
    }

    /// Closes the agent's stdin.
    record CloseStep(close_stdin = true) {
        ;
        example {"close_stdin": true}
    }

    /// Waits for the end of the agent. The transcript says whether it came.
    record ExitStep {
        /// How long it may take, in milliseconds.
        wait_exit_ms: Count,
        ;
        example {"wait_exit_ms": 5000}
    }

    /// Sends a signal to the agent's process.
    record SignalStep {
        /// The signal.
        signal: StepSignal,
        ;
        example {"signal": "SIGTERM"}
    }

    /// Writes a remark into the transcript.
    record NoteStep {
        /// The remark. Variables in it are replaced.
        note: Str,
        ;
        example {"note": "the second session begins"}
    }

    /// One thing that a client does.
    choice ScenarioStep {
        Ready(ReadyStep), Send(SendStep), Raw(RawStep), Bytes(BytesStep), Wait(WaitStep), Asked(AskedStep),
        Pause(PauseStep), Quiet(QuietStep), Hold(HoldStep), Resume(ResumeStep), Shell(ShellStep), Close(CloseStep), Exit(ExitStep), Signal(SignalStep),
        Note(NoteStep)
    }
}
