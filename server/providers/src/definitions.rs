//! Definitions of providers and models, in the format of `models.json` and of the built-in table.

use agentese::types::{
    InputKind, InputLimits, Model, ModelBuilder, ModelCostBuilder, ModelKind, PromptCacheTimes,
};
use reqwest::header::HeaderName;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::config_value::ConfigValue;
use super::levels::Efforts;
use super::number;
use crate::config::{Environment, from_jsonc};

/// An error with its location, as in `providers.x.models[0].id: is missing`. The message contains no values from the
/// file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub(super) struct DefinitionError {
    pub place: String,
    pub reason: String,
}

/// Definition of a provider.
#[derive(Debug, Default)]
pub(super) struct ProviderDefinition {
    pub name: String,
    pub base_url: Option<String>,
    pub key: Option<ConfigValue>,
    pub details: ModelDetails,
    pub models: Vec<ModelDefinition>,
    /// Changes to models of the built-in table, each with the id of the model.
    pub overrides: Vec<(String, ModelOverrides)>,
}

impl ProviderDefinition {
    /// Removes the level `xhigh` from models unless the file declares it for the model or its provider. Ids of models
    /// do not show if they have it.
    pub fn require_declared_xhigh(&mut self) {
        for entry in &mut self.models {
            entry.details.xhigh = entry.details.xhigh.or(self.details.xhigh).or(Some(false));
        }
    }
}

/// Definition of a model.
#[derive(Debug, Clone)]
pub(super) struct ModelDefinition {
    pub model: Model,
    pub details: ModelDetails,
}

/// Further data about a model. Some of it is sent to clients of a few revisions only.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelDetails {
    pub headers: Vec<(HeaderName, ConfigValue)>,
    /// `true` if the key is sent in the header `Authorization` in addition to the header that the API requires.
    pub auth_header: bool,
    pub compat: Map<String, Value>,
    /// `true` if the model has the thinking level `xhigh`. `None` if its id decides that.
    pub xhigh: Option<bool>,
    /// The provider's names for thinking levels, and the levels that the model lacks.
    pub efforts: Efforts,
    /// Data about the provider's cache of prompts, such as its retention, in the declared format.
    pub prompt_cache: Map<String, Value>,
    /// Limits of the provider for one request, in the declared format.
    pub input_limits: Map<String, Value>,
    /// Purpose of the model, if the built-in table states it.
    pub kind: Option<ModelKind>,
}

impl ModelDetails {
    /// Returns these details. Each detail that `over` has replaces the one here.
    pub fn with(&self, over: &ModelDetails) -> Self {
        let mut merged = self.clone();
        merged.headers.extend(over.headers.iter().cloned());
        merged.auth_header |= over.auth_header;
        merged.compat.extend(over.compat.clone());
        merged.xhigh = over.xhigh.or(self.xhigh);
        merged.efforts = self.efforts.with(&over.efforts);
        merge(&mut merged.prompt_cache, &over.prompt_cache);
        merge(&mut merged.input_limits, &over.input_limits);
        merged.kind = over.kind.clone().or(merged.kind);
        merged
    }

    /// Adds the details to a model.
    pub fn describe(&self, mut model: Model) -> Model {
        model.compat = (!self.compat.is_empty()).then(|| self.compat.clone());
        if let Some(efforts) = self.efforts.members() {
            model.extra.insert(EFFORTS, efforts);
        }
        model.prompt_cache = decode_members(&self.prompt_cache);
        model.input_limits = decode_members(&self.input_limits);
        model.r#type = self.kind.clone();
        model
    }
}

/// Name of the member with the provider's names for thinking levels.
const EFFORTS: &str = "thinkingLevelMap";

/// Merges the members of `over` into `base`. Objects within them are merged member by member.
fn merge(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (name, value) in over {
        match (base.get_mut(name), value) {
            (Some(Value::Object(base)), Value::Object(over)) => merge(base, over),
            _ => drop(base.insert(name.clone(), value.clone())),
        }
    }
}

/// Converts members that were validated when they were read. Returns `None` if there are no members.
fn decode_members<T: DeserializeOwned>(members: &Map<String, Value>) -> Option<T> {
    if members.is_empty() { None } else { serde_json::from_value(members.clone().into()).ok() }
}

