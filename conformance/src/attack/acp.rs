//! Attack on an agent behind ACP: plays an editor that makes every kind of mistake.

use std::collections::BTreeMap;

use agentese::acp::SPEC;
use agentese::spec::{AnswerTiming, CommandSpec, Framing, RunRole};
use serde_json::{Value, json};

use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, AttackFindings, Counts};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "acp",
    description: "malformed requests, cancellation at each update, giant answers of the editor: each request is answered once",
    run: |context| Box::pin(attack(context)),
};

/// Length in bytes of a file that the editor returns: more than any agent must accept.
const GIANT: usize = 65 << 20;
/// Prompt at which the model reads the giant file.
const READ_PROMPT: &str = "read the giant file";
/// Maximum number of cancelled turns of one agent.
const MAX_CANCELS: u64 = 60;

fn script(file: &str) -> Value {
    json!({"responses": [
        {"when": {"user": READ_PROMPT, "tool_results": false}, "keep": true, "blocks": [
            {"tool": {"name": "read", "args": {"path": file}}},
        ]},
        {"when": {"user": "go", "tool_results": false}, "keep": true, "delay_ms": 1, "blocks": [
            {"thinking": ["Let ", "me ", "think."]}, {"text": ["I ", "will ", "look."]},
            {"tool": {"name": "bash", "args": {"command": "echo one; sleep 0.02; echo two"}}},
        ]},
    ], "default": {"text": "OK."}})
}

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let Some(line) = context.config.surfaces.acp.clone() else {
        return Err(AttackError::NotApplicable("--acp is not given".to_owned()));
    };
    let mut found = AttackFindings::default();
    let (mut odd, mut cancels, mut agents, mut giants) = (0, 0, 0, 0);
    while agents == 0 || context.has_time() {
        let env = AttackEnv::new(&context.config, script("giant.txt")).await?;
        let argv = env.surface(&line, env.agent(), &[]);
        let mut editor = Editor::start(&env, &argv).await?;
        odd += odd_requests(&mut editor, context).await?;
        let session = editor.session(&env, "first-session").await?;
        let updates = editor.turn(&session, "whole", "go").await?;
        for number in 0..MAX_CANCELS {
            let at = if number <= updates { number } else { context.rng.u64(..=updates) };
            cancel_turn(&mut editor, &session, number, at).await?;
            cancels += 1;
            if number >= 3 && !context.has_time() {
                break;
            }
        }
        if found.record(editor.turn(&session, "giant", READ_PROMPT).await)?.is_none() {
            break;
        }
        giants += editor.giants;
        editor.turn(&session, "last", "go").await?;
        editor.check_answered_once()?;
        editor.agent.check_memory(&context.config)?;
        editor.agent.finish(LONG).await?;
        env.check_no_processes().await?;
        agents += 1;
    }
    if giants == 0 && found.is_empty() {
        return Err(AttackError::Environment(
            "the agent never requested the file from the editor, so it received no giant answer".to_owned(),
        ));
    }
    found.finish(vec![("odd requests", odd), ("cancels", cancels), ("giant answers", giants)])
}

/// Returns the only command of a kind.
fn command(wanted: impl Fn(&CommandSpec) -> bool) -> &'static CommandSpec {
    SPEC.commands.iter().find(|command| wanted(command)).expect("the protocol has the command")
}

fn needs(command: &CommandSpec, names: &[&str]) -> bool {
    command.required == names
}

struct Editor {
    agent: AgentUnderTest,
    /// Number of successful and of failed answers, by the id of the request.
    answers: BTreeMap<String, [u32; 2]>,
    request_ids: Vec<String>,
    giants: u64,
}

