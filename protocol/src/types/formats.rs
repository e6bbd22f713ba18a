//! The files of the project that are not frames: transcripts and model scripts.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Num, Object, Opt, OptNull, Str};

protocol! {
    /// A line that repeats a piece of text, for lines too long to keep as they are.
    record LineRepeat {
        /// The text.
        repeat: Str,
        /// How often it stands in the line.
        n: Count,
    }

    /// A part of a long line.
    choice LinePart { Text(Str), Repeat(LineRepeat) }

    /// Which way a line went.
    strings Direction(closed) {
        /// From the client to the server.
        "c2s",
        /// From the server to the client.
        "s2c",
    }

    /// The first record of a transcript: what was recorded, and how it was started.
    record TranscriptHeader {
        /// The format's version, 1.
        transcript: Count,
        /// The agent.
        agent: Str,
        /// The agent's version.
        version: OptNull<Str>,
        /// The scenario that was played.
        scenario: OptNull<Str>,
        /// What the scenario shows.
        title: OptNull<Str>,
        /// The command line.
        argv: OptNull<List<Str>>,
        /// The model script that was played.
        provider_script: OptNull<Str>,
        ;
        example {
            "transcript": 1, "agent": "pi", "version": "0.55.4", "scenario": "prompt-text", "argv": ["pi", "--mode", "rpc"],
            "title": "a prompt and its answer"
        }
    }

    /// A line that went one way or the other.
    record TranscriptLine {
        /// When, in milliseconds since the start.
        t: Opt<Num>,
        /// Which way.
        dir: Direction,
        /// The line without its end.
        line: Opt<Str>,
        /// The line in parts, where it is long.
        line_parts: Opt<List<LinePart>>,
        /// What ended the line where it was not a line feed.
        eol: OptNull<Str>,
        ;
        example {"t": 12, "dir": "c2s", "line": "{\"type\":\"get_state\"}"}
    }

    /// Something that happened beside the lines: stdin closed, a signal, the end of the process.
    record TranscriptControl(dir = "ctl") {
        /// When, in milliseconds since the start.
        t: Opt<Num>,
        /// What happened, as in `stdin_closed` or `exit`.
        event: Str,
        /// The exit code; for a process that a signal ended, the signal's number, negative.
        code: OptNull<Int>,
        /// The end of stderr.
        stderr: OptNull<Str>,
        /// What there is to say about it.
        text: Opt<Str>,
        ;
        example {"t": 80, "dir": "ctl", "event": "exit", "code": 0, "stderr": ""}
    }

    /// A remark of the recorder, such as a command that it ran in between.
    record TranscriptNote(dir = "note") {
        /// When, in milliseconds since the start.
        t: Opt<Num>,
        /// The remark.
        line: Str,
        ;
        example {"t": 3240.4, "dir": "note", "line": "$ true"}
    }

    /// One record of a transcript, which is a file of JSON lines.
    choice TranscriptRecord {
        Header(TranscriptHeader), Control(TranscriptControl), Note(TranscriptNote), Line(TranscriptLine)
    }

    /// Text in one piece, or in the pieces in which it is streamed.
    choice Chunks { Whole(Str), Pieces(List<Str>) }

    /// Arguments of a scripted tool call: an object, or JSON text in pieces.
    choice ScriptArguments { Object(Object), Whole(Str), Pieces(List<Str>) }

    /// A tool call that the model makes.
    record ScriptTool {
        /// The call's id; made up where it is missing.
        id: Opt<Str>,
        /// The tool's name.
        name: Str,
        /// The arguments.
        args: Opt<ScriptArguments>,
    }

    /// A piece of text many times over; `{i}` in it becomes its number.
    record ScriptRepeat {
        /// The piece.
        chunk: Str,
        /// How often.
        n: Count,
    }

    /// A text block.
    record ScriptText {
        /// The text.
        text: Chunks,
    }

    /// A thinking block.
    record ScriptThinking {
        /// The reasoning.
        thinking: Chunks,
        /// The provider's mark.
        signature: Opt<Str>,
    }

    /// A tool call.
    record ScriptToolUse {
        /// The call.
        tool: ScriptTool,
    }

    /// A text block of many equal pieces.
    record ScriptTextRepeat {
        /// The pieces.
        text_repeat: ScriptRepeat,
    }

    /// A thinking block of many equal pieces.
    record ScriptThinkingRepeat {
        /// The pieces.
        thinking_repeat: ScriptRepeat,
        /// The provider's mark.
        signature: Opt<Str>,
    }

    /// A block of an answer.
    choice ScriptBlock {
        Text(ScriptText), Thinking(ScriptThinking), Tool(ScriptToolUse), TextRepeat(ScriptTextRepeat),
        ThinkingRepeat(ScriptThinkingRepeat)
    }

