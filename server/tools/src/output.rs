//! Results of tool calls.

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
        /// MIME type, detected from the bytes.
        mime_type: String,
    },
}

impl ToolContent {
    /// Returns the block as JSON in the form of the pi family: `{"type":"text",…}` or `{"type":"image",…}`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        }
    }
}

/// The result of one call. A failure is a result too: `is_error` is set, and the content has the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Content for the model, in order.
    pub content: Vec<ToolContent>,
    /// Details for clients, which models do not receive. `None` for tools without details. For failures, an
    /// empty object as in pi 0.55.
    pub details: Option<Value>,
    /// `true` if the call failed.
    pub is_error: bool,
    /// Running time of the tool; `None` if it did not run.
    pub took: Option<Duration>,
    /// The result as JSON, for clients that do not want to parse text. `None` if the tool provides no such
    /// result.
    pub structured: Option<StructuredOutput>,
}

/// The source of a result as JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum StructuredOutput {
    /// The value is the content: a text as a string, and an image as an image with its note.
    FromContent,
    /// The value is separate from the content.
    Data(Value),
}

impl ToolOutput {
    /// Creates a successful output with one text block and without details.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::Text(text.into())],
            details: None,
            is_error: false,
            took: None,
            structured: None,
        }
    }

    /// Creates a failed output with one text block and the empty details of a failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::Text(text.into())],
            details: Some(json!({})),
            is_error: true,
            took: None,
            structured: None,
        }
    }

    /// Sets the details of the output.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Makes the content the result as JSON.
    pub fn with_content_as_data(mut self) -> Self {
        self.structured = Some(StructuredOutput::FromContent);
        self
    }

    /// Returns the result as JSON, if there is one.
    pub fn data(&self) -> Option<Value> {
        match self.structured.as_ref()? {
            StructuredOutput::Data(data) => Some(data.clone()),
            StructuredOutput::FromContent => Some(match self.content.as_slice() {
                [ToolContent::Text(note), ToolContent::Image { data, mime_type }] => {
                    json!({"type": "image", "data": data, "mimeType": mime_type, "note": note})
                }
                _ => self.all_text().into(),
            }),
        }
    }

    /// Returns all text blocks joined by newlines, without images.
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
