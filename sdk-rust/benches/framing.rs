//! Speed of splitting bytes into lines. Run with `cargo bench -p agentese --bench framing`.

use std::hint::black_box;

use agentese::framing::{FrameReader, Framer, Incoming, Line};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// Bytes per benchmark run.
const TOTAL: usize = 8 * 1024 * 1024;
/// Bytes per push: the size of one read.
const CHUNK: usize = 256 * 1024;

/// Lines of this many bytes, JSON-like, with a little text that is not ASCII.
fn lines(length: usize) -> Vec<u8> {
    let mut line = String::from(r#"{"type":"message_update","text":"grüße "#);
    while line.len() < length - 3 {
        line.push_str("words and words ");
    }
    let mut line = line.into_bytes();
    line.truncate(length - 3);
    line.extend_from_slice(b"\"}\n");
    let count = TOTAL / line.len();
    line.repeat(count)
}

const LENGTHS: [usize; 2] = [100, 50 * 1024];

#[divan::bench(args = LENGTHS)]
fn memchr_alone(bencher: Bencher, length: usize) {
    let stream = lines(length);
    bencher
        .counter(BytesCount::new(stream.len()))
        .bench(|| memchr::memchr_iter(b'\n', black_box(&stream)).map(black_box).sum::<usize>());
}

#[divan::bench(args = LENGTHS)]
fn push_in_place(bencher: Bencher, length: usize) {
    let stream = lines(length);
    bencher.counter(BytesCount::new(stream.len())).bench(|| {
        let mut framer = Framer::default();
        let mut seen = 0;
        for chunk in black_box(&stream).chunks(CHUNK) {
            framer.push(chunk, &mut |line| seen += black_box::<Line<'_>>(line.unwrap()).text.len());
        }
        seen
    });
}

/// Reads from memory, so only the reader's own work is measured. Texts are dropped after each batch.
#[divan::bench(args = LENGTHS)]
fn reader_owned(bencher: Bencher, length: usize) {
    let stream = lines(length);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    bencher.counter(BytesCount::new(stream.len())).bench(|| {
        runtime.block_on(async {
            let mut reader = FrameReader::new(black_box(&stream[..]));
            let mut batch = Vec::new();
            let mut seen = 0;
            while reader.next_batch(&mut batch).await.unwrap() > 0 {
                for incoming in batch.drain(..) {
                    if let Incoming::Frame(text) = black_box(incoming) {
                        seen += text.len();
                    }
                }
            }
            seen
        })
    });
}
