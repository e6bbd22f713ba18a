//! The cases of the conformance suite.

use super::formats::ModelScript;
use super::steps::ScenarioStep;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Object, Opt, Str};

protocol! {
    /// A file of bytes that are no text.
    record FileBytes {
        /// The bytes, in base64.
        base64: Str,
        ;
        example {"base64": "iVBORw0KGgo="}
    }

    /// A file that holds a JSON value.
    record FileJson {
        /// The value. Variables in its strings are replaced.
        json: Any,
        ;
        example {"json": {"retry": {"baseDelayMs": 200}}}
    }

    /// A file of the profile that is not laid out.
    record FileAbsent(absent = true) {
        ;
        example {"absent": true}
    }

    /// What a file holds: text (variables in it are replaced), bytes, a JSON value, or nothing at all.
    choice FileContent { Text(Str), Bytes(FileBytes), Json(FileJson), Absent(FileAbsent) }

    /// How much a failure weighs.
    strings CheckLevel(closed) {
        /// The dialect's document says so.
        "must",
        /// The agent that the dialect comes from does so.
        "should",
        /// Worth knowing, never a failure.
        "info",
    }

    /// What a case may need and an agent may not have. Extensions, images and queues stand in the case's
    /// `needs`; the rest is seen from the case.
    strings CaseNeed(open) {
        /// Extensions written for the agent that the dialect comes from.
        "extensions",
        /// A model to ask: the case has answers for it.
        "model",
        /// Tools that the agent runs itself: the model calls some.
        "tools",
        /// Reasoning that is shown: the model thinks aloud.
        "thinking",
        /// Images in prompts.
        "images",
        /// Models that fail: an answer is an error, breaks off, or does not come.
        "model_failures",
        /// Arguments of the command line of the agent that the dialect comes from.
        "arguments",
        /// A settings file, a models file or other files in the agent's own directory.
        "configuration",
        /// A way of the client into the middle of a run: a second prompt while one is answered.
        "queues",
    }

    /// What the model has to receive with one of its requests.
    record RequestCheck {
        /// The request's number, from 0; negative numbers count from the last one.
        request: Int,
        /// A pattern that the request's record in the model's log fits.
        expect: Any,
        /// What is checked, in words.
        says: Str,
        /// How much a failure weighs; that of the case by default.
        level: Opt<CheckLevel>,
        ;
        example {
            "request": 1, "expect": {"messages": {"$last": {"role": "tool", "results": [{"id": "call_1"}]}}},
            "says": "the result of the tool is sent back"
        }
    }

    /// The frames of the agent that fit a pattern are these, in this order, and no others. A line that is no
    /// JSON counts as a string.
    record FramesExpectation {
        /// The check's name, unique in the case: reports and files of expected failures say `expect NAME`.
        check: Str,
        /// What is checked, in words.
        says: Str,
        /// How much a failure weighs; that of the case by default.
        level: Opt<CheckLevel>,
        /// The pattern that says which frames are looked at.
        of: Any,
        /// A pattern for each of them.
        frames: List<Any>,
        ;
        example {
            "check": "answers", "says": "both commands are answered, in order",
            "of": {"type": "response"}, "frames": [{"id": "a", "success": true}, {"id": "b", "success": true}]
        }
    }

    /// What the frames of the agent that fit a pattern say at a path, one after the other, is a text.
    record TextExpectation {
        /// The check's name, as in the other expectations.
        check: Str,
        /// What is checked, in words.
        says: Str,
        /// How much a failure weighs; that of the case by default.
        level: Opt<CheckLevel>,
        /// The pattern that says which frames are looked at.
        of: Any,
        /// Where in the frame, as in `message.content.0.text`.
        path: Str,
        /// The text as a whole.
        text: Str,
        ;
        example {
            "check": "deltas", "says": "no piece of the answer is lost", "of": {"type": "message_update"},
            "path": "assistantMessageEvent.delta", "text": "one two three"
        }
    }

    /// How the agent's process ends.
    record ExitExpectation {
        /// The check's name, as in the other expectations.
        check: Str,
        /// What is checked, in words.
        says: Str,
        /// How much a failure weighs; that of the case by default.
        level: Opt<CheckLevel>,
        /// The exit code; of a process that a signal ended, the signal's number, negative.
        exit: Int,
        ;
        example {"check": "exit", "says": "it ends by itself when its input ends", "exit": 0}
    }

    /// What is expected of the agent in words of the case itself, beside or in place of a golden transcript.
    choice Expectation { Frames(FramesExpectation), Text(TextExpectation), Exit(ExitExpectation) }

    /// A difference from the golden transcript that is no failure in this case. It holds within the bounds that
    /// are set, and never for an answer that is missing.
    record CaseAllowance {
        /// The allowance's name, as the dialect has it.
        allow: Str,
        /// Why.
        reason: Str,
        /// The command with whose first sending it begins to hold; from the beginning by default.
        from: Opt<Str>,
        /// The checks that it holds for; all of them by default.
        checks: Opt<List<Str>>,
        /// A regular expression that paths within frames match; all of them by default.
        path: Opt<Str>,
        ;
        example {
            "allow": "stops-every-command", "reason": "three commands run side by side", "from": "abort_bash",
            "checks": ["answers"]
        }
    }

    /// A case: what a client does, what the model answers, and what is expected of the agent.
    record Scenario {
        /// The format's version, 1.
        scenario: Count,
        /// The case's name, unique in its dialect; the golden transcript has the same.
        name: Str,
        /// The dialect, with its revision.
        dialect: Str,
        /// What the case shows.
        title: Str,
        /// How much a failure weighs; `should` by default.
        level: Opt<CheckLevel>,
        /// What of the dialect it covers: `command NAME`, `event NAME`, `dialog NAME`, `edge NAME`.
        covers: Opt<List<Str>>,
        /// What the agent has to have.
        needs: Opt<List<CaseNeed>>,
        /// What the model answers. Where it is missing, there is no model.
        model: Opt<ModelScript>,
        /// Arguments of the agent, in place of the profile's `default_arguments`.
        arguments: Opt<List<Str>>,
        /// Variables of the environment, over those of the profile.
        environment: Opt<Map<Str>>,
        /// Settings, merged over those of the profile.
        settings: Opt<Object>,
        /// The models file, in place of that of the profile.
        models: Opt<Object>,
        /// Files: paths from `work/`, `home/`, `tmp/` or `agent/` (the agent's own directory), and what they hold.
        files: Opt<Map<FileContent>>,
        /// Commands that are run in the work directory before the agent starts.
        setup: Opt<List<Str>>,
        /// What the client does, in order.
        steps: List<ScenarioStep>,
        /// How long the agent may take to end after the last step, in milliseconds; the profile's by default.
        exit_grace_ms: Opt<Count>,
        /// What the model has to receive.
        requests: Opt<List<RequestCheck>>,
        /// How many requests the model has to receive.
        request_count: Opt<Count>,
        /// What the agent has to do. Paths of the run stand in it as transcripts have them, such as `/work-dir`.
        expect: Opt<List<Expectation>>,
        /// Differences that are no failures here.
        allow: Opt<List<CaseAllowance>>,
        /// Whether no other case is played meanwhile: pauses of this one have to last as long as they say.
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
