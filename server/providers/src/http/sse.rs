//! Server-sent events: parses the bytes of a body into the data of each event.

use agentese::framing::{Bom, Framer, FramerOptions, FramingError};

/// Maximum length of a line and of the data of one event, in bytes. In the APIs an event is one line. The longest one
/// contains the whole response and is under 1 MiB.
const LONGEST_EVENT: usize = 8 * 1024 * 1024;
/// Maximum length of a body in bytes, including everything that is not data. The longest answers of current models need
/// about 50 MiB if each piece is one word.
const LONGEST_BODY: u64 = 1 << 30;

/// The reason why a body cannot be read further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    #[error("{0}")]
    Line(FramingError),
    #[error("an event is longer than {} MiB", LONGEST_EVENT / 1024 / 1024)]
    Event,
    #[error("it is longer than {} MiB", LONGEST_BODY / 1024 / 1024)]
    Body,
}

/// Maximum number of stored bytes of a body without events.
const LONGEST_TEXT: usize = 64 * 1024;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The event is a part of an answer.
    Message,
    /// The event has the name `error`, or a field named `error`, as the server of llama.cpp sends it.
    Error,
}

/// The part of a body that is not a complete event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The rest is data of an event that was not completed.
    Data(String),
    /// The rest is the text of a body without events.
    Text(String),
}

const FIELDS: &[&str] = &["data", "event", "error", "id", "retry"];

/// Splits a body into events. The result does not depend on the chunks in which the bytes arrive. The event name
/// `error` has an effect; other names, ids and comments are ignored, because the supported APIs do not need them.
///
/// Uses the framer of the dialects' own lines, which is bounded, linear, and checks UTF-8. A lone CR is treated as
/// data, because the APIs do not use it as a line end.
#[derive(Debug)]
pub(crate) struct SseParser {
    framer: Framer,
    open: PendingEvent,
    total: u64,
}

/// State of the open event, or of a body without events.
#[derive(Debug, Default)]
struct PendingEvent {
    data: Option<String>,
    is_error: bool,
    /// `true` after the first event.
    has_events: bool,
    /// Lines that are not fields of an event.
    text: String,
}

impl Default for SseParser {
    fn default() -> Self {
        let options = FramerOptions { max_line: LONGEST_EVENT, bom: Bom::Drop };
        Self { framer: Framer::new(options), open: PendingEvent::default(), total: 0 }
    }
}

impl SseParser {
    /// Reads a chunk, and passes on the data of each event that it completes, in order. Fails if a line is not UTF-8,
    /// or if a line, an event or the body is too long. The body cannot be read further after a failure.
    pub fn push(&mut self, chunk: &[u8], mut on_event: impl FnMut(EventKind, &str)) -> Result<(), SseError> {
        self.total = self.total.saturating_add(chunk.len() as u64);
        if self.total > LONGEST_BODY {
            return Err(SseError::Body);
        }
        let mut outcome = Ok(());
        let Self { framer, open, .. } = self;
        framer.push(chunk, &mut |line| {
            if outcome.is_ok() {
                outcome = match line {
                    Ok(line) => open.line(line.text, &mut on_event),
                    Err(error) => Err(SseError::Line(error)),
                };
            }
        });
        outcome
    }

    /// Returns the part of an ended body that is not a complete event.
    pub fn rest(&mut self) -> Option<Rest> {
        let Self { framer, open, .. } = self;
        framer.finish(&mut |line| {
            if let Ok(line) = line {
                // An excess of data is no error of its own here, because the body has ended.
                let _ = open.line(line.text, &mut |_, _| {});
            }
        });
        let text = || {
            let text = std::mem::take(&mut open.text);
            let word = text.trim();
            // A text that begins like a field's name is an event stream that was cut off.
            let is_text = !open.has_events && !FIELDS.iter().any(|field| field.starts_with(word));
            is_text.then_some(Rest::Text(text))
        };
        open.data.take().map(Rest::Data).or_else(text)
    }
}

