//! Tests of the tools and prompts of servers: their use, and the check that they are valid.

use serde_json::{Value, json};

use crate::harness::{
    agent, calling, command, finish, one_by_one, result_text, results, run, texts, until_prompt_is_listed,
    zoo,
};
use crate::support::process::{Agent, Place};

#[test]
fn clashing_names_have_the_server_name_as_prefix() {
    let place = Place::new();
    place.put("work/file", "of the agent");
    let calls = [
        ("a_echo", json!({"text": "1"})),
        ("b_echo", json!({"text": "2"})),
        ("echo", json!({})),
        ("read", json!({"path": "file"})),
        ("b_read", json!({})),
    ];
    let mut agent = agent(&place, json!({"a": zoo(&[]), "b": zoo(&[])}), json!({}), &calls);
    let frames = run(&mut agent);
    assert_eq!(texts(&frames), ["zoo: 1", "zoo: 2", "Tool echo not found", "of the agent", "read is done"]);
    let commands = agent.request(json!({"type": "get_commands"}))["data"]["commands"].clone();
    let names: Vec<_> = commands.as_array().unwrap().iter().map(|command| command["name"].clone()).collect();
    assert_eq!(names, ["a:feed", "b:feed"]);
    finish(agent);
}

#[test]
fn list_changes_add_tools_and_prompts() {
    let place = Place::new();
    let calls = [("grown", json!({})), ("grow", json!({})), ("grown", json!({}))];
    let script = one_by_one(&calls);
    let mut agent = Agent::start(command(&place, json!({"zoo": zoo(&[])}), json!({}), script, &[]));
    assert_eq!(texts(&run(&mut agent)), ["Tool grown not found"]);
    assert_eq!(texts(&run(&mut agent)), ["grow is done"]);
    // Prompts are requested after tools.
    until_prompt_is_listed(&mut agent, "grown");
    assert_eq!(texts(&run(&mut agent)), ["grown is done"]);
    finish(agent);
}

#[test]
fn errors_of_tools_are_results_that_the_model_reads() {
    let place = Place::new();
    let mut agent =
        agent(&place, json!({"zoo": zoo(&[])}), json!({}), &[("fail", json!({})), ("refuse", json!({}))]);
    let frames = run(&mut agent);
    assert_eq!(texts(&frames), ["it did not work", "not today"]);
    assert!(results(&frames).iter().all(|end| end["isError"] == true));
    finish(agent);
}

#[test]
fn files_and_options_choose_among_the_tools() {
    let chosen = |servers: Value, options: &[&str]| {
        let place = Place::new();
        let calls = [("echo", json!({})), ("fail", json!({})), ("read", json!({"path": "x"}))];
        let mut agent = Agent::start(command(&place, servers, json!({}), calling(&calls), options));
        let frames = run(&mut agent);
        let there =
            results(&frames).iter().map(|end| !result_text(end).ends_with(" not found")).collect::<Vec<_>>();
        (there, finish(agent))
    };
    let with = |members: Value| {
        let mut server = zoo(&[]);
        server.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"zoo": server})
    };
    assert_eq!(chosen(with(json!({"enabledTools": ["echo"]})), &[]).0, [true, false, true]);
    assert_eq!(chosen(with(json!({"disabledTools": ["echo"]})), &[]).0, [false, true, true]);
    assert_eq!(chosen(with(json!({"disabled": true})), &[]).0, [false, false, true]);
    let (there, stderr) = chosen(with(json!({})), &["--tools", "read,fail,teleport"]);
    assert_eq!(there, [false, true, true]);
    assert!(stderr.contains("unknown tool \"teleport\"") && !stderr.contains("\"fail\""), "{stderr}");
    assert_eq!(chosen(with(json!({})), &["--no-tools"]).0, [false, false, false]);
}

