//! A driver with a small client for pi, written with pipes and threads. It is correct unless the argument
//! `--break DEFECT` adds a defect, which the suite must find.

#![allow(clippy::print_stdout, reason = "a driver reports on stdout")]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Map, Value, json};

fn report(line: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn is(defect: &str) -> bool {
    std::env::args().nth(2).is_some_and(|given| given == defect)
}

#[derive(Default)]
struct State {
    stdin: Option<ChildStdin>,
    child: Option<Child>,
    /// Calls without an answer, oldest first: id, call, command.
    pending: Vec<(String, String, String)>,
    /// Ids of questions, by the driver's name for them.
    dialog_ids: HashMap<String, Value>,
    /// An event whose report is delayed.
    delayed_event: Option<Value>,
    events: usize,
    closing: bool,
    ended: bool,
}

type Shared = Arc<Mutex<State>>;

fn locked(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap()
}

impl State {
    fn send(&mut self, frame: &Value) {
        let mut bytes = frame.to_string().into_bytes();
        if is("not-utf8") {
            let end = bytes.len() - 1;
            bytes.splice(end..end, *b",\"x\":\"\xff\"");
        }
        bytes.extend_from_slice(if is("crlf") { b"\r\n" } else { b"\n" });
        if is("blank-lines") {
            bytes.extend_from_slice(b"\n");
        }
        if is("pretty-prints") {
            bytes = serde_json::to_vec_pretty(frame).unwrap();
            bytes.push(b'\n');
        }
        if is("two-in-a-line") {
            bytes = [&bytes[..bytes.len() - 1], &bytes].concat();
        }
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(&bytes).and_then(|()| stdin.flush());
        }
    }

    fn call(&mut self, call: &str, command: &str, params: &Map<String, Value>) {
        let id = if is("same-id") { "1".to_owned() } else { format!("id-{call}") };
        let mut frame = Value::Object(params.clone());
        if is("wrong-member")
            && let Some(message) = frame.as_object_mut().and_then(|frame| frame.remove("message"))
        {
            frame["msg"] = message;
        }
        if is("changes-member") && frame.get("message").is_some() {
            frame["message"] = json!("something else");
        }
        if is("adds-member") {
            frame["more"] = json!(1);
        }
        if is("sends-more") && command == "prompt" {
            self.send(&json!({"id": "own", "type": "get_messages"}));
        }
        frame["id"] = json!(id);
        frame["type"] = json!(if is("wrong-command") { "prompts" } else { command });
        self.pending.push((id, call.to_owned(), command.to_owned()));
        if !(is("sends-nothing") && command == "prompt") {
            self.send(&frame);
        }
        if self.ended {
            self.fail_pending();
        }
    }

    fn answer(&mut self, dialog: &str, answer: &Value) {
        let name = match dialog {
            "d1" if is("swaps-dialogs") => "d2",
            "d2" if is("swaps-dialogs") => "d1",
            other => other,
        };
        let mut frame = json!({"type": "extension_ui_response", "id": self.dialog_ids[name]});
        if is("wrong-dialog-id") {
            frame["id"] = json!("nobody");
        }
        let dismissed = json!({"cancelled": true});
        for (name, value) in answer.as_object().or(dismissed.as_object()).unwrap() {
            let name = if is("wrong-answer") { "result" } else { name };
            frame[name] = if is("denies") { json!(false) } else { value.clone() };
        }
        if !is("silent-dialog") {
            self.send(&frame);
        }
    }

    fn handle_line(&mut self, line: &str) {
        // Half a surrogate pair is valid in JSON, but not in a Rust string.
        let decode = |line| match is("drops-halves") {
            true => serde_json::from_str(line).ok(),
            false => agentese::wire::decode::<Value>(line).ok(),
        };
        let Some(frame) = decode(line) else { return };
        match frame["type"].as_str() {
            Some("response") => self.response(&frame),
            Some("extension_ui_request") => self.dialog(frame),
            Some(_) => self.event(frame),
            None => {}
        }
    }

    fn response(&mut self, frame: &Value) {
        let named = |name: &str| frame["command"] == "parse" || frame["command"] == name;
        let place = match frame["id"].as_str() {
            _ if is("ignores-ids") => (!self.pending.is_empty()).then_some(0),
            Some(id) => self.pending.iter().position(|(known, ..)| known == id),
            None if is("newest-fails") => self.pending.len().checked_sub(1),
            None => self.pending.iter().position(|(.., command)| named(command)),
        };
        let Some(place) = place else { return };
        let (_, call, _) = self.pending.remove(place);
        let mut data = frame["data"].clone();
        if is("loses-undeclared-data") {
            data.as_object_mut().map(|data| data.remove("x_later"));
        }
        let mut line = json!({"report": "result", "call": call, "value": data});
        if frame["success"] == false && !is("success-always") {
            let message = if is("own-words") { json!("it did not work") } else { frame["error"].clone() };
            line = json!({"report": "error", "call": call, "kind": "refused", "message": message});
        }
        if !is("silent-answers") {
            report(&line);
        }
        if is("answers-twice") {
            report(&line);
        }
    }

    fn dialog(&mut self, frame: Value) {
        let name = format!("d{}", self.dialog_ids.len() + 1);
        self.dialog_ids.insert(name.clone(), frame["id"].clone());
        let notice = frame["method"] == "notify";
        let mut params = frame.clone();
        if is("changes-dialogs") {
            params["title"] = json!("Sure?");
        }
        if !(is("drops-notices") && notice || is("drops-dialogs") && !notice) {
            report(&json!({"report": "dialog", "dialog": name, "method": frame["method"], "params": params}));
        }
    }

    fn event(&mut self, mut event: Value) {
        self.events += 1;
        if is("crashes") {
            std::process::exit(7);
        }
        if is("babbles") {
            println!("an event!");
        }
        if is("drops-event") && self.events == 3 || is("drops-unknown") && event["type"] == "x_later_event" {
            return;
        }
        if is("loses-undeclared") {
            event.as_object_mut().unwrap().remove("x_later");
        }
        if is("loses-nested") {
            event["x_later"]["kept"].as_array_mut().map(|kept| kept[2].as_object_mut().unwrap().remove("a"));
        }
        if is("numbers-as-text") && event["message"]["timestamp"].is_number() {
            event["message"]["timestamp"] = json!(event["message"]["timestamp"].to_string());
        }
        if is("reorders") {
            match self.delayed_event.take() {
                None if self.events == 2 => return self.delayed_event = Some(event),
                None => {}
                Some(earlier) => {
                    report(&json!({"report": "event", "event": event}));
                    event = earlier;
                }
            }
        }
        report(&json!({"report": "event", "event": event}));
        if is("repeats-event") && self.events == 4 {
            report(&json!({"report": "event", "event": event}));
        }
    }

    fn fail_pending(&mut self) {
        for (_, call, _) in self.pending.drain(..) {
            if !is("hangs-at-end") {
                let kind = if is("times-out-at-end") { "timed_out" } else { "terminated" };
                report(&json!({"report": "error", "call": call, "kind": kind, "message": "it is over"}));
            }
        }
    }

    /// Handles the end of the agent's output.
    fn ended(&mut self) {
        let status = self.child.as_mut().and_then(|child| child.wait().ok());
        self.ended = true;
        self.fail_pending();
        if !self.closing && !is("silent-end") {
            let code = if is("wrong-exit-code") { Some(0) } else { status.and_then(|status| status.code()) };
            let signal = status.and_then(|status| status.signal()).filter(|_| !is("forgets-signals"));
            report(&json!({"report": "terminated", "code": code, "signal": signal}));
        }
    }
}

