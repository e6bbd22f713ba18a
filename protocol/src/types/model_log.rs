//! The log of the scripted model.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Object, Opt, Str};

protocol! {
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
