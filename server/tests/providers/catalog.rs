//! Tests of the list of models, and of the selection of a model.

use agentese::types::ThinkingLevel;
use agentese_server::providers::{ModelSelection, SelectError, SelectOptions};
use serde_json::{Value, json};

use crate::support::TestHome;

fn names(models: Vec<&agentese::types::Model>) -> Vec<String> {
    models.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect()
}

fn custom(models: Value) -> Value {
    json!({"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "k", "models": models})
}

#[test]
fn models_are_available_with_a_key_in_the_order_of_the_files() {
    let home = TestHome::with_models(json!({
        "zebra": custom(json!([{"id": "z2"}, {"id": "z1"}])), "alpha": custom(json!([{"id": "a"}])),
    }));
    let (catalog, warnings) = home.load();
    assert_eq!(warnings, []);
    assert_eq!(names(catalog.available()), ["zebra/z2", "zebra/z1", "alpha/a"]);
    assert!(catalog.models().count() > 20, "the built-in models are there, without a key");
    let sonnet = catalog.get("anthropic", "claude-sonnet-4-5").unwrap().clone();
    let text = catalog.ready(&sonnet).unwrap_err().to_string();
    assert!(
        text.starts_with("No API key found for anthropic.\n\nSet the environment variable ANTHROPIC_API_KEY")
    );
    catalog.set_api_key("anthropic", "given".into());
    assert_eq!(catalog.ready(&sonnet), Ok(()));
    assert_eq!(catalog.available()[0].provider, "anthropic");
}

#[test]
fn the_built_in_table_is_sound() {
    let (catalog, _) = TestHome::default().load();
    let mut seen = std::collections::HashSet::new();
    for model in catalog.models() {
        let name = format!("{}/{}", model.provider, model.id);
        assert!(model.base_url.starts_with("https://"), "{name}");
        assert!(model.max_tokens <= model.context_window, "{name}");
        assert!(model.cost.output.as_f64() >= model.cost.input.as_f64(), "{name}");
        assert!(seen.insert(name.clone()), "{name} stands there twice");
    }
    // Same form as in pi 0.55.
    assert_eq!(
        serde_json::to_value(catalog.get("anthropic", "claude-sonnet-4-5")).unwrap(),
        json!({
            "id": "claude-sonnet-4-5", "name": "Claude Sonnet 4.5 (latest)", "api": "anthropic-messages",
            "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
            "input": ["text", "image"], "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
            "contextWindow": 200000, "maxTokens": 64000,
        })
    );
}

#[test]
fn the_user_s_file_changes_built_in_models_and_adds_others() {
    let home = TestHome::with_models(json!({
        "anthropic": {
            "baseUrl": "http://proxy.example", "apiKey": "k",
            "modelOverrides": {"claude-haiku-4-5": {"name": "Small", "maxTokens": 5}, "nosuch": {"name": "x"}},
            "models": [{"id": "claude-sonnet-4-5", "api": "anthropic-messages"}, {"id": "new", "api": "anthropic-messages"}],
        },
        "nowhere": {"baseUrl": "http://x"},
        "odd": {"baseUrl": "http://x", "apiKey": "k", "api": "bedrock-converse-stream", "models": [{"id": "o"}]},
    }));
    let (catalog, warnings) = home.load();
    let warnings: Vec<String> = warnings.into_iter().map(|warning| warning.reason).collect();
    assert_eq!(
        warnings,
        [
            "providers.anthropic.modelOverrides.nosuch: unknown model",
            "providers.nowhere: has no models, and no other provider has that name",
            "odd/o cannot be used: the API \"bedrock-converse-stream\" is not available in this version",
        ]
    );
    let haiku = catalog.get("anthropic", "claude-haiku-4-5").unwrap();
    assert_eq!((haiku.name.as_str(), haiku.max_tokens), ("Small", 5));
    assert_eq!(haiku.base_url, "http://proxy.example");
    let sonnet = catalog.get("anthropic", "claude-sonnet-4-5").unwrap();
    assert_eq!((sonnet.name.as_str(), sonnet.context_window), ("claude-sonnet-4-5", 128_000));
    let of_anthropic: Vec<_> = catalog.models().filter(|model| model.provider == "anthropic").collect();
    assert_eq!(of_anthropic.last().unwrap().id, "new");
    let odd = catalog.get("odd", "o").unwrap().clone();
    let text = catalog.ready(&odd).unwrap_err().to_string();
    assert!(
        text.starts_with("The API \"bedrock-converse-stream\" of odd/o is not available in this version")
    );
    assert!(!names(catalog.available()).contains(&"odd/o".to_owned()));
}

#[test]
fn fm_f121_a_file_that_is_not_valid_is_reported_and_left_out_as_a_whole() {
    let home = TestHome::default();
    home.write("models.json", "{\"providers\": {\"a\": {}, canary");
    home.write("auth.json", "canary");
    let (catalog, warnings) = home.load();
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("models.json: ignored: line 1, column "), "{texts:?}");
    assert!(texts[1].contains("auth.json is not valid: line 1, column 1 is not JSON"), "{texts:?}");
    assert!(!texts.concat().contains("canary"));
    assert!(catalog.available().is_empty());
    assert_eq!(catalog.select(SelectOptions::default()).unwrap().selection, None);
    assert_eq!(std::fs::read_to_string(home.directory.path().join("auth.json")).unwrap(), "canary");
}

#[test]
fn strongest_thinking_level_comes_from_the_model_definition() {
    use ThinkingLevel::{High, Off, Xhigh};
    let home = TestHome::with_models(json!({"p": custom(json!([
        {"id": "plain", "reasoning": true}, {"id": "fake-opus-4-6", "reasoning": true},
        {"id": "flagged", "reasoning": true, "xhigh": true},
        {"id": "gpt-5.2-tamed", "reasoning": true, "xhigh": false}, {"id": "none", "xhigh": true},
    ]))}));
    let (catalog, _) = home.load();
    let strongest = |id: &str| {
        let model = catalog.get("p", id).unwrap();
        catalog.nearest_level(model, Xhigh)
    };
    assert_eq!(
        ["plain", "fake-opus-4-6", "flagged", "gpt-5.2-tamed", "none"].map(strongest),
        [High, Xhigh, Xhigh, High, Off]
    );
}

#[test]
fn the_model_to_begin_with_is_named_scoped_resumed_preferred_or_the_first() {
    let home = TestHome::with_models(json!({
        "p": custom(json!([{"id": "one"}, {"id": "two"}, {"id": "vendor/three"}])),
        "anthropic": {"apiKey": "k"},
    }));
    let (catalog, _) = home.load();
    let select = |wanted: SelectOptions<'_>| {
        catalog.select(wanted).map(|selected| {
            let chosen = selected.selection.unwrap();
            (format!("{}/{}", chosen.model.provider, chosen.model.id), chosen.thinking, selected.warning)
        })
    };
    let certain = |name: &str, thinking| Ok((name.to_owned(), thinking, None));
    let named = |provider, model| select(SelectOptions { provider, model, ..SelectOptions::default() });
    assert_eq!(named(None, Some("p/two")), certain("p/two", None));
    assert_eq!(named(None, Some("P/TWO:high")), certain("p/two", Some(ThinkingLevel::High)));
    assert_eq!(named(Some("p"), Some("two")), certain("p/two", None));
    assert_eq!(named(Some("p"), Some("p/two")), certain("p/two", None));
    assert_eq!(named(Some("p"), None), certain("p/one", None));
    assert_eq!(named(None, Some("vendor/three")), certain("p/vendor/three", None));
    assert_eq!(named(None, Some("sonnet-4-5")), certain("anthropic/claude-sonnet-4-5", None));
    let warning = "Model \"novel\" not found for provider \"p\". Using custom model id.".to_owned();
    assert_eq!(
        named(Some("p"), Some("novel:low")),
        Ok(("p/novel".to_owned(), Some(ThinkingLevel::Low), Some(warning)))
    );
    assert_eq!(named(None, Some("nosuch/model")), Err(SelectError::UnknownModel("nosuch/model".to_owned())));
    assert_eq!(
        named(None, Some("nosuch/model")).unwrap_err().to_string(),
        "Model \"nosuch/model\" not found. Use --list-models to see available models."
    );
    assert_eq!(named(Some("nosuch"), Some("x")), Err(SelectError::UnknownProvider("nosuch".to_owned())));

    let scope = [ModelSelection {
        model: catalog.get("p", "two").unwrap().clone(),
        thinking: Some(ThinkingLevel::Low),
    }];
    assert_eq!(
        select(SelectOptions { scope: &scope, ..SelectOptions::default() }),
        certain("p/two", Some(ThinkingLevel::Low))
    );
    let resumed = Some(("p", "one"));
    assert_eq!(
        select(SelectOptions { scope: &scope, resumed, ..SelectOptions::default() }),
        certain("p/one", None)
    );
    let default = Some(("p", "two"));
    assert_eq!(
        select(SelectOptions { resumed, default, ..SelectOptions::default() }),
        certain("p/one", None)
    );
    assert_eq!(select(SelectOptions { default, ..SelectOptions::default() }), certain("p/two", None));
    assert_eq!(
        select(SelectOptions::default()),
        certain("anthropic/claude-opus-4-6", None),
        "the preferred one"
    );
    let selection =
        select(SelectOptions { resumed: Some(("openai", "gpt-5.2")), default, ..SelectOptions::default() })
            .unwrap();
    assert_eq!(selection.0, "p/two");
    assert_eq!(selection.2.as_deref(), Some("The session's model openai/gpt-5.2 is not available now."));
}
