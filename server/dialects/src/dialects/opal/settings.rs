//! The user's settings. A client never sees a key: it sees a mask, and a key from a client goes to the key store.
//! URLs with a user or a password, such as proxy URLs, are masked too.

use agentese::opal::Failure;
use agentese::redact::holds_key;
use agentese::serve::CommandError;
use serde_json::{Map, Value};

use super::OpalServer;
use crate::config::UserFile;
use crate::dialects::blocking::blocking;
use crate::providers::{Catalog, SecretString};

/// The placeholder for a key.
const MASK: &str = "********";

/// The suffix of the settings that hold API keys, as in `PROVIDER_api_key`.
const KEY_SUFFIX: &str = "_api_key";

impl OpalServer {
    /// Reads all settings of the file.
    pub(super) async fn read_settings(&self) -> Result<Map<String, Value>, CommandError> {
        let Some(file) = self.settings.clone() else { return Ok(Map::new()) };
        blocking(move || file.read()).await.map_err(internal_error)
    }

    /// Returns all settings with masked keys.
    pub(super) async fn settings(&self) -> Result<Map<String, Value>, CommandError> {
        let settings = self.read_settings().await?;
        let catalog = self.catalog.clone();
        Ok(blocking(move || client_settings(settings, &catalog)).await)
    }

    /// Merges settings from a client into the user's settings. Returns all settings, with masked keys.
    pub(super) async fn save_settings(
        &self,
        given: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandError> {
        let Some(file) = self.settings.clone() else {
            return Err(internal_error("the settings cannot be saved: there is no home directory"));
        };
        let catalog = self.catalog.clone();
        blocking(move || save(&file, &catalog, given)).await.map_err(internal_error)
    }
}

fn internal_error(reason: impl ToString) -> CommandError {
    Failure::InternalError.command_error(&[]).with_data(reason.to_string())
}

fn save(file: &UserFile, catalog: &Catalog, given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let before = file.read().map_err(|error| error.to_string())?;
    let mut members = Map::new();
    for (name, value) in given {
        match (name.strip_suffix(KEY_SUFFIX), value.as_str()) {
            (Some(_), Some(MASK)) => {}
            (Some(provider), Some(key)) if !provider.is_empty() && !key.trim().is_empty() => {
                catalog.store_key(provider, &SecretString::from(key)).map_err(|error| error.to_string())?;
            }
            _ => {
                let value = unmasked(&name, value, before.get(&name));
                members.insert(name, value);
            }
        }
    }
    let all = file.merge(members).map_err(|error| error.to_string())?;
    Ok(client_settings(all, catalog))
}

/// Replaces each mask in a value from a client with the stored value.
fn unmasked(name: &str, value: Value, before: Option<&Value>) -> Value {
    match value {
        Value::String(text) if text == MASK && (holds_key(name) || before.is_some_and(has_credentials)) => {
            before.cloned().unwrap_or_default()
        }
        Value::Object(members) => {
            let inside = |name: &str| before.and_then(|before| before.get(name));
            let each = |(name, value): (String, Value)| {
                let value = unmasked(&name, value, inside(&name));
                (name, value)
            };
            members.into_iter().map(each).collect::<Map<_, _>>().into()
        }
        Value::Array(entries) => {
            let before = before.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let same = counterparts(name, &entries, before);
            let pairs = entries.into_iter().zip(same);
            pairs.map(|(entry, before)| unmasked(name, entry, before)).collect()
        }
        other => other,
    }
}

/// Finds the stored entry for each entry of a client's list. First choice: the entry at the same index, if it looks
/// the same when masked. Second choice: another entry that looks the same. If the list has kept its length, the
/// last choice is the entry at the same index.
fn counterparts<'a>(name: &str, entries: &[Value], before: &'a [Value]) -> Vec<Option<&'a Value>> {
    let masked: Vec<Value> = before.iter().map(|entry| mask_value(name, entry.clone())).collect();
    let of_entry = |(index, entry): (usize, &Value)| {
        let same_index = (masked.get(index) == Some(entry)).then_some(index);
        let other_index = || masked.iter().position(|other| other == entry);
        let edited = || (entries.len() == before.len()).then_some(index);
        before.get(same_index.or_else(other_index).or_else(edited)?)
    };
    entries.iter().enumerate().map(of_entry).collect()
}

