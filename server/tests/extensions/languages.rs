//! The example extensions of the documentation, in each language and each way in which they are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::host::command;
use crate::support::process::{Agent, Place};

/// How an example is written and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// With the interpreter.
    Python,
    /// Compiled, with Node.
    TypeScript,
    /// As it is, with a Node that leaves types out.
    PlainTypeScript,
}

impl Language {
    /// All that this machine can start.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Python, Self::TypeScript];
        match strips_types() {
            true => all.push(Self::PlainTypeScript),
            false => eprintln!("this Node does not run TypeScript as it is: it needs 22.6"),
        }
        all
    }

    /// An agent with that example alone.
    pub fn agent(self, place: &Place, example: &str, script: Value) -> Agent {
        let mut command = command(place, &[], script);
        command.arg("-e").arg(self.install(place, example));
        Agent::start(command)
    }

    fn install(self, place: &Place, example: &str) -> PathBuf {
        let put = |name: &str, text: String| place.put(&format!("installed/{example}/{name}"), text);
        let manifest = match self {
            Self::Python => {
                let file = root().join("extensions/examples/python").join(format!("{example}.py"));
                put("extension.json", json!({"runtime": "python3", "entry": file}).to_string())
            }
            Self::TypeScript => {
                let manifest = put("extension.json", source(example, "extension.json"));
                compile(example, manifest.parent().unwrap());
                manifest
            }
            Self::PlainTypeScript => {
                put("main.ts", source(example, "main.ts"));
                let runtime = ["node", "--experimental-strip-types", "--no-warnings"];
                let manifest =
                    put("extension.json", json!({"runtime": runtime, "entry": "main.ts"}).to_string());
                compile(example, manifest.parent().unwrap());
                std::fs::remove_file(manifest.with_file_name("main.js")).unwrap();
                manifest
            }
        };
        let folder = manifest.parent().unwrap();
        if self != Self::Python {
            std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
            let package = root().join("sdk-ts/package.json");
            std::fs::copy(package, folder.join("node_modules/agentese/package.json")).unwrap();
        }
        folder.to_owned()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn source(example: &str, name: &str) -> String {
    let file = root().join("extensions/examples/typescript").join(example).join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Compiles an example, and beside it the library as the npm package has it. Types are checked by the tests of
/// `sdk-ts`.
fn compile(example: &str, folder: &Path) {
    let compiler = root().join("sdk-ts/node_modules/.bin/esbuild");
    assert!(compiler.exists(), "the tools of sdk-ts are missing: run `npm ci` in sdk-ts");
    let entry = |from: &str, to: &str| format!("{to}={}", root().join(from).display());
    let made = Command::new(compiler)
        .arg(entry(&format!("extensions/examples/typescript/{example}/main.ts"), "main"))
        .arg(entry("sdk-ts/src/extension.ts", "node_modules/agentese/dist/extension"))
        .args(["--format=esm", "--platform=node", "--target=node20", "--log-level=warning"])
        .arg(format!("--outdir={}", folder.display()))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Whether `node` leaves types out.
fn strips_types() -> bool {
    let said = Command::new("node").arg("--version").output().expect("these tests need Node");
    let version = String::from_utf8(said.stdout).unwrap();
    let mut parts = version.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap());
    (parts.next().unwrap(), parts.next().unwrap()) >= (22, 6)
}
