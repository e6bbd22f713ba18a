//! The files with definitions of servers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ServerDefinition;
use super::definition::TransportConfig;
use super::variables::Variables;
use crate::config::{Environment, from_jsonc, read_text};

/// Files in a working directory. If several files define a server, the first one applies.
const PROJECT_FILES: [&str; 4] = [".vscode/mcp.json", ".github/mcp.json", ".opal/mcp.json", ".mcp.json"];
/// The file in the agent directory.
const AGENT_DIR_FILE: &str = "mcp.json";
/// The file in the user's home.
const HOME_FILE: &str = ".opal/mcp.json";
/// Maximum length of a file, in bytes.
const LIMIT: u64 = 1 << 20;

/// Directories of the files.
#[derive(Debug, Clone, Copy)]
pub struct McpPaths<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The directory of the user's settings.
    pub agent_dir: Option<&'a Path>,
}

/// Contents of the files.
#[derive(Debug, Default)]
pub struct McpConfig {
    /// The servers, in the order of the files and of the definitions in each. If a name occurs twice, the first
    /// definition applies.
    pub definitions: Vec<ServerDefinition>,
    /// Files in the untrusted working directory whose servers are ignored.
    pub left_out: Vec<PathBuf>,
    /// Warnings about the files that were read, one line for each.
    pub warnings: Vec<String>,
}

/// Reads the files: first the files of the working directory if it is trusted, then the user's own files. A file that
/// cannot be used causes a warning; the others still apply.
pub fn read_config(paths: McpPaths<'_>, environment: &dyn Environment, trusted: bool) -> McpConfig {
    let variables = Variables { environment, workspace: paths.cwd, home: paths.home };
    let own =
        [paths.agent_dir.map(|path| path.join(AGENT_DIR_FILE)), paths.home.map(|path| path.join(HOME_FILE))];
    let mut own: Vec<PathBuf> = own.into_iter().flatten().collect();
    own.dedup();
    // If the working directory is the home directory, one file is in both lists.
    let project = PROJECT_FILES.iter().map(|path| paths.cwd.join(path)).filter(|path| !own.contains(path));
    let mut found = McpConfig::default();
    for path in project {
        if trusted {
            found.read(&path, &variables);
        } else if matches!(read_servers(&path), Ok(Some(servers)) if !servers.is_empty()) {
            found.left_out.push(path);
        }
    }
    for path in &own {
        found.read(path, &variables);
    }
    found
}

/// Reads servers that a client has sent: objects as in the files, each with its `name`. Fails if one of them is not
/// valid.
pub fn parse_client_servers(
    servers: &[Map<String, Value>],
    paths: McpPaths<'_>,
    environment: &dyn Environment,
) -> Result<Vec<ServerDefinition>, String> {
    let variables = Variables { environment, workspace: paths.cwd, home: paths.home };
    let mut definitions: Vec<ServerDefinition> = Vec::new();
    for server in servers {
        let name = server.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or("an MCP server needs a \"name\"")?;
        if definitions.iter().any(|known| known.name == name) {
            return Err(format!("two MCP servers have the name \"{name}\""));
        }
        let definition =
            ServerDefinition::read(name, &Value::Object(server.clone()), Path::new(""), &variables);
        if let TransportConfig::Invalid(why) = &definition.transport {
            return Err(format!("the MCP server \"{name}\": {why}"));
        }
        definitions.push(definition);
    }
    Ok(definitions)
}

impl McpConfig {
    fn read(&mut self, path: &Path, variables: &Variables<'_>) {
        let servers = match read_servers(path) {
            Ok(servers) => servers.unwrap_or_default(),
            Err(reason) => {
                self.warnings.push(format!("{}: {reason}; its MCP servers are ignored", path.display()));
                return;
            }
        };
        for (name, value) in &servers {
            if self.definitions.iter().any(|known| known.name == *name) {
                continue;
            }
            let definition = ServerDefinition::read(name, value, path, variables);
            if let TransportConfig::Invalid(why) = &definition.transport
                && !definition.disabled
            {
                self.warnings.push(format!("{}: MCP server \"{name}\": {why}", path.display()));
            }
            self.definitions.push(definition);
        }
    }
}

