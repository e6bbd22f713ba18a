//! A result with many lines. Only lines that the model receives are stored.

use serde_json::{Map, Value};

use super::ToolOutput;
use super::truncate::{Limits, TextSize, TruncatedBy, format_size, truncate_head_of};

/// Collects the lines of a result in constant memory. Lines beyond the limits are counted but not stored.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The first lines: all of them, or a little more than the byte limit.
    window: String,
    total: TextSize,
    details: Map<String, Value>,
    notices: Vec<String>,
}

impl Listing {
    pub(crate) fn push(&mut self, line: &str) {
        let separator = if self.total.lines == 0 { "" } else { "\n" };
        self.total.lines += 1;
        self.total.bytes += (separator.len() + line.len()) as u64;
        // After a missing line no other line may follow.
        if self.window.len() <= Limits::default().max_bytes {
            self.window.push_str(separator);
            self.window.push_str(line);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total.lines == 0
    }

    /// Adds a sentence for the model, which is shown below the lines.
    pub(crate) fn notice(&mut self, sentence: impl Into<String>) {
        self.notices.push(sentence.into());
    }

    /// Adds a member to the details, for clients.
    pub(crate) fn detail(&mut self, name: &str, value: impl Into<Value>) {
        self.details.insert(name.to_owned(), value.into());
    }

    /// Returns the output: the lines, and the notices in brackets. Without lines, the text is `nothing`.
    pub(crate) fn finish(mut self, nothing: &str) -> ToolOutput {
        let cut = truncate_head_of(&self.window, self.total, Limits::default());
        let mut text = if self.is_empty() { nothing.to_owned() } else { cut.content.clone() };
        if let Some(by) = cut.truncated_by {
            let limit = match by {
                TruncatedBy::Bytes => format!("{} limit", format_size(cut.limits.max_bytes as u64)),
                TruncatedBy::Lines => format!("{} lines limit", cut.limits.max_lines),
            };
            let (shown, total) = (cut.output_lines, cut.total_lines);
            self.notices.insert(0, format!("Showing lines 1-{shown} of {total} ({limit})."));
            self.details.insert("truncation".into(), cut.to_json());
        }
        if !self.notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", self.notices.join(" ")));
        }
        let output = ToolOutput::text(text);
        if self.details.is_empty() { output } else { output.with_details(Value::Object(self.details)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_are_whole() {
        let mut listing = Listing::default();
        listing.push("a");
        listing.push("");
        listing.push("b");
        assert_eq!(listing.finish("nothing"), ToolOutput::text("a\n\nb"));
        assert_eq!(Listing::default().finish("nothing"), ToolOutput::text("nothing"));
    }

    #[test]
    fn many_lines_are_counted_and_not_kept() {
        let mut listing = Listing::default();
        let line = "x".repeat(1023);
        for _ in 0..100_000 {
            listing.push(&line);
        }
        assert!(listing.window.len() < 60_000);
        listing.notice("And more.");
        let output = listing.finish("");
        let text = output.all_text();
        assert!(text.ends_with("x\n\n[Showing lines 1-50 of 100000 (50.0KB limit). And more.]"), "{text}");
        assert_eq!(output.details.unwrap()["truncation"]["totalBytes"], 102_399_999);

        let mut listing = Listing::default();
        (0..2001).for_each(|_| listing.push("x"));
        let text = listing.finish("").all_text();
        assert!(text.ends_with("\n\n[Showing lines 1-2000 of 2001 (2000 lines limit).]"));
    }
}
