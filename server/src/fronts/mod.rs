//! One module per dialect: from the wire to the engine and back. No front decides anything; a rule
//! that two dialects share belongs to the engine.

pub mod pi;
