//! How hard models can think.

use agentese::types::{Model, ThinkingLevel};

use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};

/// Parts of the ids of models that can think at `xhigh`. A model in `models.json` may say otherwise.
const XHIGH: &[&str] = &["gpt-5.2", "gpt-5.3", "opus-4-6", "opus-4.6"];

/// The thinking levels that a model has, weakest first, as far as its id tells.
/// [`Catalog::levels`](super::Catalog::levels) knows what the user has configured besides.
pub fn levels(model: &Model) -> &'static [ThinkingLevel] {
    levels_with(model.reasoning, XHIGH.iter().any(|part| model.id.contains(part)))
}

pub(super) fn levels_with(reasoning: bool, xhigh: bool) -> &'static [ThinkingLevel] {
    match (reasoning, xhigh) {
        (false, _) => &[Off],
        (true, false) => &[Off, Minimal, Low, Medium, High],
        (true, true) => &[Off, Minimal, Low, Medium, High, Xhigh],
    }
}

/// The level that a model has and that is nearest to the one asked for: the next stronger one, or
/// else the strongest.
pub fn nearest_level(model: &Model, wanted: ThinkingLevel) -> ThinkingLevel {
    nearest(levels(model), wanted)
}

/// The same of a list of levels.
pub(super) fn nearest(levels: &[ThinkingLevel], wanted: ThinkingLevel) -> ThinkingLevel {
    let rank = |level: &ThinkingLevel| {
        ThinkingLevel::ALL.iter().position(|known| known == level).unwrap_or_default()
    };
    let stronger = levels.iter().find(|level| rank(level) >= rank(&wanted));
    stronger.or(levels.last()).copied().unwrap_or(Off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Provider;
    use crate::providers::scripted::Scripted;

    #[test]
    fn a_level_goes_up_and_then_down_to_one_that_the_model_has() {
        let mut model = Scripted::built_in().models()[0].clone();
        assert_eq!(nearest_level(&model, Xhigh), High);
        assert_eq!(nearest_level(&model, Minimal), Minimal);
        model.id = "gpt-5.2-codex".to_owned();
        assert_eq!(nearest_level(&model, Xhigh), Xhigh);
        model.reasoning = false;
        assert_eq!(nearest_level(&model, Medium), Off);
    }
}
