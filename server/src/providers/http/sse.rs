//! Server-sent events: from bytes to the data of each event.

use agentese::framing::{Bom, Framer, FramerOptions, FramingError};

/// The longest line that is accepted, in bytes. An event of the APIs is one line.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// Cuts a body into events, however its bytes are chunked. Names, ids and comments of events are not
/// looked at: in the APIs that are spoken here the data says everything.
///
/// Built on the framer of the protocol's own lines (bounded, linear, UTF-8 checked per line); a lone CR,
/// which no API sends as a line end, is data.
#[derive(Debug)]
pub(in crate::providers) struct Events {
    framer: Framer,
    data: Option<String>,
}

impl Default for Events {
    fn default() -> Self {
        let options = FramerOptions { max_line: LONGEST_LINE, bom: Bom::Drop };
        Self { framer: Framer::new(options), data: None }
    }
}

impl Events {
    /// Takes the next bytes; hands over the data of each event that they end, in order. Fails for a
    /// line that is too long or not UTF-8; the body is of no use then.
    pub fn push(&mut self, chunk: &[u8], mut on_event: impl FnMut(&str)) -> Result<(), FramingError> {
        let mut failed = None;
        let Self { framer, data } = self;
        framer.push(chunk, &mut |line| match line {
            Ok(line) if failed.is_none() => Self::line(data, line.text, &mut on_event),
            Ok(_) => {}
            Err(error) => failed = failed.take().or(Some(error)),
        });
        failed.map_or(Ok(()), Err)
    }

    fn line(data: &mut Option<String>, line: &str, on_event: &mut impl FnMut(&str)) {
        if line.is_empty() {
            if let Some(data) = data.take() {
                on_event(&data);
            }
            return;
        }
        let Some(value) = line.strip_prefix("data").and_then(|rest| match rest.strip_prefix(':') {
            Some(value) => Some(value.strip_prefix(' ').unwrap_or(value)),
            None => rest.is_empty().then_some(""),
        }) else {
            return;
        };
        match data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => *data = Some(value.to_owned()),
        }
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
            let mut events = Events::default();
            let mut seen = Vec::new();
            for chunk in BODY.as_bytes().chunks(size) {
                events.push(chunk, |data| seen.push(data.to_owned())).unwrap();
            }
            assert_eq!(seen, ["{\"x\":\"ä\u{2028}\"}", "one\n\n three"], "{size}");
        }
    }

    #[test]
    fn what_is_not_text_is_an_error() {
        let mut events = Events::default();
        let mut seen = Vec::new();
        let result = events.push(b"data: a\n\ndata: \xff\n\ndata: b\n\n", |data| seen.push(data.to_owned()));
        assert!(matches!(result, Err(FramingError::InvalidUtf8 { .. })));
        assert_eq!(seen, ["a"]);
    }
}
