//! Tests of the differences that the loss report explains.

use agentese::types::TranscriptHeader;

use super::*;

/// Creates a session with a prompt and a shell command of the user.
fn golden() -> Transcript {
    let sent = [r#"{"id":"1","type":"prompt","message":"go"}"#, r#"{"id":"2","type":"bash","command":"ls"}"#];
    let records = sent.map(|line| Record::Sent(FrameText::from(line))).into();
    Transcript { header: TranscriptHeader::new(1, "pi"), records }
}

fn mismatch(record: usize, line: &str, path: &str) -> Mismatch {
    let dir = agentese::types::Direction::S2c;
    let expected = Some(LineExcerpt { record, dir, line: line.to_owned() });
    Mismatch { path: path.to_owned(), expected, ..Mismatch::default() }
}

const END: &str = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b","thinkingSignature":"s"}],"usage":{"cost":{"total":1}}}}"#;

#[test]
fn differences_in_the_report_are_explained() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    for path in ["message.content[1].thinkingSignature", "message.usage.cost.input"] {
        assert!(report.explains(&mismatch(0, END, path), &golden()), "{path}");
    }
    let page = r#"{"id":"1","type":"response","command":"export_html","success":false,"error":"no"}"#;
    assert!(report.explains(&mismatch(0, page, "success"), &golden()));
}

#[test]
fn places_in_results_are_places_in_data_and_other_names_are_left() {
    for (path, named) in [
        ("result", "data"),
        ("result.messages[2].text", "data.messages[2].text"),
        ("result[0]", "data[0]"),
        ("results[0]", "results[0]"),
        ("data.messages[0].details.results[1].result", "data.messages[0].details.results[1].result"),
    ] {
        assert_eq!(in_answer(path), named);
    }
}