impl Editor {
    async fn start(env: &AttackEnv, argv: &[String]) -> Result<Self, AttackError> {
        let agent = env.spawn(argv, env.codec().clone())?;
        let mut editor = Self { agent, answers: BTreeMap::new(), request_ids: Vec::new(), giants: 0 };
        let opening = command(|command| needs(command, &["protocolVersion"]));
        let able = json!({"fs": {"readTextFile": true, "writeTextFile": false}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": able});
        editor.request("opening", opening.wire, &params);
        editor.answer("opening").await?;
        Ok(editor)
    }

    async fn session(&mut self, env: &AttackEnv, id: &str) -> Result<Value, AttackError> {
        let opener = command(|command| needs(command, &["cwd", "mcpServers"]));
        self.request(id, opener.wire, &json!({"cwd": env.work(), "mcpServers": []}));
        let answer = self.answer(id).await?;
        match answer["result"].get("sessionId") {
            Some(session) => Ok(session.clone()),
            None => Err(AttackError::finding(format!("the agent did not open a session: {answer}"))),
        }
    }

    fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.request_ids.push(id.to_owned());
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn write(&self, frame: &Value) {
        self.agent.send(format!("{frame}\n"));
    }

    /// Returns the next frame. Answers the frame if it is a request of the agent.
    async fn next(&mut self, what: &str) -> Result<Value, AttackError> {
        let Some(line) = self.agent.line(what).await? else {
            return Err(AttackError::finding(format!("the agent ended before {what}")));
        };
        let frame: Value = serde_json::from_slice(&line).map_err(|_| {
            let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
            AttackError::finding(format!("invalid frame from the agent: {shown}"))
        })?;
        match (frame.get("id"), frame.get("method").and_then(Value::as_str)) {
            (Some(Value::String(id)), None) => {
                let failed = usize::from(frame.get("error").is_some());
                self.answers.entry(id.clone()).or_default()[failed] += 1;
            }
            (Some(id), Some(_)) => self.reply(id, &frame["params"]),
            _ => {}
        }
        Ok(frame)
    }

    /// Answers a request of the agent: a giant text for a file, and a failure for all others.
    fn reply(&mut self, id: &Value, params: &Value) {
        if params.get("path").is_some() && params.get("content").is_none() {
            self.giants += 1;
            let content = "x".repeat(GIANT);
            self.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}}));
        } else {
            let error = json!({"code": -32603, "message": "not today"});
            self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    }

    async fn answer(&mut self, id: &str) -> Result<Value, AttackError> {
        let what = format!("the answer to {id}");
        loop {
            let frame = self.next(&what).await?;
            if frame["id"] == *id && frame.get("method").is_none() {
                return Ok(frame);
            }
        }
    }

    /// Runs a turn to its end. Returns the number of its updates.
    async fn turn(&mut self, session: &Value, id: &str, text: &str) -> Result<u64, AttackError> {
        self.send_prompt(session, id, text);
        let what = format!("the end of turn {id}");
        let mut updates = 0;
        loop {
            let frame = self.next(&what).await?;
            updates += u64::from(is_update(&frame));
            if frame["id"] == *id && frame.get("method").is_none() {
                return match frame.get("error") {
                    Some(error) => Err(AttackError::finding(format!("turn {id} failed: {error}"))),
                    None => Ok(updates),
                };
            }
        }
    }

    fn send_prompt(&mut self, session: &Value, id: &str, text: &str) {
        let starts = command(|command| command.run == RunRole::Starts);
        let words = json!([{"type": "text", "text": text}]);
        let params: serde_json::Map<String, Value> = starts
            .required
            .iter()
            .map(|name| {
                ((*name).to_owned(), if *name == "sessionId" { session.clone() } else { words.clone() })
            })
            .collect();
        self.request(id, starts.wire, &Value::Object(params));
    }

    fn check_answered_once(&self) -> Result<(), AttackError> {
        for id in &self.request_ids {
            match self.answers.get(id).copied().unwrap_or_default() {
                [1, 0] | [0, 1] => {}
                [done, failed] => {
                    return Err(AttackError::finding(format!("{id} was answered {} times", done + failed)));
                }
            }
        }
        Ok(())
    }
}

fn is_update(frame: &Value) -> bool {
    matches!(SPEC.framing, Framing::JsonRpc { notification } if frame["method"] == *notification)
}

/// Cancels a turn after `at` updates, and runs another one that must succeed.
async fn cancel_turn(editor: &mut Editor, session: &Value, number: u64, at: u64) -> Result<(), AttackError> {
    let id = format!("cancelled-{number}");
    editor.send_prompt(session, &id, "go");
    let mut updates = 0;
    while updates < at && !editor.answers.contains_key(&id) {
        updates += u64::from(is_update(&editor.next(&format!("update {at} of a turn")).await?));
    }
    let stop = command(|command| {
        command.run == RunRole::Stops
            && command.answer == AnswerTiming::Never
            && needs(command, &["sessionId"])
    });
    editor.write(&json!({"jsonrpc": "2.0", "method": stop.wire, "params": {"sessionId": session}}));
    if !editor.answers.contains_key(&id) {
        editor.answer(&id).await?;
    }
    editor.turn(session, &format!("{id}-next"), "next").await?;
    editor.check_answered_once()
}

/// Sends requests with parameters of every wrong kind, for unknown sessions, and with methods that do not exist.
async fn odd_requests(editor: &mut Editor, context: &mut AttackContext) -> Result<u64, AttackError> {
    let values = [
        json!(null),
        json!([]),
        json!(5),
        json!("x"),
        json!({}),
        json!({"sessionId": 5}),
        json!([[[[]]]]),
        json!({"sessionId": null, "cwd": [], "mcpServers": "x"}),
    ];
    let mut ids = Vec::new();
    for known in
        SPEC.commands.iter().filter(|command| command.answer != AnswerTiming::Never && command.has_params)
    {
        let wrong = known.required.iter().map(|name| ((*name).to_owned(), json!({"nobody": "knows"})));
        let drawn = [values[context.rng.usize(..values.len())].clone(), Value::Object(wrong.collect())];
        for (kind, params) in drawn.iter().enumerate() {
            let id = format!("odd-{}-{kind}-{}", known.name, ids.len());
            editor.request(&id, known.wire, params);
            ids.push(id);
        }
    }
    for method in ["", "nobody/knows", "session/\u{0}"] {
        let id = format!("odd-{}", ids.len());
        editor.request(&id, method, &json!({}));
        ids.push(id);
    }
    let unknown_id = "odd-stranger".to_owned();
    editor.send_prompt(&json!("nobody-opened-this"), &unknown_id, "go");
    ids.push(unknown_id.clone());
    while let Some(open) = ids.iter().find(|id| !editor.answers.contains_key(*id)) {
        let what = format!("the answer to {open}");
        editor.next(&what).await?;
    }
    editor.check_answered_once()?;
    if editor.answers.get(&unknown_id) != Some(&[0, 1]) {
        return Err(AttackError::finding("the agent started a turn in an unknown session"));
    }
    Ok(ids.len() as u64)
}
