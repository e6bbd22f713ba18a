//! Lines that are invalid or unusual frames.

use serde_json::json;

use super::victim::{LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "lines",
    says: "broken, giant and deep lines: the next command is answered, memory is bounded",
    carry_out: |round| Box::pin(attack(round)),
};

/// Maximum length of a line, in bytes: more than any agent must accept.
const GIANT: usize = 96 << 20;
/// Maximum nesting of a line.
const DEEP: usize = 200_000;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let site = Site::new(&round.field, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let mut victim = site.start().await?;
    let mut count: u64 = 0;
    let mut memory = 0;
    while count < 24 || round.goes_on() {
        let bytes =
            if count == 7 { giant() } else { hostile(round, count, &victim.speech.question("within")) };
        victim.send(bytes);
        // Answers to the line have no expected id; the answer to the next command has one.
        let id = format!("after-{count}");
        victim.is_well(&id).await?;
        victim.each_is_answered_once([(id, false)].into_iter())?;
        memory = victim.memory_is_bounded(&round.field)?;
        count += 1;
    }
    victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    Ok(vec![("hostile lines", count), ("MiB of memory at most", memory)])
}

fn giant() -> Vec<u8> {
    let mut line = b"{\"type\":\"".to_vec();
    line.resize(GIANT, b'x');
    line.push(b'\n');
    line
}

fn hostile(round: &mut Round, number: u64, question: &str) -> Vec<u8> {
    let rng = &mut round.rng;
    let whole = b"{\"id\":\"h\",\"type\":\"nobody_knows\",\"jsonrpc\":\"2.0\",\"method\":\"nobody/knows\",\"text\":\"\xc3\xbc\"}";
    let mut line = match number % 12 {
        0 => whole[..rng.usize(1..whole.len())].to_vec(),
        1 => {
            let mut bytes = whole.to_vec();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            bytes
        }
        2 => (0..rng.usize(1..5000)).map(|_| rng.u8(..)).collect(),
        3 => "[".repeat(DEEP).into_bytes(),
        4 => "{\"a\":".repeat(DEEP).into_bytes(),
        5 => b"\xef\xbb\xbf{}".to_vec(),
        6 => b"\r".to_vec(),
        7 => "\u{2028}\u{2029}\u{85}".into(),
        8 => b"{\"id\":\"d\",\"id\":\"e\",\"type\":\"nobody_knows\",\"type\":\"nobody\"}".to_vec(),
        9 => b"{\"type\":1e400,\"id\":-0,\"method\":[],\"params\":9007199254740993}".to_vec(),
        10 => b"{\"id\":\"s\",\"type\":\"\\ud800\",\"method\":\"\\udfff\",\"jsonrpc\":\"2.0\"}".to_vec(),
        // A list of commands is not a command.
        _ => match ["null", "true", "\"text\"", "17", "[]", "{}", ""][rng.usize(..7)] {
            "" => format!("[{}]", question.trim_end()).into_bytes(),
            value => value.into(),
        },
    };
    // A line feed inside would split the line.
    line.retain(|byte| *byte != b'\n');
    line.push(b'\n');
    line
}
