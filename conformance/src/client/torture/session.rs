//! The session of a seed: a recorded session, changed by everything that the documents allow.

use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::spec::{Answer, RunEffect, RunRole, Spec};
use serde_json::Value;

use super::super::manner::{Manner, Pieces};
use super::super::plan::{Move, PlannedCall};
use super::super::probes::effect;
use super::pool::Pool;
use super::values;

/// Number of seeds of which one has a line of 64 MiB.
const LONG_SEEDS: u64 = 500;
/// Longest line in bytes: clients have to accept it by the documents.
const LONGEST: usize = 64 << 20;
/// Largest number of added events.
const MOST_EVENTS: usize = 200;

/// The session of a seed.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) moves: Vec<Move>,
    /// `true` if the connection closes during a run.
    pub(super) cut: bool,
    pub(super) manner: Manner,
    pub(super) rush: bool,
    /// Description of the changes.
    pub(super) says: String,
}

/// Possible changes of a session: name and description.
pub const TRICKS: &[(&str, &str)] = &[
    ("rush", "calls that do not wait for reports"),
    ("late", "answers late and out of order"),
    ("behind", "prompts answered behind their run"),
    ("questions", "questions in between"),
    ("dialogs", "a storm of dialogs"),
    ("members", "members that nobody declared"),
    ("events", "events that nobody knows"),
    ("long", "a line of 64 MiB"),
    ("stderr", "a flood on stderr"),
    ("pieces", "bytes one by one, cut anywhere, or many lines at once"),
    ("order", "members in any order"),
    ("spaces", "white space"),
    ("escapes", "escapes"),
    ("halves", "halves of pairs"),
    ("separators", "texts with separators of lines"),
    ("returns", "carriage returns"),
    ("death", "the agent ends"),
    ("deaf", "the agent closes its stdin"),
];

/// Makes the session of a seed, without the tricks of these names.
pub(super) fn session(pool: &Pool, seed: u64, without: &[String]) -> Session {
    let rng = fastrand::Rng::with_seed(seed);
    let mut maker =
        Maker { pool, spec: pool.spec, without, rng, says: Vec::new(), moves: Vec::new(), made: 0 };
    maker.make(seed)
}

struct Maker<'a> {
    pool: &'a Pool,
    spec: &'static Spec,
    without: &'a [String],
    rng: fastrand::Rng,
    says: Vec<String>,
    moves: Vec<Move>,
    /// Number of ids so far.
    made: u32,
}

