//! The session of a seed: a recorded session with random changes that the documents allow.

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::{AnswerTiming, RunEffect, RunRole, Spec};
use serde_json::Value;

use super::super::client_only_cases::run_effect;
use super::super::line_encoder::{LineEncoder, WriteBoundaries};
use super::super::plan::{PlannedAction, PlannedCall};
use super::pool::Pool;
use super::values;

/// One of this many seeds has a line of 64 MiB.
const LONG_SEEDS: u64 = 500;
/// Maximum length of a line in bytes. The documents require clients to accept it.
const LONGEST: usize = 64 << 20;
/// Maximum number of added events.
const MOST_EVENTS: usize = 200;

/// The session of a seed.
#[derive(Debug)]
pub(super) struct TortureSession {
    pub(super) actions: Vec<PlannedAction>,
    /// `true` if the connection closes during a run.
    pub(super) ends_mid_run: bool,
    pub(super) encoder: LineEncoder,
    pub(super) rush: bool,
    /// Description of the changes.
    pub(super) description: String,
}

/// Possible changes of a session: name and description.
pub const TRICKS: &[(&str, &str)] = &[
    ("rush", "calls without waits for reports"),
    ("late", "answers late and out of order"),
    ("behind", "prompts answered after their run"),
    ("questions", "additional requests"),
    ("dialogs", "many dialogs at once"),
    ("members", "undeclared members"),
    ("events", "unknown events"),
    ("long", "a line of 64 MiB"),
    ("stderr", "much output on stderr"),
    ("pieces", "bytes one by one, cut anywhere, or many lines at once"),
    ("order", "members in any order"),
    ("spaces", "white space"),
    ("escapes", "escapes"),
    ("halves", "unpaired surrogates"),
    ("separators", "texts with line separators"),
    ("returns", "carriage returns"),
    ("death", "the agent ends"),
    ("deaf", "the agent closes its stdin"),
];

/// Creates the session of a seed. `without` names the tricks to leave out.
pub(super) fn session(pool: &Pool, seed: u64, without: &[String]) -> TortureSession {
    let rng = fastrand::Rng::with_seed(seed);
    let mut maker = SessionBuilder {
        pool,
        spec: pool.spec,
        without,
        rng,
        descriptions: Vec::new(),
        actions: Vec::new(),
        id_count: 0,
    };
    maker.build(seed)
}

struct SessionBuilder<'a> {
    pool: &'a Pool,
    spec: &'static Spec,
    without: &'a [String],
    rng: fastrand::Rng,
    descriptions: Vec<String>,
    actions: Vec<PlannedAction>,
    /// Number of ids that were generated so far.
    id_count: u32,
}

