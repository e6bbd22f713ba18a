//! Search for the files of a search root.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder};

use super::search_roots::SearchRoot;
use super::skill::SKILL_FILE;
use super::warning::ResourceWarning;

/// The maximum depth of skills below a root.
const MAX_DEPTH: usize = 16;

/// The maximum number of files and directories below one root.
const MAX_ENTRIES: usize = 10_000;

/// Returns the skill files below a root, sorted by path. A directory with a SKILL.md is one skill, and other
/// directories are searched. Hidden files, `node_modules`, and files excluded by ignore files below the root
/// are skipped. Links are followed, and each directory is entered only once. Returns an empty list if the
/// root does not exist.
pub(super) fn skill_files(root: &SearchRoot, warnings: &mut Vec<ResourceWarning>) -> Vec<PathBuf> {
    if root.path.is_file() {
        return one_file(root, warnings);
    }
    let limits = Arc::new(WalkLimits::new(root));
    if !limits.may_enter(&root.path) {
        warnings.extend(limits.take_warnings());
        return Vec::new();
    }
    let own = root.path.join(SKILL_FILE);
    if own.is_file() {
        let files = if limits.may_enter(&own) { vec![own] } else { Vec::new() };
        warnings.extend(limits.take_warnings());
        return files;
    }
    let mut files = Vec::new();
    for (count, entry) in walk(&root.path, limits.clone()).enumerate() {
        if count >= MAX_ENTRIES {
            warnings.push(ResourceWarning::TooManyFiles { path: root.path.clone(), limit: MAX_ENTRIES });
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                warnings.extend(unreadable(&root.path, error));
                continue;
            }
        };
        let is_loose = entry.depth() == 1 && root.loose_files && is_markdown(entry.path());
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && (entry.file_name() == SKILL_FILE || is_loose)
        {
            files.push(entry.into_path());
        }
    }
    warnings.extend(limits.take_warnings());
    files
}

/// Returns the Markdown files directly in a root, or the root itself if it is a file.
pub(super) fn template_files(root: &SearchRoot, warnings: &mut Vec<ResourceWarning>) -> Vec<PathBuf> {
    if root.path.is_file() {
        return one_file(root, warnings);
    }
    files(root, is_markdown, warnings)
}

/// Returns the rule files of a folder: Markdown files, including `.mdc` files of other programs.
pub(super) fn rule_files(root: &SearchRoot, warnings: &mut Vec<ResourceWarning>) -> Vec<PathBuf> {
    let is_rule =
        |path: &Path| is_markdown(path) || path.extension().is_some_and(|extension| extension == "mdc");
    files(root, is_rule, warnings)
}

/// Returns the files of a kind directly in a folder.
fn files(
    root: &SearchRoot,
    is_one: impl Fn(&Path) -> bool,
    warnings: &mut Vec<ResourceWarning>,
) -> Vec<PathBuf> {
    let limits = WalkLimits::new(root);
    let entries = if limits.may_enter(&root.path) {
        std::fs::read_dir(&root.path)
    } else {
        return limits.reject(warnings);
    };
    let entries = match entries {
        Ok(entries) => entries,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Vec::new();
        }
        Err(error) => {
            warnings.push(ResourceWarning::Unreadable { path: root.path.clone(), source: error.into() });
            return Vec::new();
        }
    };
    let mut files: Vec<PathBuf> =
        entries.take(MAX_ENTRIES).filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|path| is_one(path) && !is_hidden(path) && path.is_file() && limits.may_enter(path));
    files.sort();
    warnings.extend(limits.take_warnings());
    files
}

