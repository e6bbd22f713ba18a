//! Content of prompts, answers and results.

use crate::dsl::protocol;
use crate::typed::{Any, Int, OptNull, Str};

protocol! {
    /// A text, which may be Markdown.
    record AcpText(type = "text") {
        /// Content of the text block.
        text: Str,
        /// Audience and priority of the content.
        annotations: OptNull<Any>,
        ;
        example {"type": "text", "text": "What is in this file?"}
    }

    /// An image in base64.
    record AcpImage(type = "image") {
        /// The bytes in base64.
        data: Str,
        /// The MIME type, as in `image/png`.
        mimeType: Str,
        /// Address of the image's source.
        uri: OptNull<Str>,
        /// Audience and priority of the content.
        annotations: OptNull<Any>,
        ;
        example {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// An audio recording in base64.
    record AcpAudio(type = "audio") {
        /// The bytes in base64.
        data: Str,
        /// The MIME type, as in `audio/wav`.
        mimeType: Str,
        /// Audience and priority of the content.
        annotations: OptNull<Any>,
        ;
        example {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
    }

    /// A reference to a resource that the agent can read itself.
    record AcpResourceLink(type = "resource_link") {
        /// Address of the resource; `file://` and a path for a file.
        uri: Str,
        /// Name of the resource.
        name: Str,
        /// Display name.
        title: OptNull<Str>,
        /// Description of the resource.
        description: OptNull<Str>,
        /// The MIME type.
        mimeType: OptNull<Str>,
        /// Size of the resource in bytes.
        size: OptNull<Int>,
        /// Audience and priority of the content.
        annotations: OptNull<Any>,
        ;
        example {"type": "resource_link", "uri": "file:///home/user/project/main.rs", "name": "main.rs"}
    }

    /// The content of a resource: `text`, or `blob` in base64.
    record AcpResourceContents {
        /// Address of the resource.
        uri: Str,
        /// The MIME type.
        mimeType: OptNull<Str>,
        /// Content of a text resource.
        text: OptNull<Str>,
        /// Content of a binary resource in base64.
        blob: OptNull<Str>,
        ;
        example {"uri": "file:///home/user/project/notes.md", "mimeType": "text/markdown", "text": "Remember the tests."}
    }

    /// A resource with its content.
    record AcpResource(type = "resource") {
        /// Content of the resource.
        resource: AcpResourceContents,
        /// Audience and priority of the content.
        annotations: OptNull<Any>,
        ;
        example {"type": "resource", "resource": {"uri": "file:///home/user/project/notes.md", "text": "Remember the tests."}}
    }

    /// A block of content.
    union AcpContentBlock(type, open) { AcpText, AcpImage, AcpAudio, AcpResourceLink, AcpResource }
}
