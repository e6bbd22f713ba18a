//! The definition of an agent in a Markdown file. The front matter contains the name, the tools and the permitted
//! subagents; the text contains the instructions for the model.

use std::path::Path;

use serde_json::{Map, Value};

use super::agent::{AgentDefinition, SpawnPolicy};
use super::bundled;
use super::policy::SubagentPolicy;
use crate::config::read_text;
use crate::resources::members;

/// Maximum size of an agent's file, in bytes.
const LIMIT: u64 = 256 * 1024;

impl SubagentPolicy {
    /// Returns the available agents. The first call reads them from files; later calls return the same agents.
    pub(super) fn agents(&self) -> &[AgentDefinition] {
        self.agents.get_or_init(|| load(self))
    }
}

/// Reads the available agents from files: the project's, then the user's, then the bundled ones. If a name occurs
/// several times, the first definition applies. An invalid file is skipped with a warning.
pub fn load(policy: &SubagentPolicy) -> Vec<AgentDefinition> {
    let mut all: Vec<AgentDefinition> = Vec::new();
    let folders = [(&policy.project_agents, "project"), (&policy.user_agents, "user")];
    for (folder, source) in folders {
        for path in folder.iter().flat_map(|folder| files(folder)) {
            let read = read_text(&path, LIMIT).map_err(|error| error.to_string());
            match read.and_then(|file| parse(&file.text, source)) {
                Ok(definition) => add(&mut all, definition),
                Err(reason) => {
                    tracing::warn!(path = %path.display(), reason, "this file does not define an agent")
                }
            }
        }
    }
    for text in bundled::FILES {
        match parse(text, "bundled") {
            Ok(definition) => add(&mut all, definition),
            Err(reason) => tracing::error!(reason, "a bundled agent cannot be read"),
        }
    }
    all
}

fn add(all: &mut Vec<AgentDefinition>, definition: AgentDefinition) {
    if all.iter().all(|known| known.name != definition.name) {
        all.push(definition);
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files
}

fn parse(text: &str, source: &'static str) -> Result<AgentDefinition, String> {
    let (members, body) = members(text).map_err(|error| error.to_string())?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(|text| text.trim().to_owned());
    let needed = |name: &str| {
        text(name).filter(|text| !text.is_empty()).ok_or_else(|| format!("its front matter has no {name}"))
    };
    let thinking = text("thinking").or_else(|| text("thinkingLevel")).or_else(|| text("thinking-level"));
    let thinking =
        thinking.map(|level| level.parse().map_err(|_| format!("{level} is not a thinking level")));
    Ok(AgentDefinition {
        name: needed("name")?,
        description: needed("description")?,
        tools: list(&members, "tools"),
        spawn_policy: match list(&members, "spawns") {
            None => SpawnPolicy::NoAgents,
            Some(names) if names.iter().any(|name| name == "*") => SpawnPolicy::AnyAgent,
            Some(names) => SpawnPolicy::Named(names),
        },
        model: list(&members, "model").and_then(|models| models.into_iter().next()),
        thinking: thinking.transpose()?,
        output: members.get("output").filter(|schema| schema.is_object()).cloned(),
        instructions: body,
        source,
    })
}

/// Returns a member as a list. The member may be a list, or a text with items separated by commas.
fn list(members: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let split = |text: &str| text.split(',').map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    let mut listed = match members.get(name)? {
        Value::String(text) => split(text),
        Value::Array(entries) => entries.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return None,
    };
    listed.retain(|part| !part.is_empty());
    Some(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_agents_are_agents() {
        let all = load(&SubagentPolicy::default());
        let names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["task", "quick_task", "explore", "plan", "reviewer"]);
        assert!(all[0].spawn_policy.allows("explore") && all[0].tools.is_none());
        assert_eq!(all[1].spawn_policy, SpawnPolicy::NoAgents);
        assert!(all[3].spawn_policy.allows("explore") && !all[3].spawn_policy.allows("task"));
    }

    #[test]
    fn the_projects_agents_come_first_and_then_the_users() {
        let directory = tempfile::tempdir().unwrap();
        let (user, project) = (directory.path().join("user"), directory.path().join("project"));
        for (folder, name, description) in
            [(&user, "task", "mine"), (&user, "own", "mine"), (&project, "own", "ours")]
        {
            std::fs::create_dir_all(folder).unwrap();
            let text =
                format!("---\nname: {name}\ndescription: {description}\ntools: [read, bash]\n---\nDo it.");
            std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
        }
        std::fs::write(user.join("bad.md"), "no front matter").unwrap();
        let mut policy = SubagentPolicy::default();
        (policy.user_agents, policy.project_agents) = (Some(user), Some(project));
        let all = load(&policy);
        let of = |name: &str| all.iter().find(|agent| agent.name == name).unwrap();
        assert_eq!((of("own").source, of("own").description.as_str()), ("project", "ours"));
        assert_eq!((of("task").source, of("task").instructions.as_str()), ("user", "Do it."));
        assert_eq!(of("task").tools.as_deref().unwrap(), ["read", "bash"]);
        assert!(all.iter().all(|agent| agent.name != "bad"));
    }
}
