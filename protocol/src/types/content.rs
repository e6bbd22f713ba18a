//! Content blocks: what messages of the pi family are made of.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Object, Opt, Str};

protocol! {
    /// A piece of text.
    record TextContent(type = "text") {
        /// The text.
        text: Str,
        /// An opaque signature from the provider, to be sent back with the text.
        textSignature: Opt<Str>,
        ;
        example {"type": "text", "text": "Hello! How can I help?"}
    }

    /// Reasoning that the model shows.
    record ThinkingContent(type = "thinking") {
        /// The reasoning text.
        thinking: Str,
        /// An opaque signature from the provider, to be sent back with the block.
        thinkingSignature: Opt<Str>,
        /// True where the provider sent the reasoning in a form that cannot be read.
        redacted: Opt<Bool>,
        ;
        example {"type": "thinking", "thinking": "User is greeting me..."}
    }

    /// A complete image.
    record ImageContent(type = "image") {
        /// The bytes in base64, without a data URL's head.
        data: Str,
        /// The MIME type, as in `image/png`.
        mimeType: Str,
        ;
        example {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// A tool call of the model.
    record ToolCall(type = "toolCall") {
        /// The call's id; its result carries the same.
        id: Str,
        /// The tool's name.
        name: Str,
        /// The arguments. While they stream, as much of them as can be read.
        arguments: Object,
        /// An opaque signature from the provider, to be sent back with the call.
        thoughtSignature: Opt<Str>,
        /// The provider's name for a group of tools that this one is in.
        namespace: Opt<Str> [since "pi@1.5"],
        /// Why the arguments cannot be read.
        argumentsError: Opt<Str> [since "pi@1.5"],
        ;
        example {"type": "toolCall", "id": "call_123", "name": "bash", "arguments": {"command": "ls"}}
    }

    /// A block of a user's message or of a tool's result.
    union InputBlock(type, open) { TextContent, ImageContent }

    /// A block of the model's answer.
    union AssistantBlock(type, open) { TextContent, ThinkingContent, ToolCall }

    /// Input of the user: plain text, or blocks of text and images.
    choice InputContent { Text(Str), Blocks(List<InputBlock>) }

    /// A file that a front end attached to a message.
    record Attachment {
        /// The attachment's id.
        id: Str,
        /// What kind it is, `image` or `document`.
        type: Str,
        /// The file's name.
        fileName: Str,
        /// The MIME type.
        mimeType: Str,
        /// The file's size in bytes.
        size: crate::typed::Count,
        /// The bytes in base64.
        content: Str,
        /// Text taken out of a document.
        extractedText: crate::typed::OptNull<Str>,
        /// A small image in base64.
        preview: crate::typed::OptNull<Str>,
        ;
        example {
            "id": "img1", "type": "image", "fileName": "photo.jpg", "mimeType": "image/jpeg", "size": 102400,
            "content": "/9j/4AAQ", "extractedText": null, "preview": null
        }
    }

    /// What a tool gives back, whole or so far.
    record ToolOutput {
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Facts for a front end; their shape is the tool's own.
        details: crate::typed::OptNull<Any>,
        /// The result as data, for programs.
        structuredContent: Opt<Any> [since "pi@1.5"],
        /// Whether a result that is there as data too is that of a failure.
        isError: Opt<Bool> [since "pi@1.5"],
        ;
        example {"content": [{"type": "text", "text": "total 48\n..."}], "details": {}}
    }
}
