//! The file formats of the project: transcripts and model scripts.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Num, Object, Opt, OptNull, Str};

protocol! {
    /// A repeated piece of text in a line that is too long to store in full.
    record LineRepeat {
        /// The text that is repeated.
        repeat: Str,
        /// Number of repetitions in the line.
        n: Count,
    }

    /// A part of a long line.
    choice LinePart { Text(Str), Repeat(LineRepeat) }

    /// The direction of a line.
    strings Direction(closed) {
        /// From the client to the server.
        "c2s",
        /// From the server to the client.
        "s2c",
    }

    /// The first record of a transcript: the recorded agent, its command line and the scenario.
    record TranscriptHeader {
        /// Version of the format, 1.
        transcript: Count,
        /// Name of the agent.
        agent: Str,
        /// Version of the agent.
        version: OptNull<Str>,
        /// Name of the scenario.
        scenario: OptNull<Str>,
        /// Title of the scenario.
        title: OptNull<Str>,
        /// Command line of the agent.
        argv: OptNull<List<Str>>,
        /// Name of the model script.
        provider_script: OptNull<Str>,
        ;
        example {
            "transcript": 1, "agent": "pi", "version": "0.55.4", "scenario": "prompt-text", "argv": ["pi", "--mode", "rpc"],
            "title": "a prompt and its answer"
        }
    }

    /// A line in one of the two directions.
    record TranscriptLine {
        /// Time since the start in milliseconds.
        t: Opt<Num>,
        /// Direction of the line.
        dir: Direction,
        /// The line without its end.
        line: Opt<Str>,
        /// The line in parts, if it is long.
        line_parts: Opt<List<LinePart>>,
        /// The end of the line, if it is not a line feed.
        eol: OptNull<Str>,
        ;
        example {"t": 12, "dir": "c2s", "line": "{\"type\":\"get_state\"}"}
    }

    /// An event of the process: stdin closed, a signal, the end of the process.
    record TranscriptControl(dir = "ctl") {
        /// Time since the start in milliseconds.
        t: Opt<Num>,
        /// Name of the event, as in `stdin_closed` or `exit`.
        event: Str,
        /// Exit code of the process. If a signal ended the process, the negated number of the signal.
        code: OptNull<Int>,
        /// The last part of stderr.
        stderr: OptNull<Str>,
        /// Description of the event.
        text: Opt<Str>,
        ;
        example {"t": 80, "dir": "ctl", "event": "exit", "code": 0, "stderr": ""}
    }

    /// A note of the recorder, for example about a command that it ran.
    record TranscriptNote(dir = "note") {
        /// Time since the start in milliseconds.
        t: Opt<Num>,
        /// Text of the note.
        line: Str,
        ;
        example {"t": 3240.4, "dir": "note", "line": "$ true"}
    }

    /// One record of a transcript, a file of JSON lines.
    choice TranscriptRecord {
        Header(TranscriptHeader), Control(TranscriptControl), Note(TranscriptNote), Line(TranscriptLine)
    }

    /// Text in one piece, or in the pieces in which it is streamed.
    choice Chunks { Whole(Str), Pieces(List<Str>) }

    /// Arguments of a scripted tool call: an object, or JSON text in pieces.
    choice ScriptArguments { Object(Object), Whole(Str), Pieces(List<Str>) }

    /// A tool call of the model.
    record ScriptTool {
        /// Id of the tool call; generated if absent.
        id: Opt<Str>,
        /// Name of the tool.
        name: Str,
        /// Arguments of the tool call.
        args: Opt<ScriptArguments>,
    }

    /// A repeated piece of text; each `{i}` in it becomes the number of the repetition.
    record ScriptRepeat {
        /// The piece of text.
        chunk: Str,
        /// Number of repetitions.
        n: Count,
    }

    /// A scripted text block.
    record ScriptText {
        /// Text of the block.
        text: Chunks,
    }

    /// A scripted thinking block.
    record ScriptThinking {
        /// Text of the reasoning.
        thinking: Chunks,
        /// Signature of the provider.
        signature: Opt<Str>,
    }

    /// A scripted tool call.
    record ScriptToolUse {
        /// Tool call of the block.
        tool: ScriptTool,
    }

    /// A scripted text block of many equal pieces.
    record ScriptTextRepeat {
        /// The repeated piece of text.
        text_repeat: ScriptRepeat,
    }

    /// A scripted thinking block of many equal pieces.
    record ScriptThinkingRepeat {
        /// The repeated piece of reasoning.
        thinking_repeat: ScriptRepeat,
        /// Signature of the provider.
        signature: Opt<Str>,
    }

    /// A block of a scripted answer.
    choice ScriptBlock {
        Text(ScriptText), Thinking(ScriptThinking), Tool(ScriptToolUse), TextRepeat(ScriptTextRepeat),
        ThinkingRepeat(ScriptThinkingRepeat)
    }

