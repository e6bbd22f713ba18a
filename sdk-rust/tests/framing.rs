//! Framing: the result must not depend on the division of the stream into chunks.
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use agentese::framing::{Bom, FrameReader, FrameText, Framer, FramerOptions, FramingError, Incoming, Line};
use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};

#[path = "support/long.rs"]
mod long;
use long::LONG;

type FramedLines = Vec<Result<String, FramingError>>;

/// Returns the lines of the sans-I/O framer for these chunks.
fn framed<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, options: &FramerOptions) -> FramedLines {
    let mut lines = Vec::new();
    let mut keep = |line: Result<Line<'_>, _>| lines.push(line.map(|line| line.text.to_owned()));
    let mut framer = Framer::new(options.clone());
    for chunk in chunks {
        framer.push(chunk, &mut keep);
    }
    framer.finish(&mut keep);
    lines
}

/// Reader that returns one chunk per read.
struct ChunkedReader(VecDeque<Vec<u8>>);

impl AsyncRead for ChunkedReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut chunk) = self.0.pop_front() {
            let rest = chunk.split_off(chunk.len().min(out.remaining()));
            out.put_slice(&chunk);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn to_end<R: AsyncRead + Unpin>(reader: &mut FrameReader<R>, batch: &mut Vec<Incoming>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { while reader.next_batch(batch).await.unwrap() > 0 {} });
}

/// Returns the lines of the reader for these chunks.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, options: &FramerOptions) -> FramedLines {
    // An empty read would be the end of the stream.
    let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty()).map(<[u8]>::to_vec).collect();
    let mut reader = FrameReader::with_options(ChunkedReader(chunks), options.clone());
    let mut batch = Vec::new();
    to_end(&mut reader, &mut batch);
    let lines = batch.into_iter().map(|incoming| match incoming {
        Incoming::Frame(text) => Ok(text.as_str().to_owned()),
        Incoming::Fault(fault) => Err(fault),
    });
    lines.collect()
}

/// Returns the lines according to the rules of framing, from a simple implementation that has the whole stream.
fn expected(stream: &[u8], options: &FramerOptions) -> FramedLines {
    let mut lines = Vec::new();
    let mut offset = 0;
    for raw in stream.split_inclusive(|byte| *byte == b'\n') {
        let line = raw.strip_suffix(b"\r\n").or(raw.strip_suffix(b"\n")).unwrap_or(raw);
        lines.push(if line.len() > options.max_line {
            Err(FramingError::TooLong { limit: options.max_line, offset })
        } else {
            match std::str::from_utf8(line) {
                Ok(text) if offset == 0 && options.bom == Bom::Drop => {
                    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
                }
                Ok(text) => Ok(text.to_owned()),
                Err(error) => {
                    Err(FramingError::InvalidUtf8 { line_start: offset, valid_up_to: error.valid_up_to() })
                }
            }
        });
        offset += raw.len() as u64;
    }
    lines
}

/// Checks both framers with the whole stream, with single bytes, and with every division into two chunks.
fn check_with(stream: &[u8], options: &FramerOptions, wanted: &[Result<&str, FramingError>]) {
    let wanted: FramedLines = wanted.iter().cloned().map(|line| line.map(str::to_owned)).collect();
    assert_eq!(framed([stream], options), wanted, "unsplit");
    assert_eq!(read([stream], options), wanted, "read unsplit");
    assert_eq!(framed(stream.chunks(1), options), wanted, "byte by byte");
    assert_eq!(read(stream.chunks(1), options), wanted, "read byte by byte");
    for at in 0..=stream.len() {
        let (left, right) = stream.split_at(at);
        assert_eq!(framed([left, right], options), wanted, "split at {at}");
        assert_eq!(read([left, right], options), wanted, "read split at {at}");
    }
}

fn check(stream: &[u8], wanted: &[Result<&str, FramingError>]) {
    check_with(stream, &FramerOptions::default(), wanted);
}

fn limit(max_line: usize) -> FramerOptions {
    FramerOptions { max_line, ..FramerOptions::default() }
}

fn invalid(line_start: u64, valid_up_to: usize) -> Result<&'static str, FramingError> {
    Err(FramingError::InvalidUtf8 { line_start, valid_up_to })
}

fn too_long(limit: usize, offset: u64) -> Result<&'static str, FramingError> {
    Err(FramingError::TooLong { limit, offset })
}

