//! Loading of all skills and templates, with unique names.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::file_search::{rule_files, skill_files, template_files};
use super::rule::Rule;
use super::search_roots::{Location, SearchRoot, Sources, explicit_root};
use super::skill::SkillFile;
use super::template::Template;
use super::warning::ResourceWarning;
use crate::prompt::{AvailableRule, PromptRules, Skill};

/// The available skills, prompt templates and rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    skills: Vec<SkillFile>,
    templates: Vec<Template>,
    rules: Vec<Rule>,
}

/// The command line names a path that does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{option} {path}: no such file or directory", path = path.display())]
pub struct MissingPathError {
    /// The command-line option with the path.
    pub option: &'static str,
    /// The path that does not exist.
    pub path: PathBuf,
}

impl Resources {
    /// Loads all resources. If several have the same name, the first one applies. The order is: the user's, the
    /// project's, those from settings, those from the command line. Blocks. Fails if the command line names a path
    /// that does not exist. Any other problem becomes a warning.
    pub fn load(sources: &Sources) -> Result<(Self, Vec<ResourceWarning>), MissingPathError> {
        let given = |option, paths: &[PathBuf]| match paths.iter().find(|path| !path.exists()) {
            Some(path) => Err(MissingPathError { option, path: path.clone() }),
            None => Ok(()),
        };
        given("--skill", &sources.skills.command_line)?;
        given("--prompt-template", &sources.templates.command_line)?;
        let (mut resources, mut warnings) = (Self::default(), Vec::new());
        resources.add(sources.skill_roots(), sources.template_roots(), &mut warnings);
        load(&mut resources.rules, sources.rule_roots(), rule_files, Rule::read, &mut warnings);
        Ok((resources, warnings))
    }

    /// Returns these resources together with the resources at further paths. If two have the same name, the one
    /// that is already loaded applies. Blocks. Problems become warnings.
    pub fn extended(&self, skills: &[PathBuf], templates: &[PathBuf]) -> (Self, Vec<ResourceWarning>) {
        let (mut resources, mut warnings) = (self.clone(), Vec::new());
        let gone = skills.iter().chain(templates).filter(|path| !path.exists());
        warnings.extend(gone.map(|path| ResourceWarning::MissingExtensionPath(path.clone())));
        let there = |paths: &[PathBuf]| {
            paths.iter().filter(|path| path.exists()).map(|path| explicit_root(path)).collect()
        };
        resources.add(there(skills), there(templates), &mut warnings);
        (resources, warnings)
    }

    fn add(
        &mut self,
        skills: Vec<SearchRoot>,
        templates: Vec<SearchRoot>,
        warnings: &mut Vec<ResourceWarning>,
    ) {
        load(&mut self.skills, skills, skill_files, SkillFile::read, warnings);
        load(&mut self.templates, templates, template_files, Template::read, warnings);
    }

    /// Returns the skills, in the order for clients: those of the project, of the user, then those from
    /// settings and the command line.
    pub fn skills(&self) -> &[SkillFile] {
        &self.skills
    }

    /// Returns the prompt templates, in the same order.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns all rules: rules that watch the output of models, and rules for the system prompt.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rules for the system prompt. The model receives a watching rule when the rule matches.
    pub fn rules_for_model(&self) -> PromptRules {
        let mut prompt_rules = PromptRules::default();
        for rule in self.rules.iter().filter(|rule| !rule.watches()) {
            match &rule.description {
                _ if rule.always => prompt_rules.always.push(rule.content.clone()),
                description => prompt_rules.available.push(AvailableRule {
                    description: description.clone().unwrap_or_default(),
                    globs: rule.globs.clone(),
                    path: rule.path.clone(),
                }),
            }
        }
        prompt_rules
    }

    /// Returns the skills that models may use, and warnings about skills that are hidden from models.
    pub fn for_model(&self) -> (Vec<Skill>, Vec<ResourceWarning>) {
        let mut warnings = Vec::new();
        let skills = self.skills.iter().filter_map(|skill| match skill.for_model()? {
            Ok(skill) => Some(skill),
            Err(warning) => {
                warnings.push(warning);
                None
            }
        });
        (skills.collect(), warnings)
    }
}

/// The common interface of skills, templates and rules.
trait Resource {
    fn name(&self) -> &str;
    fn path(&self) -> &Path;
    fn location(&self) -> Location;
}

