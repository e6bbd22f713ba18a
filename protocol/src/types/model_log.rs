//! The log of the scripted model.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Object, Opt, Str};

protocol! {
    /// The provider API of a request.
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

    /// A tool call in the history of a request.
    record RequestCall {
        /// Id of the tool call.
        id: Opt<Str>,
        /// Name of the tool.
        name: Str,
        /// Arguments of the tool call; a string if they are not valid JSON.
        arguments: Any,
        ;
        example {"id": "call_1", "name": "bash", "arguments": {"command": "ls"}}
    }

    /// The result of a tool in the history of a request.
    record RequestResult {
        /// Id of the tool call; for Google, the name of the tool.
        id: Str,
        /// Text of the result.
        text: Str,
        /// `true` if the tool failed, in APIs with such a member.
        is_error: Opt<Bool>,
        ;
        example {"id": "call_1", "text": "README.md\n"}
    }

    /// The author of a message in a request.
    strings RequestRole(closed) {
        /// The user is the author.
        "user",
        /// The model is the author.
        "assistant",
        /// A tool is the author.
        "tool",
    }

    /// A message in the history of a request, independent of the API.
    record RequestMessage {
        /// Author of the message. A message with tool results only has the role `tool`.
        role: RequestRole,
        /// Concatenated text blocks of the message.
        text: Opt<Str>,
        /// Text of the thinking blocks of the message.
        thinking: Opt<Str>,
        /// Number of images in the message.
        images: Opt<Count>,
        /// Tool calls of the message.
        calls: Opt<List<RequestCall>>,
        /// Tool results of the message.
        results: Opt<List<RequestResult>>,
        ;
        example {"role": "user", "text": "What is in here?"}
    }

    /// A request that the scripted model received: one line of its log.
    record ModelRequest {
        /// Number of the request, from 0.
        n: Count,
        /// API of the request.
        api: ModelApi,
        /// Path of the URL.
        path: Str,
        /// Name of the requested model.
        model: Opt<Str>,
        /// System prompt of the request.
        system: Opt<Str>,
        /// Message history of the request.
        messages: List<RequestMessage>,
        /// Names of the offered tools.
        tools: List<Str>,
        /// Members of the request other than history and tools.
        options: Object,
        /// Number of the answer in the script; absent if the script had no answer left.
        answer: Opt<Count>,
        ;
        example {
            "n": 0, "api": "anthropic-messages", "path": "/v1/messages", "model": "fake-sonnet", "system": "Be brief.",
            "messages": [{"role": "user", "text": "Hi"}], "tools": ["bash"], "options": {"max_tokens": 1024}, "answer": 0
        }
    }
}
