//! Mutators that produce bytes that some or all readers cannot decode.

use super::{Effects, is_frame, put, whole, whole_if};
use crate::change::with_end;
use crate::place::{Edit, Place, edited, span};
use crate::site::Kind;
use crate::stream::Stream;
use crate::{Effect, Group, Lookahead, Mutator};

const fn bytes(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Bytes, find)
}

pub(super) const ALL: &[Mutator] = &[
    bytes("line-cut", "a line breaks off", |stream, at| {
        line(stream, at, |line| Some(with_end(&line[..cut(line)?])))
    }),
    bytes("line-without-start", "the beginning of a line is missing", |stream, at| {
        line(stream, at, |line| Some(with_end(&line[cut(line)?..])))
    }),
    bytes("lines-merged", "two frames stand in one line", |stream, at| {
        let next = stream.lines.get(at + 1).is_some_and(is_frame);
        if !next {
            return Vec::new();
        }
        line(stream, at, |line| Some(line.as_bytes().to_vec()))
    })
    .with_lookahead(Lookahead::Next),
    bytes("line-split", "a frame stands in two lines", |stream, at| {
        line(stream, at, |line| {
            let comma = line.find(',')? + 1;
            Some(with_end(&format!("{}\n{}", &line[..comma], &line[comma..])))
        })
    }),
    bytes("line-feed-in-text", "a line feed stands in a text as it is", |stream, at| {
        line(stream, at, |line| line.contains("\\n").then(|| with_end(&line.replacen("\\n", "\n", 1))))
    }),
    bytes("pretty", "a frame is laid out over several lines", |stream, at| {
        let text = serde_json::to_string_pretty(&stream.lines[at].frame);
        whole_if(is_frame(&stream.lines[at]), || Effect::Bytes(with_end(&text.unwrap_or_default())))
    }),
    bytes("invalid-utf8", "a text has a byte in it that no UTF-8 has", |stream, at| {
        in_text(stream, at, |before, after| [before, b"\xff", after].concat())
    }),
    bytes("utf8-cut", "a text has the first half of a character in it", |stream, at| {
        in_text(stream, at, |before, after| [before, b"\xe2\x82", after].concat())
    }),
    bytes("control-character", "a text has a control character in it as it is", |stream, at| {
        in_text(stream, at, |before, after| [before, b"\x01", after].concat())
    }),
    bytes("null-character", "a line has a null byte at its end", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("{line}\0"))))
    }),
    bytes("lone-surrogate", "a text has half of a pair of surrogates in it", |stream, at| {
        in_text(stream, at, |before, after| [before, b"\\ud83d", after].concat())
    }),
    bytes("bad-escape", "a text has an escape in it that JSON does not know", |stream, at| {
        in_text(stream, at, |before, after| [before, b"\\x41", after].concat())
    }),
    bytes("byte-order-mark", "a line begins with a byte order mark", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("\u{feff}{line}"))))
    }),
    bytes("carriage-return", "a line ends with a carriage return alone", |stream, at| {
        let next = stream.lines.get(at + 1).is_some_and(is_frame);
        if !next {
            return Vec::new();
        }
        line(stream, at, |line| Some([line.as_bytes(), b"\r"].concat()))
    })
    .with_lookahead(Lookahead::Next),
    bytes("last-line-open", "the last line does not end", |stream, at| {
        let last = stream.complete && at + 1 == stream.lines.len();
        if last { line(stream, at, |line| Some(line.as_bytes().to_vec())) } else { Vec::new() }
    })
    .with_lookahead(Lookahead::All),
    bytes("noise-before", "a line that is not a frame comes between the frames", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("Debugger attached.\n{line}"))))
    }),
    bytes("noise-in-line", "words stand in a frame's line before it", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("[info] {line}"))))
    }),
    bytes("number-line", "a line comes that is JSON and no object", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("42\n{line}"))))
    }),
    bytes("frame-in-list", "a frame stands in an array", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("[{line}]"))))
    }),
    bytes("frame-in-text", "a frame is written as a text with its JSON", |stream, at| {
        line(stream, at, |line| Some(with_end(&crate::place::quoted(line))))
    }),
    bytes("single-quotes", "texts stand in single quotes", |stream, at| {
        line(stream, at, |line| Some(with_end(&line.replace('"', "'"))))
    }),
    bytes("comma-at-end", "a comma stands behind the last member", |stream, at| {
        line(stream, at, |line| {
            let end = line.trim_ascii_end().strip_suffix('}')?;
            Some(with_end(&format!("{end},}}")))
        })
    }),
    bytes("brace-missing", "the last brace is missing", |stream, at| {
        line(stream, at, |line| Some(with_end(line.trim_ascii_end().strip_suffix('}')?)))
    }),
    bytes("text-behind", "something stands behind a frame in its line", |stream, at| {
        line(stream, at, |line| Some(with_end(&format!("{line}}}"))))
    }),
    bytes("not-a-number", "NaN stands in place of a number", |stream, at| {
        let said = &stream.lines[at];
        let mut sites = said.sites.iter().filter(|site| site.kind == Kind::Number);
        sites.next().map(|site| put(&site.place, "NaN")).into_iter().collect()
    }),
    bytes("member-twice", "a member is there twice, and the second one has another value", twice),
    bytes("leading-zero", "a number begins with a zero", |stream, at| {
        let said = &stream.lines[at];
        let mut sites = said.sites.iter().filter(|site| site.kind == Kind::Number);
        let found = sites.find_map(|site| Some((site, said.text.get(span(&said.text, &site.place)?)?)));
        found.map(|(site, number)| put(&site.place, format!("0{number}"))).into_iter().collect()
    }),
];

/// Applies a change to the text of the line, if the line is a frame.
fn line(stream: &Stream, at: usize, change: fn(&str) -> Option<Vec<u8>>) -> Effects {
    let line = &stream.lines[at];
    if !is_frame(line) {
        return Vec::new();
    }
    change(&line.text).map(|bytes| whole(Effect::Bytes(bytes))).unwrap_or_default()
}

/// Returns the position of a character boundary in the middle of a line.
fn cut(line: &str) -> Option<usize> {
    let middle = line.char_indices().nth(line.chars().count() / 2)?.0;
    (middle > 0).then_some(middle)
}

/// Changes the end of the first text that the matcher compares.
fn in_text(stream: &Stream, at: usize, change: fn(&[u8], &[u8]) -> Vec<u8>) -> Effects {
    let line = &stream.lines[at];
    let mut texts = line.sites.iter().filter(|site| site.kind == Kind::Text);
    let found = texts.find_map(|site| Some((site, span(&line.text, &site.place)?)));
    let Some((site, span)) = found else { return Vec::new() };
    let bytes = with_end(&line.text);
    let quote = span.end - 1;
    vec![(site.place.clone(), Effect::Bytes(change(&bytes[..quote], &bytes[quote..])))]
}

/// Repeats a member, whose text the matcher compares, with another value.
fn twice(stream: &Stream, at: usize) -> Effects {
    let said = &stream.lines[at];
    let counts = |kind: &Kind| matches!(kind, Kind::Text | Kind::Constant | Kind::Choice { .. });
    let sites = said.sites.iter().filter(|site| counts(&site.kind) && site.place.name().is_some());
    let changed = |place: &Place| {
        let line = edited(&said.text, place, &Edit::Duplicate("\"x\"".to_owned()))?;
        Some((place.clone(), Effect::Bytes(with_end(&line))))
    };
    sites
        .filter(|site| site.place.of(&said.frame).and_then(|value| value.as_str()) != Some("x"))
        .filter_map(|site| changed(&site.place))
        .collect()
}