/// Changes to some members of a model.
#[derive(Debug, Default)]
pub(super) struct ModelOverrides {
    name: Option<String>,
    reasoning: Option<bool>,
    input: Option<Vec<InputKind>>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    cost: Option<Vec<(&'static str, serde_json::Number)>>,
    pub details: ModelDetails,
}

impl ModelOverrides {
    /// Applies the changes to a model.
    pub fn apply(&self, model: &mut Model) {
        if let Some(name) = &self.name {
            model.name.clone_from(name);
        }
        if let Some(reasoning) = self.reasoning {
            model.reasoning = reasoning;
        }
        if let Some(input) = &self.input {
            model.input.clone_from(input);
        }
        if let Some(tokens) = self.context_window {
            model.context_window = tokens;
        }
        if let Some(tokens) = self.max_tokens {
            model.max_tokens = tokens;
        }
        for (name, price) in self.cost.iter().flatten() {
            let place = match *name {
                "input" => &mut model.cost.input,
                "output" => &mut model.cost.output,
                "cacheRead" => &mut model.cost.cache_read,
                _ => &mut model.cost.cache_write,
            };
            place.clone_from(price);
        }
    }
}

const CONTEXT_WINDOW: u64 = 128_000;
const MAX_TOKENS: u64 = 16_384;

/// Reads `{"providers": {…}}`. Comments and trailing commas are allowed, and a byte order mark is ignored. If
/// `complete` is true, each provider with models must have an address and a key. A single error makes the whole text
/// fail.
pub(super) fn read(
    text: &str,
    environment: &dyn Environment,
    complete: bool,
) -> Result<Vec<ProviderDefinition>, DefinitionError> {
    let root = Node { place: String::new(), value: &json(text)? };
    let providers = root.required("providers")?;
    let members = providers.object()?;
    let read = |(name, value): (&String, &Value)| {
        provider(name, &Node { place: providers.below(name), value }, environment, complete)
    };
    members.iter().map(read).collect()
}

fn json(text: &str) -> Result<Value, DefinitionError> {
    from_jsonc(text).map_err(|error| DefinitionError {
        place: format!("line {}, column {}", error.line, error.column),
        reason: "is not JSON".to_owned(),
    })
}

fn provider(
    name: &str,
    node: &Node<'_>,
    environment: &dyn Environment,
    complete: bool,
) -> Result<ProviderDefinition, DefinitionError> {
    let base_url = node.text("baseUrl")?;
    let api = node.text("api")?;
    // In omp's files this marks a server that requires no key; APIs receive the text itself as the key.
    let keyless = node.text("auth")?.is_some_and(|auth| auth == "none").then(|| "none".to_owned());
    let key = node.text("apiKey")?.or(keyless).map(|text| ConfigValue::new(&text, environment));
    let details = details(node, environment)?;
    let mut models = Vec::new();
    for node in node.list("models")? {
        let id = node.text("id")?.ok_or_else(|| node.missing("id"))?;
        let api = node.text("api")?.or_else(|| api.clone()).ok_or_else(|| node.missing("api"))?;
        let url = node.text("baseUrl")?.or_else(|| base_url.clone());
        let changes = changes(&node, environment)?;
        let free = || number(0.0);
        let cost =
            ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() }
                .build();
        let url = url.ok_or_else(|| node.missing("baseUrl"))?;
        let input = vec![InputKind::Text];
        let mut model = ModelBuilder {
            id: id.clone(),
            name: id,
            api,
            provider: name.into(),
            base_url: url,
            reasoning: false,
            input,
            context_window: CONTEXT_WINDOW,
            max_tokens: MAX_TOKENS,
            cost,
        }
        .build();
        changes.apply(&mut model);
        models.push(ModelDefinition { model, details: changes.details });
    }
    if complete && !models.is_empty() && key.is_none() {
        return Err(node.missing("apiKey"));
    }
    let mut overrides = Vec::new();
    if let Some(node) = node.member("modelOverrides") {
        for (id, value) in node.object()? {
            overrides.push((id.clone(), changes(&Node { place: node.below(id), value }, environment)?));
        }
    }
    Ok(ProviderDefinition { name: name.to_owned(), base_url, key, details, models, overrides })
}

fn details(node: &Node<'_>, environment: &dyn Environment) -> Result<ModelDetails, DefinitionError> {
    let mut headers = Vec::new();
    if let Some(node) = node.member("headers") {
        for (name, value) in node.object()? {
            let node = Node { place: node.below(name), value };
            let header = name.parse::<HeaderName>().map_err(|_| node.invalid("is not a header name"))?;
            let value = value.as_str().ok_or_else(|| node.invalid("is not a string"))?;
            headers.push((header, ConfigValue::new(value, environment)));
        }
    }
    let compat = node.member("compat").map(|node| node.object().cloned()).transpose()?;
    Ok(ModelDetails {
        headers,
        auth_header: node.flag("authHeader")?.unwrap_or(false),
        compat: compat.unwrap_or_default(),
        xhigh: node.flag("xhigh")?,
        efforts: node.efforts()?,
        prompt_cache: node.shaped::<PromptCacheTimes>("promptCache")?,
        input_limits: node.shaped::<InputLimits>("inputLimits")?,
        kind: None,
    })
}

