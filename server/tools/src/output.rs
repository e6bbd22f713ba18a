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
    /// Returns the block in the form of the pi family: `{"type":"text",…}` or `{"type":"image",…}`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        }
    }
}

/// The result of one call. Failures are outputs too: `is_error` is set and the text contains the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Content for the model, in order.
    pub content: Vec<ToolContent>,
    /// Details for clients only. `None` for tools without details, and an empty object for every failure,
    /// exactly as in the recordings of pi 0.55.
    pub details: Option<Value>,
    /// `true` if the call failed.
    pub is_error: bool,
    /// Running time of the tool; `None` if it did not run.
    pub took: Option<Duration>,
    /// The result as data, for clients that read more than text; `None` if the text is the whole result.
    pub structured: Option<StructuredOutput>,
}

/// The result of a call as data.
#[derive(Clone, Debug, PartialEq)]
pub enum StructuredOutput {
    /// The content for the model: a text as that text, an image as the image with its note.
    FromContent,
    /// Other data.
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

    /// Returns the output with other details.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Returns the output with its content as its data.
    pub fn with_content_as_data(mut self) -> Self {
        self.structured = Some(StructuredOutput::FromContent);
        self
    }

    /// Returns the result as data.
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
