//! Reads COUNT events with the crate pi-codes and inspects the delta of every update:
//! `reading pi-codes FILE COUNT`. Prints the number of events and the cost. The `pi` on PATH is a
//! program that writes the file in its last argument. tools/bench/clients compares the result with other clients.

use std::time::Instant;

use pi_codes::cli::PiCliBuilder;
use pi_codes::{PiEvent, PiRpcClient};

/// Returns the processor time of this process in hundredths of a second; 0 without `/proc`.
fn processor() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [_, path, count] = arguments.as_slice() else {
        return Err("usage: reading pi-codes FILE COUNT".into());
    };
    let count: usize = count.parse()?;
    let (begin, before) = (Instant::now(), processor());
    let mut client = PiRpcClient::spawn(PiCliBuilder::new().extra_args([path])).await?;
    let (mut seen, mut characters) = (0, 0);
    while seen < count {
        let Some(event) = client.next_event().await? else { break };
        if let PiEvent::MessageUpdate { assistant_message_event, .. } = event {
            characters += assistant_message_event["delta"].as_str().unwrap_or_default().len();
        }
        seen += 1;
    }
    client.shutdown().await?;
    let (seconds, ticks) = (begin.elapsed().as_secs_f64(), processor() - before);
    println!("[{seen},{characters},{seconds},{}]", ticks as f64 / 100.0);
    Ok(())
}
