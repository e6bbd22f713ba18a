//! Tests of skills and prompt templates from extensions.

use serde_json::{Value, json};

use super::host::command;
use crate::support::process::{Agent, Place};

/// An extension that registers files beside it, and a file that does not exist.
const RESOURCE_EXTENSION: &str = r#"
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
const here = dirname(fileURLToPath(import.meta.url));
export default function (pi: any) {
  pi.on("resources_discover", (event: any, ctx: any) => {
    ctx.ui.notify(event.reason);
    return { skillPaths: [join(here, "SKILL.md")], promptPaths: [join(here, "say.md"), join(here, "gone.md")], themePaths: ["x.json"] };
  });
}
"#;

#[test]
fn extension_resources_are_listed_used_and_in_the_system_prompt() {
    let place = Place::new();
    place.put("work/.pi/prompts/old.md", "old");
    let file = place.put("installed/brings/index.ts", RESOURCE_EXTENSION);
    place.put(
        "installed/brings/SKILL.md",
        "---\nname: brings\ndescription: Brought along\n---\nDo it well.\n",
    );
    place.put("installed/brings/say.md", "---\ndescription: Says\n---\nSay $1 twice.");
    // The model knows the skill only if its input names it.
    let script = json!({"responses": [
        {"when": {"system": "Brought along", "user": "Say hello twice."}, "text": "hello hello"},
        {"when": {"user": "Do it well."}, "text": "well"},
    ], "default": {"text": "nobody said so"}});
    let mut command = command(&place, &[], script);
    command.arg("-e").arg(file.parent().unwrap());
    let mut agent = Agent::start(command);
    let listed = agent.request(json!({"type": "get_commands"}))["data"]["commands"].clone();
    let shown =
        |command: &Value| (command["name"].clone(), command["source"].clone(), command["location"].clone());
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(shown).collect();
    let expected =
        [("old", "prompt", "project"), ("say", "prompt", "path"), ("skill:brings", "skill", "path")];
    assert_eq!(
        listed,
        expected.map(|(name, source, location)| (json!(name), json!(source), json!(location)))
    );
    assert!(agent.seen.iter().any(|frame| frame["message"] == "startup"));
    for (prompt, expected) in [("/say hello", "hello hello"), ("/skill:brings", "well")] {
        agent.prompt(prompt);
        agent.until_event("agent_end");
        assert_eq!(
            agent.request(json!({"type": "get_last_assistant_text"}))["data"]["text"],
            expected,
            "{prompt}"
        );
    }
    let stderr = agent.finish().2;
    assert!(stderr.contains("gone.md: named by an extension, but does not exist"), "{stderr}");
}
