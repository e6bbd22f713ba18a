//! Tests of skills and prompt templates, from their files to the messages.

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};

/// Creates the same files as in pi's recordings.
fn place_with_resources() -> Place {
    let place = Place::new();
    place.put(
        "home/.pi/agent/prompts/review.md",
        "---\ndescription: Review something\n---\nReview $1 carefully. All: $@ Rest: ${@:2}\n",
    );
    place.put("work/.pi/prompts/plain.md", "Plain template without front matter.\nSecond line.\n");
    place.put("work/extra/extra.md", "---\ndescription: From the command line\n---\nExtra $ARGUMENTS\n");
    for (path, name) in [
        ("home/.pi/agent/skills/web-search", "web-search"),
        ("work/.pi/skills/local-skill", "local-skill"),
        ("work/extra-skill", "extra-skill"),
    ] {
        let text =
            format!("---\nname: {name}\ndescription: About {name}\n---\n\n# {name}\n\nStep by step.\n");
        place.put(&format!("{path}/SKILL.md"), text);
    }
    place
}

/// Starts an agent with short paths in its messages, whose model always answers `ok`.
fn agent(place: &Place, arguments: &[&str]) -> Agent {
    let script = place.script(json!({"default": {"text": "ok"}, "responses": []}));
    Agent::start(
        place.command(&[&["--mode", "rpc", "--script", &script, "--no-session"], arguments].concat()),
    )
}

fn short(place: &Place, value: &Value) -> String {
    let root = place.work().parent().unwrap().display().to_string();
    value.to_string().replace(&root, "")
}

fn commands(place: &Place, arguments: &[&str]) -> Vec<String> {
    let mut agent = agent(place, arguments);
    let answer = agent.request(json!({"type": "get_commands"}));
    assert_eq!(agent.finish().2, "");
    answer["data"]["commands"].as_array().unwrap().iter().map(|command| short(place, command)).collect()
}

/// Returns the texts of the user messages up to the end of a run.
fn user_texts(agent: &mut Agent) -> Vec<String> {
    let frames = agent.until_event("agent_end");
    let of_user = frames
        .iter()
        .filter(|frame| frame["type"] == "message_start" && frame["message"]["role"] == "user")
        .map(|frame| frame["message"]["content"][0]["text"].as_str().unwrap().to_owned());
    of_user.collect()
}

#[test]
fn resources_are_listed_with_location_and_path() {
    let place = place_with_resources();
    let given = ["--skill", "extra-skill/SKILL.md", "--prompt-template", "extra"];
    assert_eq!(
        commands(&place, &given),
        [
            r#"{"name":"plain","description":"Plain template without front matter.","source":"prompt","location":"project","path":"/work/.pi/prompts/plain.md"}"#,
            r#"{"name":"review","description":"Review something","source":"prompt","location":"user","path":"/home/.pi/agent/prompts/review.md"}"#,
            r#"{"name":"extra","description":"From the command line","source":"prompt","location":"path","path":"/work/extra/extra.md"}"#,
            r#"{"name":"skill:local-skill","description":"About local-skill","source":"skill","location":"project","path":"/work/.pi/skills/local-skill/SKILL.md"}"#,
            r#"{"name":"skill:web-search","description":"About web-search","source":"skill","location":"user","path":"/home/.pi/agent/skills/web-search/SKILL.md"}"#,
            r#"{"name":"skill:extra-skill","description":"About extra-skill","source":"skill","location":"path","path":"/work/extra-skill/SKILL.md"}"#,
        ]
    );
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = commands(&place, arguments);
        let name = |command: &String| {
            serde_json::from_str::<Value>(command).unwrap()["name"].as_str().unwrap().to_owned()
        };
        listed.iter().map(name).collect()
    };
    assert_eq!(names(&["--no-skills", "--no-prompt-templates"]), Vec::<String>::new());
    assert_eq!(
        names(&[&["--no-skills", "--no-prompt-templates"], &given[..]].concat()),
        ["extra", "skill:extra-skill"]
    );
    let settings = json!({"skills": ["~/more"], "prompts": ["../../../work/extra/extra.md"]});
    place.put("home/.pi/agent/settings.json", settings.to_string());
    place.put("home/more/one/SKILL.md", "---\ndescription: d\n---\n");
    let listed = commands(&place, &["--no-prompt-templates"]);
    assert_eq!(
        listed.last().unwrap(),
        r#"{"name":"skill:one","description":"d","source":"skill","location":"path","path":"/home/more/one/SKILL.md"}"#
    );
    assert_eq!(
        names(&[]),
        ["plain", "review", "extra", "skill:local-skill", "skill:web-search", "skill:one"]
    );
}

