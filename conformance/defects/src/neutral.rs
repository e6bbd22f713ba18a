//! Neutral changes. The changed output is as correct as the original, so the suite must not report it.

mod pieces;
mod tokens;

use agentese::types::{Direction, TranscriptRecord};
use agentese_conformance::json_spelling;
use agentese_conformance::transcript::whole_line;
use serde_json::Value;

use crate::site::Kind;
use crate::stream::Stream;

/// A change that is not a defect.
#[derive(Debug, Clone, Copy)]
pub struct NeutralChange {
    /// Name of the change.
    pub name: &'static str,
    /// Description of the change.
    pub description: &'static str,
    change: Change,
}

/// Function that changes the texts of all lines consistently, except for values from the case. The second
/// argument is the case as text.
type TextChange = fn(&[&str], &str, &mut fastrand::Rng) -> Option<Vec<String>>;

/// Scope of the change.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Changes one line at a time.
    Line(fn(&Stream, usize, &mut fastrand::Rng) -> Option<String>),
    /// Changes the texts of all lines, of client and agent.
    Texts(TextChange),
    /// Replaces each line of the agent with any number of lines.
    Lines(fn(&Stream, &mut fastrand::Rng) -> Option<Vec<Vec<String>>>),
}

/// Returns all neutral changes.
pub fn neutrals() -> Vec<NeutralChange> {
    let neutral = |name, says, change| NeutralChange { name, description: says, change };
    vec![
        neutral(
            "member-order",
            "the members of objects stand in another order",
            Change::Line(|stream, at, rng| {
                let mut frame = frame(stream, at)?.clone();
                json_spelling::shuffle(&mut frame, rng);
                Some(frame.to_string())
            }),
        ),
        neutral(
            "white-space",
            "white space stands between members and items",
            Change::Line(|stream, at, rng| {
                frame(stream, at)?;
                Some(json_spelling::spaced(&stream.lines[at].text, rng))
            }),
        ),
        neutral(
            "escapes",
            "characters of texts and names are written as escapes",
            Change::Line(|stream, at, rng| {
                frame(stream, at)?;
                Some(json_spelling::escaped(&stream.lines[at].text, rng))
            }),
        ),
        neutral(
            "plain-characters",
            "no character is escaped that need not be",
            Change::Line(|stream, at, _| Some(frame(stream, at)?.to_string())),
        ),
        neutral(
            "digits",
            "a fraction has a zero more",
            Change::Line(|stream, at, _| {
                frame(stream, at)?;
                Some(json_spelling::digits(&stream.lines[at].text))
            }),
        ),
        neutral(
            "more-members",
            "declared objects have a member that is not declared",
            Change::Line(more_members),
        ),
        neutral("fewer-pieces", "messages grow in fewer pieces", Change::Lines(pieces::joined)),
        neutral("more-pieces", "messages grow in more pieces", Change::Lines(pieces::split)),
        neutral("other-ids", "ids that the agent makes up are others", Change::Texts(tokens::ids)),
        neutral("other-times", "everything happens some days later", Change::Texts(tokens::times)),
    ]
}

impl NeutralChange {
    /// Returns `true` if the change affects the number of streamed pieces.
    pub(super) fn is_of_pieces(&self) -> bool {
        matches!(self.change, Change::Lines(_))
    }

    /// Returns the changed records of a transcript, or `None` if nothing changes. `case` is the text of the
    /// case.
    pub fn change(
        &self,
        stream: &Stream,
        records: &[TranscriptRecord],
        case: &str,
        seed: u64,
    ) -> Option<Vec<TranscriptRecord>> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let lines: Vec<Vec<String>> = match self.change {
            Change::Line(change) => (0..stream.lines.len())
                .map(|at| vec![change(stream, at, &mut rng).unwrap_or_else(|| stream.lines[at].text.clone())])
                .collect(),
            Change::Lines(change) => change(stream, &mut rng)?,
            Change::Texts(change) => return in_texts(records, case, change, &mut rng),
        };
        let mut lines = lines.into_iter();
        let mut out = Vec::new();
        for record in records {
            match record {
                TranscriptRecord::Line(line) if line.dir == Direction::S2c => {
                    for text in lines.next().unwrap_or_default() {
                        let mut line = line.clone();
                        (line.line, line.line_parts) = (Some(text), None);
                        out.push(TranscriptRecord::Line(line));
                    }
                }
                record => out.push(record.clone()),
            }
        }
        (out != records).then_some(out)
    }
}

fn in_texts(
    records: &[TranscriptRecord],
    case: &str,
    change: TextChange,
    rng: &mut fastrand::Rng,
) -> Option<Vec<TranscriptRecord>> {
    let texts: Vec<String> = records
        .iter()
        .map(|record| match record {
            TranscriptRecord::Line(line) => whole_line(line).unwrap_or_default(),
            _ => String::new(),
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let changed = change(&texts, case, rng)?;
    let mut out = records.to_vec();
    for (record, text) in out.iter_mut().zip(changed) {
        if let TranscriptRecord::Line(line) = record {
            (line.line, line.line_parts) = (Some(text), None);
        }
    }
    let same = out.iter().zip(records).all(|(new, old)| match (new, old) {
        (TranscriptRecord::Line(new), TranscriptRecord::Line(old)) => whole_line(new) == whole_line(old),
        _ => true,
    });
    (!same).then_some(out)
}

/// Returns a line of the agent if it is a frame.
fn frame(stream: &Stream, at: usize) -> Option<&Value> {
    let frame = &stream.lines[at].frame;
    frame.is_object().then_some(frame)
}

/// Adds undeclared members if the declaration permits additional members.
fn more_members(stream: &Stream, at: usize, rng: &mut fastrand::Rng) -> Option<String> {
    use crate::place::{Edit, Place, edited};
    let said = &stream.lines[at];
    // Pieces are skipped, because all pieces of one text, or partial outputs of one call, must have the same
    // members.
    frame(stream, at).filter(|_| !stream.is_piece(at))?;
    let objects = said.sites.iter().filter(|site| site.kind == Kind::Object);
    let objects = objects.filter(|site| !site.grows).map(|site| &site.place);
    let mut line = said.text.clone();
    for place in [Place::default()].iter().chain(objects) {
        if stream.is_record(at, place) && rng.bool() {
            line = edited(&line, place, &Edit::Add("somethingNew".to_owned(), "{\"yes\":[1]}".to_owned()))?;
        }
    }
    Some(line)
}
