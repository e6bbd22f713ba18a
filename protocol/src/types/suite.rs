//! The files of the conformance suite: cases, profiles, expected failures, and the log of the
//! scripted model.

use super::formats::ModelScript;
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

    /// A way of playing a case that an agent may not have.
    strings CaseNeed(open) {
        /// Extensions written for the agent that the dialect comes from.
        "extensions",
    }

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
        Ready(ReadyStep), Send(SendStep), Raw(RawStep), Bytes(BytesStep), Wait(WaitStep), Pause(PauseStep),
        Quiet(QuietStep), Shell(ShellStep), Close(CloseStep), Exit(ExitStep), Signal(SignalStep),
        Note(NoteStep)
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

    /// A difference from the golden transcript that is no failure in this case.
    record CaseAllowance {
        /// The allowance's name, as the comparison knows it.
        allow: Str,
        /// Why.
        reason: Str,
        ;
        example {"allow": "order", "reason": "two commands run side by side"}
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

    /// A text that is replaced in everything that is saved.
    record Redaction {
        /// The text. Variables in it are replaced.
        from: Str,
        /// What stands in its place.
        to: Str,
        ;
        example {"from": "${MODEL_HOST}", "to": "127.0.0.1:4010"}
    }

    /// A configuration file of the agent.
    record ProfileFile {
        /// Its path in the agent's directory. It holds JSON, which is YAML too.
        file: Str,
        /// Its content where the case says nothing.
        value: Object,
        ;
        example {"file": "settings.json", "value": {"retry": {"baseDelayMs": 200}}}
    }

    /// What of its dialect an agent claims to have. What is not listed here counts as claimed.
    record ProfileClaims {
        /// Commands that it does not have.
        without_commands: Opt<List<Str>>,
        /// Events that it never sends.
        without_events: Opt<List<Str>>,
        /// What cases may need and it does not have.
        without: Opt<List<CaseNeed>>,
        /// Whether it plays the case's model script itself, so that nothing is asked of the model's server.
        embedded_model: Opt<Bool>,
        ;
        example {"without_commands": ["export_html"], "without": ["extensions"]}
    }

    /// How an agent is started, and told where the model is.
    record Profile {
        /// The format's version, 1.
        profile: Count,
        /// The profile's name.
        name: Str,
        /// The dialect that the agent speaks, with its revision.
        dialect: Str,
        /// The agent, as the headers of transcripts call it.
        agent: Str,
        /// The agent's version.
        version: Opt<Str>,
        /// Program and first arguments, where the command line names none.
        command: Opt<List<Str>>,
        /// Arguments that it always gets.
        arguments: Opt<List<Str>>,
        /// Arguments that it gets where the case has none of its own.
        default_arguments: Opt<List<Str>>,
        /// The whole environment; nothing is inherited.
        environment: Opt<Map<Str>>,
        /// The agent's own directory, from the run's directory, as in `home/.pi/agent`.
        agent_directory: Opt<Str>,
        /// Its settings.
        settings: Opt<ProfileFile>,
        /// Its models.
        models: Opt<ProfileFile>,
        /// More files, as in a case.
        files: Opt<Map<FileContent>>,
        /// What is replaced in everything that is saved, in order, before the paths of the run.
        redactions: Opt<List<Redaction>>,
        /// A pattern of the frame that says that the agent is ready, where it sends one.
        ready: Opt<Any>,
        /// How long the agent may take to end once its stdin is closed, in milliseconds; 3000 by default.
        exit_grace_ms: Opt<Count>,
        /// What of the dialect it has.
        claims: Opt<ProfileClaims>,
        /// The failures that are known of it: a name, as in `expected/NAME.json` of the suite, or a file that
        /// ends in .json, from the folder of the profile.
        expected_failures: Opt<Str>,
        ;
        example {
            "profile": 1, "name": "agentese-pi", "dialect": "pi@0.55", "agent": "agentese",
            "command": ["agentese", "--mode", "rpc", "--dialect", "pi@0.55"],
            "environment": {"PATH": "${env:PATH}", "HOME": "${HOME}"}, "agent_directory": "home/.pi/agent"
        }
    }

    /// A check of a case that is known to fail.
    record ExpectedFailure {
        /// The case.
        case: Str,
        /// The check, as reports call it.
        check: Str,
        /// Why it fails.
        reason: Str,
        ;
        example {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
    }

    /// The failures that are known of an agent. One that does not happen any more is a failure itself.
    record ExpectedFailures {
        /// The format's version, 1.
        expected_failures: Count,
        /// The agent.
        agent: Opt<Str>,
        /// The failures.
        failures: List<ExpectedFailure>,
        ;
        example {"expected_failures": 1, "agent": "agentese", "failures": [
            {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
        ]}
    }

    /// The API of a provider that a request speaks.
    strings ModelApi(closed) {
        /// Anthropic Messages.
        "anthropic-messages",
        /// OpenAI Chat Completions.
        "openai-completions",
        /// OpenAI Responses.
        "openai-responses",
        /// Google Generative AI.
        "google-generative-ai",
    }

    /// A tool call in a request's history.
    record RequestCall {
        /// The call's id.
        id: Opt<Str>,
        /// The tool.
        name: Str,
        /// The arguments; a string where they are no JSON.
        arguments: Any,
        ;
        example {"id": "call_1", "name": "bash", "arguments": {"command": "ls"}}
    }

    /// The result of a tool in a request's history.
    record RequestResult {
        /// The call's id; with Google, the tool's name.
        id: Str,
        /// Its text.
        text: Str,
        /// Whether the tool failed, where the API says so.
        is_error: Opt<Bool>,
        ;
        example {"id": "call_1", "text": "README.md\n"}
    }

    /// Who says a message of a request.
    strings RequestRole(closed) {
        /// The user.
        "user",
        /// The model.
        "assistant",
        /// A tool.
        "tool",
    }

    /// A message of a request's history, whatever API it came in.
    record RequestMessage {
        /// Who says it. A message of tool results alone is a tool's.
        role: RequestRole,
        /// Its text blocks, one after the other.
        text: Opt<Str>,
        /// The text of its thinking blocks.
        thinking: Opt<Str>,
        /// How many images it has.
        images: Opt<Count>,
        /// Its tool calls.
        calls: Opt<List<RequestCall>>,
        /// Its tool results.
        results: Opt<List<RequestResult>>,
        ;
        example {"role": "user", "text": "What is in here?"}
    }

    /// A request that the scripted model received: one line of its log.
    record ModelRequest {
        /// The request's number, from 0.
        n: Count,
        /// The API.
        api: ModelApi,
        /// The path of the URL.
        path: Str,
        /// The model that was asked for.
        model: Opt<Str>,
        /// The system prompt.
        system: Opt<Str>,
        /// The history.
        messages: List<RequestMessage>,
        /// The names of the tools that are offered.
        tools: List<Str>,
        /// Members of the request that are neither history nor tools.
        options: Object,
        /// The answer's number in the script; missing where the script had none left.
        answer: Opt<Count>,
        ;
        example {
            "n": 0, "api": "anthropic-messages", "path": "/v1/messages", "model": "fake-sonnet", "system": "Be brief.",
            "messages": [{"role": "user", "text": "Hi"}], "tools": ["bash"], "options": {"max_tokens": 1024}, "answer": 0
        }
    }
}
