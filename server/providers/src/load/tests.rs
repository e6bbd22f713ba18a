//! Tests of loading the catalogue.

use std::sync::Arc;

use agentese::types::ThinkingLevel;
use serde_json::json;

use super::{Catalog, Sources, ThinkingLevelRules, load};

fn built_in() -> Catalog {
    load(Sources::new(None, Arc::new(|_: &str| None))).0
}

#[test]
fn names_without_a_date_win_over_dated_ones_and_then_the_highest() {
    let catalog = built_in();
    let id = |pattern: &str| catalog.find(pattern).map(|chosen| chosen.model.id);
    assert_eq!(id("sonnet-4-5").as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(id("claude-sonnet-4-5-20250929").as_deref(), Some("claude-sonnet-4-5-20250929"));
    assert_eq!(id("anthropic/haiku").as_deref(), None);
    assert_eq!(id("opus 4.6").as_deref(), Some("claude-opus-4-6"));
    assert_eq!(id("openai/gpt-5.2").as_deref(), Some("gpt-5.2"));
}

#[test]
fn details_of_models_are_merged_member_by_member() {
    let home = tempfile::tempdir().unwrap();
    let opus = json!({"promptCache": {"long": 7200}, "inputLimits": {"images": {"maxPerMessage": 5}}});
    let models = json!([{"id": "plain"}, {"id": "known", "promptCache": {"short": 60}, "compat": {"supportsStore": false}}]);
    let file = json!({"providers": {
        "anthropic": {"modelOverrides": {"claude-opus-4-6": opus}},
        "mine": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "k", "models": models},
    }});
    std::fs::write(home.path().join("models.json"), file.to_string()).unwrap();
    let (catalog, warnings) = load(Sources::new(Some(home.path().to_owned()), Arc::new(|_: &str| None)));
    assert_eq!(warnings, []);
    let shown = |provider: &str, id: &str| {
        serde_json::to_value(catalog.describe(catalog.get(provider, id).unwrap().clone())).unwrap()
    };
    let opus = shown("anthropic", "claude-opus-4-6");
    assert_eq!(opus["promptCache"], json!({"short": 300, "long": 7200}));
    let images = &opus["inputLimits"]["images"];
    assert_eq!((&images["maxPerMessage"], &images["maxPerRequest"]), (&json!(5), &json!(600)));
    assert_eq!((&images["resize"]["maxWidth"], &opus["type"]), (&json!(2000), &json!("chat")));
    let known = shown("mine", "known");
    assert_eq!(
        (&known["promptCache"], &known["compat"]),
        (&json!({"short": 60}), &json!({"supportsStore": false}))
    );
    let plain = shown("mine", "plain");
    for name in ["promptCache", "inputLimits", "compat", "type"] {
        assert_eq!(plain.get(name), None, "{name}");
    }
    assert_eq!(known.get("type"), None);
}

#[test]
fn levels_follow_the_file_and_the_ids_of_models() {
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    let home = tempfile::tempdir().unwrap();
    let models = json!([
        {"id": "my-opus-4-6", "reasoning": true},
        {"id": "mapped-opus-4-6", "reasoning": true, "thinkingLevelMap": {"off": null, "minimal": null, "max": "x"}},
        {"id": "said", "reasoning": true, "xhigh": true},
    ]);
    let file = json!({"providers": {
        "anthropic": {"modelOverrides": {"claude-opus-4-6": {"thinkingLevelMap": {"low": null}}}},
        "mine": {"baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "apiKey": "k", "models": models},
    }});
    std::fs::write(home.path().join("models.json"), file.to_string()).unwrap();
    let of = |levels: ThinkingLevelRules| {
        let sources = Sources::new(Some(home.path().to_owned()), Arc::new(|_: &str| None));
        let (catalog, warnings) = load(Sources { levels, ..sources });
        assert_eq!(warnings, []);
        [
            ("mine", "my-opus-4-6"),
            ("mine", "mapped-opus-4-6"),
            ("mine", "said"),
            ("anthropic", "claude-opus-4-6"),
        ]
        .map(|(provider, id)| catalog.levels(catalog.get(provider, id).unwrap()))
    };
    let usual = vec![Off, Minimal, Low, Medium, High];
    let more = [&usual[..], &[Xhigh]].concat();
    let built_in = vec![Off, Minimal, Medium, High, Xhigh];
    assert_eq!(
        of(ThinkingLevelRules::PI),
        [more.clone(), vec![Low, Medium, High, Xhigh], more.clone(), built_in.clone()]
    );
    let rules = ThinkingLevelRules { ids_imply_xhigh: false, strongest: Max };
    assert_eq!(of(rules), [usual, vec![Low, Medium, High, Max], more, built_in]);
}

#[test]
fn a_scope_takes_globs_and_levels() {
    let catalog = built_in();
    let (chosen, unknown) = catalog.scope([
        "anthropic/claude-*-4-6:high",
        "*-haiku-4-5",
        "claude-haiku-4-5",
        "nosuch*",
        "[",
        "none",
    ]);
    let names: Vec<_> = chosen.iter().map(|chosen| (chosen.model.id.as_str(), chosen.thinking)).collect();
    assert_eq!(
        names,
        [
            ("claude-opus-4-6", Some(ThinkingLevel::High)),
            ("claude-sonnet-4-6", Some(ThinkingLevel::High)),
            ("claude-haiku-4-5", None),
        ]
    );
    assert_eq!(unknown, ["nosuch*", "[", "none"]);
}
