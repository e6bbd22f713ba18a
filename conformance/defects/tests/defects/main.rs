//! Seeded defects: the mutators do what they say, the proxy passes everything else on, and the suite notices.

mod mutators;
mod proxy;
mod sample;
