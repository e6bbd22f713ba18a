//! The definition of a server in a file.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::variables::Variables;
use crate::config::{expand_home, resolve};

/// A server named in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDefinition {
    /// Name of the server, unique among the servers in use.
    pub name: String,
    /// The file with the definition; an empty path for a definition from a client.
    pub file: PathBuf,
    /// Connection to the server.
    pub transport: TransportConfig,
    /// Values of environment variables in the definition.
    pub variable_values: VariableValues,
    /// True if the file disables the server.
    pub disabled: bool,
    /// The enabled tools; `None` for all tools.
    pub enabled_tools: Option<Vec<String>>,
    /// The disabled tools.
    pub disabled_tools: Vec<String>,
    /// Time limit of a call without an answer or progress, if the file has one.
    pub call_timeout: Option<Duration>,
}

/// Values of variables, which may be keys and are therefore not displayed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VariableValues(pub(super) Vec<String>);

impl fmt::Debug for VariableValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} values", self.0.len())
    }
}

/// Connection to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum TransportConfig {
    /// The server is a program that communicates over its standard input and output.
    Program {
        /// A path, or a name to look for in `PATH`.
        program: OsString,
        /// Arguments of the program, without a shell.
        arguments: Vec<OsString>,
        /// Variables added to the environment of the program.
        environment: Vec<(OsString, OsString)>,
        /// Working directory of the program.
        cwd: PathBuf,
    },
    /// The server has an address with streamable HTTP.
    Http {
        /// URL of the server.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// The server cannot be used, for this reason.
    Invalid(String),
}

/// Omits values, because they may be keys.
impl fmt::Debug for TransportConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { program, .. } => {
                formatter.debug_struct("Program").field("program", program).finish_non_exhaustive()
            }
            Self::Http { .. } => formatter.debug_struct("Http").finish_non_exhaustive(),
            Self::Invalid(why) => formatter.debug_tuple("Invalid").field(why).finish(),
        }
    }
}

impl ServerDefinition {
    /// Reads the server of the given name from its value in a file.
    pub(super) fn read(name: &str, value: &Value, file: &Path, variables: &Variables<'_>) -> Self {
        let empty = Map::new();
        let members = value.as_object().unwrap_or(&empty);
        let flag = |key: &str| members.get(key).and_then(Value::as_bool);
        let transport = match value {
            Value::Object(members) => {
                DefinitionParser { members, variables }.transport().unwrap_or_else(TransportConfig::Invalid)
            }
            _ => TransportConfig::Invalid("expected an object".to_owned()),
        };
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            transport,
            variable_values: VariableValues(variables.values(value)),
            disabled: flag("disabled") == Some(true) || flag("enabled") == Some(false),
            enabled_tools: members.get("enabledTools").and_then(names),
            disabled_tools: members.get("disabledTools").and_then(names).unwrap_or_default(),
            call_timeout: members
                .get("timeout")
                .and_then(Value::as_u64)
                .filter(|limit| *limit > 0)
                .map(Duration::from_millis),
        }
    }

    /// Returns true if the tool is enabled.
    pub(super) fn allows_tool(&self, tool: &str) -> bool {
        let is = |name: &String| name == tool;
        self.enabled_tools.as_ref().is_none_or(|names| names.iter().any(is))
            && !self.disabled_tools.iter().any(is)
    }
}

fn names(value: &Value) -> Option<Vec<String>> {
    let names = value.as_array()?.iter().filter_map(Value::as_str);
    Some(names.map(str::to_owned).collect())
}

struct DefinitionParser<'a> {
    members: &'a Map<String, Value>,
    variables: &'a Variables<'a>,
}

