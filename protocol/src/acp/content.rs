//! Content of prompts, answers and results.

use crate::dsl::protocol;
use crate::typed::{Any, Int, OptNull, Str};

protocol! {
    /// A text, which may be Markdown.
    record AcpText(type = "text") {
        /// The text.
        text: Str,
        /// Whom it is for, and how much it matters.
        annotations: OptNull<Any>,
        ;
        example {"type": "text", "text": "What is in this file?"}
    }

    /// An image.
    record AcpImage(type = "image") {
        /// The bytes in base64.
        data: Str,
        /// The MIME type, as in `image/png`.
        mimeType: Str,
        /// Where it comes from.
        uri: OptNull<Str>,
        /// Whom it is for, and how much it matters.
        annotations: OptNull<Any>,
        ;
        example {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// A recording.
    record AcpAudio(type = "audio") {
        /// The bytes in base64.
        data: Str,
        /// The MIME type, as in `audio/wav`.
        mimeType: Str,
        /// Whom it is for, and how much it matters.
        annotations: OptNull<Any>,
        ;
        example {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
    }

    /// The name of something that the agent can read itself.
    record AcpResourceLink(type = "resource_link") {
        /// Its address; `file://` and a path for a file.
        uri: Str,
        /// Its name for people.
        name: Str,
        /// Another name for people.
        title: OptNull<Str>,
        /// What it is.
        description: OptNull<Str>,
        /// The MIME type.
        mimeType: OptNull<Str>,
        /// How long it is, in bytes.
        size: OptNull<Int>,
        /// Whom it is for, and how much it matters.
        annotations: OptNull<Any>,
        ;
        example {"type": "resource_link", "uri": "file:///home/user/project/main.rs", "name": "main.rs"}
    }

    /// What a resource holds: `text`, or `blob` in base64.
    record AcpResourceContents {
        /// Its address.
        uri: Str,
        /// The MIME type.
        mimeType: OptNull<Str>,
        /// The text.
        text: OptNull<Str>,
        /// The bytes in base64.
        blob: OptNull<Str>,
        ;
        example {"uri": "file:///home/user/project/notes.md", "mimeType": "text/markdown", "text": "Remember the tests."}
    }

    /// A resource with its content.
    record AcpResource(type = "resource") {
        /// The content.
        resource: AcpResourceContents,
        /// Whom it is for, and how much it matters.
        annotations: OptNull<Any>,
        ;
        example {"type": "resource", "resource": {"uri": "file:///home/user/project/notes.md", "text": "Remember the tests."}}
    }

    /// A block of content.
    union AcpContentBlock(type, open) { AcpText, AcpImage, AcpAudio, AcpResourceLink, AcpResource }
}
