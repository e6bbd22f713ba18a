//! Which value of one transcript stands for which of the other.

use std::collections::HashMap;

use super::tables::Sameness;
use crate::matching::difference::short;

/// What a case says itself is as short as this at least; shorter texts stand in it by chance.
const NAME: usize = 6;

/// The pairs so far. The first pair binds; later ones have to be the same pair.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// The case as text: what stands in it is no value that an agent makes up.
    case: String,
    forward: HashMap<String, String>,
    back: HashMap<String, String>,
    files: Vec<(String, String)>,
    words: HashMap<String, String>,
    moments: HashMap<String, String>,
}

impl Bindings {
    pub(super) fn new(case: String) -> Self {
        Self { case, ..Self::default() }
    }

    /// Whether the case itself has a value.
    pub(super) fn is_fixed(&self, golden: &str) -> bool {
        golden.len() >= NAME && self.case.contains(golden)
    }

    /// One name stands for one name, in both directions.
    pub(super) fn id(&mut self, golden: &str, observed: &str) -> Result<(), String> {
        if self.is_fixed(golden) {
            return if golden == observed {
                Ok(())
            } else {
                Err(format!("{} instead of {}, which the case itself has", short(observed), short(golden)))
            };
        }
        match self.forward.get(golden) {
            Some(bound) if bound == observed => return Ok(()),
            Some(bound) => {
                let (found, bound) = (short(observed), short(bound));
                return Err(format!("{found} where {bound} stood before (recorded: {})", short(golden)));
            }
            None => {}
        }
        if let Some(bound) = self.back.get(observed) {
            let (found, bound) = (short(observed), short(bound));
            return Err(format!("{found} again, where the recording has two: {bound} and {}", short(golden)));
        }
        self.forward.insert(golden.to_owned(), observed.to_owned());
        self.back.insert(observed.to_owned(), golden.to_owned());
        Ok(())
    }

    /// A file is a name, and stands in texts too.
    pub(super) fn file(&mut self, golden: &str, observed: &str) -> Result<(), String> {
        self.id(golden, observed)?;
        if !self.files.iter().any(|(known, _)| known == golden) {
            self.files.push((golden.to_owned(), observed.to_owned()));
            let stem =
                |path: &str| path.rsplit('/').next().map(|name| name.trim_end_matches(".jsonl").to_owned());
            if let (Some(golden), Some(observed)) = (stem(golden), stem(observed)) {
                self.files.push((golden, observed));
            }
        }
        Ok(())
    }

    /// A text with the files that are known under their other names; none where it has none of them.
    pub(super) fn rename_files(&self, golden: &str) -> Option<String> {
        let mut renamed = golden.to_owned();
        for (golden, observed) in &self.files {
            if renamed.contains(golden) {
                renamed = renamed.replace(golden, observed);
            }
        }
        (renamed != golden).then_some(renamed)
    }

    /// A part of a text that differs from run to run.
    pub(super) fn part(&mut self, same: Sameness, golden: &str, observed: &str) -> Result<(), String> {
        match same {
            Sameness::Id => self.id(golden, observed),
            _ if self.is_fixed(golden) && golden != observed => {
                Err(format!("{} instead of {}, which the case itself has", short(observed), short(golden)))
            }
            _ => Ok(()),
        }
    }

    /// The same words stand for the same words; different ones may come out the same.
    pub(super) fn words(&mut self, golden: &str, observed: &str) -> Result<(), String> {
        let bound = self.words.entry(golden.to_owned()).or_insert_with(|| observed.to_owned());
        if bound == observed {
            return Ok(());
        }
        let (found, bound) = (short(observed), short(bound));
        Err(format!("{found} where the same words were {bound} before (recorded: {})", short(golden)))
    }

    /// The moment of one thing is one moment. One in whole seconds may be the next: what changed twice within a second of
    /// the recording has two of them where the second ended in between.
    pub(super) fn moment(&mut self, of: String, observed: &str) -> Result<(), String> {
        let bound = self.moments.entry(of).or_insert_with(|| observed.to_owned());
        if bound == observed {
            return Ok(());
        }
        let moved = second_of(bound).zip(second_of(observed));
        if moved.is_some_and(|((day, was), (same_day, came))| day == same_day && came == was + 1) {
            observed.clone_into(bound);
            return Ok(());
        }
        Err(format!("{observed}, where the same message had {bound} before"))
    }
}

/// The day of a moment that is told in whole seconds, as ISO 8601 in quotes, and the second within it.
fn second_of(moment: &str) -> Option<(&str, u32)> {
    let moment = moment.trim_matches('"');
    let (day, time) = moment.strip_suffix('Z').unwrap_or(moment).split_once('T')?;
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok().filter(|_| part.len() == 2));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some((day, (hours * 60 + minutes) * 60 + seconds))
}
