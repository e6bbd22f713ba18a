//! Server-sent events: from bytes to the data of each event.

use agentese::framing::{Bom, Framer, FramerOptions, FramingError};

/// The longest line, and the most data of one event, in bytes. An event of the APIs is one line, and the
/// longest, the whole of a response at its end, is under 1 MiB.
const LONGEST_EVENT: usize = 8 * 1024 * 1024;
/// The most bytes of a whole body, with all that is no data. The longest answers of today's models take
/// about 50 MiB in pieces of a word each.
const LONGEST_BODY: u64 = 1 << 30;

/// Why a body is of no use any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::providers) enum Unreadable {
    #[error("{0}")]
    Line(FramingError),
    #[error("an event is longer than {} MiB", LONGEST_EVENT / 1024 / 1024)]
    Event,
    #[error("it is longer than {} MiB", LONGEST_BODY / 1024 / 1024)]
    Body,
}

/// Cuts a body into events, however its bytes are chunked. Names, ids and comments of events are not
/// looked at: in the APIs that are spoken here the data says everything.
///
/// Built on the framer of the protocol's own lines (bounded, linear, UTF-8 checked per line); a lone CR,
/// which no API sends as a line end, is data.
#[derive(Debug)]
pub(in crate::providers) struct Events {
    framer: Framer,
    data: Option<String>,
    total: u64,
}

impl Default for Events {
    fn default() -> Self {
        let options = FramerOptions { max_line: LONGEST_EVENT, bom: Bom::Drop };
        Self { framer: Framer::new(options), data: None, total: 0 }
    }
}

impl Events {
    /// Takes the next bytes; hands over the data of each event that they end, in order. Fails for a
    /// line that is not UTF-8, and for a line, an event or a body that is too long; the body is of no use
    /// then.
    pub fn push(&mut self, chunk: &[u8], mut on_event: impl FnMut(&str)) -> Result<(), Unreadable> {
        self.total = self.total.saturating_add(chunk.len() as u64);
        if self.total > LONGEST_BODY {
            return Err(Unreadable::Body);
        }
        let mut outcome = Ok(());
        let Self { framer, data, .. } = self;
        framer.push(chunk, &mut |line| {
            if outcome.is_ok() {
                outcome = match line {
                    Ok(line) => Self::line(data, line.text, &mut on_event),
                    Err(error) => Err(Unreadable::Line(error)),
                };
            }
        });
        outcome
    }

    fn line(
        data: &mut Option<String>,
        line: &str,
        on_event: &mut impl FnMut(&str),
    ) -> Result<(), Unreadable> {
        if line.is_empty() {
            if let Some(data) = data.take() {
                on_event(&data);
            }
            return Ok(());
        }
        let Some(value) = line.strip_prefix("data").and_then(|rest| match rest.strip_prefix(':') {
            Some(value) => Some(value.strip_prefix(' ').unwrap_or(value)),
            None => rest.is_empty().then_some(""),
        }) else {
            return Ok(());
        };
        match data {
            Some(data) if data.len() + value.len() >= LONGEST_EVENT => return Err(Unreadable::Event),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => *data = Some(value.to_owned()),
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
        assert!(matches!(result, Err(Unreadable::Line(FramingError::InvalidUtf8 { .. }))));
        assert_eq!(seen, ["a"]);
    }

    #[test]
    fn fm_f69_an_event_or_a_body_without_an_end_is_an_error() {
        let feed = |line: &[u8]| {
            let mut events = Events::default();
            let block = line.repeat((1 << 20) / line.len());
            let mut fed = 0;
            loop {
                if let Err(error) = events.push(&block, |_| {}) {
                    return (error, fed);
                }
                fed += block.len();
            }
        };
        for line in [&b"data: xxxxxxxxxxxxxxxxxxxxxxxxx\n"[..], b"data\n", b"data:\n"] {
            let (error, fed) = feed(line);
            assert_eq!(error, Unreadable::Event);
            assert!(fed < 7 * LONGEST_EVENT, "{fed}");
        }
        assert!(matches!(feed(b"x").0, Unreadable::Line(_)));
    }

    #[test]
    fn fm_f69_a_body_of_nothing_but_comments_comes_to_an_end() {
        let mut events = Events { total: LONGEST_BODY - 20, ..Events::default() };
        assert_eq!(events.push(b": ping\n\n", |_| {}), Ok(()));
        assert_eq!(events.push(b": ping ping ping\n\n", |_| {}), Err(Unreadable::Body));
    }
}
