//! Assembly of the catalogue from the built-in table, the user's `models.json` and the keys.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apis;
use super::auth_file::AuthFile;
use super::config_value::ConfigValue;
use super::copilot::Copilot;
use super::definitions::{self, ModelDefinition, ModelDetails, ProviderDefinition};
use super::device_login::DeviceLogin;
use super::http::{Client, Sender};
use super::keys::Keys;
use super::remote_provider::RemoteProvider;
use super::settings::{CacheRetention, Settings};
use super::{Catalog, ConfigWarning, Provider, ThinkingLevelRules};
use crate::config::yaml::{from_yaml, is_yaml};
use crate::config::{AgentPaths, Environment, Login, read_regular};
use crate::runtime::{Clock, SystemClock};
use agentese::types::ModelKind;
use agentese_server_base::processes::{LocalSpawner, Spawner};

#[cfg(test)]
mod tests;

/// Models that are known without any file. The date in the file is that of its facts.
const BUILT_IN: &str = include_str!("catalog.json");

/// The sources of a catalogue.
#[derive(Clone)]
pub struct Sources {
    /// The directory with `models.json` and `auth.json`; `None` if neither is read.
    pub agent_dir: Option<PathBuf>,
    /// Name of the file with the user's models in that directory; YAML if the name ends in `.yml`.
    pub models: &'static str,
    /// Source of environment variables for keys and proxies.
    pub environment: Arc<dyn Environment + Send + Sync>,
    /// Settings of requests.
    pub settings: Settings,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Starter of the commands that return values; without a guard by default.
    pub spawner: Arc<dyn Spawner>,
    /// Providers in front of all others, such as the scripted model.
    pub others: Vec<Arc<dyn Provider>>,
    /// Login with a device code; `None` if the agent does not have it. The provider of the login precedes the
    /// built-in providers.
    pub login: Option<Login>,
    /// Rules for thinking levels.
    pub levels: ThinkingLevelRules,
}

