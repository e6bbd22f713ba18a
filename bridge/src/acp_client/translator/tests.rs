//! Tests of the conversion of a turn's updates.

use serde_json::json;

use super::*;

fn update(json: Value) -> AcpUpdate {
    serde_json::from_value(json).unwrap()
}

fn names(events: &[RemoteEvent]) -> Vec<String> {
    let name = |event: &RemoteEvent| match event {
        RemoteEvent::AnswerUpdated(event) => format!("{event:?}"),
        RemoteEvent::AnswerEnded(answer) => {
            format!("answered {} {:?}", answer.content.len(), answer.stop_reason)
        }
        RemoteEvent::ToolStarted(call) => {
            format!("began {} {}", call.name, Value::from(call.arguments.clone()))
        }
        RemoteEvent::ToolEnded(id, output) => format!("ended {id} {} {}", output.all_text(), output.is_error),
        other => format!("{other:?}"),
    };
    events.iter().map(name).map(|text| text.split([' ', '(']).take(4).collect::<Vec<_>>().join(" ")).collect()
}

fn all(turns: &mut UpdateTranslator, updates: &[Value]) -> Vec<RemoteEvent> {
    updates.iter().flat_map(|json| turns.translate(update(json.clone()))).collect()
}

#[test]
fn an_answer_ends_when_a_call_of_it_begins() {
    let mut turns = UpdateTranslator::default();
    let events = all(
        &mut turns,
        &[
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I look."}}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "kind": "execute", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress", "rawInput": {"command": "ls"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "a.rs"}}]}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}),
        ],
    );
    assert_eq!(
        names(&events),
        [
            "Start",
            "TextStart",
            "TextDelta \"I look.\")",
            "TextEnd",
            "ToolCallStart { id: \"c\",",
            "ToolCallDelta \"{\\\"command\\\":\\\"ls\\\"}\")",
            "ToolCallEnd",
            "answered 2 ToolUse",
            "began execute {\"command\":\"ls\"}",
            "ended c a.rs false",
            "Start",
            "TextStart",
            "TextDelta \"Done.\")",
        ]
    );
    let (events, aborted) = turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
    assert_eq!((names(&events), aborted), (vec!["TextEnd".to_owned(), "answered 1 Stop".to_owned()], false));
}

#[test]
fn calls_side_by_side_belong_to_one_answer() {
    let mut turns = UpdateTranslator::default();
    let call = |id: &str, status: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": id, "status": status});
    let events = all(&mut turns, &[call("a", "pending"), call("b", "pending")]);
    assert_eq!(names(&events), ["Start"]);
    let mut began = call("a", "in_progress");
    began["sessionUpdate"] = "tool_call_update".into();
    let events = all(&mut turns, &[began, call("late", "in_progress")]);
    let answered = events.iter().filter(|event| matches!(event, RemoteEvent::AnswerEnded(_))).count();
    let begun: Vec<_> = events.iter().filter(|event| matches!(event, RemoteEvent::ToolStarted(_))).collect();
    assert_eq!((answered, begun.len()), (1, 2), "{events:#?}");
}

#[test]
fn a_failed_or_stopped_turn_reports_its_reason() {
    let ended = |ended| {
        let (events, aborted) = UpdateTranslator::default().end_turn(ended);
        let Some(RemoteEvent::AnswerEnded(answer)) = events.into_iter().last() else { panic!("no answer") };
        (answer.stop_reason, answer.error_message, aborted)
    };
    assert_eq!(ended(Err("no key".to_owned())), (StopReason::Error, Some("no key".to_owned()), false));
    let cancelled = ended(Ok(AcpPromptEnd::new(AcpStopReason::Cancelled)));
    assert_eq!(cancelled, (StopReason::Aborted, Some(ABORTED.to_owned()), true));
    assert_eq!(ended(Ok(AcpPromptEnd::new(AcpStopReason::Refusal))).0, StopReason::Error);
    assert!(UpdateTranslator::default().end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn))).0.is_empty());
}

#[test]
fn a_turn_without_updates_has_an_empty_answer() {
    let mut turns = UpdateTranslator::default();
    turns.start_turn();
    let (events, _) = turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
    assert_eq!(names(&events), ["answered 0 Stop"]);
    turns.start_turn();
    all(
        &mut turns,
        &[json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "status": "completed"})],
    );
    assert!(turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn))).0.is_empty());
}