#[test]
fn a_difference_outside_the_report_is_not_explained() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    for path in ["message.content[0].text", "message.content", "type"] {
        assert!(!report.explains(&mismatch(0, END, path), &golden()), "{path}");
    }
    let name = r#"{"id":"1","type":"response","command":"prompt","success":true}"#;
    for path in ["id", "command"] {
        assert!(!report.explains(&mismatch(0, name, path), &golden()), "{path}");
    }
    // The dialect declares no such frame.
    assert!(!report.explains(&mismatch(0, r#"{"type":"made_up"}"#, ""), &golden()));
    // An agent of the same family sends the member.
    let kin = LossReport::of("pi@0.55", "omp@12.7");
    assert!(!kin.explains(&mismatch(0, END, "message.content[1].thinkingSignature"), &golden()));
}

/// Creates a session on a connection that may have several sessions. The client opens `first` and then
/// `second`, and requests the messages of `second`.
fn two_sessions() -> Transcript {
    let sent = |line: &str| Record::Sent(FrameText::from(line));
    let came = |line: &str| Record::Received(FrameText::from(line));
    let records = vec![
        sent(r#"{"jsonrpc":"2.0","id":1,"method":"session/start","params":{}}"#),
        came(r#"{"jsonrpc":"2.0","id":1,"result":{"session_id":"first"}}"#),
        sent(r#"{"jsonrpc":"2.0","id":2,"method":"session/start","params":{}}"#),
        came(r#"{"jsonrpc":"2.0","id":2,"result":{"session_id":"second"}}"#),
        sent(r#"{"jsonrpc":"2.0","id":3,"method":"session/history","params":{"session_id":"second"}}"#),
        came(r#"{"jsonrpc":"2.0","id":3,"result":{"messages":[]}}"#),
        sent(r#"{"jsonrpc":"2.0","id":4,"method":"session/history","params":{"session_id":"first"}}"#),
        came(r#"{"jsonrpc":"2.0","id":4,"result":{"messages":[]}}"#),
    ];
    Transcript { header: TranscriptHeader::new(1, "opal"), records }
}

#[test]
fn an_agent_with_one_session_explains_other_sessions_only() {
    let report = LossReport::of("opal@0.1", "pi@0.55");
    let golden = two_sessions();
    let answer = |record: usize| {
        let Record::Received(line) = &golden.records[record] else { panic!("{record} was sent") };
        mismatch(record, line.as_str(), "error")
    };
    assert!(report.is_of_another_session(&answer(5), &golden));
    assert!(!report.is_of_another_session(&answer(7), &golden), "it is about the first one");
    assert!(!report.is_of_another_session(&answer(1), &golden));
    let pi = LossReport::of("pi@0.55", "opal@0.1");
    assert!(!pi.is_of_another_session(&answer(5), &golden), "it has one session at a time");
}

#[test]
fn the_thinking_level_is_free_until_a_client_sets_it() {
    let report = LossReport::of("opal@0.1", "pi@0.55");
    let state =
        r#"{"jsonrpc":"2.0","id":3,"result":{"model":{"provider":"p","id":"m","thinking_level":"off"}}}"#;
    let sent = |line: &str| Record::Sent(FrameText::from(line));
    let asked = sent(r#"{"jsonrpc":"2.0","id":3,"method":"agent/state","params":{"session_id":"s"}}"#);
    let mut golden = two_sessions();
    golden.records = vec![asked, Record::Received(FrameText::from(state))];
    let level = |record: usize| mismatch(record, state, "result.model.thinking_level");
    assert!(report.explains(&level(1), &golden));
    let set = r#"{"jsonrpc":"2.0","id":2,"method":"thinking/set","params":{"session_id":"s","level":"low"}}"#;
    golden.records.insert(0, sent(set));
    assert!(!report.explains(&level(2), &golden), "the client has set it");
}

#[test]
fn a_failure_without_a_command_belongs_to_the_last_command() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let failed = r#"{"type":"response","command":"parse","success":false,"error":"no"}"#;
    let golden = |sent: &str| Transcript {
        header: TranscriptHeader::new(1, "pi"),
        records: vec![Record::Sent(FrameText::from(sent)), Record::Received(FrameText::from(failed))],
    };
    let bash = golden(r#"{"id":"1","type":"bash","command":"ls"}"#);
    assert!(report.explains(&mismatch(1, failed, ""), &bash), "that one is lost");
    let abort = golden(r#"{"id":"1","type":"abort"}"#);
    assert!(!report.explains(&mismatch(1, failed, ""), &abort), "that one is carried");
}

#[test]
fn a_rejection_is_explained_only_by_an_unsupported_parameter() {
    let report = LossReport::of("pi@1.5", "omp@12.7");
    assert_eq!(report.row(RowKind::Command, "bash").unwrap().fidelity, Fidelity::Approximated);
    let done = r#"{"id":"2","type":"response","command":"bash","success":true,"data":{}}"#;
    let refused = r#"{"id":"2","type":"response","command":"bash","success":false,"error":"no"}"#;
    let golden = |sent: &str| Transcript {
        header: TranscriptHeader::new(1, "pi"),
        records: vec![Record::Sent(FrameText::from(sent)), Record::Received(FrameText::from(done))],
    };
    let plain = golden(r#"{"id":"2","type":"bash","command":"ls"}"#);
    let hidden = golden(r#"{"id":"2","type":"bash","command":"ls","excludeFromContext":true}"#);
    let dir = agentese::types::Direction::S2c;
    let found = Some(LineExcerpt { record: 1, dir, line: refused.to_owned() });
    for path in ["success", "error", ""] {
        let refusal = Mismatch { found: found.clone(), ..mismatch(1, done, path) };
        assert!(report.explains(&refusal, &hidden), "{path}");
        assert!(!report.explains(&refusal, &plain), "{path}");
    }
    // The command has no answer.
    assert!(!report.explains(&mismatch(1, done, ""), &plain));
}

#[test]
fn a_case_that_needs_a_rejected_answer_breaks_off_as_reported() {
    let report = LossReport::of("opal@0.1", "pi@0.55");
    let case: Scenario = serde_json::from_value(serde_json::json!({
        "scenario": 1, "name": "c", "dialect": "opal@0.1", "title": "t",
        "steps": [{"send": {"id": 1}}, {"wait": {"id": 1}}, {"send": {"id": 2}}, {"wait": {"id": 2}}],
    }))
    .unwrap();
    let says = "step 4: the awaited frame has no `result.session_id`; the last line of the agent follows";
    let dir = agentese::types::Direction::S2c;
    let refused = |id: u8| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#);
        let found = Some(LineExcerpt { record: 0, dir, line });
        failed(SCENARIO, Mismatch { message: says.to_owned(), found, ..Mismatch::default() })
    };
    let golden = two_sessions();
    assert_eq!(report.unexplained(&case, &[refused(2)], &golden), [], "it is another session");
    assert_eq!(
        report.unexplained(&case, &[refused(1)], &golden).len(),
        1,
        "no divergence covers the first one"
    );
}

/// Creates a session with this command, its success, and then a query of the state.
fn after(sent: &str, answered: &str) -> Transcript {
    let state = r#"{"id":"9","type":"response","command":"get_state","success":true,"data":{"sessionName":"n","isStreaming":false,"messageCount":2,"sessionId":"s"}}"#;
    let records = vec![
        Record::Sent(FrameText::from(sent)),
        Record::Received(FrameText::from(answered)),
        Record::Sent(FrameText::from(r#"{"id":"9","type":"get_state"}"#)),
        Record::Received(FrameText::from(state)),
    ];
    Transcript { header: TranscriptHeader::new(1, "pi"), records }
}

/// Returns the paths of the state that may differ after a command.
fn following(report: &LossReport, golden: &Transcript) -> Vec<&'static str> {
    let Record::Received(state) = &golden.records[3] else { panic!("it was sent") };
    let lost = report.lost_commands(golden);
    let follows =
        |path: &&str| report.follows_lost_command(&lost, &mismatch(3, state.as_str(), path), golden);
    ["", "data.messageCount", "data.sessionId", "data.isStreaming"].into_iter().filter(follows).collect()
}

#[test]
fn later_state_differences_follow_from_a_lost_command() {
    let bash = r#"{"id":"1","type":"bash","command":"ls"}"#;
    let done = r#"{"id":"1","type":"response","command":"bash","success":true,"data":{}}"#;
    let report = LossReport::of("pi@0.55", "opal@0.1");
    assert_eq!(following(&report, &after(bash, done)), ["data.messageCount"]);
    let failed = r#"{"id":"1","type":"response","command":"bash","success":false,"error":"no"}"#;
    assert!(following(&report, &after(bash, failed)).is_empty(), "the recorded agent rejected it too");
    let kin = LossReport::of("pi@0.55", "omp@12.7");
    assert!(following(&kin, &after(bash, done)).is_empty(), "it is not lost");
}

#[test]
fn a_lost_query_explains_no_later_difference() {
    let asked = r#"{"id":"1","type":"get_available_thinking_levels"}"#;
    let told = r#"{"id":"1","type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":[]}}"#;
    let report = LossReport::of("pi@1.5", "opal@0.1");
    assert_eq!(
        report.row(RowKind::Command, "get_available_thinking_levels").unwrap().fidelity,
        Fidelity::Lost
    );
    assert!(following(&report, &after(asked, told)).is_empty());
}

#[test]
fn a_run_that_does_not_end_behind_a_lost_command_is_not_explained() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let says = r#"step 4: no frame like {"type":"agent_end"} within 9 ms: timeout"#;
    let broke_off = failed(SCENARIO, Mismatch { message: says.to_owned(), ..Mismatch::default() });
    assert_eq!(report.unexplained(&case(), &[broke_off], &golden()).len(), 1);
    let end = mismatch(3, r#"{"type":"agent_end","messages":[]}"#, "");
    assert_eq!(report.unexplained(&case(), &[failed("events", end)], &golden()).len(), 1);
}

#[test]
fn members_outside_all_tables_must_be_correct() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let state = r#"{"id":"1","type":"response","command":"get_state","success":true,"data":{}}"#;
    let golden = golden();
    let explains = |path: &str| report.explains(&mismatch(3, state, path), &golden);
    assert!(!explains("data.madeUp"), "the member is not declared");
    assert!(explains("data.sessionFile"), "the agent reports no file");
    assert!(!explains("data.sessionId"), "the agent reports it");
    let end = r#"{"type":"agent_end","messages":[],"willRetry":false}"#;
    assert!(!report.explains(&mismatch(3, end, "willRetry"), &golden));
    assert!(
        report.explains(&mismatch(3, end, "messages[0].content"), &golden),
        "a check of its own has them"
    );
}

#[test]
fn argument_pieces_and_tool_results_are_compared_within_a_family() {
    let piece = r#"{"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{"}}"#;
    let ended = r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"bash","result":{"content":[{"type":"text","text":"a"}]},"isError":false}"#;
    for (agent, explained) in [("opal@0.1", true), ("operator@seed", true), ("omp@12.7", false)] {
        let report = LossReport::of("pi@0.55", agent);
        for (line, path) in [(piece, "assistantMessageEvent.delta"), (ended, "result.content[0].text")] {
            assert_eq!(report.explains(&mismatch(0, line, path), &golden()), explained, "{agent} {path}");
        }
    }
}

#[test]
fn carried_frames_are_neither_dropped_nor_repeated() {
    let report = LossReport::of("omp@12.7", "pisces@13.18");
    let ended = r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"bash","isError":false}"#;
    let begins = r#"{"type":"agent_start"}"#;
    for line in [END, ended, begins] {
        // `dropped`: an expected frame is missing. `doubled`: a frame is additional.
        let dropped = mismatch(0, line, "");
        let doubled = Mismatch { expected: None, found: dropped.expected.clone(), ..Mismatch::default() };
        for changed in [dropped, doubled] {
            assert!(!report.explains(&changed, &golden()), "{line}");
        }
    }
    assert!(!report.explains(&mismatch(0, ended, "toolName"), &golden()));
}

#[test]
fn a_known_failure_has_a_check_and_a_path_or_row() {
    let left = |check: &str, path: &str| UnexplainedDifference {
        check: check.to_owned(),
        row: "get_messages".to_owned(),
        path: path.to_owned(),
        message: String::new(),
    };
    let mut line = ExpectedFailure::new("one", "answers", "the reason");
    for row in [None, Some("bash")] {
        line.row = row.map(str::to_owned);
        assert!(!left("answers", "").is_listed_in(&line), "{row:?}");
    }
    line.row = Some("get_messages".to_owned());
    assert!(left("answers", "").is_listed_in(&line));
    assert!(!left("answers", "data.output").is_listed_in(&line));
    line.path = Some("data.messages[3].usage".to_owned());
    assert!(left("answers", "data.messages[].usage").is_listed_in(&line));
    assert!(!left("events", "data.messages[].usage").is_listed_in(&line));
    line.row = Some("bash".to_owned());
    assert!(!left("answers", "data.messages[].usage").is_listed_in(&line));
    line.row = None;
    assert!(left("answers", "data.messages[].usage").is_listed_in(&line));
}

#[test]
fn a_front_differs_with_any_agent_as_with_its_own() {
    let mut line = ExpectedFailure::new("c", "answers", "the reason");
    line.row = Some("message_end".to_owned());
    let report = LossReport::of("pi@0.55", "omp@12.7").with_known(vec![line]);
    let left = |check: &str, line: &str, path: &str| {
        report.unexplained(&case(), &[failed(check, mismatch(0, line, path))], &golden()).len()
    };
    assert_eq!(left("answers", END, ""), 0);
    let begins = r#"{"type":"agent_start"}"#;
    for (check, line, path) in
        [("events", END, ""), ("answers", END, "message.content"), ("answers", begins, "")]
    {
        assert_eq!(left(check, line, path), 1, "{check} {line} {path}");
    }
}

/// Creates a case that prompts, waits, runs a command and waits for its answer.
fn case() -> Scenario {
    serde_json::from_value(serde_json::json!({
        "scenario": 1, "name": "c", "dialect": "pi@0.55", "title": "t",
        "steps": [
            {"send": {"id": "1", "type": "prompt", "message": "go"}},
            {"wait": {"type": "agent_end"}},
            {"send": {"id": "2", "type": "bash", "command": "ls"}},
            {"wait": {"type": "response", "id": "2"}},
        ],
    }))
    .unwrap()
}

fn failed(check: &str, mismatch: Mismatch) -> Finding {
    let level = agentese::types::CheckLevel::Must;
    Finding { check: check.to_owned(), level, outcome: Outcome::Failed(mismatch) }
}

#[test]
fn frames_before_the_end_of_a_broken_case_are_not_excused() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let says = r#"step 4: no frame like {"type":"auto_compaction_start"} within 9 ms after `bash`: timeout"#;
    let broke_off = failed(SCENARIO, Mismatch { message: says.to_owned(), ..Mismatch::default() });
    let text = |record: usize| failed("events", mismatch(record, END, "message.content[0].text"));
    let mut golden = golden();
    golden.records.insert(1, Record::Received(FrameText::from(END)));
    let left = |findings: &[Finding]| report.unexplained(&case(), findings, &golden);
    assert_eq!(left(&[broke_off.clone(), text(3)]), [], "it follows the break");
    assert_eq!(left(&[broke_off, text(1)]).len(), 1);
}

#[test]
fn a_crash_and_a_hang_behind_a_lost_command_are_not_explained() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let nothing = r#"no frame like {"type":"response","id":"2"} within 9 ms"#;
    for says in [
        format!("step 4: {nothing}: the agent's stdout has ended"),
        format!("step 4: `get_state` was not answered: {nothing}: timeout"),
        "the case took longer than 60 s".to_owned(),
    ] {
        let broke_off = failed(SCENARIO, Mismatch { message: says.clone(), ..Mismatch::default() });
        assert_eq!(report.unexplained(&case(), &[broke_off], &golden()).len(), 1, "{says}");
    }
    for check in ["end", "frames"] {
        let crash = failed(check, mismatch(2, END, "code"));
        assert_eq!(report.unexplained(&case(), &[crash], &golden()).len(), 1, "{check}");
    }
}

#[test]
fn missing_user_input_in_requests_is_not_explained() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let golden = Transcript { header: TranscriptHeader::new(1, "pi"), records: Vec::new() };
    let left = |says: &str, path: &str| {
        let asked = Mismatch { message: says.to_owned(), path: path.to_owned(), ..Mismatch::default() };
        report.unexplained(&case(), &[failed(REQUESTS, asked)], &golden)
    };
    assert_eq!(left("the tools are sent: request 0", "tools"), []);
    for path in ["", "messages"] {
        let found = left(&format!("{USER_INPUT_CHECK}: request 0"), path);
        assert_eq!(found.iter().map(|left| left.path.as_str()).collect::<Vec<_>>(), ["messages"], "{path}");
    }
}

/// Creates a session with these lines; `true` marks lines of the client.
fn session(lines: &[(bool, &str)]) -> Transcript {
    let record = |(sent, line): &(bool, &str)| match sent {
        true => Record::Sent(FrameText::from(*line)),
        false => Record::Received(FrameText::from(*line)),
    };
    Transcript { header: TranscriptHeader::new(1, "pi"), records: lines.iter().map(record).collect() }
}

#[test]
fn differences_after_a_command_are_explained_only_after_it() {
    let report = LossReport::of("pi@0.55", "operator@seed");
    let asks = r#"{"id":"1","type":"get_messages"}"#;
    let told =
        r#"{"id":"1","type":"response","command":"get_messages","success":true,"data":{"messages":[]}}"#;
    let state =
        r#"{"id":"2","type":"response","command":"get_state","success":true,"data":{"messageCount":2}}"#;
    let opens = r#"{"id":"3","type":"switch_session","sessionPath":"a"}"#;
    let golden = session(&[(true, asks), (false, told), (true, opens), (false, told), (false, state)]);
    let is_other = |record: usize, line: &str, path: &str| {
        report.is_allowed_after_command("answers", &mismatch(record, line, path), &golden)
    };
    assert!(is_other(3, told, "data.messages") && is_other(4, state, "data.messageCount"));
    assert!(!is_other(1, told, "data.messages"), "no session was opened yet");
    assert!(!is_other(4, state, "data.isStreaming"), "that is not other");
    assert!(!is_other(3, END, "message.content[0].text"), "events are as they were");
    let kin = LossReport::of("pi@0.55", "omp@12.7");
    assert!(!kin.is_allowed_after_command("answers", &mismatch(3, told, "data.messages"), &golden));
}

#[test]
fn differences_during_a_run_are_not_explained_between_runs() {
    let report = LossReport::of("omp@12.7", "pi@0.55");
    let (prompt, branch) =
        (r#"{"id":"1","type":"prompt","message":"go"}"#, r#"{"id":"2","type":"branch","entryId":"e"}"#);
    let (begins, ends) = (r#"{"type":"agent_start"}"#, r#"{"type":"agent_end","messages":[]}"#);
    let is_other = |lines: &[(bool, &str)]| {
        report.is_allowed_after_command("events", &mismatch(lines.len(), END, ""), &session(lines))
    };
    assert!(is_other(&[(true, prompt), (false, begins), (true, branch)]));
    assert!(!is_other(&[(true, prompt), (false, begins), (false, ends), (true, branch)]));
    assert!(!is_other(&[(true, prompt), (false, begins)]), "nothing was forked");
}

#[test]
fn a_command_that_the_agent_refuses_by_rules_of_its_own_may_be_refused() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let compact = r#"{"id":"1","type":"compact"}"#;
    let answer = r#"{"id":"1","type":"response","command":"compact","success":false,"error":"no"}"#;
    let golden = session(&[(true, compact), (false, answer)]);
    assert!(report.explains(&mismatch(1, answer, "success"), &golden));
    let abort = answer.replace("compact", "abort");
    let aborting = session(&[(true, r#"{"id":"1","type":"abort"}"#), (false, &abort)]);
    assert!(!report.explains(&mismatch(1, &abort, "success"), &aborting));
}