fn changes(node: &Node<'_>, environment: &dyn Environment) -> Result<ModelOverrides, DefinitionError> {
    let input = match node.member("input") {
        None => None,
        Some(_) => {
            let kinds = node.list("input")?;
            let kind = |node: Node<'_>| match node.value.as_str() {
                Some("text") => Ok(InputKind::Text),
                Some("image") => Ok(InputKind::Image),
                _ => Err(node.invalid("is neither \"text\" nor \"image\"")),
            };
            Some(kinds.into_iter().map(kind).collect::<Result<_, _>>()?)
        }
    };
    let cost = match node.member("cost") {
        None => None,
        Some(node) => {
            node.object()?;
            let mut prices = Vec::new();
            for name in ["input", "output", "cacheRead", "cacheWrite"] {
                if let Some(node) = node.member(name) {
                    let price = node.value.as_f64().filter(|price| *price >= 0.0);
                    prices.push((name, number(price.ok_or_else(|| node.invalid("is not a price"))?)));
                }
            }
            Some(prices)
        }
    };
    Ok(ModelOverrides {
        name: node.text("name")?,
        reasoning: node.flag("reasoning")?,
        input,
        context_window: node.tokens("contextWindow")?,
        max_tokens: node.tokens("maxTokens")?,
        cost,
        details: details(node, environment)?,
    })
}

/// A value in the file, with its location.
struct Node<'a> {
    place: String,
    value: &'a Value,
}

impl<'a> Node<'a> {
    fn below(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn member(&self, name: &str) -> Option<Node<'a>> {
        let value = self.value.get(name)?;
        Some(Node { place: self.below(name), value })
    }