#[test]
fn prompts_steering_and_follow_ups_are_expanded() {
    let place = place_with_resources();
    let mut agent = agent(&place, &[]);
    let skill = |words: &str| {
        format!(
            "<skill name=\"web-search\" location=\"/home/.pi/agent/skills/web-search/SKILL.md\">\nReferences are relative \
             to /home/.pi/agent/skills/web-search.\n\n# web-search\n\nStep by step.\n</skill>{words}"
        )
    };
    let root = place.work().parent().unwrap().display().to_string();
    for (message, text) in [
        (
            "/review main.py \"two words\" three",
            "Review main.py carefully. All: main.py two words three Rest: two words three",
        ),
        ("/plain", "Plain template without front matter.\nSecond line.\n"),
        ("/skill:web-search find cats", &skill("\n\nfind cats")),
        ("/skill:web-search", &skill("")),
        ("/nosuch thing", "/nosuch thing"),
        ("/skill:nosuch x", "/skill:nosuch x"),
        ("/quit", "/quit"),
        ("/settings", "/settings"),
    ] {
        agent.send(json!({"type": "prompt", "message": message}));
        let texts: Vec<_> = user_texts(&mut agent).iter().map(|text| text.replace(&root, "")).collect();
        assert_eq!(texts, [text], "{message}");
    }
    agent.request(json!({"type": "steer", "message": "/review steered"}));
    agent.request(json!({"type": "follow_up", "message": "/skill:web-search followed"}));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let mut texts: Vec<_> = user_texts(&mut agent).iter().map(|text| text.replace(&root, "")).collect();
    texts.sort();
    assert_eq!(texts, [&skill("\n\nfollowed"), "Review steered carefully. All: steered Rest: ", "go"]);
    assert_eq!(agent.finish().2, "");
}

#[test]
fn a_missing_skill_is_reported_and_the_text_stays() {
    let place = place_with_resources();
    let mut agent = agent(&place, &[]);
    agent.request(json!({"type": "get_state"}));
    let path = place.work().join(".pi/skills/local-skill/SKILL.md");
    std::fs::remove_file(&path).unwrap();
    agent.send(json!({"type": "prompt", "message": "/skill:local-skill now"}));
    assert_eq!(user_texts(&mut agent), ["/skill:local-skill now"]);
    let failed: Vec<_> = agent.seen.iter().filter(|frame| frame["type"] == "extension_error").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!((&failed[0]["extensionPath"], &failed[0]["event"]), (&json!(path), &json!("skill_expansion")));
    let error = failed[0]["error"].as_str().unwrap();
    assert!(error.starts_with("the skill cannot be read: "), "{error}");
}

#[test]
fn a_model_with_read_access_receives_the_skills() {
    let place = place_with_resources();
    place.put("work/.pi/skills/quiet/SKILL.md", "---\ndescription: q\ndisable-model-invocation: true\n---\n");
    let script = place.script(json!({"responses": [
        {"when": {"system": "<name>quiet</name>"}, "text": "all"},
        {"when": {"system": "<location>"}, "text": "some"},
        {"text": "none"},
    ]}));
    for (arguments, expected) in [
        (&[][..], "some"),
        (&["--tools", "bash"], "none"),
        (&["--no-skills"], "none"),
        (&["--system-prompt", "x"], "some"),
    ] {
        let mut agent = Agent::start(
            place.command(&[&["--mode", "rpc", "--script", &script, "--no-session"], arguments].concat()),
        );
        agent.send(json!({"type": "prompt", "message": "go"}));
        agent.until_event("agent_end");
        let answer = agent.request(json!({"type": "get_last_assistant_text"}));
        assert_eq!(answer["data"]["text"], expected, "{arguments:?}");
    }
}

#[test]
fn invalid_resources_are_reported_on_stderr() {
    let place = Place::new();
    place.put("work/.pi/skills/bad/SKILL.md", "# No description");
    place.put("work/.pi/skills/Odd/SKILL.md", "---\ndescription: d\n---\n");
    place.put("home/.pi/agent/prompts/broken.md", "---\ndescription: a: b\n---\nx");
    let (status, stdout, stderr) = place.output(&["--mode", "rpc", "--provider", "scripted"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
    let root = place.work().parent().unwrap().display().to_string();
    let lines: Vec<_> = stderr.lines().map(|line| line.replace(&root, "")).collect();
    assert_eq!(lines.len(), 3, "{stderr}");
    assert_eq!(
        lines[0],
        "Warning: /work/.pi/skills/Odd/SKILL.md: the name \"Odd\" contains characters other than a-z, 0-9 and -"
    );
    assert_eq!(
        lines[1],
        "Warning: /work/.pi/skills/bad/SKILL.md: the skill has no description; it is left out"
    );
    assert!(
        lines[2].starts_with("Warning: /home/.pi/agent/prompts/broken.md: its front matter cannot be read: "),
        "{stderr}"
    );
    for option in ["--skill", "--prompt-template"] {
        let (status, stdout, stderr) =
            place.output(&["--mode", "rpc", "--provider", "scripted", option, "no/such.md"]);
        assert_eq!((status.code(), stdout.as_str()), (Some(1), ""));
        assert_eq!(
            stderr.replace(&root, ""),
            format!("Error: {option} /work/no/such.md: no such file or directory\n")
        );
    }
}
