//! The cases, profiles and golden transcripts of the suite. They are embedded in the binary, or read from a
//! folder.

mod claims;
mod defaults;
mod profile_paths;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use agentese::types::{CaseDefaults, ExpectedFailures, Profile, Scenario};
use include_dir::{Dir, include_dir};

use crate::decode::protocol;
use crate::file::{self, FileError};
use crate::suggestions::suggest;
use crate::transcript::{Transcript, TranscriptError};

static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");
static TRANSCRIPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/transcripts");
static EXPECTED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/expected");
static ALTERNATIVES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/alternatives");

/// Reason why a file of the suite cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The name is unknown.
    #[error("unknown {what} `{name}`; {known}")]
    Unknown {
        /// Kind of the requested object: a case, a profile, or a dialect.
        what: &'static str,
        /// The requested name.
        name: String,
        /// Description of the known names.
        known: String,
    },
    /// A case or a profile is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// A golden transcript is invalid.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}

/// Source of cases (`cases/DIALECT/NAME.json`, with common parts in `cases/DIALECT.json`), profiles (`profiles/NAME.json`), golden transcripts
/// (`transcripts/DIALECT/NAME.jsonl`), other recordings of the same case (`alternatives/DIALECT/NAME.jsonl`)
/// and expected failures (`expected/NAME.json`).
#[derive(Debug, Clone, Default)]
pub struct Suite {
    folder: Option<PathBuf>,
}

impl Suite {
    /// Returns the suite that is embedded in the binary.
    pub fn embedded() -> Self {
        Self { folder: None }
    }

    /// Returns the suite in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// Returns the dialects with cases, in order.
    pub fn dialects(&self) -> Vec<String> {
        self.case_folders().into_iter().filter(|name| protocol(name).is_none()).collect()
    }

    /// Returns the protocols with cases, in order. They are declared, but their cases have no golden transcripts.
    pub fn protocols(&self) -> Vec<String> {
        self.case_folders().into_iter().filter(|name| protocol(name).is_some()).collect()
    }

    fn case_folders(&self) -> Vec<String> {
        let mut names = match &self.folder {
            None => CASES.dirs().map(|dir| stem(dir.path())).collect(),
            Some(folder) => on_disk(&folder.join("cases"), None),
        };
        names.sort();
        names
    }

    /// Returns the cases of a dialect's revision (`NAME@REVISION`), in order of their names. `NAME` alone is
    /// the first revision.
    ///
    /// # Errors
    /// If the dialect is unknown, or if a case is invalid.
    pub fn cases(&self, dialect: &str) -> Result<Vec<Scenario>, SuiteError> {
        let folder = dialect.split('@').next().unwrap_or_default();
        let known = self.case_folders();
        if !known.iter().any(|known| known == folder) {
            return Err(unknown("dialect", dialect, &known, "see `list`"));
        }
        let defaults = self.defaults(folder)?;
        let cases = self.names(&CASES, "cases", Some(folder)).into_iter();
        let cases: Vec<Scenario> = cases
            .map(|name| self.parse(&CASES, "cases", &format!("{folder}/{name}.json"), "scenario"))
            .map(|case| case.map(|case| defaults::apply(case, defaults.as_ref())))
            .collect::<Result<_, _>>()?;
        let first = crate::spec(dialect).map(|spec| spec.id());
        let wanted = first.unwrap_or_else(|_| dialect.to_owned());
        let of_revision = |case: &Scenario| case.dialect == wanted;
        Ok(cases.into_iter().filter(of_revision).collect())
    }

    /// Loads a case: a file, or a case of the dialect by its name.
    ///
    /// # Errors
    /// If the case is unknown or invalid.
    pub fn case(&self, dialect: &str, name: &str) -> Result<Scenario, SuiteError> {
        let folder = dialect.split('@').next().unwrap_or_default();
        let defaults = self.defaults(folder)?;
        if name.ends_with(".json") {
            return Ok(defaults::apply(file::load(Path::new(name), "scenario")?, defaults.as_ref()));
        }
        let names = self.names(&CASES, "cases", Some(folder));
        if !names.iter().any(|known| known == name) {
            let all = format!("see `list --dialect {folder}` for all {}", names.len());
            return Err(unknown("case", name, &names, &all));
        }
        let case = self.parse(&CASES, "cases", &format!("{folder}/{name}.json"), "scenario")?;
        Ok(defaults::apply(case, defaults.as_ref()))
    }

    /// Loads the common parts of a dialect's cases. Returns `None` if there is no such file.
    fn defaults(&self, dialect: &str) -> Result<Option<CaseDefaults>, SuiteError> {
        let path = format!("{dialect}.json");
        if self.text(&CASES, "cases", &path)?.is_none() {
            return Ok(None);
        }
        self.parse(&CASES, "cases", &path, "case-defaults").map(Some)
    }

