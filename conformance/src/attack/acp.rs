//! An agent as an editor drives it, and an editor with every kind of mistake.

use std::collections::BTreeMap;

use agentese::acp::SPEC;
use agentese::spec::{Answer, CommandSpec, Framing, RunRole};
use serde_json::{Value, json};

use super::victim::{LONG, Site, Victim};
use super::{Attack, Counts, Findings, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "acp",
    says: "odd requests, cancels at each moment, giant answers of the editor: each request is answered once",
    carry_out: |round| Box::pin(attack(round)),
};

/// Length of the text of an editor's file, in bytes: more than any agent must accept.
const GIANT: usize = 65 << 20;
/// The prompt for which the model reads that file.
const READ_IT: &str = "read the giant file";
/// Maximum number of cancelled turns of one agent.
const MOST: u64 = 60;

fn script(file: &str) -> Value {
    json!({"responses": [
        {"when": {"user": READ_IT, "tool_results": false}, "keep": true, "blocks": [
            {"tool": {"name": "read", "args": {"path": file}}},
        ]},
        {"when": {"user": "go", "tool_results": false}, "keep": true, "delay_ms": 1, "blocks": [
            {"thinking": ["Let ", "me ", "think."]}, {"text": ["I ", "will ", "look."]},
            {"tool": {"name": "bash", "args": {"command": "echo one; sleep 0.02; echo two"}}},
        ]},
    ], "default": {"text": "OK."}})
}

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let Some(line) = round.field.surfaces.acp.clone() else {
        return Err(Trouble::NotHere("no --acp is given".to_owned()));
    };
    let mut found = Findings::default();
    let (mut odd, mut cancels, mut agents, mut giants) = (0, 0, 0, 0);
    while agents == 0 || round.goes_on() {
        let site = Site::new(&round.field, script("giant.txt")).await?;
        let argv = site.surface(&line, site.agent(), &[]);
        let mut editor = Editor::start(&site, &argv).await?;
        odd += odd_requests(&mut editor, round).await?;
        let session = editor.session(&site, "first-session").await?;
        let updates = editor.turn(&session, "whole", "go").await?;
        for number in 0..MOST {
            let at = if number <= updates { number } else { round.rng.u64(..=updates) };
            cancelled(&mut editor, &session, number, at).await?;
            cancels += 1;
            if number >= 3 && !round.goes_on() {
                break;
            }
        }
        if found.note(editor.turn(&session, "giant", READ_IT).await)?.is_none() {
            break;
        }
        giants += editor.giants;
        editor.turn(&session, "last", "go").await?;
        editor.each_once()?;
        editor.agent.memory_is_bounded(&round.field)?;
        editor.agent.finish(LONG).await?;
        site.nothing_is_left().await?;
        agents += 1;
    }
    if giants == 0 && found.is_empty() {
        return Err(Trouble::Ground(
            "it never asked the editor for the file of its tool, so no giant answer was given".to_owned(),
        ));
    }
    found.or(vec![("odd requests", odd), ("cancels", cancels), ("giant answers", giants)])
}

/// Returns the only command of a kind.
fn command(wanted: impl Fn(&CommandSpec) -> bool) -> &'static CommandSpec {
    SPEC.commands.iter().find(|command| wanted(command)).expect("the protocol has the command")
}

fn needs(command: &CommandSpec, names: &[&str]) -> bool {
    command.required == names
}

struct Editor {
    agent: Victim,
    /// Number of answers to each request by its id: successes and failures.
    answers: BTreeMap<String, [u32; 2]>,
    asked: Vec<String>,
    giants: u64,
}

