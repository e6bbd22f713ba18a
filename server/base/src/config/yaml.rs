//! User files in YAML.

use std::path::Path;

use serde_json::Value;

/// Returns true if the name of a file marks it as YAML.
pub fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// Parses a YAML document. Fails for values that JSON cannot represent, and for excessive aliases and
/// nesting.
pub fn from_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_and_json_is_yaml() {
        let expected =
            json!({"retry": {"maxRetries": 2, "enabled": true}, "names": ["a", "b"], "ratio": 0.5});
        let yaml = "retry:\n  maxRetries: 2\n  enabled: true\nnames: [a, b]\nratio: 0.5\n";
        assert_eq!(from_yaml(yaml), Ok(expected.clone()));
        assert_eq!(from_yaml(&expected.to_string()), Ok(expected));
        assert!(from_yaml("a: [1").is_err());
        assert!(is_yaml(Path::new("x/config.yml")) && !is_yaml(Path::new("x/settings.json")));
    }
}
