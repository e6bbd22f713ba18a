//! Assembly of long frames that an agent splits across several lines: a state machine without I/O.
//!
//! Each line carries one piece. No other line may come between the pieces of a frame. Otherwise the assembler
//! drops the pieces received so far, reports the loss once, and continues.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::framing::FrameText;
use crate::scan;
use crate::spec::Chunks;

/// A frame of which only some pieces have arrived.
#[derive(Debug)]
struct PendingFrame {
    id: String,
    count: u64,
    length: u64,
    received: u64,
    bytes: Vec<u8>,
}

/// Effect of one piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AssemblyResult {
    /// A frame that is now complete.
    pub completed: Option<FrameText>,
    /// Reason why a frame or a piece was dropped.
    pub error: Option<String>,
}

impl AssemblyResult {
    fn fault(fault: impl Into<String>) -> Self {
        AssemblyResult { completed: None, error: Some(fault.into()) }
    }
}

/// Assembler that joins the pieces of one frame at a time.
#[derive(Debug, Default)]
pub struct Assembler {
    pending: Option<PendingFrame>,
}

impl Assembler {
    /// Drops the incomplete frame because another line or the end of the connection followed. `by` describes
    /// it. Returns the report of the loss, or `None` if no frame was incomplete.
    pub fn interrupted(&mut self, by: &str) -> Option<String> {
        let PendingFrame { id, count, received: came, .. } = self.pending.take()?;
        Some(format!("received {came} of {count} pieces of {id}, then {by}"))
    }

    /// Adds a piece. `body` is the object of the event that carries it.
    pub fn take(&mut self, chunks: &Chunks, body: &str) -> AssemblyResult {
        let piece = match Chunk::read(chunks, body) {
            Ok(piece) => piece,
            Err(reason) => {
                let interruption = self.interrupted("an unreadable piece");
                return AssemblyResult::fault(join_reasons(interruption, reason));
            }
        };
        let is_next = |pending: &PendingFrame| {
            let same = (&pending.id, pending.count, pending.length) == (&piece.id, piece.count, piece.length);
            same && pending.received == piece.index
        };
        let mut interruption = None;
        if !self.pending.as_ref().is_some_and(is_next) {
            interruption = self.interrupted(&format!("piece {} of {}", piece.index, piece.id));
            if piece.index > 0 {
                let alone = || format!("piece {} of {} came without earlier pieces", piece.index, piece.id);
                return AssemblyResult::fault(interruption.unwrap_or_else(alone));
            }
            let Chunk { id, count, length, .. } = piece;
            self.pending = Some(PendingFrame { id, count, length, received: 0, bytes: Vec::new() });
        }
        let Some(pending) = &mut self.pending else { return AssemblyResult::default() };
        pending.bytes.extend_from_slice(&piece.bytes);
        pending.received += 1;
        let (came, length) = (pending.bytes.len() as u64, pending.length);
        let is_whole = pending.received == pending.count;
        if came > length || (is_whole && came < length) {
            let fault = format!("the pieces of {} have {came} bytes, expected {length}", pending.id);
            self.pending = None;
            return AssemblyResult::fault(join_reasons(interruption, fault));
        }
        if !is_whole {
            return AssemblyResult { completed: None, error: interruption };
        }
        let whole = self.pending.take().map(|pending| FrameText::from_utf8(Bytes::from(pending.bytes)));
        match whole {
            Some(Ok(whole)) => AssemblyResult { completed: Some(whole), error: interruption },
            _ => AssemblyResult::fault(join_reasons(
                interruption,
                "the pieces of a frame are not UTF-8".to_owned(),
            )),
        }
    }
}

/// Joins two reasons, if there is an earlier one.
fn join_reasons(earlier: Option<String>, reason: String) -> String {
    earlier.map_or_else(|| reason.clone(), |earlier| format!("{earlier}; {reason}"))
}

struct Chunk {
    id: String,
    index: u64,
    count: u64,
    length: u64,
    bytes: Vec<u8>,
}

impl Chunk {
    fn read(chunks: &Chunks, body: &str) -> Result<Self, String> {
        let (mut id, mut data) = (None, None);
        let mut numbers = [None; 3];
        let names = [chunks.index, chunks.count, chunks.length];
        scan::members(body, |name, value| {
            if scan::is_named(name, chunks.id) {
                id = scan::string(value);
            } else if scan::is_named(name, chunks.data) {
                data = scan::string(value);
            } else if let Some(at) = names.iter().position(|wanted| scan::is_named(name, wanted)) {
                numbers[at] = value.parse::<u64>().ok();
            }
        })
        .map_err(|error| error.to_string())?;
        let missing = |name: &str| format!("a piece of a frame has no `{name}`");
        let number = |at: usize| numbers[at].ok_or_else(|| missing(names[at]));
        let id = id.ok_or_else(|| missing(chunks.id))?.into_owned();
        let data = data.ok_or_else(|| missing(chunks.data))?;
        let [index, count, length] = [number(0)?, number(1)?, number(2)?];
        if length > chunks.most {
            return Err(format!("{id} has {length} bytes; the limit is {}", chunks.most));
        }
        if index >= count || count > length {
            return Err(format!("invalid piece {index} of {count} of {id} with {length} bytes"));
        }
        let bytes =
            STANDARD.decode(data.as_bytes()).map_err(|_| format!("piece {index} of {id} is not base64"))?;
        if bytes.is_empty() {
            return Err(format!("piece {index} of {id} is empty"));
        }
        Ok(Chunk { id, index, count, length, bytes })
    }
}