    /// The token counts in a scripted answer.
    record ScriptUsage {
        /// Number of input tokens.
        input: Opt<Count>,
        /// Number of output tokens.
        output: Opt<Count>,
        /// Number of tokens read from the cache.
        cacheRead: Opt<Count>,
        /// Number of tokens written to the cache.
        cacheWrite: Opt<Count>,
    }

    /// A failure instead of an answer.
    record ScriptError {
        /// HTTP status of the response.
        status: Opt<Count>,
        /// The provider's name for the failure.
        type: Opt<Str>,
        /// Error message of the failure.
        message: Opt<Str>,
        /// The provider's error code, if its errors have one.
        code: Opt<Str>,
        /// Headers of the response, as strings; null omits a header that is sent by default.
        headers: Opt<Map<Any>>,
    }

    /// A response of any kind, such as an HTML page, a redirect or binary data.
    record ScriptRaw {
        /// The HTTP status; 200 by default.
        status: Opt<Count>,
        /// Headers of the response.
        headers: Opt<Map<Str>>,
        /// The body as text.
        body: Opt<Str>,
        /// The body as bytes, in base64.
        base64: Opt<Str>,
        ;
        example {"status": 200, "headers": {"content-type": "text/html"}, "body": "<h1>Sign in</h1>"}
    }

    /// The stop reason of a scripted answer.
    strings ScriptStop(open) {
        /// The model completed its answer.
        "stop",
        /// The answer reached the limit of its output.
        "length",
        /// The model calls tools.
        "toolUse",
    }

    /// The condition that selects the requests for an answer. All present members must match.
    record ScriptCondition {
        /// Text that the user's last message contains.
        user: Opt<Str>,
        /// Text that the system prompt contains.
        system: Opt<Str>,
        /// Name of the requested model.
        model: Opt<Str>,
        /// `true` if results of tools must follow the user's last message, `false` if they must not.
        tool_results: Opt<Bool>,
        /// Text that the body of the request contains.
        body: Opt<Str>,
        ;
        example {"user": "run it", "tool_results": false}
    }

    /// The answer of the model to one request.
    record ScriptResponse {
        /// Requests for this answer. If absent, the answer serves the next request that no other answer matches.
        when: Opt<ScriptCondition>,
        /// `true` if the answer serves all matching requests; by default it serves one.
        keep: Opt<Bool>,
        /// The blocks in order.
        blocks: Opt<List<ScriptBlock>>,
        /// Shorthand for one text block.
        text: Opt<Str>,
        /// Stop reason of the answer; by default `toolUse` if there is a tool call, otherwise `stop`.
        stop: Opt<ScriptStop>,
        /// The reported token counts.
        usage: Opt<ScriptUsage>,
        /// Pause before every piece in milliseconds.
        delay_ms: Opt<Count>,
        /// Pause before the answer in milliseconds.
        first_ms: Opt<Count>,
        /// Number of pieces before the answer hangs; -1 to hang before the start of the answer.
        hang_after: Opt<Int>,
        /// Number of pieces before the connection is reset.
        drop_after: Opt<Int>,
        /// Number of pieces before an orderly close of the connection.
        fin_after: Opt<Int>,
        /// Number of bytes of the body before the connection closes, possibly within a line or a character.
        cut_after_bytes: Opt<Count>,
        /// `true` if the stream ends without its last events, over an intact connection.
        no_end: Opt<Bool>,
        /// `true` to omit the token counts.
        no_usage: Opt<Bool>,
        /// Response of any kind that is sent instead of the answer.
        raw: Opt<ScriptRaw>,
        /// `true` if the body has chunked coding, the default.
        chunked: Opt<Bool>,
        /// Number of pieces before the error within the stream.
        stream_error_after: Opt<Int>,
        /// A failure instead of the answer.
        error: Opt<ScriptError>,
        /// A failure without a body, instead of the answer.
        empty_error: Opt<ScriptError>,
        ;
        example {"blocks": [{"text": ["Hello", ", ", "world!"]}], "usage": {"input": 100, "output": 20}}
    }

    /// The login by device code, for agents that log in at their provider.
    record ScriptDevice {
        /// Number of polls that receive the answer "authorization pending".
        pending: Opt<Count>,
        /// HTTP status of the response to the request for a code; 200 by default.
        code_status: Opt<Count>,
        /// HTTP status of the response to the request for a token; 200 by default.
        token_status: Opt<Count>,
        /// Interval between two polls of the client in seconds.
        interval: Opt<Count>,
        /// Error instead of the access token.
        error: Opt<Object>,
    }

    /// The answers of the model, request by request.
    record ModelScript {
        /// The answers. Each request receives the first unused answer that matches it: answers with a condition come
        /// first, then answers without one, in order.
        responses: List<ScriptResponse>,
        /// Answer to requests after the last answer.
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