#[test]
fn fm_F01_split_at_every_byte() {
    let mut corpus = String::new();
    let mut number = 0;
    while corpus.len() < 2048 {
        corpus.push_str(&format!(
            "{{\"id\":{number},\"text\":\"grüße 🦀 {}\"}}\n",
            "x".repeat(number * 7 % 90)
        ));
        number += 1;
    }
    let wanted: Vec<_> = corpus.lines().map(Ok).collect();
    check(corpus.as_bytes(), &wanted);
}

#[test]
fn fm_F02_many_frames_in_one_read() {
    let frames: Vec<String> = (0..10_000).map(|number| format!("{{\"id\":{number}}}")).collect();
    let stream = frames.join("\n") + "\n";
    let wanted: FramedLines = frames.into_iter().map(Ok).collect();
    assert_eq!(framed([stream.as_bytes()], &FramerOptions::default()), wanted);
    assert_eq!(read([stream.as_bytes()], &FramerOptions::default()), wanted);
}

#[test]
fn fm_F03_unicode_separators_are_data() {
    check(
        "a\u{2028}b\u{2029}c\u{85}d\u{b}\u{c}e\nf\n".as_bytes(),
        &[Ok("a\u{2028}b\u{2029}c\u{85}d\u{b}\u{c}e"), Ok("f")],
    );
}

#[test]
fn fm_F04_one_carriage_return_before_the_line_end_is_dropped() {
    check(b"a\r\n\n\r\nb\r\r\nc\n", &[Ok("a"), Ok(""), Ok(""), Ok("b\r"), Ok("c")]);
}

#[test]
fn fm_F05_a_bare_carriage_return_is_data() {
    check(b"{\"a\":\r1}\n\rb\nc\r", &[Ok("{\"a\":\r1}"), Ok("\rb"), Ok("c\r")]);
}

#[test]
fn fm_F06_a_byte_order_mark_is_dropped_once_or_kept() {
    let stream = "\u{feff}a\n\u{feff}b\n".as_bytes();
    check(stream, &[Ok("a"), Ok("\u{feff}b")]);
    let keep = FramerOptions { bom: Bom::Keep, ..FramerOptions::default() };
    check_with(stream, &keep, &[Ok("\u{feff}a"), Ok("\u{feff}b")]);
    check("\u{feff}".as_bytes(), &[Ok("")]);
}

#[test]
fn fm_F07_F08_a_line_that_is_not_utf8_is_one_error_with_its_offsets() {
    check(
        b"ok\nab\xff\xfe\nnext\n\xc3\nend\n",
        &[Ok("ok"), invalid(3, 2), Ok("next"), invalid(13, 0), Ok("end")],
    );
    // An encoded surrogate, an overlong slash, a character cut by the line end.
    check(b"\xed\xa0\x80\n\xc0\xaf\na\xe2\x82\n", &[invalid(0, 0), invalid(4, 0), invalid(7, 1)]);
    check(b"a\nlast\xf0", &[Ok("a"), invalid(2, 4)]);
}

#[test]
fn fm_F09_a_character_split_over_reads_stays_whole() {
    check("🦀\n€ä\u{10ffff}\n".as_bytes(), &[Ok("🦀"), Ok("€ä\u{10ffff}")]);
}

#[test]
fn fm_F11_control_characters_pass_the_framer() {
    check(b"\0\x01\x1b[0m\x7f\n", &[Ok("\0\x01\x1b[0m\x7f")]);
}

#[test]
fn fm_F12_a_line_over_the_limit_is_one_error_and_the_next_works() {
    check_with(
        b"1234\n12345\n1234\r\n12345\r\nab\n",
        &limit(4),
        &[Ok("1234"), too_long(4, 5), Ok("1234"), too_long(4, 17), Ok("ab")],
    );
    // A line that is too long takes precedence over invalid UTF-8, independent of the chunking.
    check_with(b"\xff12345\nab\n", &limit(4), &[too_long(4, 0), Ok("ab")]);
    check_with(b"\n\r\na\n", &limit(0), &[Ok(""), Ok(""), too_long(0, 3)]);
}

#[test]
fn fm_F12_nothing_of_a_discarded_line_is_held() {
    let mut framer = Framer::new(limit(1024 * 1024));
    let mut faults = 0;
    let chunk = vec![b'x'; 256 * 1024];
    for _ in 0..400 {
        framer.push(&chunk, &mut |line| faults += usize::from(line.is_err()));
        assert!(framer.buffered() <= 1024 * 1024);
    }
    assert_eq!((faults, framer.buffered()), (1, 0));
    let mut next = Vec::new();
    framer.push(b"end\nnext\n", &mut |line| next.push(line.unwrap().text.to_owned()));
    assert_eq!(next, ["next"]);
    assert_eq!(framer.offset(), 400 * 256 * 1024 + 9);
}

