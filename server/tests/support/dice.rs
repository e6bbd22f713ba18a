//! Random numbers that can be reproduced: `AGENTESE_SEED` sets the seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seed of this run.
pub fn seed() -> u64 {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    number("AGENTESE_SEED").unwrap_or_else(clock).max(1)
}

/// Returns the number in an environment variable.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

/// A sequence of numbers that depends only on its seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
}
