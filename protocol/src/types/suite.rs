//! The cases of the conformance suite.

use super::formats::ModelScript;
use super::steps::ScenarioStep;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Object, Opt, Str};

protocol! {
    /// A file with binary content.
    record FileBytes {
        /// The bytes, in base64.
        base64: Str,
        ;
        example {"base64": "iVBORw0KGgo="}
    }

    /// A file with a JSON value.
    record FileJson {
        /// The value. Variables in its strings are substituted.
        json: Any,
        ;
        example {"json": {"retry": {"baseDelayMs": 200}}}
    }

    /// Declares that a file is absent: the suite does not write this file of the profile.
    record AbsentFile(absent = true) {
        ;
        example {"absent": true}
    }

    /// The content of a file: text (with variables that are substituted), bytes, a JSON value, or no file at all.
    choice FileContent { Text(Str), Bytes(FileBytes), Json(FileJson), Absent(AbsentFile) }

    /// The level of a check: the weight of its failure.
    strings CheckLevel(closed) {
        /// The document of the dialect requires it.
        "must",
        /// The original agent of the dialect does it; its document does not require it.
        "should",
        /// Information only, never a failure.
        "info",
    }

    /// A capability that a case may need and an agent may lack. Extensions, images and queues are in the case's
    /// `needs`; the suite derives the others from the case.
    strings CaseNeed(open) {
        /// Extensions written for the agent that the dialect comes from.
        "extensions",
        /// A model: the case has answers for it.
        "model",
        /// Tools that the agent runs itself: the model calls some of them.
        "tools",
        /// Visible reasoning of the model.
        "thinking",
        /// Image content in prompts.
        "images",
        /// Failures of the model: an error, an interrupted answer, or no answer.
        "model_failures",
        /// Command-line arguments of the agent that the dialect comes from.
        "arguments",
        /// A settings file, a models file or other files in the agent's own directory.
        "configuration",
        /// Input during a run: a second prompt before the first is answered.
        "queues",
    }

    /// The expected content of a request to the model.
    record RequestCheck {
        /// Number of the request, from 0; negative numbers are relative to the last request.
        request: Int,
        /// Pattern for the request's record in the model's log.
        expect: Any,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        ;
        example {
            "request": 1, "expect": {"messages": {"$last": {"role": "tool", "results": [{"id": "call_1"}]}}},
            "says": "the result of the tool is sent back"
        }
    }

    /// The expectation that the frames matching a pattern are exactly the listed ones, in this order. A line that is
    /// not JSON is matched as a string.
    record FramesExpectation {
        /// Name of the check, unique in the case; reports and files of expected failures use `expect NAME`.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Patterns of the selected frames, one for each.
        frames: List<Any>,
        ;
        example {
            "check": "answers", "says": "both commands are answered, in order",
            "of": {"type": "response"}, "frames": [{"id": "a", "success": true}, {"id": "b", "success": true}]
        }
    }