impl DefinitionParser<'_> {
    fn transport(&self) -> Result<TransportConfig, String> {
        let kind = self.text("type")?.or(self.text("transport")?);
        match (kind.as_deref(), self.members.contains_key("command"), self.members.contains_key("url")) {
            (Some("stdio"), ..) | (None, true, _) => self.program(),
            (Some("http" | "streamable-http" | "streamableHttp" | "streamable_http"), ..)
            | (None, false, true) => self.http(),
            (Some("sse"), ..) => {
                Err("the type \"sse\" is not supported; if the server also speaks streamable HTTP, use \
                 \"type\": \"http\" with the address for that"
                    .to_owned())
            }
            (Some(kind), ..) => Err(format!("the type \"{kind}\" is not supported; known: stdio, http")),
            (None, false, false) => Err("it has neither \"command\" nor \"url\"".to_owned()),
        }
    }

    fn program(&self) -> Result<TransportConfig, String> {
        let program = self.text("command")?.filter(|command| !command.is_empty());
        let program = program.ok_or("\"command\" is missing")?;
        let arguments = match self.members.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(arguments)) => {
                let fill = |argument: &Value| match argument.as_str() {
                    Some(text) => self.variables.expand(text).map(OsString::from),
                    None => Err("\"args\" must be a list of strings".to_owned()),
                };
                arguments.iter().map(fill).collect::<Result<_, _>>()?
            }
            Some(_) => return Err("\"args\" must be a list of strings".to_owned()),
        };
        let Variables { workspace, home, .. } = *self.variables;
        let path = |text: &str| resolve(workspace, &expand_home(Path::new(text), home));
        // A name is searched for in PATH; a path with a slash is relative to the working directory.
        let program = if program.contains('/') { path(&program).into() } else { program.into() };
        let cwd = self.text("cwd")?.map_or_else(|| workspace.to_owned(), |cwd| path(&cwd));
        let environment = self.pairs("env")?.into_iter().map(|(name, value)| (name.into(), value.into()));
        Ok(TransportConfig::Program { program, arguments, environment: environment.collect(), cwd })
    }

    fn http(&self) -> Result<TransportConfig, String> {
        let url = self.text("url")?.ok_or("\"url\" is missing")?;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err("\"url\" must begin with http:// or https://".to_owned());
        }
        Ok(TransportConfig::Http { url, headers: self.pairs("headers")? })
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.variables.expand(text).map(Some),
            Some(_) => Err(format!("\"{key}\" must be a string")),
        }
    }

    /// Returns an object of strings; numbers and booleans are converted to text.
    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let members = match self.members.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(format!("\"{key}\" must be an object")),
        };
        let pair = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), self.variables.expand(text)?)),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(format!("\"{key}.{name}\" must be a string")),
        };
        members.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> ServerDefinition {
        let environment = |name: &str| (name == "KEY").then(|| OsString::from("secret"));
        let home = Path::new("/home/ann");
        let variables =
            Variables { environment: &environment, workspace: Path::new("/place"), home: Some(home) };
        ServerDefinition::read("s", &value, Path::new("/place/.mcp.json"), &variables)
    }

    fn why(value: &Value) -> String {
        match read(value.clone()).transport {
            TransportConfig::Invalid(why) => why,
            launch => panic!("{launch:?}"),
        }
    }

    #[test]
    fn programs_and_addresses_are_distinguished() {
        let program = TransportConfig::Program {
            program: "npx".into(),
            arguments: vec!["-y".into(), "/place/x".into()],
            environment: vec![("TOKEN".into(), "secret".into()), ("LEVEL".into(), "3".into())],
            cwd: "/place".into(),
        };
        let value = json!({"command": "npx", "args": ["-y", "${workspaceFolder}/x"], "env": {"TOKEN": "${KEY}", "LEVEL": 3}});
        assert_eq!(read(value).transport, program);
        let TransportConfig::Program { program, cwd, .. } =
            read(json!({"type": "stdio", "command": "./s", "cwd": "~/d"})).transport
        else {
            panic!()
        };
        assert_eq!((program, cwd), ("/place/s".into(), "/home/ann/d".into()));
        let http = TransportConfig::Http {
            url: "http://h/mcp".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer secret".to_owned())],
        };
        let headers = json!({"Authorization": "Bearer ${KEY}"});
        for kind in [json!("http"), json!("streamable-http"), json!(null)] {
            assert_eq!(
                read(json!({"type": kind, "url": "http://h/mcp", "headers": headers})).transport,
                http
            );
        }
    }

    #[test]
    fn values_of_variables_are_recorded() {
        let filled = |value: Value| read(value).variable_values.0;
        let given =
            json!({"command": "x", "args": ["--key", "a${KEY}b", "${workspaceFolder}", "${NONE:-none}"]});
        assert_eq!(filled(given), ["secret"]);
        assert_eq!(
            filled(json!({"url": "https://h/${env:KEY}/mcp", "headers": {"A": "${KEY}"}})),
            ["secret"; 2]
        );
        assert_eq!(filled(json!({"command": "x", "args": ["$KEY", "KEY"]})), [""; 0]);
        assert!(!format!("{:?}", read(json!({"command": "x", "args": ["${KEY}"]}))).contains("secret"));
    }

    #[test]
    fn unusable_definitions_have_a_reason() {
        for (value, part) in [
            (json!({"type": "sse", "url": "http://h/sse"}), "the type \"sse\" is not supported"),
            (json!({"type": "ws", "url": "ws://h"}), "the type \"ws\" is not supported; known: stdio, http"),
            (json!({"command": 3}), "\"command\" must be a string"),
            (json!({"command": ""}), "\"command\" is missing"),
            (json!({"command": "x", "args": "y"}), "\"args\""),
            (json!({"command": "x", "args": [1]}), "\"args\""),
            (json!({"command": "x", "env": {"A": []}}), "\"env.A\" must be a string"),
            (json!({"command": "x", "env": {"A": "${NONE}"}}), "NONE is not set"),
            (json!({"url": "file:///x"}), "\"url\" must begin with http"),
            (json!({}), "neither"),
            (json!("x"), "expected an object"),
        ] {
            assert!(why(&value).contains(part), "{value}: {}", why(&value));
        }
    }

    #[test]
    fn tools_can_be_chosen() {
        let some =
            read(json!({"command": "x", "enabledTools": ["a", "b"], "disabledTools": ["b"], "timeout": 7}));
        assert_eq!(["a", "b", "c"].map(|tool| some.allows_tool(tool)), [true, false, false]);
        assert_eq!(some.call_timeout, Some(Duration::from_millis(7)));
        assert_eq!(read(json!({"command": "x", "timeout": 0})).call_timeout, None, "not a limit");
        assert!(
            read(json!({"command": "x"})).allows_tool("any")
                && read(json!({"command": "x", "disabled": true})).disabled
        );
        assert!(read(json!({"command": "x", "enabled": false})).disabled);
    }
}