/// Returns the root itself, which is a file. If it is not Markdown, adds a warning and returns no file.
fn one_file(root: &SearchRoot, warnings: &mut Vec<ResourceWarning>) -> Vec<PathBuf> {
    if is_markdown(&root.path) {
        return vec![root.path.clone()];
    }
    warnings.push(ResourceWarning::NotMarkdown(root.path.clone()));
    Vec::new()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn walk(root: &Path, limits: Arc<WalkLimits>) -> ignore::Walk {
    let mut builder = WalkBuilder::new(root);
    builder.hidden(true).follow_links(true).max_depth(Some(MAX_DEPTH)).sort_by_file_name(OsStr::cmp);
    // Ignore files beside the skills apply; ignore files of the project are about its code.
    builder.parents(false).git_global(false).git_exclude(false).require_git(false);
    builder.add_custom_ignore_filename(".fdignore");
    builder.filter_entry(move |entry| entry.depth() == 0 || limits.is_wanted(entry));
    builder.build()
}

/// Returns the warning about an unreadable entry. Returns `None` for circular and broken links.
fn unreadable(root: &Path, error: ignore::Error) -> Option<ResourceWarning> {
    let path = path_of(&error).unwrap_or(root).to_owned();
    let source = error.into_io_error().filter(|error| error.kind() != std::io::ErrorKind::NotFound)?;
    Some(ResourceWarning::Unreadable { path, source: source.into() })
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// The limits of a search below one root.
struct WalkLimits {
    boundary: Option<PathBuf>,
    /// The directories that the search has entered, as canonical paths.
    entered: Mutex<HashSet<PathBuf>>,
    warnings: Mutex<Vec<ResourceWarning>>,
}

impl WalkLimits {
    fn new(root: &SearchRoot) -> Self {
        let boundary =
            root.boundary.as_ref().map(|inside| inside.canonicalize().unwrap_or_else(|_| inside.clone()));
        Self { boundary, entered: Mutex::default(), warnings: Mutex::default() }
    }

    fn is_wanted(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let is_directory = entry.file_type().as_ref().is_some_and(FileType::is_dir);
        if is_directory && entry.file_name() == "node_modules" {
            return false;
        }
        // The other content of a skill's directory belongs to the skill.
        let directory = path.parent().filter(|_| entry.depth() > 1);
        if entry.file_name() != SKILL_FILE
            && directory.is_some_and(|directory| directory.join(SKILL_FILE).is_file())
        {
            return false;
        }
        if entry.path_is_symlink() && !self.may_enter(path) {
            return false;
        }
        !is_directory || self.mark_entered(path)
    }

    /// Returns true if the search may enter a path: its target is inside the boundary, or the path is broken and
    /// leads nowhere.
    fn may_enter(&self, path: &Path) -> bool {
        let Some(inside) = &self.boundary else { return true };
        match path.canonicalize() {
            Ok(target) if !target.starts_with(inside) => {
                let warning = ResourceWarning::OutsideProject { path: path.to_owned(), target };
                self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
                false
            }
            _ => true,
        }
    }

    fn mark_entered(&self, directory: &Path) -> bool {
        let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        self.entered.lock().unwrap_or_else(PoisonError::into_inner).insert(real)
    }

    fn take_warnings(&self) -> Vec<ResourceWarning> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the warnings of the search to `warnings`, and returns no files.
    fn reject(&self, warnings: &mut Vec<ResourceWarning>) -> Vec<PathBuf> {
        warnings.extend(self.take_warnings());
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::resources::Location;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[&str]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for file in files {
                tree.write(file, "");
            }
            tree
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, content: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), content).unwrap();
        }

        fn place(&self, name: &str, loose_files: bool, inside: Option<&str>) -> SearchRoot {
            let inside = inside.map(|name| self.path(name));
            SearchRoot { path: self.path(name), location: Location::Project, loose_files, boundary: inside }
        }

        /// Returns files and warnings, without the path of the test directory.
        fn shown(&self, files: Vec<PathBuf>, warnings: &[ResourceWarning]) -> (Vec<String>, Vec<String>) {
            let root = format!("{}/", self.0.path().display());
            let files = files.iter().map(|path| path.display().to_string().replace(&root, ""));
            let warnings = warnings.iter().map(|warning| warning.to_string().replace(&root, ""));
            (files.collect(), warnings.collect())
        }

        fn skills(&self, loose_files: bool, inside: Option<&str>) -> (Vec<String>, Vec<String>) {
            let mut warnings = Vec::new();
            let files = skill_files(&self.place("skills", loose_files, inside), &mut warnings);
            self.shown(files, &warnings)
        }
    }

    #[test]
    fn a_directory_with_a_skill_is_not_searched_further() {
        let tree = Tree::new(&[
            "skills/b/SKILL.md",
            "skills/b/more/SKILL.md",
            "skills/b/notes.md",
            "skills/group/a/SKILL.md",
            "skills/group/loose.md",
            "skills/loose.md",
            "skills/text.txt",
            "skills/.hidden/SKILL.md",
            "skills/node_modules/x/SKILL.md",
        ]);
        let deep = "d/".repeat(20);
        tree.write(&format!("skills/{deep}SKILL.md"), "");
        let (files, warnings) = tree.skills(true, None);
        assert_eq!(files, ["skills/b/SKILL.md", "skills/group/a/SKILL.md", "skills/loose.md"]);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(tree.skills(false, None).0, ["skills/b/SKILL.md", "skills/group/a/SKILL.md"]);
        tree.write("skills/SKILL.md", "");
        assert_eq!(tree.skills(true, None).0, ["skills/SKILL.md"]);
    }

    #[test]
    fn ignore_files_apply() {
        let names = ["a", "b", "c", "d", "e"];
        let tree =
            Tree::new(&names.map(|name| format!("skills/{name}/SKILL.md")).each_ref().map(String::as_str));
        tree.write("skills/.gitignore", "a/\n");
        tree.write("skills/.ignore", "b\n");
        tree.write("skills/.fdignore", "/c\n");
        // The project's ignore file does not apply to skills.
        tree.write(".gitignore", "skills\nd\n");
        assert_eq!(tree.skills(true, None).0, ["skills/d/SKILL.md", "skills/e/SKILL.md"]);
    }

    #[test]
    fn fm_f113_links_go_in_no_circle_and_not_out_of_the_project() {
        let tree = Tree::new(&["skills/a/SKILL.md", "outside/x/SKILL.md", "shared/y/SKILL.md", "secret.md"]);
        symlink(tree.path("skills"), tree.path("skills/circle")).unwrap();
        symlink(tree.path("skills/a"), tree.path("skills/again")).unwrap();
        symlink(tree.path("outside"), tree.path("skills/out")).unwrap();
        symlink(tree.path("nowhere"), tree.path("skills/lost")).unwrap();
        symlink(tree.path("secret.md"), tree.path("skills/secret.md")).unwrap();
        let (files, warnings) = tree.skills(true, Some("skills"));
        assert_eq!(files, ["skills/a/SKILL.md"]);
        assert_eq!(
            warnings,
            [
                "skills/out: the link leads out of the project, to outside; it is left out",
                "skills/secret.md: the link leads out of the project, to secret.md; it is left out"
            ]
        );
        let (files, warnings) = tree.skills(true, None);
        assert_eq!(files, ["skills/a/SKILL.md", "skills/out/x/SKILL.md", "skills/secret.md"]);
        assert_eq!(warnings, Vec::<String>::new());
        // The root itself may be a link.
        fs::remove_dir_all(tree.path("skills")).unwrap();
        symlink(tree.path("shared"), tree.path("skills")).unwrap();
        assert_eq!(tree.skills(true, None).0, ["skills/y/SKILL.md"]);
        let (files, warnings) = tree.skills(true, Some("outside"));
        assert_eq!((files.len(), warnings.len()), (0, 1), "{warnings:?}");
    }

    #[test]
    fn directories_that_lead_to_each_other_are_entered_once() {
        let tree = Tree::new(&["skills/0/SKILL.md"]);
        // Each level has two links to the next one: without the check for entered directories there would be
        // 2^40 paths.
        for level in 0..40 {
            let directory = tree.path(&format!("levels/{level}"));
            fs::create_dir_all(&directory).unwrap();
            for name in ["a", "b"] {
                symlink(tree.path(&format!("levels/{}", level + 1)), directory.join(name)).unwrap();
            }
        }
        symlink(tree.path("levels/0"), tree.path("skills/levels")).unwrap();
        assert_eq!(tree.skills(true, None).0, ["skills/0/SKILL.md"]);
    }

    #[test]
    fn too_many_files_are_cut_off_and_reported() {
        let tree = Tree::new(&["skills/zz/SKILL.md"]);
        for number in 0..MAX_ENTRIES {
            fs::write(tree.path(&format!("skills/{number}")), "").unwrap();
        }
        let (files, warnings) = tree.skills(true, None);
        assert_eq!(files.len(), 0);
        assert!(warnings[0].contains("files and directories; the rest is left out"), "{warnings:?}");
    }

    #[test]
    fn templates_are_directly_in_the_directory() {
        let tree = Tree::new(&[
            "prompts/b.md",
            "prompts/a.md",
            "prompts/more/c.md",
            "prompts/d.txt",
            "prompts/.e.md",
            "out.md",
        ]);
        symlink(tree.path("out.md"), tree.path("prompts/f.md")).unwrap();
        fs::create_dir(tree.path("prompts/g.md")).unwrap();
        let templates = |name: &str, inside| {
            let mut warnings = Vec::new();
            let files = template_files(&tree.place(name, true, inside), &mut warnings);
            tree.shown(files, &warnings)
        };
        let (files, warnings) = templates("prompts", Some("prompts"));
        assert_eq!((files, warnings.len()), (vec!["prompts/a.md".to_owned(), "prompts/b.md".to_owned()], 1));
        assert_eq!(templates("prompts", None).0.len(), 3);
        assert_eq!(templates("prompts/b.md", None).0, ["prompts/b.md"]);
        assert!(templates("prompts/d.txt", None).1[0].contains("neither a Markdown file"));
        assert_eq!(templates("nowhere", None), (Vec::new(), Vec::new()));
    }
}