/// Returns the settings with masked keys. Adds a masked member for each key in the key store.
fn client_settings(settings: Map<String, Value>, catalog: &Catalog) -> Map<String, Value> {
    let mut shown = masked(settings);
    for provider in catalog.stored_keys() {
        shown.insert(format!("{provider}{KEY_SUFFIX}"), MASK.into());
    }
    shown
}

fn masked(members: Map<String, Value>) -> Map<String, Value> {
    let each = |(name, value): (String, Value)| {
        let value = mask_value(&name, value);
        (name, value)
    };
    members.into_iter().map(each).collect()
}

/// Masks the keys in the value of the member `name`.
fn mask_value(name: &str, value: Value) -> Value {
    match value {
        Value::Object(members) => masked(members).into(),
        Value::Array(entries) => entries.into_iter().map(|entry| mask_value(name, entry)).collect(),
        Value::String(text) if !text.is_empty() && holds_key(name) => MASK.into(),
        value if has_credentials(&value) => MASK.into(),
        other => other,
    }
}

/// Returns true if a value is a URL with a user or a password before its host.
fn has_credentials(value: &Value) -> bool {
    let Some(text) = value.as_str().map(str::trim) else { return false };
    let (is_url, rest) = text.split_once("://").map_or((false, text), |(_, rest)| (true, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    !user.is_empty() && !user.contains(char::is_whitespace) && (is_url || user.contains(':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn fm_f118_keys_are_masked_at_every_depth_and_come_back_unchanged() {
        let settings = object(
            json!({"theme": "dark", "openai_api_key": "sk-canary", "nested": {"token": "canary", "a": 1}}),
        );
        let shown = masked(settings.clone());
        assert!(!Value::Object(shown.clone()).to_string().contains("canary"));
        assert_eq!(shown["theme"], "dark");
        let back = unmasked("nested", shown["nested"].clone(), settings.get("nested"));
        assert_eq!(back, settings["nested"]);
    }

    #[test]
    fn an_address_with_a_password_is_masked_and_comes_back_unchanged() {
        let stored = object(json!({"httpProxy": "http://user:c4n4ry@proxy:1/",
                                   "plain": "http://proxy:1/a@b", "mail": "me@example.org", "text": "at: me@x"}));
        let shown = masked(stored.clone());
        assert_eq!(shown["httpProxy"], MASK);
        assert_eq!(
            ["plain", "mail", "text"].map(|name| &shown[name]),
            ["plain", "mail", "text"].map(|name| &stored[name])
        );
        for name in ["httpProxy", "plain", "mail"] {
            assert_eq!(unmasked(name, shown[name].clone(), stored.get(name)), stored[name]);
        }
        for address in ["https://token@h", "socks5://u:p@h:1", "u:p@h:1", " http://u:p@h "] {
            assert!(has_credentials(&json!(address)), "{address}");
        }
    }

    #[test]
    fn fm_f118_keys_in_lists_are_masked_and_find_their_entries_again() {
        let server = |url: &str, token: &str| json!({"url": url, "token": token});
        let stored = json!({"servers": [server("a", "canary-a"), server("b", "canary-b")], "apiKey": ["canary-c", [""]]});
        let shown = Value::Object(masked(object(stored.clone())));
        assert_eq!(shown, json!({"servers": [server("a", MASK), server("b", MASK)], "apiKey": [MASK, [""]]}));
        let back = |sent: Value| unmasked("servers", sent, stored.get("servers"));
        assert_eq!(unmasked("", shown.clone(), Some(&stored)), stored);
        // One entry is removed, the entries are swapped, one entry is edited.
        assert_eq!(back(json!([server("b", MASK)])), json!([server("b", "canary-b")]));
        let turned = json!([server("b", MASK), server("a", MASK)]);
        assert_eq!(back(turned), json!([server("b", "canary-b"), server("a", "canary-a")]));
        let edited = json!([server("a", MASK), server("c", MASK)]);
        assert_eq!(back(edited), json!([server("a", "canary-a"), server("c", "canary-b")]));
        // The owner of that key is unknown.
        assert_eq!(back(json!([server("c", MASK)])), json!([{"url": "c", "token": null}]));
    }
}
