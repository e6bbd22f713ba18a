//! Search for extensions, and their start commands.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::manifest::{self, MANIFEST};
use crate::config::resolve;
use crate::resources::Location;

/// Name of the library file that scripts in Python import from their own folder.
const LIBRARY: &str = "agentese_extension.py";

/// An extension on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredExtension {
    /// The absolute path of the file, which identifies the extension.
    pub path: PathBuf,
    /// Method to start the extension.
    pub launch: LaunchMethod,
    /// The member `guards` of the extension's manifest.
    pub guards: Option<bool>,
    /// Origin of the extension.
    pub location: Location,
}

impl DiscoveredExtension {
    fn new(path: impl Into<PathBuf>, launch: LaunchMethod) -> Self {
        Self { path: path.into(), launch, guards: None, location: Location::Path }
    }
}

/// Method to start an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchMethod {
    /// The extension is a process of its own. Contains the program and its arguments.
    Program(Vec<OsString>),
    /// The extension runs in the shared Node host, with all other extensions of this kind.
    Node,
    /// The extension cannot start, for this reason.
    Unusable(String),
}

/// The paths to search for extensions.
#[derive(Debug, Clone, Default)]
pub struct ExtensionPaths {
    /// The folder with the extensions of a working directory, if the directory is trusted.
    pub project: Option<PathBuf>,
    /// The folder of the user's settings.
    pub agent_dir: Option<PathBuf>,
    /// Absolute paths from the settings.
    pub settings: Vec<PathBuf>,
    /// Absolute paths from the command line.
    pub command_line: Vec<PathBuf>,
    /// True if only the paths from the command line are searched.
    pub only_command_line: bool,
}

/// A file that cannot be loaded, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryError {
    /// Path of the file that cannot be loaded.
    pub path: PathBuf,
    /// The reason, phrased as the end of a sentence.
    pub reason: String,
    /// True if the file is an extension. A missing extension may be a guard, so tools are then blocked.
    pub is_extension: bool,
}

impl From<DiscoveryError> for DiscoveredExtension {
    fn from(unusable: DiscoveryError) -> Self {
        Self::new(unusable.path, LaunchMethod::Unusable(unusable.reason))
    }
}

/// Returns true if a folder contains any extension, including extensions that cannot be loaded.
pub fn contains_extensions(folder: &Path) -> bool {
    let mut search = Search::default();
    search.folder(Some(folder));
    !search.found.is_empty() || !search.errors.is_empty()
}

/// Searches for extensions, in this order: the working directory, the user's folder, the paths from settings, the paths
/// from the command line. Each file is returned once. Also returns the files that cannot be loaded.
pub fn discover(paths: &ExtensionPaths) -> (Vec<DiscoveredExtension>, Vec<DiscoveryError>) {
    let mut search = Search::default();
    if !paths.only_command_line {
        let own = paths.agent_dir.as_ref().map(|dir| dir.join("extensions"));
        for (folder, location) in [(paths.project.clone(), Location::Project), (own, Location::User)] {
            let before = search.found.len();
            search.folder(folder.as_deref());
            search.found[before..].iter_mut().for_each(|found| found.location = location);
        }
        paths.settings.iter().for_each(|path| search.named(path));
    }
    paths.command_line.iter().for_each(|path| search.named(path));
    (search.found, search.errors)
}

#[derive(Default)]
struct Search {
    found: Vec<DiscoveredExtension>,
    errors: Vec<DiscoveryError>,
    seen: HashSet<PathBuf>,
}

impl Search {
    /// Adds each entry of a folder that looks like an extension. Hidden entries are skipped.
    fn folder(&mut self, folder: Option<&Path>) {
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let mut paths: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden && looks_like_extension(&path) {
                self.add(&path);
            }
        }
    }

    /// Adds a path that the user has named: a file, the folder of one extension, or a folder with several extensions.
    fn named(&mut self, path: &Path) {
        if path.is_dir() && !looks_like_extension(path) {
            let before = self.found.len();
            self.folder(Some(path));
            if self.found.len() == before {
                let reason = format!("the folder has neither an extension nor a {MANIFEST}");
                self.errors.push(DiscoveryError { path: path.to_owned(), reason, is_extension: false });
            }
        } else if path.exists() {
            self.add(path);
        } else {
            self.add_error(path, "no such file".to_owned());
        }
    }

    fn add(&mut self, path: &Path) {
        match extensions_at(path) {
            Ok(found) => {
                for found in found {
                    let real = found.path.canonicalize().unwrap_or_else(|_| found.path.clone());
                    if self.seen.insert(real) {
                        self.found.push(found);
                    }
                }
            }
            Err(reason) => self.add_error(path, reason),
        }
    }

    fn add_error(&mut self, path: &Path, reason: String) {
        self.errors.push(DiscoveryError { path: path.to_owned(), reason, is_extension: true });
    }
}

fn looks_like_extension(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(MANIFEST).is_file() || !node_entries(path).is_empty();
    }
    if path.file_name().is_some_and(|name| name == LIBRARY) {
        return false;
    }
    // A script without permission to execute is reported; texts and data beside extensions are not.
    path.is_file() && (is_for_node(path) || is_executable(path) || has_extension(path, &["py"]))
}