fn listen(shared: &Shared, stdout: std::process::ChildStdout) {
    let mut reader = BufReader::new(stdout);
    let mut text = String::new();
    while reader.read_line(&mut text).is_ok_and(|count| count > 0) {
        let separators: &[char] = if is("splits-u2028") { &['\n', '\u{2028}'] } else { &['\n'] };
        for line in text.split(separators).filter(|line| !line.is_empty()) {
            locked(shared).handle_line(line);
        }
        text.clear();
    }
    locked(shared).ended();
}

fn main() {
    let shared = Shared::default();
    let mut reader = None;
    for line in std::io::stdin().lock().lines() {
        let told: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match told["instruction"].as_str().unwrap() {
            "start" => {
                let words: Vec<&str> =
                    told["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
                let mut child = command.spawn().unwrap();
                let stdout = child.stdout.take().unwrap();
                locked(&shared).stdin = child.stdin.take();
                locked(&shared).child = Some(child);
                let shared = shared.clone();
                reader = Some(std::thread::spawn(move || listen(&shared, stdout)));
                let mut ready = json!({"report": "ready", "driver": 1, "library": "written by hand"});
                if is("wrong-version") {
                    ready["driver"] = json!(2);
                }
                report(&ready);
            }
            "call" => {
                let params = told["params"].as_object().unwrap();
                locked(&shared).call(
                    told["call"].as_str().unwrap(),
                    told["command"].as_str().unwrap(),
                    params,
                );
            }
            "answer" => locked(&shared).answer(told["dialog"].as_str().unwrap(), &told["answer"]),
            _ => {
                locked(&shared).closing = true;
                if is("says-closed-early") {
                    report(&json!({"report": "closed"}));
                }
                if !is("keeps-stdin") {
                    locked(&shared).stdin = None;
                }
                reader.take().unwrap().join().unwrap();
                if !is("never-closed") {
                    report(&json!({"report": "closed"}));
                }
            }
        }
    }
}