/// Returns the servers that a file defines. Returns `None` if there is no such file.
fn read_servers(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    let file = match read_text(path, LIMIT) {
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(file) if file.truncated => return Err(format!("it is longer than {LIMIT} bytes")),
        Ok(file) => file,
    };
    let object = match from_jsonc(&file.text).map_err(|error| error.to_string())? {
        Value::Object(object) => object,
        // Editors leave empty files behind.
        Value::Null => return Ok(None),
        _ => return Err("expected an object".to_owned()),
    };
    let mut all = Map::new();
    for key in ["servers", "mcpServers"] {
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(servers)) => {
                servers.iter().for_each(|(name, value)| {
                    all.entry(name.clone()).or_insert_with(|| value.clone());
                });
            }
            Some(_) => return Err(format!("\"{key}\" must be an object")),
        }
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let directories = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(directories.0.path().join("work")).unwrap();
            for (path, text) in files {
                let path = directories.0.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            directories
        }

        fn find(&self, trusted: bool) -> McpConfig {
            let (cwd, home, agent) = (
                self.0.path().join("work"),
                self.0.path().join("home"),
                self.0.path().join("home/.pi/agent"),
            );
            let paths = McpPaths { cwd: &cwd, home: Some(&home), agent_dir: Some(&agent) };
            read_config(paths, &|_: &str| None, trusted)
        }

        fn programs(&self, trusted: bool) -> Vec<String> {
            let program = |definition: &ServerDefinition| match &definition.transport {
                TransportConfig::Program { program, .. } => {
                    format!("{}={}", definition.name, program.to_string_lossy())
                }
                launch => format!("{}={launch:?}", definition.name),
            };
            self.find(trusted).definitions.iter().map(program).collect()
        }
    }

    #[test]
    fn fm_f116_files_of_the_working_directory_apply_once_it_is_trusted() {
        let place = Place::new(&[
            ("work/.vscode/mcp.json", r#"{"servers": {"b": {"command": "first"}, /* VS Code */ }}"#),
            ("work/.mcp.json", r#"{"mcpServers": {"b": {"command": "second"}, "a": {"command": "x"}}}"#),
            ("work/.github/mcp.json", "{}"),
            (
                "home/.pi/agent/mcp.json",
                r#"{"mcpServers": {"a": {"command": "own"}, "own": {"command": "own"}}}"#,
            ),
            (
                "home/.opal/mcp.json",
                r#"{"servers": {"own": {"command": "late"}, "opal": {"command": "opal"}}}"#,
            ),
        ]);
        assert_eq!(place.programs(true), ["b=first", "a=x", "own=own", "opal=opal"]);
        assert_eq!(place.programs(false), ["a=own", "own=own", "opal=opal"]);
        let left_out = place.find(false).left_out;
        let names: Vec<_> = left_out.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["mcp.json", ".mcp.json"]);
        assert!(place.find(true).left_out.is_empty());
    }

    #[test]
    fn a_bad_file_causes_one_warning_and_affects_no_other_file() {
        let place = Place::new(&[
            ("work/.vscode/mcp.json", r#"{"servers": "#),
            ("work/.opal/mcp.json", "[]"),
            (
                "work/.mcp.json",
                r#"{"mcpServers": {"old": {"type": "sse", "url": "http://h"}, "good": {"command": "x"}}}"#,
            ),
            ("home/.opal/mcp.json", ""),
            ("home/.pi/agent/mcp.json", r#"{"servers": []}"#),
        ]);
        let found = place.find(true);
        assert_eq!(
            found.definitions.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["old", "good"]
        );
        let parts =
            ["it is not valid JSON", "expected an object", "\"sse\" is not supported", "\"servers\" must be"];
        assert_eq!(found.warnings.len(), parts.len(), "{:?}", found.warnings);
        for (warning, part) in found.warnings.iter().zip(parts) {
            assert!(warning.contains(part), "{warning}");
        }
        // For an untrusted directory, only the user's own files cause warnings.
        assert_eq!(place.find(false).warnings.len(), 1);
    }

    #[test]
    fn servers_of_a_client_are_as_those_of_files_and_have_names() {
        let read = |servers: Value| {
            let all: Vec<Map<String, Value>> = serde_json::from_value(servers).unwrap();
            let paths = McpPaths { cwd: Path::new("/"), home: None, agent_dir: None };
            parse_client_servers(&all, paths, &|_: &str| None)
                .map(|all| all.into_iter().map(|one| one.name).collect::<Vec<_>>())
        };
        let two = json!([{"name": "a", "command": "x"}, {"name": "b", "type": "http", "url": "http://h"}]);
        assert_eq!(read(two), Ok(vec!["a".to_owned(), "b".to_owned()]));
        for (servers, part) in [
            (json!([{"command": "x"}]), "needs a \"name\""),
            (json!([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]), "two MCP servers"),
            (json!([{"name": "old", "type": "sse", "url": "http://h"}]), "\"old\": the type \"sse\""),
        ] {
            assert!(read(servers.clone()).unwrap_err().contains(part), "{servers}");
        }
    }

    #[test]
    fn without_files_there_is_nothing() {
        let found = Place::new(&[]).find(true);
        assert!(found.definitions.is_empty() && found.left_out.is_empty() && found.warnings.is_empty());
    }
}