    /// Returns the names of the profiles.
    pub fn profiles(&self) -> Vec<String> {
        self.names(&PROFILES, "profiles", None)
    }

    /// Loads a profile: a file, or a profile of the suite by its name. A relative path of the program starts
    /// at the folder of the file, which is also the value of `${PROFILE}`.
    ///
    /// # Errors
    /// If the profile is unknown or invalid; for example, if its claims name an unknown command, event or
    /// need.
    pub fn profile(&self, name: &str) -> Result<Profile, SuiteError> {
        let profile = self.read_profile(name)?;
        claims::check(self, &profile)?;
        Ok(profile)
    }

    fn read_profile(&self, name: &str) -> Result<Profile, SuiteError> {
        if name.ends_with(".json") {
            let path = Path::new(name);
            return Ok(profile_paths::resolve(file::load(path, "profile")?, path)?);
        }
        let names = self.profiles();
        if !names.iter().any(|known| known == name) {
            return Err(unknown("profile", name, &names, "see `list --profiles`"));
        }
        let profile = self.parse(&PROFILES, "profiles", &format!("{name}.json"), "profile")?;
        match &self.folder {
            None => Ok(profile),
            Some(folder) => {
                Ok(profile_paths::resolve(profile, &folder.join("profiles").join(format!("{name}.json")))?)
            }
        }
    }

    /// Loads expected failures by the name of their file. Returns `None` if there is no such file.
    ///
    /// # Errors
    /// If the file is invalid.
    pub fn expected(&self, name: &str) -> Result<Option<ExpectedFailures>, SuiteError> {
        let path = format!("{name}.json");
        if self.text(&EXPECTED, "expected", &path)?.is_none() {
            return Ok(None);
        }
        self.parse(&EXPECTED, "expected", &path, "expected-failures").map(Some)
    }

    /// Loads the golden transcript of a case. Returns `None` if the case has no golden transcript.
    ///
    /// # Errors
    /// If the file is not a transcript.
    pub fn golden(&self, dialect: &str, name: &str) -> Result<Option<Transcript>, SuiteError> {
        self.transcript(&TRANSCRIPTS, "transcripts", dialect, name)
    }

    /// Loads a second golden transcript of a case, if there is one. Both are valid, because the order of the
    /// recorded agent's actions varies.
    ///
    /// # Errors
    /// If the file is not a transcript.
    pub fn alternative(&self, dialect: &str, name: &str) -> Result<Option<Transcript>, SuiteError> {
        self.transcript(&ALTERNATIVES, "alternatives", dialect, name)
    }

    fn transcript(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        dialect: &str,
        name: &str,
    ) -> Result<Option<Transcript>, SuiteError> {
        let folder = dialect.split('@').next().unwrap_or_default();
        let path = format!("{folder}/{name}.jsonl");
        let Some(text) = self.text(embedded, kind, &path)? else { return Ok(None) };
        Ok(Some(Transcript::parse(&Path::new(kind).join(path), &text)?))
    }

    fn parse<T: serde::de::DeserializeOwned>(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        path: &str,
        format: &str,
    ) -> Result<T, SuiteError> {
        let text = self.text(embedded, kind, path)?.unwrap_or_default();
        let shown = Path::new(kind).join(path);
        Ok(file::parse(&shown, &text, format)?)
    }

    fn text(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        path: &str,
    ) -> Result<Option<Cow<'static, str>>, FileError> {
        let Some(folder) = &self.folder else {
            let file = embedded.get_file(path).and_then(|file| file.contents_utf8());
            // The embedded folder lives as long as the program, so the text can be borrowed.
            return Ok(file.map(|text| Cow::Owned(text.to_owned())));
        };
        let path = folder.join(kind).join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Cow::Owned(text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::Read { path, source }),
        }
    }

    fn names(&self, embedded: &Dir<'static>, kind: &str, within: Option<&str>) -> Vec<String> {
        let mut names: Vec<String> = match &self.folder {
            None => {
                let dir = within.map_or(Some(embedded), |name| embedded.get_dir(name));
                dir.into_iter().flat_map(|dir| dir.files()).map(|file| stem(file.path())).collect()
            }
            Some(folder) => on_disk(&folder.join(kind).join(within.unwrap_or_default()), Some("json")),
        };
        names.sort();
        names
    }
}

fn unknown(what: &'static str, name: &str, known: &[String], all: &str) -> SuiteError {
    SuiteError::Unknown { what, name: name.to_owned(), known: suggest(name, known, all) }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the names of the files with this extension in a folder, or of the subfolders if there is no
/// extension.
fn on_disk(folder: &Path, extension: Option<&str>) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|path| match extension {
            None => path.is_dir(),
            Some(wanted) => path.extension().is_some_and(|extension| extension == wanted),
        })
        .map(|path| stem(&path))
        .collect()
}