impl PendingEvent {
    fn line(&mut self, line: &str, on_event: &mut impl FnMut(EventKind, &str)) -> Result<(), SseError> {
        if line.is_empty() {
            let is_error = std::mem::take(&mut self.is_error);
            if let Some(data) = self.data.take() {
                self.has_events = true;
                on_event(if is_error { EventKind::Error } else { EventKind::Message }, &data);
            }
            return Ok(());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => return self.grow(value),
            "event" => self.is_error = value == "error",
            "error" => {
                self.has_events = true;
                on_event(EventKind::Error, value);
            }
            "" | "id" | "retry" => {}
            _ if self.text.len() + line.len() < LONGEST_TEXT => {
                self.text.push_str(line);
                self.text.push('\n');
            }
            _ => {}
        }
        Ok(())
    }

    fn grow(&mut self, value: &str) -> Result<(), SseError> {
        match &mut self.data {
            Some(data) if data.len() + value.len() >= LONGEST_EVENT => return Err(SseError::Event),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "\u{feff}: hello\nevent: a\nid: 7\nretry: 3\ndata: {\"x\":\"ä\u{2028}\"}\n\n\
                        data:one\r\ndata\r\ndata:  three\r\n\r\n\n\ndatabase: no\n\ndata: unfinished\n";

    #[test]
    fn events_are_the_same_however_the_bytes_come() {
        for size in 1..BODY.len() {
            let mut events = SseParser::default();
            let mut received = Vec::new();
            for chunk in BODY.as_bytes().chunks(size) {
                events.push(chunk, |_, data| received.push(data.to_owned())).unwrap();
            }
            assert_eq!(received, ["{\"x\":\"ä\u{2028}\"}", "one\n\n three"], "{size}");
        }
    }

    #[test]
    fn errors_have_a_name_and_a_body_without_events_is_a_text() {
        let read = |body: &str| {
            let (mut events, mut received) = (SseParser::default(), Vec::new());
            events.push(body.as_bytes(), |kind, data| received.push((kind, data.to_owned()))).unwrap();
            (received, events.rest())
        };
        let error = |data: &str| vec![(EventKind::Error, data.to_owned())];
        assert_eq!(read("event: error\ndata: {}\n\n"), (error("{}"), None));
        assert_eq!(read("error: {\"code\":400}\n\n"), (error("{\"code\":400}"), None));
        let (received, _) = read("event: error\n\ndata: a\n\nevent: x\ndata: b\n\n");
        assert_eq!(received, [(EventKind::Message, "a".to_owned()), (EventKind::Message, "b".to_owned())]);
        assert_eq!(read("no healthy upstream"), (vec![], Some(Rest::Text("no healthy upstream\n".into()))));
        assert_eq!(read("data: {\"a\""), (vec![], Some(Rest::Data("{\"a\"".into()))));
        assert_eq!(read("dat"), (vec![], None));
        assert_eq!(read("data: a\n\nbye").1, None);
    }

    #[test]
    fn a_body_that_is_not_text_fails() {
        let mut events = SseParser::default();
        let mut received = Vec::new();
        let result =
            events.push(b"data: a\n\ndata: \xff\n\ndata: b\n\n", |_, data| received.push(data.to_owned()));
        assert!(matches!(result, Err(SseError::Line(FramingError::InvalidUtf8 { .. }))));
        assert_eq!(received, ["a"]);
    }

    #[test]
    fn fm_f69_an_event_or_a_body_without_an_end_is_an_error() {
        let feed = |line: &[u8]| {
            let mut events = SseParser::default();
            let block = line.repeat((1 << 20) / line.len());
            let mut fed = 0;
            loop {
                if let Err(error) = events.push(&block, |_, _| {}) {
                    return (error, fed);
                }
                fed += block.len();
            }
        };
        for line in [&b"data: xxxxxxxxxxxxxxxxxxxxxxxxx\n"[..], b"data\n", b"data:\n"] {
            let (error, fed) = feed(line);
            assert_eq!(error, SseError::Event);
            assert!(fed < 7 * LONGEST_EVENT, "{fed}");
        }
        assert!(matches!(feed(b"x").0, SseError::Line(_)));
    }

    #[test]
    fn fm_f69_a_body_of_nothing_but_comments_comes_to_an_end() {
        let mut events = SseParser { total: LONGEST_BODY - 20, ..SseParser::default() };
        assert_eq!(events.push(b": ping\n\n", |_, _| {}), Ok(()));
        assert_eq!(events.push(b": ping ping ping\n\n", |_, _| {}), Err(SseError::Body));
    }
}