#[test]
fn fm_F13_large_frames_arrive_whole() {
    for mebibytes in [1, 16, 63] {
        let frame = "ä".repeat(mebibytes * 512 * 1024);
        let stream = format!("small\n{frame}\nsmall\n");
        let lines = read(stream.as_bytes().chunks(65_536), &FramerOptions::default());
        assert_eq!(lines.len(), 3);
        // Without `assert_eq`, because its output would be huge.
        assert!(lines[1].as_ref().unwrap() == &frame);
        assert_eq!((lines[0].as_deref(), lines[2].as_deref()), (Ok("small"), Ok("small")));
    }
}

#[test]
fn fm_F15_a_last_line_without_its_end_is_delivered_and_marked() {
    check(b"a\nb", &[Ok("a"), Ok("b")]);
    let mut framer = Framer::default();
    framer.push(b"a\nb", &mut |line| assert!(line.unwrap().terminated));
    let mut last = None;
    framer.finish(&mut |line| {
        last = line.ok().map(|line| (line.text.to_owned(), line.offset, line.terminated))
    });
    assert_eq!(last, Some(("b".to_owned(), 2, false)));

    for (stream, unterminated) in [("a\nb", true), ("a\n", false), ("", false)] {
        let mut reader = FrameReader::new(stream.as_bytes());
        let mut batch = Vec::new();
        to_end(&mut reader, &mut batch);
        assert_eq!(reader.unterminated(), unterminated, "{stream:?}");
    }
}

#[test]
fn fm_F132_a_finished_framer_starts_anew() {
    let mut framer = Framer::new(limit(4));
    framer.push(b"far too long", &mut |line| assert!(line.is_err()));
    framer.finish(&mut |line| panic!("nothing is left: {line:?}"));
    let mut lines = Vec::new();
    framer.push("\u{feff}b\n".as_bytes(), &mut |line| lines.push(line.unwrap().text.to_owned()));
    assert_eq!(lines, ["b"]);
}

/// A batch is the content of one read: it never waits for more.
#[tokio::test]
async fn a_small_batch_does_not_wait() {
    let (near, mut far) = agentese::transport::memory_pair(1024);
    tokio::io::AsyncWriteExt::write_all(&mut far.writer, b"a\nb\nhalf").await.unwrap();
    let mut reader = FrameReader::new(near.reader);
    let mut batch = Vec::new();
    let read = tokio::time::timeout(LONG, reader.next_batch(&mut batch));
    assert_eq!(read.await.expect("waits for more").unwrap(), 2);
    assert_eq!(batch, [Incoming::Frame("a".into()), Incoming::Frame("b".into())]);

    // Cancelling a read loses no data.
    let pending = tokio::time::timeout(std::time::Duration::from_millis(1), reader.next_batch(&mut batch));
    assert!(pending.await.is_err());
    tokio::io::AsyncWriteExt::write_all(&mut far.writer, b" whole\n").await.unwrap();
    reader.next_batch(&mut batch).await.unwrap();
    assert_eq!(batch.last(), Some(&Incoming::Frame(FrameText::from("half whole"))));
}

/// Returns pieces of streams that contain line ends, carriage returns and other critical bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        4 => "[a-z{}\":]{1,6}".prop_map(String::into_bytes),
        2 => "\\PC{1,3}".prop_map(String::into_bytes),
        1 => Just("\u{feff}".as_bytes().to_vec()),
        1 => Just("\u{2028}".as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ]
}

proptest! {
    #[test]
    fn fm_F01_any_chunking_gives_the_same_lines(
        pieces in proptest::collection::vec(piece(), 0..40),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        max_line in prop_oneof![0usize..12, Just(usize::MAX)],
        keep in any::<bool>(),
    ) {
        let stream = pieces.concat();
        let options = FramerOptions { max_line, bom: if keep { Bom::Keep } else { Bom::Drop } };
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
        let wanted = expected(&stream, &options);
        prop_assert_eq!(framed(chunks.iter().copied(), &options), wanted.clone());
        prop_assert_eq!(read(chunks.iter().copied(), &options), wanted);
    }
}
