//! The operator dialect: seven commands that are answered when they are done, one at a time, and events in an envelope.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the commands |
//! | `seat` | one command at a time: who comes while a turn is going on is refused |
//! | `sink` | events, and which messages a run has told of |
//! | `convert` | messages as Operator writes them |

mod convert;
mod seat;
mod service;
mod sink;

pub use service::Front;
