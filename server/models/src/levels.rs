//! Thinking levels of models.

use agentese::types::{Model, ThinkingLevel};
use serde_json::{Map, Value};

use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};

/// Parts of ids that identify models with the level `xhigh`. `models.json` can override this for each model.
const XHIGH: &[&str] = &["gpt-5.2", "gpt-5.3", "opus-4-6", "opus-4.6"];

/// All levels, weakest first.
const ALL: [ThinkingLevel; 7] = [Off, Minimal, Low, Medium, High, Xhigh, Max];

/// Rules for thinking levels that differ between agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingLevelRules {
    /// `true` if the id of a model in `models.json` can imply `xhigh`; `false` if only an entry in the file
    /// can.
    pub ids_imply_xhigh: bool,
    /// The strongest level of any model.
    pub strongest: ThinkingLevel,
}

impl ThinkingLevelRules {
    /// The rules of pi.
    pub const PI: Self = Self { ids_imply_xhigh: true, strongest: Xhigh };
}

/// The value that a provider receives for each level, from `models.json`. A level with null is not available.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Efforts(Vec<(ThinkingLevel, Option<String>)>);

impl Efforts {
    /// Reads `{LEVEL: text | null}`. Fails with the name of the invalid member and the reason.
    pub fn read(members: &Map<String, Value>) -> Result<Self, (String, &'static str)> {
        let effort = |(name, value): (&String, &Value)| {
            let level = ALL.into_iter().find(|level| level.as_str() == name);
            let level = level.ok_or_else(|| (name.clone(), "is not a thinking level"))?;
            match value {
                Value::Null => Ok((level, None)),
                Value::String(text) => Ok((level, Some(text.clone()))),
                _ => Err((name.clone(), "is neither a string nor null")),
            }
        };
        members.iter().map(effort).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the values of both. If both have a value for a level, the value of `over` applies.
    pub fn with(&self, over: &Self) -> Self {
        let mut all = self.0.clone();
        all.retain(|(level, _)| over.entry(*level).is_none());
        all.extend(over.0.iter().cloned());
        Self(all)
    }

    /// Removes the levels above `strongest`.
    pub fn up_to(mut self, strongest: ThinkingLevel) -> Self {
        self.0.retain(|(level, _)| rank(*level) <= rank(strongest));
        self
    }

    /// Returns the value for a level, if there is one.
    pub fn of(&self, level: ThinkingLevel) -> Option<&str> {
        self.entry(level)?.as_deref()
    }

    /// Returns the values as written in the file; `None` if the file has no value.
    pub fn members(&self) -> Option<Map<String, Value>> {
        let member = |(level, effort): &(ThinkingLevel, Option<String>)| {
            (level.as_str().to_owned(), effort.clone().map_or(Value::Null, Value::String))
        };
        (!self.0.is_empty()).then(|| self.0.iter().map(member).collect())
    }

    fn entry(&self, level: ThinkingLevel) -> Option<&Option<String>> {
        self.0.iter().find(|(known, _)| *known == level).map(|(_, effort)| effort)
    }
}

/// Returns the thinking levels of a model, weakest first, derived from its id.
/// [`Catalog::levels`](super::Catalog::levels) also includes the user's configuration.
pub fn levels(model: &Model) -> Vec<ThinkingLevel> {
    levels_with(model.reasoning, implies_xhigh(model), &Efforts::default())
}

/// Returns true if the id of a model implies `xhigh`.
pub fn implies_xhigh(model: &Model) -> bool {
    XHIGH.iter().any(|part| model.id.contains(part))
}

/// Returns the levels of a model. A level in `efforts` is available unless its value is null. `xhigh` decides
/// about the level of this name if `efforts` does not contain it.
pub fn levels_with(reasoning: bool, xhigh: bool, efforts: &Efforts) -> Vec<ThinkingLevel> {
    let has = |level: &ThinkingLevel| match (efforts.entry(*level), level) {
        (Some(effort), _) => effort.is_some(),
        (None, Xhigh) => xhigh,
        (None, level) => *level != Max,
    };
    if reasoning { ALL.into_iter().filter(has).collect() } else { vec![Off] }
}

/// Returns the level of a model that is nearest to `wanted`: the same or the next stronger, or else the
/// strongest.
pub fn nearest_level(model: &Model, wanted: ThinkingLevel) -> ThinkingLevel {
    nearest(&levels(model), wanted)
}

/// Returns the level of a list that is nearest to `wanted`, as [`nearest_level`] does.
pub fn nearest(levels: &[ThinkingLevel], wanted: ThinkingLevel) -> ThinkingLevel {
    let stronger = levels.iter().find(|level| rank(**level) >= rank(wanted));
    stronger.or(levels.last()).copied().unwrap_or(Off)
}

fn rank(level: ThinkingLevel) -> usize {
    ThinkingLevel::ALL.iter().position(|known| *known == level).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Provider;
    use crate::scripted::ScriptedProvider;

    #[test]
    fn a_level_goes_up_and_then_down_to_one_that_the_model_has() {
        let mut model = ScriptedProvider::built_in().models()[0].clone();
        assert_eq!(nearest_level(&model, Xhigh), High);
        assert_eq!(nearest_level(&model, Minimal), Minimal);
        model.id = "gpt-5.2-codex".to_owned();
        assert_eq!(nearest_level(&model, Xhigh), Xhigh);
        model.reasoning = false;
        assert_eq!(nearest_level(&model, Medium), Off);
    }

    #[test]
    fn a_model_has_the_levels_that_its_map_names_and_lacks_those_that_are_null() {
        let of = |map: Value| Efforts::read(map.as_object().unwrap());
        let map = of(json!({"off": null, "low": "least", "max": "most", "minimal": null})).unwrap();
        assert_eq!(levels_with(true, false, &map), [Low, Medium, High, Max]);
        assert_eq!(levels_with(true, true, &map.clone().up_to(Xhigh)), [Low, Medium, High, Xhigh]);
        assert_eq!(levels_with(false, true, &map), [Off]);
        assert_eq!(
            [map.of(Low), map.of(Max), map.of(Off), map.of(High)],
            [Some("least"), Some("most"), None, None]
        );
        let over = map.with(&of(json!({"low": null, "xhigh": "x"})).unwrap());
        assert_eq!(levels_with(true, false, &over), [Medium, High, Xhigh, Max]);
        assert_eq!(nearest(&levels_with(true, false, &over), Off), Medium);
        assert_eq!(over.members().map(|members| members.len()), Some(5));
        assert_eq!(Efforts::default().members(), None);
        assert_eq!(of(json!({"auto": "x"})), Err(("auto".to_owned(), "is not a thinking level")));
        assert_eq!(of(json!({"low": 3})), Err(("low".to_owned(), "is neither a string nor null")));
    }
}
