//! One module per dialect: from the wire to the engine and back. No front decides anything; a rule
//! that two dialects share belongs to the engine. What they share beside it is asking for trust.

pub mod pi;
pub mod trust;
