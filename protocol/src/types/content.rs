//! Content blocks, the parts of messages of the pi family.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Object, Opt, Str};

protocol! {
    /// A piece of text.
    record TextContent(type = "text") {
        /// Content of the text block.
        text: Str,
        /// Opaque signature from the provider; the next request returns it with the text.
        textSignature: Opt<Str>,
        ;
        example {"type": "text", "text": "Hello! How can I help?"}
    }

    /// Visible reasoning of the model.
    record ThinkingContent(type = "thinking") {
        /// Text of the reasoning.
        thinking: Str,
        /// Opaque signature from the provider; the next request returns it with the block.
        thinkingSignature: Opt<Str>,
        /// `true` if the provider sent the reasoning in an unreadable form.
        redacted: Opt<Bool>,
        ;
        example {"type": "thinking", "thinking": "User is greeting me..."}
    }

    /// A complete image.
    record ImageContent(type = "image") {
        /// The bytes in base64, without the prefix of a data URL.
        data: Str,
        /// The MIME type, as in `image/png`.
        mimeType: Str,
        ;
        example {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// A tool call of the model.
    record ToolCall(type = "toolCall") {
        /// Id of the tool call, repeated in its result.
        id: Str,
        /// Name of the tool.
        name: Str,
        /// Arguments of the tool call. During streaming, as much of them as can be parsed.
        arguments: Object,
        /// Opaque signature from the provider; the next request returns it with the call.
        thoughtSignature: Opt<Str>,
        /// The provider's name for the group of tools that contains this tool.
        namespace: Opt<Str> [since "pi@1.5"],
        /// Reason for arguments that cannot be parsed.
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

    /// A file that a client attached to a message.
    record Attachment {
        /// Id of the attachment.
        id: Str,
        /// Kind of the file, `image` or `document`.
        type: Str,
        /// Name of the file.
        fileName: Str,
        /// The MIME type.
        mimeType: Str,
        /// Size of the file in bytes.
        size: crate::typed::Count,
        /// The bytes in base64.
        content: Str,
        /// Text extracted from a document.
        extractedText: crate::typed::OptNull<Str>,
        /// A small preview image in base64.
        preview: crate::typed::OptNull<Str>,
        ;
        example {
            "id": "img1", "type": "image", "fileName": "photo.jpg", "mimeType": "image/jpeg", "size": 102400,
            "content": "/9j/4AAQ", "extractedText": null, "preview": null
        }
    }

    /// The output of a tool, complete or so far.
    record ToolOutput {
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Details for a client, in a shape defined by the tool.
        details: crate::typed::OptNull<Any>,
        /// The result as structured data, for programs.
        structuredContent: Opt<Any> [since "pi@1.5"],
        /// `true` if the tool failed, so that the structured result describes the failure.
        isError: Opt<Bool> [since "pi@1.5"],
        ;
        example {"content": [{"type": "text", "text": "total 48\n..."}], "details": {}}
    }
}