/// Returns the extensions at a path: a file, or the folder of one extension. Fails with the reason if they cannot be
/// loaded.
fn extensions_at(path: &Path) -> Result<Vec<DiscoveredExtension>, String> {
    if path.is_dir() {
        let file = path.join(MANIFEST);
        if file.is_file() {
            return from_manifest(&file);
        }
        let entries = node_entries(path);
        return Ok(entries
            .into_iter()
            .map(|path| DiscoveredExtension::new(path, LaunchMethod::Node))
            .collect());
    }
    if path.file_name().is_some_and(|name| name == MANIFEST) {
        return from_manifest(path);
    }
    if is_for_node(path) {
        return Ok(vec![DiscoveredExtension::new(path, LaunchMethod::Node)]);
    }
    if is_executable(path) {
        let program = path.as_os_str().to_owned();
        return Ok(vec![DiscoveredExtension::new(path, LaunchMethod::Program(vec![program]))]);
    }
    Err(format!("it is not executable, and no {MANIFEST} names a program that runs it"))
}

fn from_manifest(file: &Path) -> Result<Vec<DiscoveredExtension>, String> {
    let manifest = manifest::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut words = manifest.runtime;
    words.push(manifest.entry.as_os_str().to_owned());
    words.extend(manifest.arguments);
    Ok(vec![DiscoveredExtension {
        guards: manifest.guards,
        ..DiscoveredExtension::new(manifest.entry, LaunchMethod::Program(words))
    }])
}

/// Returns the files in a folder that the Node host loads: the files named in `package.json`, else the index file.
fn node_entries(folder: &Path) -> Vec<PathBuf> {
    let package = crate::config::read_regular(&folder.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    let named = package["pi"]["extensions"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
    let named: Vec<PathBuf> =
        named.map(|name| resolve(folder, Path::new(name))).filter(|path| path.is_file()).collect();
    if !named.is_empty() {
        return named;
    }
    ["index.ts", "index.js"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
        .into_iter()
        .collect()
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|it| known.contains(&it))
}

fn is_for_node(path: &Path) -> bool {
    has_extension(path, &["ts", "js"])
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn put(&self, path: &str, text: &str, mode: u32) -> PathBuf {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    #[test]
    fn folders_without_extensions_are_recognised() {
        let place = Place(tempfile::tempdir().unwrap());
        let folder = place.0.path().join("extensions");
        let expect = |path: &str, mode, brings| {
            if !path.is_empty() {
                place.put(&format!("extensions/{path}"), "", mode);
            }
            assert_eq!(contains_extensions(&folder), brings, "{path}");
        };
        expect("", 0, false);
        for (path, mode) in [("README.md", 0o644), (".hidden", 0o755), (LIBRARY, 0o644), (LIBRARY, 0o755)] {
            expect(path, mode, false);
        }
        expect("empty/notes.txt", 0o644, false);
        expect("guard.py", 0o755, true);
    }

    #[test]
    fn extensions_are_found_in_order() {
        let place = Place(tempfile::tempdir().unwrap());
        let project = place.put("work/.pi/extensions/b", "", 0o755);
        place.put("work/.pi/extensions/README.md", "", 0o644);
        place.put("work/.pi/extensions/.hidden", "", 0o755);
        let lost = place.put("home/extensions/a.py", "", 0o644);
        let node = place.put("home/extensions/a.ts", "", 0o644);
        place.put("home/extensions/c/extension.json", r#"{"runtime": "python3", "entry": "m.py"}"#, 0o644);
        let main = place.put("home/extensions/c/m.py", "", 0o644);
        let index = place.put("home/extensions/d/index.ts", "", 0o644);
        place.put("home/extensions/e/package.json", r#"{"pi": {"extensions": ["./x.ts"]}}"#, 0o644);
        let packed = place.put("home/extensions/e/./x.ts", "", 0o644);
        let given = place.put("given.js", "", 0o644);
        let paths = ExtensionPaths {
            project: Some(place.0.path().join("work/.pi/extensions")),
            agent_dir: Some(place.0.path().join("home")),
            settings: vec![node.clone()],
            command_line: vec![given.clone(), place.0.path().join("gone")],
            only_command_line: false,
        };
        let (found, unusable) = discover(&paths);
        let found_paths: Vec<_> = found.iter().map(|found| found.path.clone()).collect();
        let packed = packed.parent().unwrap().join("./x.ts");
        assert_eq!(found_paths, [project, node, main.clone(), index, packed, given.clone()]);
        assert_eq!(found[2].launch, LaunchMethod::Program(vec!["python3".into(), main.into()]));
        let reasons: Vec<_> = unusable.iter().map(|one| (one.path.clone(), one.reason.as_str())).collect();
        assert_eq!(reasons[0].0, lost);
        assert!(reasons[0].1.contains("not executable"), "{reasons:?}");
        assert!(reasons[1].1.contains("no such file"), "{reasons:?}");
        let locations: Vec<_> = found.iter().map(|found| found.location).collect();
        assert_eq!(locations[0], Location::Project);
        assert!(locations[1..5].iter().all(|location| *location == Location::User), "{locations:?}");
        assert_eq!(locations[5], Location::Path);
        let (found, _) = discover(&ExtensionPaths { only_command_line: true, ..paths });
        assert_eq!(found, [DiscoveredExtension::new(given, LaunchMethod::Node)]);
    }
}