#[cfg(test)]
#[cfg(feature = "omp")]
mod tests {
    use super::*;

    const FRAME: &str = r#"{"type":"notice","level":"info","message":"ünïcödé"}"#;

    fn chunks() -> &'static Chunks {
        crate::omp::CLIENT.chunks.as_ref().unwrap()
    }

    /// Returns the pieces of a frame with the id `id`; each contains at most `size` bytes.
    fn pieces(id: char, size: usize) -> Vec<serde_json::Value> {
        let parts: Vec<_> = FRAME.as_bytes().chunks(size).collect();
        let piece = |(index, part): (usize, &&[u8])| {
            serde_json::json!({
                "type": "rpc_chunk", "chunkId": id.to_string(), "index": index, "count": parts.len(),
                "byteLength": FRAME.len(), "data": STANDARD.encode(part),
            })
        };
        parts.iter().enumerate().map(piece).collect()
    }

    fn play(pieces: &[serde_json::Value]) -> (Vec<String>, Vec<String>) {
        let (mut wholes, mut faults) = (Vec::new(), Vec::new());
        let mut assembler = Assembler::default();
        for piece in pieces {
            let step = assembler.take(chunks(), &piece.to_string());
            wholes.extend(step.completed.map(|frame| frame.as_str().to_owned()));
            faults.extend(step.error);
        }
        faults.extend(assembler.interrupted("the end"));
        (wholes, faults)
    }

    #[test]
    fn fm_f25_pieces_become_the_frame_whatever_their_size() {
        for size in 1..=FRAME.len() {
            assert_eq!(play(&pieces('a', size)), (vec![FRAME.to_owned()], vec![]), "{size}");
        }
    }

    #[test]
    fn fm_f25_missing_repeated_and_reordered_pieces_are_reported_and_the_next_frame_is_read() {
        let good = pieces('b', 20);
        let [one, two, three] = <[_; 3]>::try_from(pieces('a', 20)).unwrap();
        let expected = "received 1 of 3 pieces of a, then piece 2 of a";
        let missing = [one.clone(), three.clone()];
        let repeated = [one.clone(), two.clone(), two.clone(), three.clone()];
        let reordered = [one.clone(), three.clone(), two.clone()];
        let cut = [one.clone(), two.clone()];
        let headless = [two.clone(), three.clone()];
        let later = |index: usize| format!("piece {index} of a came without earlier pieces");
        let cases: [(&[_], Vec<String>); 5] = [
            (&missing, vec![expected.into()]),
            (&repeated, vec!["received 2 of 3 pieces of a, then piece 1 of a".into(), later(2)]),
            (&reordered, vec![expected.into(), later(1)]),
            (&cut, vec!["received 2 of 3 pieces of a, then piece 0 of b".into()]),
            (&headless, vec![later(1), later(2)]),
        ];
        for (broken, faults) in cases {
            let all: Vec<_> = broken.iter().chain(&good).cloned().collect();
            assert_eq!(play(&all), (vec![FRAME.to_owned()], faults));
        }
        assert_eq!(play(&cut).1, ["received 2 of 3 pieces of a, then the end"]);
    }

    #[test]
    fn fm_f25_a_wrong_frame_that_interrupts_another_is_reported_with_it() {
        let [one, ..] = <[_; 3]>::try_from(pieces('a', 20)).unwrap();
        let mut wrong = pieces('b', FRAME.len())[0].clone();
        wrong["byteLength"] = 70.into();
        let expected = "received 1 of 3 pieces of a, then piece 0 of b";
        let length = format!("the pieces of b have {} bytes, expected 70", FRAME.len());
        assert_eq!(play(&[one.clone(), wrong.clone()]).1, [format!("{expected}; {length}")]);
        wrong["byteLength"] = 1.into();
        wrong["data"] = STANDARD.encode([0xff]).into();
        assert_eq!(play(&[one, wrong]).1, [format!("{expected}; the pieces of a frame are not UTF-8")]);
    }

    #[test]
    fn fm_f25_overlong_or_malformed_pieces_are_rejected_before_buffering() {
        let [first, ..] = <[_; 3]>::try_from(pieces('a', 20)).unwrap();
        let with = |name: &str, value: serde_json::Value| {
            let mut piece = first.clone();
            piece[name] = value;
            play(&[piece]).1.remove(0)
        };
        assert_eq!(
            with("byteLength", (1u64 << 40).into()),
            format!("a has {} bytes; the limit is 67108864", 1u64 << 40)
        );
        assert_eq!(with("index", 3.into()), format!("invalid piece 3 of 3 of a with {} bytes", FRAME.len()));
        assert_eq!(
            with("count", 1_000_000.into()),
            format!("invalid piece 0 of 1000000 of a with {} bytes", FRAME.len())
        );
        assert_eq!(with("data", "?".into()), "piece 0 of a is not base64");
        assert_eq!(with("data", "".into()), "piece 0 of a is empty");
        assert_eq!(with("index", (-1).into()), "a piece of a frame has no `index`");
        assert_eq!(with("chunkId", 7.into()), "a piece of a frame has no `chunkId`");
        assert_eq!(
            with("count", 1.into()),
            format!("the pieces of a have 20 bytes, expected {}", FRAME.len())
        );
        assert_eq!(with("byteLength", 7.into()), "the pieces of a have 20 bytes, expected 7");
    }
}
