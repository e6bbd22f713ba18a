//! Proxy that passes on all lines of an agent, and inserts invalid lines between them.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use fastrand::Rng;

pub(super) fn run(seed: u64, command: &[String]) -> io::Result<()> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    let mut rng = Rng::with_seed(seed);
    let mut stdout = io::stdout().lock();
    for line in BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).split(b'\n') {
        for _ in 0..rng.usize(..3) {
            stdout.write_all(&garbage(&mut rng))?;
        }
        stdout.write_all(&line?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
    let status = child.wait()?;
    std::process::exit(status.code().unwrap_or(1))
}

/// Returns a line that a reader must not accept as a response, an event or a question.
fn garbage(rng: &mut Rng) -> Vec<u8> {
    let mut line = match rng.usize(..9) {
        0 => (0..rng.usize(1..3000)).map(|_| rng.u8(..)).collect(),
        1 => b"Warning: something is deprecated".to_vec(),
        2 => "[".repeat(100_000).into_bytes(),
        3 => br#"{"type":"nobody_knows","id":null,"data":{"a":[]}}"#.to_vec(),
        4 => br#"{"jsonrpc":"2.0","method":"nobody/knows","params":[]}"#.to_vec(),
        5 => {
            br#"{"type":"response","id":"no-such-id","success":true,"jsonrpc":"2.0","result":null}"#.to_vec()
        }
        6 => br#"{"type":"constructor","__proto__":{"a":1}}"#.to_vec(),
        7 => format!("{{\"type\":\"{}\"}}", "x".repeat(1 << 20)).into_bytes(),
        _ => b"{\"type\":1e400,\"method\":[],\"id\":{}}".to_vec(),
    };
    line.retain(|byte| *byte != b'\n');
    line.push(b'\n');
    line
}
