//! Tests of seeded defects. Mutators match their descriptions, the proxy changes nothing else, and the suite
//! reports the defects.

mod mutators;
mod proxy;
mod sample;