impl Maker<'_> {
    fn make(&mut self, seed: u64) -> Session {
        let spine = &self.pool.spines[self.rng.usize(..self.pool.spines.len())];
        let end = spine.moves.iter().position(|step| matches!(step, Move::Close | Move::End(_)));
        let (body, tail) = spine.moves.split_at(end.unwrap_or(spine.moves.len()));
        self.moves = body.to_vec();
        self.leave_out_own();
        self.says.push(format!("the session of `{}`", spine.name));
        let rush = self.maybe("rush");
        if self.maybe("late") {
            self.delay_answers();
        }
        if self.maybe("behind") {
            self.delay_runs();
        }
        if self.maybe("questions") {
            self.ask();
        }
        if self.maybe("dialogs") {
            self.storm();
        }
        if self.maybe("members") {
            self.add_members();
        }
        if self.maybe("events") {
            self.add_events();
        }
        if seed.is_multiple_of(LONG_SEEDS) && self.may("long") {
            self.says.push("a line of 64 MiB".to_owned());
            self.add_long();
        }
        if self.rng.u8(0..4) == 0 && self.may("stderr") {
            self.flood();
        }
        let manner = self.manner();
        match self.rng.u8(0..8) {
            0 | 1 if self.may("death") => self.die(),
            2 if self.may("deaf") => self.go_deaf(),
            _ => self.moves.extend_from_slice(tail),
        }
        let effects = self.moves.iter().take_while(|step| !matches!(step, Move::Close)).filter_map(|step| {
            let Move::Say(line) = step else { return None };
            effect(self.spec, line).filter(|effect| *effect != RunEffect::None)
        });
        let cut = effects.last().is_some_and(|last| matches!(last, RunEffect::Begins | RunEffect::Holds));
        let moves = std::mem::take(&mut self.moves);
        Session { moves, cut, manner, rush, says: self.says.join(", ") }
    }

    /// Returns `true` with a probability of one half, unless the trick is left out. Draws the random number
    /// in any case, so that the chances of the other tricks stay the same.
    fn maybe(&mut self, trick: &str) -> bool {
        let is = self.rng.bool() && self.may(trick);
        if is {
            let says = TRICKS.iter().find(|(name, _)| *name == trick).map_or(trick, |(_, says)| says);
            self.says.push(says.to_owned());
        }
        is
    }

    fn may(&self, trick: &str) -> bool {
        !self.without.iter().any(|name| name == trick)
    }

    /// Returns the position of the first call: before it, clients may wait for a first frame of the agent.
    fn first(&self) -> usize {
        self.moves.iter().position(|step| matches!(step, Move::Call(_))).unwrap_or(self.moves.len())
    }

    fn anywhere(&mut self, from: usize) -> usize {
        self.rng.usize(from..=self.moves.len())
    }

    /// Returns the call that the frame at this position answers, if it is an answer to a call with an id.
    fn answered(&self, at: usize) -> Option<PlannedCall> {
        let Move::Say(line) = &self.moves[at] else { return None };
        let Ok(Routed::Answer { id: Some(id), success: true, .. }) = route(self.spec, line) else {
            return None;
        };
        self.moves[..at].iter().rev().find_map(|step| match step {
            Move::Call(call) if call.id.as_deref() == Some(id.as_str()) => Some(call.clone()),
            _ => None,
        })
    }

    /// Removes the client's calls of the command that its library sends by itself at the end of runs: the two
    /// would look the same.
    fn leave_out_own(&mut self) {
        let runs = |step: &Move| match step {
            Move::Say(line) => effect(self.spec, line).is_some_and(|effect| effect != RunEffect::None),
            _ => false,
        };
        let Some(barrier) = self.spec.run_end.barrier.filter(|_| self.moves.iter().any(runs)) else { return };
        let is_own = |command: &str| command == barrier.command;
        let spec = self.spec;
        self.moves.retain(|step| match step {
            Move::Call(call) => !is_own(&call.command),
            Move::Say(line) => match route(spec, line) {
                Ok(Routed::Answer { command, .. }) => !command.is_some_and(|command| is_own(&command)),
                _ => true,
            },
            _ => true,
        });
    }

    fn delay_answers(&mut self) {
        let mut at = 0;
        while at < self.moves.len() {
            let only_asks = self.answered(at).is_some_and(|call| {
                self.spec.command(&call.command).is_some_and(|row| row.run == RunRole::None)
            });
            if only_asks && self.rng.bool() {
                let answer = self.moves.remove(at);
                let to = self.anywhere(at);
                self.moves.insert(to, answer);
            }
            at += 1;
        }
    }

    fn delay_runs(&mut self) {
        let mut at = 0;
        while at < self.moves.len() {
            let starts = self.answered(at).is_some_and(|call| {
                let row = self.spec.command(&call.command);
                row.is_some_and(|row| row.run == RunRole::Starts && row.answer != Answer::Done)
            });
            if starts && let Some(end) = self.run_end(at) {
                let answer = self.moves.remove(at);
                self.moves.insert(end, answer);
            }
            at += 1;
        }
    }

    /// Returns the position of the end of the run whose acceptance is at `answer`. Returns `None` if the run
    /// had begun before, as the prompt only joins it then. Returns `None` also if the client acts on the run
    /// meanwhile.
    fn run_end(&self, answer: usize) -> Option<usize> {
        let mut has_begun = false;
        for (at, step) in self.moves.iter().enumerate().skip(answer + 1) {
            match step {
                Move::Say(line) => match effect(self.spec, line) {
                    Some(RunEffect::Begins) => has_begun = true,
                    Some(RunEffect::MayEnd | RunEffect::Ends) => return has_begun.then_some(at),
                    _ => {}
                },
                Move::Answer(_) => {}
                Move::Call(call) => {
                    self.spec.command(&call.command).filter(|row| row.run == RunRole::None)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn id(&mut self) -> Value {
        self.made += 1;
        match self.spec.framing_is_flat() {
            true => Value::from(format!("torture \"{}\" ü", self.made)),
            false => Value::from(1_000_000 + self.made),
        }
    }

    fn ask(&mut self) {
        let questions = &self.pool.questions;
        if questions.is_empty() {
            return;
        }
        for _ in 0..self.rng.usize(1..20) {
            let (call, answer) = &questions[self.rng.usize(..questions.len())];
            let id = self.id();
            let mut call = call.clone();
            call.line = renamed(&call.line, &id);
            call.id = Some(id.to_string());
            let first = self.first();
            let at = self.anywhere(first);
            self.moves.insert(at, Move::Call(call));
            let at = self.anywhere(at + 1);
            self.moves.insert(at, Move::Say(renamed(answer, &id)));
        }
    }

    fn storm(&mut self) {
        let dialogs = &self.pool.dialogs;
        if dialogs.is_empty() {
            return;
        }
        // Puts all dialogs at one position, or each at a random one.
        let first = self.first();
        let place = self.rng.bool().then(|| self.rng.usize(first..=self.moves.len()));
        for _ in 0..self.rng.usize(1..40) {
            let dialog = &dialogs[self.rng.usize(..dialogs.len())];
            let id = self.id();
            let at = place.unwrap_or_else(|| self.rng.usize(first..=self.moves.len()));
            self.moves.insert(at, Move::Say(renamed(&dialog.line, &id)));
            if let Some(mut answer) = dialog.answer.clone() {
                answer.line = renamed(&answer.line, &id);
                answer.id = id;
                let at = self.anywhere(at + 1);
                self.moves.insert(at, Move::Answer(answer));
            }
        }
    }

    fn add_members(&mut self) {
        for step in &mut self.moves {
            if let Move::Say(line) = step
                && self.rng.bool()
            {
                *line = values::with_members(self.spec, line, self.without, &mut self.rng);
            }
        }
    }

    fn add_events(&mut self) {
        let Some(known) = &self.pool.event else { return };
        let first = self.first();
        let mut moves = Vec::with_capacity(self.moves.len() * 2);
        let mut left = MOST_EVENTS;
        for (at, step) in std::mem::take(&mut self.moves).into_iter().enumerate() {
            if at >= first && left > 0 {
                left -= 1;
                moves.extend(values::event(self.spec, known, self.without, &mut self.rng).map(Move::Say));
            }
            moves.push(step);
        }
        self.moves = moves;
    }

    fn add_long(&mut self) {
        let Some(known) = &self.pool.event else { return };
        if let Some(event) = values::long_event(self.spec, known, LONGEST) {
            let first = self.first();
            let at = self.anywhere(first);
            self.moves.insert(at, Move::Say(event));
        }
    }

    fn flood(&mut self) {
        self.says.push("a flood on stderr".to_owned());
        for _ in 0..self.rng.usize(1..4) {
            let at = self.anywhere(0);
            let bytes = self.rng.usize(1..(1 << 20));
            self.moves.insert(at, Move::Noise(bytes));
        }
    }

    /// Ends the agent at any frame, or within one.
    fn die(&mut self) {
        let at = self.anywhere(0);
        let torn = match self.moves.get(at) {
            Some(Move::Say(line)) if self.rng.bool() => Some(half(line, &mut self.rng)),
            _ => None,
        };
        self.moves.truncate(at);
        self.moves.extend(torn.clone().map(Move::Torn));
        let code = [0, 1, 3, 101, -9, -15][self.rng.usize(..6)];
        self.moves.push(Move::End(code));
        let within = if torn.is_some() { " within a line" } else { "" };
        self.says.push(format!("the agent ends with {code}{within}"));
    }

    /// Makes the agent close its stdin; then the client calls once more, and the agent ends.
    fn go_deaf(&mut self) {
        let Some((call, _)) = self.pool.questions.first() else { return self.die() };
        let first = self.first();
        let at = self.anywhere(first);
        self.moves.truncate(at);
        let id = self.id();
        let call = PlannedCall { line: renamed(&call.line, &id), id: Some(id.to_string()), ..call.clone() };
        self.moves.extend([Move::Deafen, Move::Call(call), Move::End(1)]);
        self.says.push("the agent closes its stdin".to_owned());
    }

    fn manner(&mut self) -> Manner {
        let mut pieces =
            [Pieces::Lines, Pieces::Bytes, Pieces::Anywhere, Pieces::Merged][self.rng.usize(..4)];
        if !self.may("pieces") {
            pieces = Pieces::Lines;
        }
        self.says.extend(match pieces {
            Pieces::Lines => None,
            Pieces::Bytes => Some("one byte at a time".to_owned()),
            Pieces::Anywhere => Some("cut anywhere".to_owned()),
            Pieces::Merged => Some("many lines at once".to_owned()),
        });
        Manner {
            order: self.maybe("order"),
            spaces: self.maybe("spaces"),
            escapes: self.maybe("escapes"),
            halves: self.maybe("halves"),
            returns: self.maybe("returns"),
            pieces,
            rng: fastrand::Rng::with_seed(self.rng.u64(..)),
            ..Manner::default()
        }
    }
}

/// Returns the frame with another id.
fn renamed(line: &FrameText, id: &Value) -> FrameText {
    let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return line.clone() };
    frame["id"] = id.clone();
    FrameText::from(frame.to_string())
}

/// Returns the beginning of a line.
fn half(line: &FrameText, rng: &mut fastrand::Rng) -> String {
    let text = line.as_str();
    let mut end = rng.usize(1..text.len().max(2));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end.max(1)].to_owned()
}

#[cfg(test)]
mod tests;
