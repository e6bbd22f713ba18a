//! Attack: sends invalid lines, and lines that are unusual frames.

use serde_json::json;

use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "lines",
    description: "broken, giant and deep lines: the next command is answered, memory is bounded",
    run: |context| Box::pin(attack(context)),
};

/// Maximum length of a line, in bytes, above any length that an agent must accept.
const GIANT: usize = 96 << 20;
/// Maximum nesting of a line.
const DEEP: usize = 200_000;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let mut agent = env.start().await?;
    let mut count: u64 = 0;
    let mut memory = 0;
    while count < 24 || context.has_time() {
        let bytes = if count == 7 { giant() } else { hostile(context, count, &agent.codec.query("within")) };
        agent.send(bytes);
        // Answers to the invalid line have an unknown id. The answer to the following command
        // has this one.
        let id = format!("after-{count}");
        agent.check_responsive(&id).await?;
        agent.check_answered_once([(id, false)].into_iter())?;
        memory = agent.check_memory(&context.config)?;
        count += 1;
    }
    agent.finish(LONG).await?;
    env.check_no_processes().await?;
    Ok(vec![("hostile lines", count), ("MiB of memory at most", memory)])
}

fn giant() -> Vec<u8> {
    let mut line = b"{\"type\":\"".to_vec();
    line.resize(GIANT, b'x');
    line.push(b'\n');
    line
}

fn hostile(context: &mut AttackContext, number: u64, question: &str) -> Vec<u8> {
    let rng = &mut context.rng;
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
        // A list of commands is not a valid command.
        _ => match ["null", "true", "\"text\"", "17", "[]", "{}", ""][rng.usize(..7)] {
            "" => format!("[{}]", question.trim_end()).into_bytes(),
            value => value.into(),
        },
    };
    // A line feed inside the line would split it.
    line.retain(|byte| *byte != b'\n');
    line.push(b'\n');
    line
}