impl Editor {
    async fn start(site: &Site, argv: &[String]) -> Result<Self, Trouble> {
        let agent = site.spawn(argv, site.speech().clone())?;
        let mut editor = Self { agent, answers: BTreeMap::new(), asked: Vec::new(), giants: 0 };
        let opening = command(|command| needs(command, &["protocolVersion"]));
        let able = json!({"fs": {"readTextFile": true, "writeTextFile": false}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": able});
        editor.request("opening", opening.wire, &params);
        editor.answer("opening").await?;
        Ok(editor)
    }

    async fn session(&mut self, site: &Site, id: &str) -> Result<Value, Trouble> {
        let opener = command(|command| needs(command, &["cwd", "mcpServers"]));
        self.request(id, opener.wire, &json!({"cwd": site.work(), "mcpServers": []}));
        let answer = self.answer(id).await?;
        match answer["result"].get("sessionId") {
            Some(session) => Ok(session.clone()),
            None => Err(Trouble::found(format!("no session was opened: {answer}"))),
        }
    }

    fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.asked.push(id.to_owned());
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn write(&self, frame: &Value) {
        self.agent.send(format!("{frame}\n"));
    }

    /// Returns the next frame, and answers a request of the agent.
    async fn next(&mut self, what: &str) -> Result<Value, Trouble> {
        let Some(line) = self.agent.line(what).await? else {
            return Err(Trouble::found(format!("{what}: it ended")));
        };
        let frame: Value = serde_json::from_slice(&line).map_err(|_| {
            let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
            Trouble::found(format!("it said what is no frame: {shown}"))
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

    async fn answer(&mut self, id: &str) -> Result<Value, Trouble> {
        let what = format!("the answer to {id}");
        loop {
            let frame = self.next(&what).await?;
            if frame["id"] == *id && frame.get("method").is_none() {
                return Ok(frame);
            }
        }
    }

    /// Runs a turn to its end. Returns the number of its updates.
    async fn turn(&mut self, session: &Value, id: &str, text: &str) -> Result<u64, Trouble> {
        self.say(session, id, text);
        let what = format!("the end of the turn {id}");
        let mut updates = 0;
        loop {
            let frame = self.next(&what).await?;
            updates += u64::from(is_update(&frame));
            if frame["id"] == *id && frame.get("method").is_none() {
                return match frame.get("error") {
                    Some(error) => Err(Trouble::found(format!("the turn {id} failed: {error}"))),
                    None => Ok(updates),
                };
            }
        }
    }

    fn say(&mut self, session: &Value, id: &str, text: &str) {
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

    fn each_once(&self) -> Result<(), Trouble> {
        for id in &self.asked {
            match self.answers.get(id).copied().unwrap_or_default() {
                [1, 0] | [0, 1] => {}
                [done, failed] => {
                    return Err(Trouble::found(format!("{id} was answered {} times", done + failed)));
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
async fn cancelled(editor: &mut Editor, session: &Value, number: u64, at: u64) -> Result<(), Trouble> {
    let id = format!("cancelled-{number}");
    editor.say(session, &id, "go");
    let mut updates = 0;
    while updates < at && !editor.answers.contains_key(&id) {
        updates += u64::from(is_update(&editor.next(&format!("update {at} of a turn")).await?));
    }
    let stop = command(|command| {
        command.run == RunRole::Stops && command.answer == Answer::Never && needs(command, &["sessionId"])
    });
    editor.write(&json!({"jsonrpc": "2.0", "method": stop.wire, "params": {"sessionId": session}}));
    if !editor.answers.contains_key(&id) {
        editor.answer(&id).await?;
    }
    editor.turn(session, &format!("{id}-next"), "next").await?;
    editor.each_once()
}

/// Sends requests with parameters of every wrong kind, for unknown sessions, and with methods that do not exist.
async fn odd_requests(editor: &mut Editor, round: &mut Round) -> Result<u64, Trouble> {
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
    for known in SPEC.commands.iter().filter(|command| command.answer != Answer::Never && command.has_params)
    {
        let wrong = known.required.iter().map(|name| ((*name).to_owned(), json!({"nobody": "knows"})));
        let drawn = [values[round.rng.usize(..values.len())].clone(), Value::Object(wrong.collect())];
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
    let stranger = "odd-stranger".to_owned();
    editor.say(&json!("nobody-opened-this"), &stranger, "go");
    ids.push(stranger.clone());
    while let Some(open) = ids.iter().find(|id| !editor.answers.contains_key(*id)) {
        let what = format!("the answer to {open}");
        editor.next(&what).await?;
    }
    editor.each_once()?;
    if editor.answers.get(&stranger) != Some(&[0, 1]) {
        return Err(Trouble::found("a turn began in a session that nobody opened"));
    }
    Ok(ids.len() as u64)
}
