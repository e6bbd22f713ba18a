//! Bindings: pairs of a recorded value and the observed value in its place.

use std::collections::HashMap;

use super::tables::Sameness;
use crate::matching::difference::short;

/// Shortest value in bytes that counts as a value from the case. Shorter texts occur in a case by chance.
const MIN_NAME_LENGTH: usize = 6;

/// The pairs so far. The first occurrence of a value binds it; at later occurrences the pair has to be the
/// same.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// The case as text. Values that occur in it are not made up by the agent, and are not bound.
    case: String,
    forward: HashMap<String, String>,
    back: HashMap<String, String>,
    files: Vec<(String, String)>,
    texts: HashMap<String, String>,
    moments: HashMap<String, String>,
}

impl Bindings {
    pub(super) fn new(case: String) -> Self {
        Self { case, ..Self::default() }
    }

    /// Returns `true` if the case itself contains the value.
    pub(super) fn is_fixed(&self, golden: &str) -> bool {
        golden.len() >= MIN_NAME_LENGTH && self.case.contains(golden)
    }

    /// Binds a recorded name to an observed one. Neither may occur in another pair.
    pub(super) fn id(&mut self, golden: &str, observed: &str) -> Result<(), String> {
        if self.is_fixed(golden) {
            return if golden == observed {
                Ok(())
            } else {
                Err(format!("{} instead of {}, which comes from the case", short(observed), short(golden)))
            };
        }
        match self.forward.get(golden) {
            Some(bound) if bound == observed => return Ok(()),
            Some(bound) => {
                let (found, bound) = (short(observed), short(bound));
                return Err(format!("{found} instead of the earlier {bound} (recorded: {})", short(golden)));
            }
            None => {}
        }
        if let Some(bound) = self.back.get(observed) {
            let (found, bound) = (short(observed), short(bound));
            return Err(format!(
                "{found} again, but the recording has two values: {bound} and {}",
                short(golden)
            ));
        }
        self.forward.insert(golden.to_owned(), observed.to_owned());
        self.back.insert(observed.to_owned(), golden.to_owned());
        Ok(())
    }

    /// Binds the path of a file as a name. The pair is also used for paths within texts.
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

    /// Replaces recorded paths in a text with the observed paths that they are bound to. Returns `None` if
    /// the text contains no bound path.
    pub(super) fn rename_files(&self, golden: &str) -> Option<String> {
        let mut renamed = golden.to_owned();
        for (golden, observed) in &self.files {
            if renamed.contains(golden) {
                renamed = renamed.replace(golden, observed);
            }
        }
        (renamed != golden).then_some(renamed)
    }

    /// Compares a part of a text that differs from run to run. Binds the part if it is an id.
    pub(super) fn part(&mut self, same: Sameness, golden: &str, observed: &str) -> Result<(), String> {
        match same {
            Sameness::Id => self.id(golden, observed),
            _ if self.is_fixed(golden) && golden != observed => {
                Err(format!("{} instead of {}, which comes from the case", short(observed), short(golden)))
            }
            _ => Ok(()),
        }
    }

    /// Binds a recorded text to an observed text. Different recorded texts may have the same observed text.
    pub(super) fn bind_text(&mut self, golden: &str, observed: &str) -> Result<(), String> {
        let bound = self.texts.entry(golden.to_owned()).or_insert_with(|| observed.to_owned());
        if bound == observed {
            return Ok(());
        }
        let (found, bound) = (short(observed), short(bound));
        Err(format!("{found} instead of the earlier {bound} for the same text (recorded: {})", short(golden)))
    }

    /// Binds the moment of a thing to one value. A moment in whole seconds may also be one second later. Two
    /// changes within one recorded second may have different seconds in another run.
    pub(super) fn moment(&mut self, of: String, observed: &str) -> Result<(), String> {
        let bound = self.moments.entry(of).or_insert_with(|| observed.to_owned());
        if bound == observed {
            return Ok(());
        }
        let moved = second_of(bound).zip(second_of(observed));
        if moved
            .is_some_and(|((day, expected), (same_day, actual))| day == same_day && actual == expected + 1)
        {
            observed.clone_into(bound);
            return Ok(());
        }
        Err(format!("{observed} instead of the earlier {bound} of the same message"))
    }
}

/// Parses a time in whole seconds (ISO 8601 in quotes). Returns the day, and the second within the day.
fn second_of(moment: &str) -> Option<(&str, u32)> {
    let moment = moment.trim_matches('"');
    let (day, time) = moment.strip_suffix('Z').unwrap_or(moment).split_once('T')?;
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok().filter(|_| part.len() == 2));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some((day, (hours * 60 + minutes) * 60 + seconds))
}
