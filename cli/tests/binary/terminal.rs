//! Tests of commands whose stdout and stderr are a terminal.

use std::io::Read;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::support::agentese;
use crate::support::process::Place;

/// Text with control sequences that set the clipboard and the title and clear the screen, C1 controls, a
/// direction mark and characters without a width.
const CONTROL_SEQUENCES: &str = "hello \u{1b}]52;c;cHduZWQ=\u{7}\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{7f} \
    a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\r end";

/// Runs a command on a pseudo-terminal and returns its complete output.
fn run_on_terminal(mut command: Command) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let far = std::fs::File::options().read(true).write(true).open(name).unwrap();
    command.stdin(Stdio::null()).stdout(far.try_clone().unwrap()).stderr(far.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    // Reading ends with an error once no process has the other end open.
    drop((command, far));
    let reader = std::thread::spawn(move || {
        let (mut terminal, mut seen, mut piece) = (std::fs::File::from(terminal), Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = terminal.read(&mut piece) {
            seen.extend_from_slice(&piece[..count]);
        }
        String::from_utf8(seen).unwrap()
    });
    child.wait().unwrap();
    // A terminal ends lines with CR LF.
    reader.join().unwrap().replace("\r\n", "\n")
}

/// Returns an `agentese call` command. The model of its agent writes [`CONTROL_SEQUENCES`] and then fails
/// with the same text.
fn call(place: &Place, words: &[&str]) -> Command {
    let error = json!({"status": 400, "type": "invalid_request_error", "message": CONTROL_SEQUENCES});
    let script =
        place.script(json!({"responses": [{"text": CONTROL_SEQUENCES}], "default": {"error": error}}));
    let program = agentese();
    let agent = ["--", program.to_str().unwrap(), "--mode", "rpc", "--script", &script];
    place.command(&[&["call"], words, &agent].concat())
}

#[test]
fn control_sequences_of_a_model_are_escaped_on_a_terminal() {
    let escaped = "hello \\u{1b}]52;c;cHduZWQ=\\u{7}\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{9b}31m\\u{7f} \
        a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}e\\r end";
    for (words, expected) in [
        (&["prompt", "--message", "x"][..], escaped),
        (&["--events", "prompt", "--message", "x"], "c\\u200bd\\ufeffe"),
        (&["--output", "json", "prompt", "--message", "x"], "c\\u200bd\\ufeffe"),
        (&["--output", "text", "set_session_name", "--name", CONTROL_SEQUENCES], ""),
        (&["bash", "--command", "printf 'a\\342\\200\\256b\\302\\233'"], "a\\u202eb"),
        (&["--output", "text", "bash", "--command", "printf 'a\\342\\200\\256b'"], "a\\u{202e}b"),
    ] {
        let place = Place::new();
        let seen = run_on_terminal(call(&place, words));
        assert!(seen.contains(expected), "{words:?}: {seen:?}");
        let is_obeyed =
            |it: char| it != '\n' && (it.is_control() || "\u{202e}\u{2066}\u{200b}\u{feff}".contains(it));
        assert!(!seen.contains(is_obeyed), "{words:?}: {seen:?}");
        if words.contains(&"json") {
            assert_eq!(serde_json::from_str::<Value>(&seen).unwrap()["text"], CONTROL_SEQUENCES, "{seen:?}");
        }
    }
}

#[test]
fn programs_receive_model_output_unchanged() {
    let place = Place::new();
    let got = call(&place, &["prompt", "--message", "x"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(got.stdout).unwrap(), format!("{CONTROL_SEQUENCES}\n"));
}