    /// Tokens that an answer reports.
    record ScriptUsage {
        /// Input tokens.
        input: Opt<Count>,
        /// Output tokens.
        output: Opt<Count>,
        /// Tokens read from the cache.
        cacheRead: Opt<Count>,
        /// Tokens written to the cache.
        cacheWrite: Opt<Count>,
    }

    /// A failure in place of an answer.
    record ScriptError {
        /// The HTTP status.
        status: Opt<Count>,
        /// The provider's name for the failure.
        type: Opt<Str>,
        /// What it says.
        message: Opt<Str>,
        /// The provider's code for it, where its errors have one.
        code: Opt<Str>,
        /// Headers of the response, as strings; null leaves out one that is sent otherwise.
        headers: Opt<Map<Any>>,
    }

    /// A response of any kind: a page of HTML, a redirect, bytes that are no text.
    record ScriptRaw {
        /// The status; 200 by default.
        status: Opt<Count>,
        /// Headers, as strings.
        headers: Opt<Map<Str>>,
        /// The body as text.
        body: Opt<Str>,
        /// The body as bytes, in base64.
        base64: Opt<Str>,
        ;
        example {"status": 200, "headers": {"content-type": "text/html"}, "body": "<h1>Sign in</h1>"}
    }

    /// Why a scripted answer stops.
    strings ScriptStop(open) {
        /// It is done.
        "stop",
        /// It reached the limit of its output.
        "length",
        /// It wants tools to run.
        "toolUse",
    }

    /// The requests that an answer is for. All that is said has to hold.
    record ScriptCondition {
        /// The user's last message has this text in it.
        user: Opt<Str>,
        /// The system prompt has this text in it.
        system: Opt<Str>,
        /// The model that is asked for.
        model: Opt<Str>,
        /// Whether results of tools stand behind the user's last message.
        tool_results: Opt<Bool>,
        /// The request's body has this text in it.
        body: Opt<Str>,
        ;
        example {"user": "run it", "tool_results": false}
    }

    /// What the model answers to one request.
    record ScriptResponse {
        /// The requests that it is for; without it, the next one for which no other answer is meant.
        when: Opt<ScriptCondition>,
        /// Whether it answers all requests that fit its condition; by default an answer is used once.
        keep: Opt<Bool>,
        /// The blocks in order.
        blocks: Opt<List<ScriptBlock>>,
        /// Short for one text block.
        text: Opt<Str>,
        /// Why it stops; by default `toolUse` with a tool call and `stop` without.
        stop: Opt<ScriptStop>,
        /// Tokens that it reports.
        usage: Opt<ScriptUsage>,
        /// A pause before every piece, in milliseconds.
        delay_ms: Opt<Count>,
        /// A pause before the answer, in milliseconds.
        first_ms: Opt<Count>,
        /// After that many pieces nothing more comes; -1: not even the beginning.
        hang_after: Opt<Int>,
        /// After that many pieces the connection is reset.
        drop_after: Opt<Int>,
        /// After that many pieces the connection is closed in good order.
        fin_after: Opt<Int>,
        /// After that many bytes of the body the connection is closed: in the middle of a line, or of a character.
        cut_after_bytes: Opt<Count>,
        /// Whether the stream ends without its last events, although nothing breaks.
        no_end: Opt<Bool>,
        /// Whether no tokens are reported.
        no_usage: Opt<Bool>,
        /// A response in place of the answer.
        raw: Opt<ScriptRaw>,
        /// Whether the body has chunked coding; true by default.
        chunked: Opt<Bool>,
        /// After that many pieces the error comes within the stream.
        stream_error_after: Opt<Int>,
        /// A failure in place of the answer.
        error: Opt<ScriptError>,
        /// A failure without a body.
        empty_error: Opt<ScriptError>,
        ;
        example {"blocks": [{"text": ["Hello", ", ", "world!"]}], "usage": {"input": 100, "output": 20}}
    }

    /// How the login by device code goes, for agents that log in at their provider.
    record ScriptDevice {
        /// How often the client hears that the user has not agreed yet.
        pending: Opt<Count>,
        /// The status of the answer to the request for a code; 200 by default.
        code_status: Opt<Count>,
        /// The status of the answer to the request for a token; 200 by default.
        token_status: Opt<Count>,
        /// Seconds between two questions of the client.
        interval: Opt<Count>,
        /// The error in place of the access.
        error: Opt<Object>,
    }

    /// What the model answers, request by request.
    record ModelScript {
        /// The answers. A request gets the first one that is left and fits it: those with a condition come
        /// first, then those without, in order.
        responses: List<ScriptResponse>,
        /// What requests after the last one get.
        default: Opt<ScriptResponse>,
        /// The login by device code.
        device: Opt<ScriptDevice>,
        ;
        example {"responses": [
            {"blocks": [{"text": "Let me look."}, {"tool": {"name": "bash", "args": {"command": "ls"}}}]},
            {"text": "There is a README."}
        ]}
    }
}
