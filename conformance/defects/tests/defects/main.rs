//! Seeded defects: mutators match their descriptions, the proxy passes everything else on, and the suite notices.

mod mutators;
mod proxy;
mod sample;