impl Resource for SkillFile {
    fn name(&self) -> &str {
        &self.name
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn location(&self) -> Location {
        self.location
    }
}

impl Resource for Rule {
    fn name(&self) -> &str {
        &self.name
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn location(&self) -> Location {
        self.location
    }
}

impl Resource for Template {
    fn name(&self) -> &str {
        &self.name
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn location(&self) -> Location {
        self.location
    }
}

/// Adds the resources below `roots`.
fn load<R: Resource>(
    all: &mut Vec<R>,
    roots: Vec<SearchRoot>,
    files: impl Fn(&SearchRoot, &mut Vec<ResourceWarning>) -> Vec<PathBuf>,
    read: impl Fn(PathBuf, Location, &mut Vec<ResourceWarning>) -> Option<R>,
    warnings: &mut Vec<ResourceWarning>,
) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut seen: HashSet<PathBuf> = all.iter().map(|resource| real(resource.path())).collect();
    let known = |resource: &R| (resource.name().to_owned(), resource.path().to_owned());
    let mut names: HashMap<String, PathBuf> = all.iter().map(known).collect();
    for root in roots {
        if root.location == Location::Path && !root.path.exists() {
            warnings.push(ResourceWarning::MissingSettingPath(root.path));
            continue;
        }
        for path in files(&root, warnings) {
            // A file that is found in two ways is loaded once.
            if !seen.insert(real(&path)) {
                continue;
            }
            let Some(resource) = read(path, root.location, warnings) else { continue };
            match names.get(resource.name()) {
                Some(kept) => warnings.push(ResourceWarning::NameCollision {
                    name: resource.name().to_owned(),
                    kept: kept.clone(),
                    path: resource.path().to_owned(),
                }),
                None => {
                    names.insert(resource.name().to_owned(), resource.path().to_owned());
                    all.push(resource);
                }
            }
        }
    }
    // The order of pi's lists.
    all.sort_by_key(Resource::location);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ResourceFolders;
    use crate::resources::ResourceSelection;

    fn write(path: PathBuf, content: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    const SKILL: &str = "---\ndescription: d\n---\n";

    #[test]
    fn first_resource_of_a_name_applies_and_the_project_is_listed_first() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        for path in [
            "agent/skills/both",
            "agent/skills/mine",
            "work/.pi/skills/both",
            "work/.pi/skills/its",
            "extra/given",
        ] {
            write(at(path).join("SKILL.md"), SKILL);
        }
        for path in [
            "agent/prompts/p.md",
            "agent/prompts/q.md",
            "work/.pi/prompts/p.md",
            "work/.pi/agent/prompts/r.md",
        ] {
            write(at(path), "text");
        }
        let wanted = |settings: &[&str], given: &[&str]| ResourceSelection {
            only_command_line: false,
            settings: settings.iter().map(|path| at(path)).collect(),
            command_line: given.iter().map(|path| at(path)).collect(),
        };
        let sources = Sources {
            folders: ResourceFolders::PI,
            cwd: at("work"),
            trusted: true,
            home: Some(at("home")),
            agent_dir: Some(at("agent")),
            // The same directory is named twice, once as the user's own.
            skills: wanted(&["extra", "lost"], &["extra/given/SKILL.md", "agent/skills"]),
            templates: ResourceSelection::default(),
        };
        let (resources, warnings) = Resources::load(&sources).unwrap();
        let skills: Vec<_> =
            resources.skills().iter().map(|skill| (skill.location, skill.name.as_str())).collect();
        assert_eq!(
            skills,
            [
                (Location::Project, "its"),
                (Location::User, "both"),
                (Location::User, "mine"),
                (Location::Path, "given")
            ]
        );
        let templates: Vec<_> =
            resources.templates().iter().map(|found| (found.location, found.name.as_str())).collect();
        assert_eq!(templates, [(Location::Project, "r"), (Location::User, "p"), (Location::User, "q")]);
        let root = directory.path().display().to_string();
        let warnings: Vec<_> =
            warnings.iter().map(|warning| warning.to_string().replace(&root, "")).collect();
        assert_eq!(
            warnings,
            [
                "/work/.pi/skills/both/SKILL.md: /agent/skills/both/SKILL.md has the same name, \"both\", and comes first; this one is left out",
                "/lost: named in the settings, but does not exist",
                "/work/.pi/prompts/p.md: /agent/prompts/p.md has the same name, \"p\", and comes first; this one is left out",
            ]
        );
        let mut only = sources.clone();
        only.skills.only_command_line = true;
        only.templates.only_command_line = true;
        let (resources, _) = Resources::load(&only).unwrap();
        let skills: Vec<_> = resources.skills().iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!((skills, resources.templates().len()), (vec!["given", "both", "mine"], 0));
        only.templates.command_line = vec![at("nothing.md")];
        let error = Resources::load(&only).unwrap_err().to_string().replace(&root, "");
        assert_eq!(error, "--prompt-template /nothing.md: no such file or directory");
    }
}