impl Sources {
    /// Creates sources from an agent directory and an environment, with defaults for all else.
    pub fn new(agent_dir: Option<PathBuf>, environment: Arc<dyn Environment + Send + Sync>) -> Self {
        Self {
            agent_dir,
            models: AgentPaths::PI.models,
            environment,
            settings: Settings::default(),
            clock: Arc::new(SystemClock),
            spawner: Arc::new(LocalSpawner::new(None)),
            others: Vec::new(),
            login: None,
            levels: ThinkingLevelRules::PI,
        }
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sources")
            .field("agent_dir", &self.agent_dir)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Loads the catalogue and returns it with warnings. A file that is not valid is left out as a whole. Nothing is
/// written, and no command runs.
pub fn load(sources: Sources) -> (Catalog, Vec<ConfigWarning>) {
    let mut warnings = Vec::new();
    let environment = &*sources.environment;
    let no_variables = |_: &str| None;
    let mut providers = match definitions::read(BUILT_IN, &no_variables, false) {
        Ok(definitions) => definitions.into_iter().map(ProviderEntry::built_in).collect(),
        Err(error) => {
            tracing::error!(%error, "the built-in models are not valid");
            Vec::new()
        }
    };
    if let Some(path) = sources.agent_dir.as_ref().map(|directory| directory.join(sources.models)) {
        let mut warn = |reason: String| warnings.push(ConfigWarning { path: path.clone(), reason });
        match read_regular(&path) {
            Ok(text) => match json(&path, text).and_then(|text| read(&text, environment)) {
                Ok(definitions) => {
                    for mut definition in definitions {
                        if !sources.levels.ids_imply_xhigh {
                            definition.require_declared_xhigh();
                        }
                        merge(&mut providers, definition, &mut warn);
                    }
                }
                Err(error) => warn(format!("ignored: {error}")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => warn(format!("ignored: {error}")),
        }
    }
    for entry in providers.iter_mut().flat_map(|provider| &mut provider.models) {
        let efforts = std::mem::take(&mut entry.details.efforts);
        entry.details.efforts = efforts.up_to(sources.levels.strongest);
    }
    let file = sources.agent_dir.as_ref().map(|directory| AuthFile::in_dir(directory));
    if let Some(error) = file.as_ref().and_then(|file| file.check().err()) {
        let path = sources.agent_dir.clone().unwrap_or_default().join("auth.json");
        warnings.push(ConfigWarning { path, reason: error.to_string() });
    }
    let mut settings = sources.settings;
    if let Some(retention) = environment.get("PI_CACHE_RETENTION").and_then(|value| value.into_string().ok())
    {
        settings.cache = CacheRetention::named(&retention);
    }
    let sender = Sender {
        client: Arc::new(Client::new(&settings, environment)),
        settings: Arc::new(settings),
        clock: sources.clock.clone(),
        fallbacks: Arc::default(),
    };
    let keys = Keys::new(file, sources.environment.clone(), sources.clock.clone(), sources.spawner)
        .with_configured(configured(&providers));
    let remote = providers.into_iter().map(|provider| -> Arc<dyn Provider> {
        Arc::new(RemoteProvider::new(
            provider.name,
            provider.models,
            provider.key,
            keys.clone(),
            sender.clone(),
        ))
    });
    let login = sources.login.map(|login| {
        let (file, client) = (keys.file().cloned(), sender.client.clone());
        DeviceLogin::new(login, environment, file, client, sources.clock.clone())
    });
    let behind_login = login
        .clone()
        .map(|login| -> Arc<dyn Provider> { Arc::new(Copilot::new(login, keys.clone(), sender.clone())) });
    let all = sources.others.into_iter().chain(behind_login).chain(remote).collect();
    (Catalog::new(all).with_keys(keys.clone()).with_login(login), warnings)
}

fn read(text: &str, environment: &dyn Environment) -> Result<Vec<ProviderDefinition>, String> {
    definitions::read(text, environment, true).map_err(|error| error.to_string())
}

/// Converts the text of a file to JSON.
fn json(path: &Path, text: String) -> Result<String, String> {
    if is_yaml(path) { from_yaml(&text).map(|value| value.to_string()) } else { Ok(text) }
}

/// Headers with values that are ordinary words and no secrets.
const PUBLIC_HEADERS: &[&str] = &["accept", "content-type", "user-agent"];

/// Returns the keys and headers in the files with their descriptions, each value once.
fn configured(providers: &[ProviderEntry]) -> Vec<(String, ConfigValue)> {
    let mut all: Vec<(String, ConfigValue)> = Vec::new();
    let mut add = |what: String, value: &ConfigValue| {
        if !all.iter().any(|(_, known)| known.is_same(value)) {
            all.push((what, value.clone()));
        }
    };
    for ProviderEntry { name, models, key } in providers {
        if let Some(key) = key {
            add(format!("the key of {name}"), key);
        }
        let headers = models.iter().flat_map(|entry| &entry.details.headers);
        for (header, value) in headers.filter(|(header, _)| !PUBLIC_HEADERS.contains(&header.as_str())) {
            add(format!("the header {header} of {name}"), value);
        }
    }
    all
}

/// A provider during the merge of the files.
struct ProviderEntry {
    name: String,
    models: Vec<ModelDefinition>,
    key: Option<ConfigValue>,
}

impl ProviderEntry {
    fn built_in(definition: ProviderDefinition) -> Self {
        let shared = ModelDetails { kind: Some(ModelKind::Chat), ..definition.details };
        let model = |entry: ModelDefinition| ModelDefinition {
            details: shared.with(&entry.details),
            model: entry.model,
        };
        Self {
            name: definition.name,
            models: definition.models.into_iter().map(model).collect(),
            key: definition.key,
        }
    }
}

fn merge(providers: &mut Vec<ProviderEntry>, definition: ProviderDefinition, warn: &mut impl FnMut(String)) {
    let ProviderDefinition { name, base_url, key, details, models, overrides } = definition;
    for entry in models.iter().filter(|entry| apis::named(&entry.model.api).is_none()) {
        let (id, api) = (&entry.model.id, &entry.model.api);
        warn(format!("{name}/{id} cannot be used: the API \"{api}\" is not available in this version"));
    }
    let known = providers.iter().position(|provider| provider.name == name);
    if known.is_none() && models.is_empty() {
        warn(format!("providers.{name}: has no models, and no other provider has that name"));
        return;
    }
    let provider = match known {
        Some(at) => &mut providers[at],
        None => {
            providers.push(ProviderEntry { name: name.clone(), models: Vec::new(), key: None });
            let last = providers.len() - 1;
            &mut providers[last]
        }
    };
    for entry in &mut provider.models {
        if let Some(url) = &base_url {
            entry.model.base_url.clone_from(url);
        }
        entry.details = entry.details.with(&details);
    }
    for (id, changes) in &overrides {
        match provider.models.iter_mut().find(|entry| entry.model.id == *id) {
            Some(entry) => {
                changes.apply(&mut entry.model);
                entry.details = entry.details.with(&changes.details);
            }
            None => warn(format!("providers.{name}.modelOverrides.{id}: unknown model")),
        }
    }
    for entry in models {
        let entry =
            ModelDefinition { details: ModelDetails::with(&details, &entry.details), model: entry.model };
        match provider.models.iter_mut().find(|known| known.model.id == entry.model.id) {
            Some(known) => *known = entry,
            None => provider.models.push(entry),
        }
    }
    provider.key = key.or(provider.key.take());
}