#[test]
fn cached_tokens_and_reasoning_are_counted_once() {
    let counted = |usage: Value| {
        let usage = tokens(&serde_json::from_value(usage).unwrap());
        [usage.input, usage.output, usage.cache_read, usage.cache_write]
    };
    // Input and output contain the parts, or both parts are apart, or one of them.
    for (total, input, output) in [(1100, 1000, 100), (1100, 400, 70), (1100, 400, 100), (1100, 1000, 70)] {
        let usage = json!({"totalTokens": total, "inputTokens": input, "outputTokens": output,
            "thoughtTokens": 30, "cachedReadTokens": 500, "cachedWriteTokens": 100});
        assert_eq!(counted(usage), [400, 100, 500, 100], "{input} {output}");
    }
    assert_eq!(counted(json!({"totalTokens": 3, "inputTokens": 1, "outputTokens": 2})), [1, 2, 0, 0]);
    let without_total = json!({"inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3});
    assert_eq!(counted(without_total), [1, 2, 3, 0]);
}

/// Plays the updates of one call. Returns its start, the texts of its updates, and its result.
fn play_call(updates: &[Value]) -> (ToolCall, Vec<String>, ToolOutput) {
    let updates = updates.iter().map(|update| {
        let mut update = update.clone();
        update["toolCallId"] = "c".into();
        if update["sessionUpdate"].is_null() {
            update["sessionUpdate"] = "tool_call_update".into();
        }
        update
    });
    let events = all(&mut UpdateTranslator::default(), &updates.collect::<Vec<_>>());
    let (mut start, mut shown, mut end) = (None, Vec::new(), None);
    for event in events {
        match event {
            RemoteEvent::ToolStarted(call) => start = Some(call),
            RemoteEvent::ToolUpdated(_, update) => {
                shown.push(ToolOutput { content: update.content, ..ToolOutput::text("") }.all_text())
            }
            RemoteEvent::ToolEnded(_, output) => end = Some(output),
            _ => {}
        }
    }
    (start.expect("no start"), shown, end.expect("no end"))
}

fn announced(members: Value) -> Value {
    let mut update = json!({"sessionUpdate": "tool_call", "title": "", "status": "in_progress"});
    update.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    update
}

fn terminal(id: &str) -> Value {
    json!({"type": "terminal", "terminalId": id})
}

fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

#[test]
fn the_output_of_a_command_in_extensions_is_the_output_of_the_call() {
    // Codex: pieces for clients without terminals, and nothing else.
    let piece = |text: &str| json!({"_meta": {"terminal_output_delta": {"data": text, "terminal_id": "c"}}});
    let (_, shown, end) = play_call(&[
        announced(
            json!({"kind": "execute", "content": [terminal("c")], "_meta": {"terminal_info": {"cwd": "/w", "terminal_id": "c"}}}),
        ),
        piece("hi from 42\n"),
        piece("bye\n"),
        json!({"status": "completed", "_meta": {"terminal_exit": {"exit_code": 0, "signal": null, "terminal_id": "c"}}}),
    ]);
    assert_eq!(shown.last().unwrap(), "hi from 42\nbye\n");
    assert!(shown.contains(&"hi from 42\n".to_owned()), "{shown:?}");
    assert_eq!((end.all_text().as_str(), end.is_error), ("hi from 42\nbye\n", false));

    // Codex: a search without a terminal, whose only raw output is the exit code.
    let (_, _, end) = play_call(&[
        announced(json!({"kind": "search"})),
        piece("no such file\n"),
        json!({"status": "failed", "rawOutput": {"exit_code": 2}}),
    ]);
    assert_eq!((end.all_text().as_str(), end.is_error), ("no such file\n\nCommand exited with code 2", true));

    // Zed's adapter of Codex: other names, and the output again at the end.
    let (_, shown, end) = play_call(&[
        announced(
            json!({"kind": "execute", "content": [terminal("t")], "_meta": {"terminal_info": {"terminal_id": "t"}}}),
        ),
        json!({"_meta": {"terminal_output": {"data": "one\n", "terminal_id": "t"}}}),
        json!({"status": "failed", "rawOutput": {"formatted_output": "one\ntwo\n", "exit_code": 3},
            "_meta": {"terminal_exit": {"exit_code": 3, "signal": null, "terminal_id": "t"}}}),
    ]);
    assert_eq!(shown.last().unwrap(), "one\n");
    assert_eq!(end.all_text(), "one\ntwo\n\nCommand exited with code 3");

    // An agent on the SDK: a description before the terminal, all output at the end, and a signal.
    let (_, _, end) = play_call(&[
        announced(
            json!({"content": [text_content("Greet"), terminal("c")], "_meta": {"terminal_info": {"terminal_id": "c"}}}),
        ),
        json!({"status": "failed", "_meta": {"terminal_output": {"terminal_id": "c", "data": "Gre"},
            "terminal_exit": {"terminal_id": "c", "exit_code": null, "signal": "SIGTERM"}}}),
    ]);
    assert_eq!(end.all_text(), "Greet\nGre\nCommand was killed by signal SIGTERM");
}

#[test]
fn output_of_a_command_is_bounded_while_it_runs_and_starts_the_call() {
    let line = |at: usize| format!("{at}\n");
    let mut updates = vec![announced(json!({"status": "pending", "kind": "execute"}))];
    updates.extend((0..20_000).step_by(1_000).map(|from| {
        let data: String = (from..from + 1_000).map(line).collect();
        json!({"_meta": {"terminal_output": {"data": data}}})
    }));
    updates.push(json!({"status": "completed", "content": [text_content("```\n0\n```")]}));
    let (_, shown, end) = play_call(&updates);
    assert!(shown.iter().all(|text| text.len() < 51_000), "the output of a running command is not bounded");
    assert!(
        shown.last().unwrap().starts_with("[earlier output is not repeated here]\n"),
        "{:.100}",
        shown.last().unwrap()
    );
    let all: String = (0..20_000).map(line).collect();
    assert_eq!(end.all_text(), format!("```\n0\n```\n{all}"));
}

#[test]
fn extensions_of_other_types_are_ignored_and_others_count() {
    let (start, _, end) =
        play_call(&[announced(json!({"status": "completed", "kind": "execute", "_meta": {
            "toolName": "shell", "terminal_exit": "soon", "terminal_output": {"data": "hi"}, "goose": 3,
        }}))]);
    assert_eq!((start.name.as_str(), end.all_text().as_str()), ("shell", "hi"));
}

#[test]
fn a_call_has_the_best_name_that_the_agent_gives() {
    for (agent, members, name) in [
        ("the name of ACP", json!({"name": "bash", "_meta": {"toolName": "shell"}}), "bash"),
        ("Claude Code", json!({"kind": "execute", "_meta": {"claudeCode": {"toolName": "Bash"}}}), "Bash"),
        (
            "goose",
            json!({"title": "shell · echo hi", "_meta": {"goose": {"toolCall": {"toolName": "developer__shell"}}}}),
            "developer__shell",
        ),
        (
            "goose without extensions",
            json!({"title": "shell · echo hi", "rawInput": {"command": "echo hi"}}),
            "shell",
        ),
        (
            "qwen-code",
            json!({"kind": "edit", "title": "WriteFile: a.rs", "_meta": {"toolName": "write_file"}}),
            "write_file",
        ),
        (
            "Mistral Vibe",
            json!({"kind": "execute", "_meta": {"tool_name": "bash"}, "rawInput": "{\"command\":\"ls\"}"}),
            "bash",
        ),
        ("Kimi Code", json!({"kind": "execute", "title": "Bash"}), "Bash"),
        (
            "Hermes",
            json!({"kind": "edit", "title": "Approve edit: /w/a", "rawInput": {"tool": "write_file", "arguments": {"path": "/w/a"}}}),
            "write_file",
        ),
        (
            "Codex with MCP",
            json!({"rawInput": {"server": "web", "tool": "fetch_page", "arguments": {}}}),
            "fetch_page",
        ),
        (
            "Grok",
            json!({"title": "use_tool", "rawInput": {"tool_name": "web__fetch", "tool_input": {"url": "x"}}}),
            "web__fetch",
        ),
        (
            "Grok",
            json!({"title": "run_terminal_command", "kind": "execute", "rawInput": {"command": "ls"}}),
            "run_terminal_command",
        ),
        (
            "ZeroClaw",
            json!({"title": "Approve shell?", "kind": "execute", "rawInput": {"tool": "shell", "summary": "ls"}}),
            "shell",
        ),
        (
            "a description by the model",
            json!({"kind": "execute", "title": "Cleans up", "rawInput": {"command": "rm"}}),
            "execute",
        ),
        (
            "a label by the model",
            json!({"kind": "execute", "title": "Note: safe", "rawInput": {"command": "rm"}}),
            "execute",
        ),
        (
            "a command as the title",
            json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls"}}),
            "execute",
        ),
        (
            "a file as the title",
            json!({"kind": "read", "title": "Makefile", "rawInput": {"path": "/w/Makefile"}}),
            "read",
        ),
        (
            "an argument of that name",
            json!({"kind": "execute", "title": "Hits", "rawInput": {"tool": "hammer"}}),
            "Hits",
        ),
        ("nothing", json!({"title": "Looks around", "name": " ", "_meta": {"toolName": ""}}), "other"),
    ] {
        assert_eq!(play_call(&[announced(members), json!({"status": "completed"})]).0.name, name, "{agent}");
    }
}

#[test]
fn a_title_is_an_argument_unless_it_repeats_one() {
    let arguments = |members: Value| {
        Value::from(play_call(&[announced(members), json!({"status": "completed"})]).0.arguments)
    };
    let copilot = json!({"title": "Cleans up", "rawInput": {"command": "rm"}});
    assert_eq!(arguments(copilot), json!({"command": "rm", "title": "Cleans up"}));
    let claude = json!({"title": "`ls -la`", "rawInput": {"command": "ls -la"}});
    assert_eq!(arguments(claude), json!({"command": "ls -la"}));
    let vibe = json!({"title": "bash: ls", "rawInput": "{\"command\":\"ls\"}"});
    assert_eq!(arguments(vibe), json!({"command": "ls", "title": "bash: ls"}));
    let own = json!({"title": "Opens an issue", "rawInput": {"title": "Crash"}});
    assert_eq!(arguments(own), json!({"title": "Crash"}));
    assert_eq!(
        arguments(json!({"title": "Lists", "rawInput": ["ls"]})),
        json!({"arguments": ["ls"], "title": "Lists"})
    );
}

fn result(members: Value) -> ToolOutput {
    play_call(&[announced(members)]).2
}

#[test]
fn a_raw_output_shows_its_text() {
    for (agent, raw, text) in [
        (
            "Zed's adapter of Codex",
            json!({"call_id": "c", "stdout": "", "formatted_output": "hi from 42\n", "exit_code": 0}),
            "hi from 42\n",
        ),
        ("opencode", json!({"output": "a.rs", "metadata": {"count": 1}}), "a.rs"),
        ("Copilot CLI", json!({"content": "a.rs", "detailedContent": "…"}), "a.rs"),
        ("agentese", json!({"text": "ok", "details": {}}), "ok"),
        (
            "MCP",
            json!({"result": {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}}),
            "one\ntwo",
        ),
        (
            "Grok",
            json!({"exit_code": 1, "output_for_prompt": "FAILED"}),
            "FAILED\nCommand exited with code 1",
        ),
        (
            "an agent with streams",
            json!({"stdout": "out", "stderr": "trouble", "exitCode": 2}),
            "out\ntrouble\nCommand exited with code 2",
        ),
        ("a command without output", json!({"stdout": "", "stderr": "", "exitCode": 0}), ""),
        ("only an exit code", json!({"exit_code": 0}), ""),
        ("no known member", json!({"answer": "one", "lines": [1]}), r#"{"answer":"one","lines":[1]}"#),
        ("a text that is JSON", json!(r#"{"output": "x"}"#), r#"{"output": "x"}"#),
    ] {
        assert_eq!(result(json!({"status": "completed", "rawOutput": raw})).all_text(), text, "{agent}");
    }
}

#[test]
fn a_raw_output_that_follows_the_content_is_shown_too() {
    let played = |content: &str, end: Value| {
        let start = announced(json!({"content": [text_content(content)]}));
        play_call(&[start, end]).2.all_text()
    };
    let end = json!({"status": "completed", "rawOutput": {"output": "a.rs\nb.rs"}});
    assert_eq!(played("Lists files", end.clone()), "Lists files\na.rs\nb.rs");
    assert_eq!(played("a.rs", end.clone()), "a.rs\nb.rs");
    assert_eq!(played("```\na.rs\nb.rs\n```", end.clone()), "```\na.rs\nb.rs\n```");
    let mut both = end;
    both["content"] = json!([text_content("2 files")]);
    assert_eq!(played("Lists files", both), "2 files");
}

#[test]
fn a_change_is_shown_as_a_diff_beside_a_raw_output() {
    let diff = json!({"type": "diff", "path": "/w/a.rs", "oldText": "a\nb\n", "newText": "a\nc\n"});
    let shown = "Change of /w/a.rs: 1 line removed, 1 line added\n    a\n  - b\n  + c";
    // qwen-code repeats both texts in the raw output.
    let qwen =
        json!({"fileName": "a.rs", "originalContent": "a\nb\n", "newContent": "a\nc\n", "fileDiff": "@@"});
    // Mistral Vibe: a text of JSON. Grok: a message beside the change.
    let vibe = json!(r#"{"file": "/w/a.rs", "old_string": "b", "new_string": "c"}"#);
    let grok = json!({"output_for_prompt": "The file was edited."});
    for (raw, text) in
        [(qwen, shown.to_owned()), (vibe, shown.to_owned()), (grok, format!("The file was edited.\n{shown}"))]
    {
        let output =
            result(json!({"status": "completed", "kind": "edit", "content": [diff], "rawOutput": raw}));
        assert_eq!(output.all_text(), text);
        assert_eq!(output.details.unwrap()["changes"][0]["newText"], "a\nc\n");
    }
    let failed = result(json!({"status": "failed", "content": [diff, text_content("b was not found")]}));
    assert_eq!(failed.all_text(), "b was not found");
    let failed =
        result(json!({"status": "failed", "content": [diff], "rawOutput": {"reason": "b was not found"}}));
    assert_eq!(failed.all_text(), r#"{"reason":"b was not found"}"#);
}