#[test]
fn guards_see_the_calls_of_servers_tools() {
    let place = Place::new();
    let guard = "from agentese_extension import Extension\nextension = Extension('guard')\n\
                 @extension.on('tool_call')\ndef guard(event, context):\n    \
                 return {'block': True, 'reason': 'no ' + event['toolName'] + ' ' + event['input']['text']}\nextension.run()\n";
    let entry = place.put("installed/guard.py", guard);
    let manifest = json!({"runtime": "python3", "entry": entry}).to_string();
    let manifest = place.put("installed/extension.json", manifest);
    let folder = manifest.parent().unwrap().to_str().unwrap();
    let calls = [("echo", json!({"text": "that"}))];
    let mut command = command(&place, json!({"zoo": zoo(&[])}), json!({}), calling(&calls), &["-e", folder]);
    command.env("PYTHONPATH", std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../extensions/python"));
    let mut agent = Agent::start(command);
    let frames = run(&mut agent);
    assert_eq!(texts(&frames), ["no echo that"]);
    finish(agent);
}

#[test]
fn excess_tools_and_prompts_are_reported() {
    for (options, report) in [
        (["--tools", "1500"], "it offers 1500 tools; only the first 1000 are used"),
        (["--prompts", "1001"], "it offers 1001 prompts; only the first 1000 are used"),
        (
            ["--endless", ""],
            "its list of tools has more than 100 pages; only the 0 tools of these are used; its list of prompts",
        ),
    ] {
        let place = Place::new();
        let mut agent = agent(&place, json!({"zoo": zoo(&options)}), json!({}), &[("more900", json!({}))]);
        let frames = run(&mut agent);
        let event = agent.seen.iter().find(|frame| frame["type"] == "extension_error");
        let event = event.unwrap_or_else(|| panic!("{report}: {frames:#?}"));
        assert_eq!(event["extensionPath"], "mcp:zoo");
        assert!(event["error"].as_str().unwrap().starts_with(report), "{event}");
        let stderr = finish(agent);
        assert_eq!(stderr.matches(report).count(), 1, "{stderr}");
    }
}

#[test]
fn excess_pages_of_a_list_are_reported() {
    let place = Place::new();
    let servers = json!({"zoo": zoo(&["--tools", "5000", "--page", "300"])});
    let mut agent = agent(&place, servers, json!({}), &[("more900", json!({})), ("more1100", json!({}))]);
    let frames = run(&mut agent);
    assert_eq!(texts(&frames), ["more900 is done", "Tool more1100 not found"]);
    let stderr = finish(agent);
    assert!(stderr.contains("it offers more than 1000 tools; only the first 1000 are used"), "{stderr}");
}

#[test]
fn unsupported_tool_is_excluded_without_effect_on_others() {
    let place = Place::new();
    let calls = [("echo", json!({"text": "a"})), ("works", json!({"steps": 1})), ("null", json!({}))];
    let mut agent = agent(&place, json!({"zoo": zoo(&["--odd"])}), json!({}), &calls);
    let frames = run(&mut agent);
    let results = texts(&frames);
    assert_eq!(results[..2], ["zoo: a", "works is done"]);
    assert!(results[2].contains("null"), "{results:?}");
    let event = agent.seen.iter().find(|frame| frame["type"] == "extension_error").unwrap();
    let left_out = "the tool \"null\" is left out: its schema is null, not an object; the tool \"missing\" is left out: it \
                    has no inputSchema; the tool \"text\" is left out: its schema has the type \"string\", not \"object\"; \
                    the prompt \"broken\" is left out: ";
    assert!(event["error"].as_str().unwrap().starts_with(left_out), "{event}");
    let stderr = finish(agent);
    assert_eq!(stderr.matches("mcp:zoo: the tool \"null\" is left out").count(), 1, "{stderr}");
}

#[test]
fn unknown_result_content_becomes_text() {
    let place = Place::new();
    let mut agent = agent(&place, json!({"zoo": zoo(&["--odd"])}), json!({}), &[("parts", json!({}))]);
    let frames = run(&mut agent);
    let ends = results(&frames);
    assert_eq!(ends[0]["isError"], false);
    let content = ends[0]["result"]["content"].as_array().unwrap();
    let blocks: Vec<_> = content.iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(
        blocks,
        [
            "before",
            "[A part of the result is left out: its type \"hologram\" is not known.]",
            "[A part of the result is left out: it is not a valid \"image\".]",
        ]
    );
    finish(agent);
}