    fn required(&self, name: &str) -> Result<Node<'a>, DefinitionError> {
        self.member(name).ok_or_else(|| self.missing(name))
    }

    fn object(&self) -> Result<&'a Map<String, Value>, DefinitionError> {
        self.value.as_object().ok_or_else(|| self.invalid("is not an object"))
    }

    fn list(&self, name: &str) -> Result<Vec<Node<'a>>, DefinitionError> {
        let Some(node) = self.member(name) else { return Ok(Vec::new()) };
        let items = node.value.as_array().ok_or_else(|| node.invalid("is not a list"))?;
        let item = |(at, value)| Node { place: format!("{}[{at}]", node.place), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn text(&self, name: &str) -> Result<Option<String>, DefinitionError> {
        let Some(node) = self.member(name) else {
            self.object()?;
            return Ok(None);
        };
        let text = node.value.as_str().filter(|text| !text.is_empty());
        text.map(|text| Some(text.to_owned())).ok_or_else(|| node.invalid("is not a string, or empty"))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, DefinitionError> {
        let Some(node) = self.member(name) else { return Ok(None) };
        node.value.as_bool().map(Some).ok_or_else(|| node.invalid("is neither true nor false"))
    }

    fn tokens(&self, name: &str) -> Result<Option<u64>, DefinitionError> {
        let Some(node) = self.member(name) else { return Ok(None) };
        let count = node.value.as_f64().filter(|count| *count >= 1.0);
        count.map(|count| Some(count as u64)).ok_or_else(|| node.invalid("is not a number of tokens"))
    }

    fn efforts(&self) -> Result<Efforts, DefinitionError> {
        let Some(node) = self.member(EFFORTS) else { return Ok(Efforts::default()) };
        Efforts::read(node.object()?)
            .map_err(|(name, reason)| DefinitionError { place: node.below(&name), reason: reason.to_owned() })
    }

    /// Returns the members of an object. Fails if they do not fit the type `T`.
    fn shaped<T: DeserializeOwned>(&self, name: &str) -> Result<Map<String, Value>, DefinitionError> {
        let Some(node) = self.member(name) else { return Ok(Map::new()) };
        let members = node.object()?.clone();
        let read = serde_json::from_value::<T>(node.value.clone());
        read.map_err(|_| node.invalid("has a member of the wrong type"))?;
        Ok(members)
    }

    fn invalid(&self, reason: &str) -> DefinitionError {
        DefinitionError { place: self.place.clone(), reason: reason.to_owned() }
    }

    fn missing(&self, name: &str) -> DefinitionError {
        DefinitionError { place: self.below(name), reason: "is missing".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::ThinkingLevel;
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Vec<ProviderDefinition>, DefinitionError> {
        read(text, &|_: &str| None, true)
    }

    #[test]
    fn a_file_with_comments_and_defaults_is_read() {
        let providers = parse(
            "\u{feff}{ // mine\n \"providers\": {\"p\": {\"baseUrl\": \"http://h/v1\", \"apiKey\": \"k\", /* x */
             \"api\": \"openai-completions\", \"headers\": {\"X-A\": \"b\"}, \"models\": [{\"id\": \"m\"}, {\"id\": \"n\",
             \"name\": \"N\", \"api\": \"anthropic-messages\", \"baseUrl\": \"http://other\", \"reasoning\": true,
             \"input\": [\"text\", \"image\"], \"cost\": {\"input\": 3, \"cacheRead\": 0.3}, \"contextWindow\": 9,
             \"maxTokens\": 8, \"xhigh\": true, \"thinkingLevelMap\": {\"low\": \"l\", \"off\": null}},], } }, }",
        )
        .unwrap();
        let models: Vec<Value> =
            providers[0].models.iter().map(|model| serde_json::to_value(&model.model).unwrap()).collect();
        assert_eq!(
            json!(models),
            json!([
                {"id": "m", "name": "m", "api": "openai-completions", "provider": "p", "baseUrl": "http://h/v1",
                 "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 16384,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}},
                {"id": "n", "name": "N", "api": "anthropic-messages", "provider": "p", "baseUrl": "http://other",
                 "reasoning": true, "input": ["text", "image"], "contextWindow": 9, "maxTokens": 8,
                 "cost": {"input": 3, "output": 0, "cacheRead": 0.3, "cacheWrite": 0}},
            ])
        );
        assert_eq!(providers[0].details.headers[0].0, "x-a");
        let details = &providers[0].models[1].details;
        assert_eq!((details.xhigh, details.efforts.of(ThinkingLevel::Low)), (Some(true), Some("l")));
    }

    #[test]
    fn fm_f121_a_file_that_is_not_valid_is_refused_with_the_place_and_without_its_values() {
        let with = |member: &str| {
            format!(
                r#"{{"providers": {{"p": {{"baseUrl": "u", "apiKey": "canary", "api": "a", {member}}}}}}}"#
            )
        };
        for (text, error) in [
            ("not json canary".to_owned(), "line 1, column 1: is not JSON"),
            ("{\"providers\": {\n \"p\": canary}}".to_owned(), "line 2, column 7: is not JSON"),
            ("{".to_owned(), "line 1, column 2: is not JSON"),
            (String::new(), "providers: is missing"),
            ("[]".to_owned(), "providers: is missing"),
            ("{\"providers\": 7}".to_owned(), "providers: is not an object"),
            ("{\"providers\": {\"p\": \"canary\"}}".to_owned(), "providers.p: is not an object"),
            (with(r#""models": {"canary": 1}"#), "providers.p.models: is not a list"),
            (with(r#""models": [{"name": "canary"}]"#), "providers.p.models[0].id: is missing"),
            (with(r#""models": [{"id": 7}]"#), "providers.p.models[0].id: is not a string, or empty"),
            (
                with(r#""models": [{"id": "m", "input": ["canary"]}]"#),
                "providers.p.models[0].input[0]: is neither \"text\" nor \"image\"",
            ),
            (
                with(r#""models": [{"id": "m", "cost": {"input": -1}}]"#),
                "providers.p.models[0].cost.input: is not a price",
            ),
            (
                with(r#""models": [{"id": "m", "maxTokens": "canary"}]"#),
                "providers.p.models[0].maxTokens: is not a number of tokens",
            ),
            (
                with(r#""models": [{"id": "m", "promptCache": {"short": "canary"}}]"#),
                "providers.p.models[0].promptCache: has a member of the wrong type",
            ),
            (
                with(r#""models": [{"id": "m", "thinkingLevelMap": {"canary": null}}]"#),
                "providers.p.models[0].thinkingLevelMap.canary: is not a thinking level",
            ),
            (
                with(r#""models": [{"id": "m", "thinkingLevelMap": {"low": 7}}]"#),
                "providers.p.models[0].thinkingLevelMap.low: is neither a string nor null",
            ),
            (
                with(r#""headers": {"no name": "canary"}"#),
                "providers.p.headers.no name: is not a header name",
            ),
            (with(r#""headers": {"x": 7}"#), "providers.p.headers.x: is not a string"),
            (with(r#""authHeader": "canary""#), "providers.p.authHeader: is neither true nor false"),
            (
                r#"{"providers": {"p": {"baseUrl": "u", "models": [{"id": "m"}]}}}"#.to_owned(),
                "providers.p.models[0].api: is missing",
            ),
            (
                r#"{"providers": {"p": {"baseUrl": "u", "api": "a", "models": [{"id": "m"}]}}}"#.to_owned(),
                "providers.p.apiKey: is missing",
            ),
            (
                r#"{"providers": {"p": {"api": "a", "apiKey": "k", "models": [{"id": "m"}]}}}"#.to_owned(),
                "providers.p.models[0].baseUrl: is missing",
            ),
        ] {
            assert_eq!(parse(&text).unwrap_err().to_string(), error, "{text}");
        }
    }
}
