//! What a tool call gives back.

use std::time::Duration;

use serde_json::{Value, json};

/// One block of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolContent {
    /// Text for the model.
    Text(String),
    /// An image for the model.
    Image {
        /// The file's bytes in standard base64.
        data: String,
        /// Its MIME type, found from the bytes.
        mime_type: String,
    },
}

impl ToolContent {
    /// The block as the pi family writes it: `{"type":"text",…}` or `{"type":"image",…}`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        }
    }
}

/// The result of one call. Failures are outputs too: `is_error` is set and the text says why.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model sees, in order.
    pub content: Vec<ToolContent>,
    /// What only clients see. `None` where a tool has nothing to add, and an empty object for every failure: the
    /// recordings of pi 0.55 show exactly that.
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// How long the tool ran; none where it did not.
    pub took: Option<Duration>,
    /// The result as data, for clients that read more than text; none where a tool has nothing but the text.
    pub structured: Option<Structured>,
}

/// The result of a call as data.
#[derive(Clone, Debug, PartialEq)]
pub enum Structured {
    /// What the model sees: a text is that text, an image an image with its note.
    AsShown,
    /// This.
    Data(Value),
}

impl ToolOutput {
    /// A success of one text block without details.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::Text(text.into())],
            details: None,
            is_error: false,
            took: None,
            structured: None,
        }
    }

    /// A failure of one text block, with the empty details of a failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::Text(text.into())],
            details: Some(json!({})),
            is_error: true,
            took: None,
            structured: None,
        }
    }

    /// The same output with other details.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same output, which as data is what is shown.
    pub fn as_shown(mut self) -> Self {
        self.structured = Some(Structured::AsShown);
        self
    }

    /// The result as data.
    pub fn data(&self) -> Option<Value> {
        match self.structured.as_ref()? {
            Structured::Data(data) => Some(data.clone()),
            Structured::AsShown => Some(match self.content.as_slice() {
                [ToolContent::Text(note), ToolContent::Image { data, mime_type }] => {
                    json!({"type": "image", "data": data, "mimeType": mime_type, "note": note})
                }
                _ => self.all_text().into(),
            }),
        }
    }

    /// All text blocks joined by newlines; images are left out.
    pub fn all_text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ToolContent::Text(text) => Some(text.as_str()),
            ToolContent::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl From<Result<ToolOutput, String>> for ToolOutput {
    fn from(result: Result<ToolOutput, String>) -> Self {
        result.unwrap_or_else(Self::error)
    }
}
