//! Tests of flags of extensions on the command line.

use serde_json::{Value, json};

use super::host::{command, plain};
use crate::support::process::{Agent, Place};

/// An extension that reports its flags at its start.
const FLAGS: &str = r#"
export default function (pi: any) {
  pi.registerFlag("plan", { type: "boolean", default: false });
  pi.registerFlag("to", { type: "string", default: "nowhere" });
  const loading = pi.getFlag("plan");
  pi.on("session_start", (_event: unknown, ctx: any) =>
    ctx.ui.notify(JSON.stringify([loading, pi.getFlag("plan"), pi.getFlag("to"), pi.getFlag("other") ?? null])));
}
"#;

/// Starts an agent with a Python extension and these arguments. Returns the flags that the extension received, and the
/// agent's stderr.
fn flags_and_stderr(arguments: &[&str]) -> (Value, String) {
    let place = Place::new();
    let mut command = command(&place, &["flags"], plain());
    command.args(arguments);
    let mut agent = Agent::start(command);
    let flags = serde_json::from_str(&agent.next_notice()).unwrap();
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    (flags, stderr)
}

#[test]
fn command_line_flags_reach_the_extension() {
    let cases: [(&[&str], Value); 5] = [
        (&[], json!({})),
        (&["--plan"], json!({"plan": true})),
        (&["--to", "the north", "--plan", "--no-session"], json!({"to": "the north", "plan": true})),
        (&["--to=-1", "--offline"], json!({"to": "-1"})),
        (&["--to", "a", "--to", "b"], json!({"to": "b"})),
    ];
    for (arguments, values) in cases {
        assert_eq!(flags_and_stderr(arguments), (values, String::new()), "{arguments:?}");
    }
}

#[test]
fn unclaimed_flag_is_reported_once() {
    let (values, stderr) =
        flags_and_stderr(&["--frobnicate", "--to", "--plan=yes", "--no-sesion", "--plan", "word"]);
    assert_eq!(values, json!({"plan": true}));
    let lines: Vec<_> = stderr.lines().collect();
    let expected = [
        "unknown option --frobnicate is ignored",
        "option --to is ignored: it takes a value, --to VALUE or --to=VALUE",
        "option --plan=yes is ignored: --plan takes no value",
        "unknown option --no-sesion is ignored; did you mean --no-session?",
        "messages on the command line are ignored in RPC mode",
    ];
    assert_eq!(lines.len(), expected.len(), "{stderr}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.ends_with(expected), "{line}");
    }
}

#[test]
fn an_extension_of_pi_reads_its_flags() {
    let place = Place::new();
    let file = place.put("installed/flags.ts", FLAGS);
    for (arguments, values) in [
        (&[][..], json!([false, false, "nowhere", null])),
        (&["--plan", "--to", "there", "--other"], json!([false, true, "there", null])),
    ] {
        let mut command = command(&place, &[], plain());
        command.arg("-e").arg(&file).args(arguments);
        let mut agent = Agent::start(command);
        assert_eq!(serde_json::from_str::<Value>(&agent.next_notice()).unwrap(), values);
    }
}
