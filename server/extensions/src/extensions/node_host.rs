//! The Node host: a program that runs extensions written for pi. It comes from `extensions/pi-host/`, is embedded in
//! this binary, and is run by Node.

mod unpack;

use std::ffi::OsString;
use std::path::PathBuf;

use tokio::io::AsyncReadExt;

use crate::config::Environment;
use crate::tools::{CommandLine, Exit, Spawner};

/// The environment variable with the path of another host file, for development of the host.
pub const NODE_HOST: &str = "AGENTESE_NODE_HOST";

/// The program that runs the host.
const NODE: &str = "node";
/// The oldest supported version of Node.
const MIN_VERSION: u32 = 20;

/// Location of the Node host's program. The paths of its extensions are sent in the first frame, as to every process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NodeHost {
    /// There is no host. Extensions that need it cannot be loaded, and the error states the reason.
    #[default]
    Missing,
    /// The host is in this file.
    File(PathBuf),
    /// The embedded host. It is unpacked into the first of these folders that can be used.
    Bundled(Vec<PathBuf>),
}

impl NodeHost {
    /// Returns the host file that the environment names, else the embedded host.
    pub fn from_environment(environment: &dyn Environment) -> Self {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = set(NODE_HOST) {
            return Self::File(file);
        }
        let caches = [set("XDG_CACHE_HOME"), set("HOME").map(|home| home.join(".cache"))];
        let mut folders: Vec<PathBuf> =
            caches.into_iter().flatten().map(|cache| cache.join("agentese")).collect();
        let user = rustix::process::geteuid().as_raw();
        folders.push(std::env::temp_dir().join(format!("agentese-{user}")));
        Self::Bundled(folders)
    }

    /// Returns the command line of the host. Fails if there is no host, if Node is missing or too old, or if unpacking
    /// fails. The error is phrased as the end of a sentence.
    pub(super) async fn command(
        &self,
        spawner: &dyn Spawner,
        cwd: PathBuf,
        hidden: Vec<OsString>,
    ) -> Result<Vec<OsString>, String> {
        if *self == Self::Missing {
            return Err("they need the Node host, which is missing".to_owned());
        }
        check_node(spawner, cwd, hidden).await?;
        match self.clone() {
            Self::Missing => unreachable!("dealt with before"),
            Self::File(file) => Ok(vec![NODE.into(), file.into()]),
            Self::Bundled(folders) => {
                let unpacked = tokio::task::spawn_blocking(move || unpack::unpack(&folders)).await;
                let unpacked = unpacked.map_err(|error| error.to_string())??;
                Ok(vec![NODE.into(), unpacked.program.into(), "--cache".into(), unpacked.cache.into()])
            }
        }
    }
}

/// Fails if Node is missing or too old.
async fn check_node(spawner: &dyn Spawner, cwd: PathBuf, hidden: Vec<OsString>) -> Result<(), String> {
    let line = CommandLine {
        program: NODE.into(),
        arguments: vec!["--version".into()],
        cwd,
        environment: Vec::new(),
        hidden,
    };
    let need = format!("they need Node {MIN_VERSION} or later");
    let mut running =
        spawner.spawn(&line).await.map_err(|error| format!("{need}, and `{NODE}` did not start: {error}"))?;
    let mut output = Vec::new();
    let _ = running.take_output().take(1 << 10).read_to_end(&mut output).await;
    let exit = running
        .wait()
        .await
        .map_err(|error| format!("{need}, and `{NODE}` cannot be waited for: {error}"))?;
    let output = String::from_utf8_lossy(&output);
    match major(&output) {
        Some(version) if version >= MIN_VERSION && exit == Exit::Code(0) => Ok(()),
        Some(_) => Err(format!("{need}, and `{NODE}` is {}", output.trim())),
        None => Err(format!("{need}, and `{NODE} --version` printed {:?}", output.trim())),
    }
}

/// Returns the major version from the output of `node --version`, such as `v20.1.0`. Other lines, as printed by
/// wrappers of Node, are ignored.
fn major(output: &str) -> Option<u32> {
    let version = |line: &str| line.trim().strip_prefix('v')?.split('.').next()?.parse().ok();
    output.lines().find_map(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_selects_the_folder_of_the_host() {
        let of = |variables: &'static [(&str, &str)]| {
            NodeHost::from_environment(&move |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(of(&[("AGENTESE_NODE_HOST", "/x.mjs"), ("HOME", "/h")]), NodeHost::File("/x.mjs".into()));
        let NodeHost::Bundled(folders) = of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]) else { panic!() };
        assert_eq!(folders[..2], [PathBuf::from("/c/agentese"), PathBuf::from("/h/.cache/agentese")]);
        let NodeHost::Bundled(folders) = of(&[]) else { panic!() };
        assert_eq!(folders.len(), 1);
    }

    #[test]
    fn a_version_is_read() {
        for (text, version) in [
            ("v20.20.2\n", Some(20)),
            ("v8.1", Some(8)),
            ("20", None),
            ("", None),
            ("vx", None),
            ("very new\nv20.1.0\n", Some(20)),
        ] {
            assert_eq!(major(text), version, "{text}");
        }
    }
}