    /// The expectation that the values at a path of the frames matching a pattern form a text when concatenated.
    record TextExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Path in the frame, as in `message.content.0.text`.
        path: Str,
        /// The complete concatenated text.
        text: Str,
        ;
        example {
            "check": "deltas", "says": "no piece of the answer is lost", "of": {"type": "message_update"},
            "path": "assistantMessageEvent.delta", "text": "one two three"
        }
    }

    /// The expected end of the agent's process.
    record ExitExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Exit code of the process. If a signal ended the process, the negated number of the signal.
        exit: Int,
        ;
        example {"check": "exit", "says": "it ends by itself when its input ends", "exit": 0}
    }

    /// The expectation that each frame that matches a pattern also matches another one.
    record EveryExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Pattern that each of them must match.
        every: Any,
        ;
        example {
            "check": "versions", "says": "every frame is of JSON-RPC 2.0", "of": {}, "every": {"jsonrpc": "2.0"}
        }
    }

    /// The expectation that no two frames that match a pattern have the same values at some paths.
    record UniqueExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Paths in the frames.
        unique: List<Str>,
        ;
        example {
            "check": "call-ids", "says": "each call has an id of its own", "of": {"type": "tool_call"},
            "unique": ["callId"]
        }
    }

    /// The expectation that each frame that matches a pattern follows a frame that matches another one and has the
    /// same values at some paths.
    record AfterExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Pattern of the preceding frame.
        after: Any,
        /// Paths at which both frames have the same values.
        same: List<Str>,
        ;
        example {
            "check": "started", "says": "a call ends after its start", "of": {"type": "tool_end"},
            "after": {"type": "tool_start"}, "same": ["callId"]
        }
    }

    /// The expectation that each frame that matches a pattern arrives while a request of the client is unanswered. The
    /// request matches one of several patterns, and has the same values as the frame at some paths.
    record DuringExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Patterns of the client's requests.
        during: List<Any>,
        /// Paths at which frame and request have the same values.
        same: List<Str>,
        ;
        example {
            "check": "in-turn", "says": "text belongs to an open prompt", "of": {"method": "text"},
            "during": [{"method": "prompt"}], "same": ["params.session"]
        }
    }

    /// The expectation that a value never returns to an earlier stage, among the frames that have the same values at
    /// some paths.
    record ProgressExpectation {
        /// Name of the check, as in the other expectations.
        check: Str,
        /// Description of the check.
        says: Str,
        /// Level of the check; by default the level of the case.
        level: Opt<CheckLevel>,
        /// Pattern that selects the frames.
        of: Any,
        /// Path of the value. Frames without it are ignored.
        progress: Str,
        /// Values of each stage, the first stage first. A stage may repeat, but only with the same value.
        stages: List<List<Any>>,
        /// Paths whose values separate the frames into sequences.
        same: List<Str>,
        ;
        example {
            "check": "status", "says": "a finished call stays finished", "of": {"type": "tool"}, "progress": "status",
            "stages": [["pending"], ["completed", "failed"]], "same": ["callId"]
        }
    }

    /// An expectation of the case itself, in addition to or instead of a golden transcript.
    choice Expectation {
        Frames(FramesExpectation), Text(TextExpectation), Exit(ExitExpectation), Every(EveryExpectation),
        Unique(UniqueExpectation), After(AfterExpectation), During(DuringExpectation), Progress(ProgressExpectation)
    }

    /// An answer that the client sends to each matching request of the agent by itself, while the steps are played. For
    /// dialects with JSON-RPC.
    record AutomaticReply {
        /// Pattern of the request.
        to: Any,
        /// The answer, as in the step `reply`. If absent, the request is left to the steps.
        reply: Opt<Any>,
        ;
        example {
            "to": {"method": "session/request_permission"},
            "reply": {"result": {"outcome": {"outcome": "selected", "optionId": {"$from": ["params.options.0.optionId"]}}}}
        }
    }

    /// The common parts of all cases of a dialect, in the file `cases/DIALECT.json`.
    record CaseDefaults {
        /// Version of the format, 1.
        case_defaults: Count,
        /// Answers of the model for cases without a model. A case gets the answers whose condition on the user's text
        /// occurs in one of its steps, and the default.
        model: Opt<ModelScript>,
        /// Automatic replies, after those of the case.
        replies: Opt<List<AutomaticReply>>,
        /// Expectations in addition to those of the case.
        expect: Opt<List<Expectation>>,
        ;
        example {"case_defaults": 1, "expect": [
            {"check": "versions", "says": "every frame is of JSON-RPC 2.0", "of": {}, "every": {"jsonrpc": "2.0"}}
        ]}
    }

    /// A difference from the golden transcript that is not a failure in this case. The allowance holds within its
    /// bounds, and never for a missing answer.
    record CaseAllowance {
        /// Name of the allowance in the dialect.
        allow: Str,
        /// Reason for the allowance.
        reason: Str,
        /// Command that activates the allowance when it is first sent; by default the allowance holds from the start.
        from: Opt<Str>,
        /// Names of the checks that the allowance applies to; all by default.
        checks: Opt<List<Str>>,
        /// Regular expression for paths within frames; all paths by default.
        path: Opt<Str>,
        ;
        example {
            "allow": "stops-every-command", "reason": "three commands run side by side", "from": "abort_bash",
            "checks": ["answers"]
        }
    }

    /// A case: the steps of the client, the answers of the model, and the expectations of the agent.
    record Scenario {
        /// Version of the format, 1.
        scenario: Count,
        /// Name of the case, unique in its dialect; the golden transcript has the same name.
        name: Str,
        /// Name of the dialect, with its revision.
        dialect: Str,
        /// Title of the case.
        title: Str,
        /// Section of the dialect's document that the case is about, with the requirement in a few words.
        section: Opt<Str>,
        /// Level of the case; `should` by default.
        level: Opt<CheckLevel>,
        /// Covered parts of the dialect: `command NAME`, `event NAME`, `dialog NAME`, `edge NAME`.
        covers: Opt<List<Str>>,
        /// Capabilities that the agent must have.
        needs: Opt<List<CaseNeed>>,
        /// Answers of the model. If absent, there is no model.
        model: Opt<ModelScript>,
        /// Arguments of the agent, instead of the profile's `default_arguments`.
        arguments: Opt<List<Str>>,
        /// Environment variables, merged over those of the profile.
        environment: Opt<Map<Str>>,
        /// Settings, merged over the settings of the profile.
        settings: Opt<Object>,
        /// Models file, instead of the profile's file.
        models: Opt<Object>,
        /// Files: paths from `work/`, `home/`, `tmp/` or `agent/` (the agent's own directory), with their content.
        files: Opt<Map<FileContent>>,
        /// Commands that the suite runs in the work directory before the agent starts.
        setup: Opt<List<Str>>,
        /// Steps of the client, in order.
        steps: List<ScenarioStep>,
        /// Answers to requests of the agent that the client sends by itself. The first that matches a request is used.
        replies: Opt<List<AutomaticReply>>,
        /// Time until the agent must end after the last step, in milliseconds; by default the profile's value.
        exit_grace_ms: Opt<Count>,
        /// Expected requests to the model.
        requests: Opt<List<RequestCheck>>,
        /// Expected number of requests to the model.
        request_count: Opt<Count>,
        /// Expectations of the agent. Paths of the run appear in them as in transcripts, for example `/work-dir`.
        expect: Opt<List<Expectation>>,
        /// Differences that are not failures in this case.
        allow: Opt<List<CaseAllowance>>,
        /// `true` if no other case may run at the same time, because the pauses of this case must be exact.
        alone: Opt<Bool>,
        ;
        example {
            "scenario": 1, "name": "prompt-text", "dialect": "pi@0.55", "title": "a prompt and its answer",
            "covers": ["command prompt"], "model": {"responses": [{"blocks": [{"text": ["Hel", "lo."]}]}]},
            "steps": [
                {"send": {"id": "p1", "type": "prompt", "message": "Hi"}}, {"wait": {"type": "agent_end"}},
                {"close_stdin": true}, {"wait_exit_ms": 5000}
            ]
        }
    }
}
