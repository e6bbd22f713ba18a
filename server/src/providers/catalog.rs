//! Models by name.

use std::sync::Arc;

use agentese::types::{Model, ThinkingLevel};
use globset::{GlobBuilder, GlobMatcher};
use secrecy::SecretString;

use super::auth_file::AuthError;
use super::device_login::DeviceLogin;
use super::keys::{Keys, NotReady};
use super::levels::{levels, nearest};
use super::provider::Provider;

/// A model, and the level that came with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The model.
    pub model: Model,
    /// The level, as in `NAME:high`.
    pub thinking: Option<ThinkingLevel>,
}

/// Why a key was not stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreKeyError {
    /// There is no place for it.
    #[error("there is no home directory to keep keys in")]
    NoFile,
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] AuthError),
}

/// All models of all providers, in order.
#[derive(Clone, Default)]
pub struct Catalog {
    providers: Vec<Arc<dyn Provider>>,
    keys: Option<Keys>,
    login: Option<DeviceLogin>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.models().map(name)).finish()
    }
}

fn name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

impl Catalog {
    /// The models of those providers.
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self { providers, keys: None, login: None }
    }

    pub(super) fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    pub(super) fn with_login(mut self, login: Option<DeviceLogin>) -> Self {
        self.login = login;
        self
    }

    /// How users log in with a device code, where they can.
    pub fn login(&self) -> Option<&DeviceLogin> {
        self.login.as_ref()
    }

    /// Whether a provider of that name is there.
    pub fn has_provider(&self, name: &str) -> bool {
        self.provider(name).is_some()
    }

    /// Whether there is a key for a provider, stored, in the environment or configured, as far as that is known
    /// without waiting.
    pub fn has_key(&self, provider: &str) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.find(provider, None).is_ok())
    }

    /// Stores a key for a provider in `auth.json`. Blocks. Fails where there is no such file and none can be made.
    pub fn store_key(&self, provider: &str, key: &SecretString) -> Result<(), StoreKeyError> {
        let file = self.keys.as_ref().and_then(Keys::file).ok_or(StoreKeyError::NoFile)?;
        Ok(file.set_key(provider, key)?)
    }

    /// The providers whose keys are in `auth.json`. Blocks; none where it cannot be read.
    pub fn stored_keys(&self) -> Vec<String> {
        let file = self.keys.as_ref().and_then(Keys::file);
        file.and_then(|file| file.with_keys().ok()).unwrap_or_default()
    }

    /// The model of that provider with that id, whether it is listed or not: one that is not is taken to be like the
    /// provider's first model. None where there is no such provider, or where it has no models.
    pub fn model_like(&self, provider: &str, id: &str) -> Option<Model> {
        if let Some(model) = self.get(provider, id) {
            return Some(model.clone());
        }
        let mut model = self.provider(provider)?.models().first()?.clone();
        (model.id, model.name) = (id.to_owned(), id.to_owned());
        Some(model)
    }

    /// Every model, whether it can be asked or not.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.providers.iter().flat_map(|provider| provider.models())
    }

    /// The models that can be asked: those whose provider has a key or needs none. Stored keys are
    /// looked up anew each time.
    pub fn available(&self) -> Vec<&Model> {
        self.providers.iter().flat_map(|provider| provider.available()).collect()
    }

    /// Their names, as `provider/id`, for texts that say what there is.
    pub fn names(&self) -> Vec<String> {
        self.models().map(name).collect()
    }

    /// The model of that provider with that id.
    pub fn get(&self, provider: &str, id: &str) -> Option<&Model> {
        self.models().find(|model| model.provider == provider && model.id == id)
    }

    /// As [`Catalog::get`], of those that can be asked.
    pub fn get_available(&self, provider: &str, id: &str) -> Option<&Model> {
        self.get(provider, id).filter(|model| self.ready(model).is_ok())
    }

    /// Whoever answers for a model.
    pub fn provider_of(&self, model: &Model) -> Option<&Arc<dyn Provider>> {
        self.provider(&model.provider)
    }

    fn provider(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name() == name)
    }

    /// Whether a model can be asked now. Fails for want of a key, with a text for the user; a key that
    /// a command gives is taken to be there.
    pub fn ready(&self, model: &Model) -> Result<(), NotReady> {
        self.provider_of(model).map_or(Ok(()), |provider| provider.ready(model))
    }

    /// The thinking levels that a model has, weakest first, as it is configured.
    pub fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        self.provider_of(model).map_or_else(|| levels(model), |provider| provider.levels(model))
    }

    /// A model with what is known of it besides what every client gets to see.
    pub fn describe(&self, model: Model) -> Model {
        match self.provider_of(&model).cloned() {
            Some(provider) => provider.describe(model),
            None => model,
        }
    }

    /// Of those levels the nearest one: the next stronger, or else the strongest.
    pub fn nearest_level(&self, model: &Model, wanted: ThinkingLevel) -> ThinkingLevel {
        nearest(&self.levels(model), wanted)
    }

    /// Gives a key for a provider, before all others, for the life of this catalogue and its clones. It
    /// is not stored.
    pub fn set_api_key(&self, provider: &str, key: SecretString) {
        if let Some(keys) = &self.keys {
            keys.give(provider, key);
        }
    }

    /// Every key that there is, whether or not a provider is asked with it, so that they can be kept out of what is
    /// written for others; with them the reasons why some are not known. Commands of `models.json` run for it, each
    /// once in the life of the catalogue.
    pub async fn secrets(&self) -> (Vec<SecretString>, Vec<String>) {
        match &self.keys {
            Some(keys) => keys.known().await,
            None => Default::default(),
        }
    }

    /// The provider of that name, whatever its case, as it is written.
    pub(super) fn provider_named(&self, wanted: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name().eq_ignore_ascii_case(wanted))
    }

    /// The model that a pattern means: `provider/id`, an id, or a part of either or of a name, with an
    /// optional `:level`. Whole names win over parts; of several that have the part, one without a date
    /// wins over dated ones, and then the highest id.
    pub fn find(&self, pattern: &str) -> Option<Chosen> {
        find_in(&self.models().collect::<Vec<_>>(), pattern)
    }

    /// The models that a list of patterns means, each once, in the order of the patterns; and the
    /// patterns that mean none. A pattern with `*`, `?` or `[` means all models whose `provider/id` or id
    /// it matches; each takes an optional `:level`.
    pub fn scope<'a>(&self, patterns: impl IntoIterator<Item = &'a str>) -> (Vec<Chosen>, Vec<&'a str>) {
        let mut chosen: Vec<Chosen> = Vec::new();
        let mut unknown = Vec::new();
        for pattern in patterns {
            let found = if pattern.contains(['*', '?', '[']) {
                self.matching(pattern)
            } else {
                self.find(pattern).into_iter().collect()
            };
            if found.is_empty() {
                unknown.push(pattern);
            }
            for found in found {
                if !chosen.iter().any(|known| known.model == found.model) {
                    chosen.push(found);
                }
            }
        }
        (chosen, unknown)
    }

    fn matching(&self, pattern: &str) -> Vec<Chosen> {
        let (glob, thinking) = match pattern.rsplit_once(':').map(|(glob, level)| (glob, level.parse())) {
            Some((glob, Ok(level))) => (glob, Some(level)),
            _ => (pattern, None),
        };
        let Some(glob) = matcher(glob) else { return Vec::new() };
        let matches = |model: &&Model| glob.is_match(name(model)) || glob.is_match(&model.id);
        let chosen = |model: &Model| Chosen { model: model.clone(), thinking };
        self.models().filter(matches).map(chosen).collect()
    }
}

fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// As [`Catalog::find`], among some models.
pub(super) fn find_in(models: &[&Model], pattern: &str) -> Option<Chosen> {
    let chosen = |pattern: &str, thinking| {
        let pattern = pattern.to_lowercase();
        let whole =
            |model: &Model| name(model).to_lowercase() == pattern || model.id.to_lowercase() == pattern;
        let part = |model: &Model| {
            let has = |text: &str| text.to_lowercase().contains(&pattern);
            !pattern.is_empty() && (has(&name(model)) || has(&model.name))
        };
        let best = || {
            let parts = models.iter().copied().filter(|model| part(model));
            // Of equals the first one stays first.
            parts.reduce(|best, model| if rank(model) > rank(best) { model } else { best })
        };
        let model = models.iter().copied().find(|model| whole(model)).or_else(best)?;
        Some(Chosen { model: model.clone(), thinking })
    };
    // An id may have a colon of its own.
    chosen(pattern, None).or_else(|| {
        let (pattern, level) = pattern.rsplit_once(':')?;
        chosen(pattern, Some(level.parse().ok()?))
    })
}

fn rank(model: &Model) -> (bool, &str) {
    (!is_dated(&model.id), &model.id)
}

/// Whether an id names a version by its day, as in `-20250929` or `-2025-04-14`.
fn is_dated(id: &str) -> bool {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = id.rsplit('-');
    let (last, month, year) = (parts.next(), parts.next(), parts.next());
    last.is_some_and(|last| digits(last, 8))
        || last.is_some_and(|day| digits(day, 2))
            && month.is_some_and(|month| digits(month, 2))
            && year.is_some_and(|year| digits(year, 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::scripted::Scripted;
    use crate::providers::{LevelCustoms, Sources, load};

    fn built_in() -> Catalog {
        load(Sources::new(None, Arc::new(|_: &str| None))).0
    }

    #[test]
    fn a_model_is_found_by_whole_name_part_and_level() {
        let catalog = Catalog::new(vec![Arc::new(Scripted::built_in())]);
        let level = |pattern: &str| catalog.find(pattern).map(|chosen| chosen.thinking);
        assert_eq!(level("scripted/scripted"), Some(None));
        assert_eq!(level("Scripted"), Some(None));
        assert_eq!(level("script"), Some(None));
        assert_eq!(level("scripted:low"), Some(Some(ThinkingLevel::Low)));
        assert_eq!(level("scripted:loud"), None);
        assert_eq!(level("nosuch/model"), None);
        assert_eq!(level(""), None);
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
        assert!(is_dated("gpt-4.1-2025-04-14") && is_dated("a-20250929"));
        assert!(!is_dated("claude-opus-4-6") && !is_dated("gpt-5.2"));
    }

    #[test]
    fn what_is_known_of_models_besides_is_merged_member_by_member() {
        let home = tempfile::tempdir().unwrap();
        let opus = json!({"promptCache": {"long": 7200}, "inputLimits": {"images": {"maxPerMessage": 5}}});
        let models = json!([{"id": "plain"}, {"id": "known", "promptCache": {"short": 60}, "compat": {"supportsStore": false}}]);
        let file = json!({"providers": {
            "anthropic": {"modelOverrides": {"claude-opus-4-6": opus}},
            "mine": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "k", "models": models},
        }});
        std::fs::write(home.path().join("models.json"), file.to_string()).unwrap();
        let (catalog, complaints) =
            load(Sources::new(Some(home.path().to_owned()), Arc::new(|_: &str| None)));
        assert_eq!(complaints, []);
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
    fn levels_are_those_that_the_file_names_and_ids_tell_where_they_may() {
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
        let of = |levels: LevelCustoms| {
            let sources = Sources::new(Some(home.path().to_owned()), Arc::new(|_: &str| None));
            let (catalog, complaints) = load(Sources { levels, ..sources });
            assert_eq!(complaints, []);
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
            of(LevelCustoms::PI),
            [more.clone(), vec![Low, Medium, High, Xhigh], more.clone(), built_in.clone()]
        );
        let said = LevelCustoms { ids_tell: false, strongest: Max };
        assert_eq!(of(said), [usual, vec![Low, Medium, High, Max], more, built_in]);
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
}
