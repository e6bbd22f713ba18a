//! What keys look like: names of members that hold them, and the shapes of well-known keys.
//!
//! Clients replace what these tables describe before a frame reaches a tap, a termination or a log. All languages
//! are generated from them, and `conformance/vectors/redaction.json` shows what each has to do.

/// What stands in place of a key.
pub const REDACTED: &str = "[redacted]";

/// Names of members whose values are keys, in lower case and without anything but letters and digits.
///
/// A member holds a key where its name, written that way, is one of these, or ends with one that has at least
/// [`SUFFIX_LENGTH`] characters: `x-api-key`, `anthropicApiKey`. Its strings are replaced, those inside its arrays
/// and objects as well.
pub const MEMBERS: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "apikeys",
    "apitoken",
    "authorization",
    "authtoken",
    "bearer",
    "bearertoken",
    "clientsecret",
    "cookie",
    "cookies",
    "copilottoken",
    "credential",
    "credentials",
    "encryptionkey",
    "githubtoken",
    "idtoken",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "secrets",
    "sessiontoken",
    "signingkey",
    "token",
];

/// How long an entry of [`MEMBERS`] has to be to count as the end of a longer name: `maxToken` holds no key.
pub const SUFFIX_LENGTH: usize = 6;

/// How a well-known key looks.
///
/// A key begins with `prefix`, where no ASCII letter or digit stands before it, and goes on with at least `rest` ASCII
/// letters, digits, `-`, `_` and characters of `also`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShape {
    /// What it is the key of.
    pub name: &'static str,
    /// How it begins.
    pub prefix: &'static str,
    /// How many characters follow at least.
    pub rest: usize,
    /// Characters that may follow beyond letters, digits, `-` and `_`.
    pub also: &'static str,
    /// True where the prefix is no part of the key: it is kept, and its case does not matter.
    pub scheme: bool,
}

const fn key(name: &'static str, prefix: &'static str, rest: usize) -> KeyShape {
    KeyShape { name, prefix, rest, also: "", scheme: false }
}

const fn scheme(name: &'static str, prefix: &'static str, rest: usize) -> KeyShape {
    KeyShape { name, prefix, rest, also: "._~+/=", scheme: true }
}

/// Events that carry a key in members of any name: of such a frame its type is shown, and nothing else. Clients drop the rest
/// when they read it.
pub const SEALED: &[&str] = &["before_provider_request"];

/// Members that hold the event in frames of dialects that wrap it: the envelope, which has that name as its type, and the
/// parameters of a notification.
pub const ENVELOPES: &[&str] = &["event", "params"];

/// The shapes of well-known keys, which are replaced wherever they stand in a text.
pub const KEYS: &[KeyShape] = &[
    key("a key of a model API", "sk-", 17),
    key("a key of Stripe", "sk_live_", 12),
    key("a key of Stripe", "rk_live_", 12),
    key("a token of GitHub", "ghp_", 16),
    key("a token of GitHub", "gho_", 16),
    key("a token of GitHub", "ghu_", 16),
    key("a token of GitHub", "ghs_", 16),
    key("a token of GitHub", "ghr_", 16),
    key("a token of GitHub", "github_pat_", 9),
    key("a token of GitLab", "glpat-", 14),
    key("a token of npm", "npm_", 30),
    key("a token of PyPI", "pypi-AgE", 16),
    key("a key of Google", "AIza", 16),
    key("an access token of Google", "ya29.", 15),
    key("a token of Slack", "xoxa-", 10),
    key("a token of Slack", "xoxb-", 10),
    key("a token of Slack", "xoxe-", 10),
    key("a token of Slack", "xoxe.", 10),
    key("a token of Slack", "xoxp-", 10),
    key("a token of Slack", "xoxr-", 10),
    key("a token of Slack", "xoxs-", 10),
    key("a key of AWS", "AKIA", 16),
    key("a key of AWS", "ASIA", 16),
    key("a key of Groq", "gsk_", 16),
    key("a key of xAI", "xai-", 16),
    key("a token of Hugging Face", "hf_", 30),
    key("a token of Replicate", "r8_", 30),
    key("a key of Perplexity", "pplx-", 30),
    scheme("the token of an authorization header", "Bearer ", 16),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_written_as_they_are_read() {
        for member in MEMBERS {
            assert!(member.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{member}");
        }
        assert!(MEMBERS.is_sorted(), "members stand in order");
        for shape in KEYS {
            assert!(shape.prefix.starts_with(|c: char| c.is_ascii_alphanumeric()), "{}", shape.prefix);
            assert!(shape.rest >= 9, "{} would be found in plain words", shape.prefix);
            assert!(shape.also.is_ascii() && !shape.also.contains(['"', '\\']), "{}", shape.prefix);
        }
        let prefixes: std::collections::BTreeSet<_> = KEYS.iter().map(|shape| shape.prefix).collect();
        assert_eq!(prefixes.len(), KEYS.len(), "a prefix stands there once");
    }

    /// What the declared frames carry and clients have to read is no key by its name.
    #[test]
    fn no_declared_member_but_those_with_keys_is_hidden() {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let mut hidden = std::collections::BTreeSet::new();
        for index in crate::Index::all() {
            for def in index.types.values() {
                let crate::model::Shape::Record { fields, .. } = def.shape else { continue };
                for field in fields {
                    let name = plain(field.name);
                    let is_key = MEMBERS.iter().any(|member| {
                        name == *member || (member.len() >= SUFFIX_LENGTH && name.ends_with(member))
                    });
                    if is_key {
                        hidden.insert(field.name);
                    }
                }
            }
        }
        assert_eq!(hidden.into_iter().collect::<Vec<_>>(), ["api_key"]);
    }
}