impl SessionBuilder<'_> {
    fn build(&mut self, seed: u64) -> TortureSession {
        let base = &self.pool.base_transcripts[self.rng.usize(..self.pool.base_transcripts.len())];
        let end =
            base.actions.iter().position(|step| matches!(step, PlannedAction::Close | PlannedAction::End(_)));
        let (body, tail) = base.actions.split_at(end.unwrap_or(base.actions.len()));
        self.actions = body.to_vec();
        self.remove_library_calls();
        self.descriptions.push(format!("session of `{}`", base.name));
        let rush = self.draw_trick("rush");
        if self.draw_trick("late") {
            self.delay_answers();
        }
        if self.draw_trick("behind") {
            self.delay_runs();
        }
        if self.draw_trick("questions") {
            self.add_queries();
        }
        if self.draw_trick("dialogs") {
            self.add_dialogs();
        }
        if self.draw_trick("members") {
            self.add_members();
        }
        if self.draw_trick("events") {
            self.add_events();
        }
        if seed.is_multiple_of(LONG_SEEDS) && self.is_enabled("long") {
            self.descriptions.push("a line of 64 MiB".to_owned());
            self.add_long_line();
        }
        if self.rng.u8(0..4) == 0 && self.is_enabled("stderr") {
            self.add_stderr();
        }
        let encoder = self.random_encoder();
        match self.rng.u8(0..8) {
            0 | 1 if self.is_enabled("death") => self.add_death(),
            2 if self.is_enabled("deaf") => self.add_stdin_close(),
            _ => self.actions.extend_from_slice(tail),
        }
        let effects =
            self.actions.iter().take_while(|step| !matches!(step, PlannedAction::Close)).filter_map(|step| {
                let PlannedAction::SendLine(line) = step else { return None };
                run_effect(self.spec, line).filter(|effect| *effect != RunEffect::None)
            });
        let cut = effects.last().is_some_and(|last| matches!(last, RunEffect::Begins | RunEffect::Holds));
        let moves = std::mem::take(&mut self.actions);
        TortureSession {
            actions: moves,
            ends_mid_run: cut,
            encoder,
            rush,
            description: self.descriptions.join(", "),
        }
    }

    /// Returns `true` with a probability of one half, unless `without` contains the trick. The random number
    /// is drawn in any case, so that the other tricks of a seed stay the same.
    fn draw_trick(&mut self, trick: &str) -> bool {
        let is = self.rng.bool() && self.is_enabled(trick);
        if is {
            let message =
                TRICKS.iter().find(|(name, _)| *name == trick).map_or(trick, |(_, message)| message);
            self.descriptions.push(message.to_owned());
        }
        is
    }

    fn is_enabled(&self, trick: &str) -> bool {
        !self.without.iter().any(|name| name == trick)
    }

    /// Returns the position of the first call. Nothing is inserted before it, because a client may wait for a
    /// first frame of the agent.
    fn first(&self) -> usize {
        self.actions
            .iter()
            .position(|step| matches!(step, PlannedAction::Call(_)))
            .unwrap_or(self.actions.len())
    }

    fn anywhere(&mut self, from: usize) -> usize {
        self.rng.usize(from..=self.actions.len())
    }

    /// Returns the call that the frame at this position answers. Returns `None` if the frame is not a
    /// successful answer with an id.
    fn answered_call(&self, at: usize) -> Option<PlannedCall> {
        let PlannedAction::SendLine(line) = &self.actions[at] else { return None };
        let Ok(RoutedFrame::Answer { id: Some(id), success: true, .. }) = route(self.spec, line) else {
            return None;
        };
        self.actions[..at].iter().rev().find_map(|step| match step {
            PlannedAction::Call(call) if call.id.as_deref() == Some(id.as_str()) => Some(call.clone()),
            _ => None,
        })
    }

    /// Removes the client's calls of the command that libraries send by themselves at the end of a run. The
    /// suite could not distinguish the two.
    fn remove_library_calls(&mut self) {
        let runs = |step: &PlannedAction| match step {
            PlannedAction::SendLine(line) => {
                run_effect(self.spec, line).is_some_and(|effect| effect != RunEffect::None)
            }
            _ => false,
        };
        let Some(barrier) = self.spec.run_end.barrier.filter(|_| self.actions.iter().any(runs)) else {
            return;
        };
        let is_own = |command: &str| command == barrier.command;
        let spec = self.spec;
        self.actions.retain(|step| match step {
            PlannedAction::Call(call) => !is_own(&call.command),
            PlannedAction::SendLine(line) => match route(spec, line) {
                Ok(RoutedFrame::Answer { command, .. }) => !command.is_some_and(|command| is_own(&command)),
                _ => true,
            },
            _ => true,
        });
    }

    fn delay_answers(&mut self) {
        let mut at = 0;
        while at < self.actions.len() {
            let only_asks = self.answered_call(at).is_some_and(|call| {
                self.spec.command(&call.command).is_some_and(|row| row.run == RunRole::None)
            });
            if only_asks && self.rng.bool() {
                let answer = self.actions.remove(at);
                let to = self.anywhere(at);
                self.actions.insert(to, answer);
            }
            at += 1;
        }
    }

    fn delay_runs(&mut self) {
        let mut at = 0;
        while at < self.actions.len() {
            let starts = self.answered_call(at).is_some_and(|call| {
                let row = self.spec.command(&call.command);
                row.is_some_and(|row| row.run == RunRole::Starts && row.answer != AnswerTiming::Done)
            });
            if starts && let Some(end) = self.run_end(at) {
                let answer = self.actions.remove(at);
                self.actions.insert(end, answer);
            }
            at += 1;
        }
    }

    /// Returns the position at which the run accepted at `answer` ends.
    ///
    /// Returns `None` if the run had started before the acceptance, because the prompt then joined a run in
    /// progress. Also returns `None` if the client acts on the run before its end.
    fn run_end(&self, answer: usize) -> Option<usize> {
        let mut has_begun = false;
        for (at, step) in self.actions.iter().enumerate().skip(answer + 1) {
            match step {
                PlannedAction::SendLine(line) => match run_effect(self.spec, line) {
                    Some(RunEffect::Begins) => has_begun = true,
                    Some(RunEffect::MayEnd | RunEffect::Ends) => return has_begun.then_some(at),
                    _ => {}
                },
                PlannedAction::Answer(_) => {}
                PlannedAction::Call(call) => {
                    self.spec.command(&call.command).filter(|row| row.run == RunRole::None)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn id(&mut self) -> Value {
        self.id_count += 1;
        match self.spec.framing_is_flat() {
            true => Value::from(format!("torture \"{}\" ü", self.id_count)),
            false => Value::from(1_000_000 + self.id_count),
        }
    }

    fn add_queries(&mut self) {
        let questions = &self.pool.queries;
        if questions.is_empty() {
            return;
        }
        for _ in 0..self.rng.usize(1..20) {
            let (call, answer) = &questions[self.rng.usize(..questions.len())];
            let id = self.id();
            let mut call = call.clone();
            call.line = with_id(&call.line, &id);
            call.id = Some(id.to_string());
            let first = self.first();
            let at = self.anywhere(first);
            self.actions.insert(at, PlannedAction::Call(call));
            let at = self.anywhere(at + 1);
            self.actions.insert(at, PlannedAction::SendLine(with_id(answer, &id)));
        }
    }

    fn add_dialogs(&mut self) {
        let dialogs = &self.pool.dialogs;
        if dialogs.is_empty() {
            return;
        }
        // All dialogs are inserted at one position, or each at a random position.
        let first = self.first();
        let place = self.rng.bool().then(|| self.rng.usize(first..=self.actions.len()));
        for _ in 0..self.rng.usize(1..40) {
            let dialog = &dialogs[self.rng.usize(..dialogs.len())];
            let id = self.id();
            let at = place.unwrap_or_else(|| self.rng.usize(first..=self.actions.len()));
            self.actions.insert(at, PlannedAction::SendLine(with_id(&dialog.line, &id)));
            if let Some(mut answer) = dialog.answer.clone() {
                answer.line = with_id(&answer.line, &id);
                answer.id = id;
                let at = self.anywhere(at + 1);
                self.actions.insert(at, PlannedAction::Answer(answer));
            }
        }
    }

    fn add_members(&mut self) {
        for step in &mut self.actions {
            if let PlannedAction::SendLine(line) = step
                && self.rng.bool()
            {
                *line = values::with_members(self.spec, line, self.without, &mut self.rng);
            }
        }
    }

    fn add_events(&mut self) {
        let Some(known) = &self.pool.event else { return };
        let first = self.first();
        let mut moves = Vec::with_capacity(self.actions.len() * 2);
        let mut left = MOST_EVENTS;
        for (at, step) in std::mem::take(&mut self.actions).into_iter().enumerate() {
            if at >= first && left > 0 {
                left -= 1;
                moves.extend(
                    values::event(self.spec, known, self.without, &mut self.rng).map(PlannedAction::SendLine),
                );
            }
            moves.push(step);
        }
        self.actions = moves;
    }

    fn add_long_line(&mut self) {
        let Some(known) = &self.pool.event else { return };
        if let Some(event) = values::long_event(self.spec, known, LONGEST) {
            let first = self.first();
            let at = self.anywhere(first);
            self.actions.insert(at, PlannedAction::SendLine(event));
        }
    }

    fn add_stderr(&mut self) {
        self.descriptions.push("much output on stderr".to_owned());
        for _ in 0..self.rng.usize(1..4) {
            let at = self.anywhere(0);
            let bytes = self.rng.usize(1..(1 << 20));
            self.actions.insert(at, PlannedAction::WriteStderr(bytes));
        }
    }

    /// Lets the agent end at a random position, possibly in the middle of a line.
    fn add_death(&mut self) {
        let at = self.anywhere(0);
        let torn = match self.actions.get(at) {
            Some(PlannedAction::SendLine(line)) if self.rng.bool() => Some(partial_line(line, &mut self.rng)),
            _ => None,
        };
        self.actions.truncate(at);
        self.actions.extend(torn.clone().map(PlannedAction::SendPartialLine));
        let code = [0, 1, 3, 101, -9, -15][self.rng.usize(..6)];
        self.actions.push(PlannedAction::End(code));
        let within = if torn.is_some() { " within a line" } else { "" };
        self.descriptions.push(format!("the agent ends with {code}{within}"));
    }

    /// Lets the agent close its stdin. Afterwards the client makes one more call, and the agent ends.
    fn add_stdin_close(&mut self) {
        let Some((call, _)) = self.pool.queries.first() else { return self.add_death() };
        let first = self.first();
        let at = self.anywhere(first);
        self.actions.truncate(at);
        let id = self.id();
        let call = PlannedCall { line: with_id(&call.line, &id), id: Some(id.to_string()), ..call.clone() };
        self.actions.extend([PlannedAction::CloseStdin, PlannedAction::Call(call), PlannedAction::End(1)]);
        self.descriptions.push("the agent closes its stdin".to_owned());
    }

    fn random_encoder(&mut self) -> LineEncoder {
        let mut pieces = [
            WriteBoundaries::Lines,
            WriteBoundaries::Bytes,
            WriteBoundaries::Anywhere,
            WriteBoundaries::Merged,
        ][self.rng.usize(..4)];
        if !self.is_enabled("pieces") {
            pieces = WriteBoundaries::Lines;
        }
        self.descriptions.extend(match pieces {
            WriteBoundaries::Lines => None,
            WriteBoundaries::Bytes => Some("one byte at a time".to_owned()),
            WriteBoundaries::Anywhere => Some("cut anywhere".to_owned()),
            WriteBoundaries::Merged => Some("many lines at once".to_owned()),
        });
        LineEncoder {
            order: self.draw_trick("order"),
            spaces: self.draw_trick("spaces"),
            escapes: self.draw_trick("escapes"),
            halves: self.draw_trick("halves"),
            returns: self.draw_trick("returns"),
            boundaries: pieces,
            rng: fastrand::Rng::with_seed(self.rng.u64(..)),
            ..LineEncoder::default()
        }
    }
}

/// Returns the frame with another id.
fn with_id(line: &FrameText, id: &Value) -> FrameText {
    let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return line.clone() };
    frame["id"] = id.clone();
    FrameText::from(frame.to_string())
}

/// Returns a random beginning of a line.
fn partial_line(line: &FrameText, rng: &mut fastrand::Rng) -> String {
    let text = line.as_str();
    let mut end = rng.usize(1..text.len().max(2));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end.max(1)].to_owned()
}

#[cfg(test)]
mod tests;
