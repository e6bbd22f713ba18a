//! The example extensions of the documentation, in each language and with each method to start them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::host::command;
use crate::support::process::{Agent, Place};

/// The language of an example, and the method to start it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python, as an executable file.
    Python,
    /// TypeScript, compiled and run by Node.
    TypeScript,
    /// TypeScript source, unchanged, run by a Node that removes types itself.
    PlainTypeScript,
}

impl Language {
    /// Returns all languages that this machine supports.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Python, Self::TypeScript];
        match strips_types() {
            true => all.push(Self::PlainTypeScript),
            false => eprintln!("this Node does not run TypeScript as it is: it needs 22.6"),
        }
        all
    }

    /// Starts an agent with one example in this language.
    pub fn agent(self, place: &Place, example: &str, script: Value) -> Agent {
        let mut command = command(place, &[], script);
        command.env_remove("PYTHONPATH").arg("-e").arg(self.install(place, example));
        Agent::start(command)
    }

    /// Installs the extension and returns its folder or file.
    fn install(self, place: &Place, example: &str) -> PathBuf {
        let put = |name: &str, text: String| place.put(&format!("installed/{example}/{name}"), text);
        let (main, manifest) = match self {
            // Unchanged files of the repository. The example of the page becomes executable, with the library
            // beside it.
            Self::Python if example == "hello" => {
                put("agentese_extension.py", read(&root().join("extensions/python/agentese_extension.py")));
                let file = put("hello.py", self.documented());
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
                return file;
            }
            Self::Python => return root().join(format!("extensions/examples/python/{example}.py")),
            Self::TypeScript => ("main.ts", json!({"runtime": "node", "entry": "main.js"})),
            Self::PlainTypeScript => {
                let runtime = ["node", "--experimental-strip-types", "--no-warnings"];
                ("main.ts", json!({"runtime": runtime, "entry": "main.ts"}))
            }
        };
        let code = if example == "hello" { self.documented() } else { Self::code(example) };
        let folder = put(main, code).parent().unwrap().to_owned();
        put("extension.json", manifest.to_string());
        put("package.json", r#"{"type": "module"}"#.to_owned());
        put("node_modules/agentese/package.json", read(&root().join("sdk-ts/package.json")));
        compile(&root().join("sdk-ts/src/extension.ts"), &folder.join("node_modules/agentese/dist"));
        if self == Self::TypeScript {
            compile(&folder.join(main), &folder);
            std::fs::remove_file(folder.join(main)).unwrap();
        }
        folder
    }

    fn code(example: &str) -> String {
        read(&root().join(format!("extensions/examples/typescript/{example}/main.ts")))
    }

    /// Returns the source of the first example in this language's documentation.
    fn documented(self) -> String {
        let fence = if self == Self::Python { "```python\n" } else { "```typescript\n" };
        let page = read(&root().join("docs/extensions.md"));
        let (_, rest) = page.split_once(fence).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Compiles a file by removing its types. The tests of `sdk-ts` check the types and the manifests of the examples.
fn compile(file: &Path, folder: &Path) {
    let compiler = root().join("sdk-ts/node_modules/.bin/esbuild");
    assert!(compiler.exists(), "the tools of sdk-ts are missing: run `npm ci` in sdk-ts");
    let made = Command::new(compiler)
        .arg(file)
        .args(["--format=esm", "--platform=node", "--target=node20", "--log-level=warning"])
        .arg(format!("--outdir={}", folder.display()))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Returns true if the installed `node` can run TypeScript by removing types.
fn strips_types() -> bool {
    let output = Command::new("node").arg("--version").output().expect("these tests need Node");
    let version = String::from_utf8(output.stdout).unwrap();
    let mut parts =
        version.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap());
    (parts.next().unwrap(), parts.next().unwrap()) >= (22, 6)
}
