//! The operator dialect: seven commands, one at a time. Each response is sent after the work of its command. Events
//! are inside an envelope.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the commands |
//! | `command_serializer` | one command at a time: rejects commands during a turn |
//! | `sink` | events, and the messages that a run has reported |
//! | `convert` | messages in the form of Operator |

mod command_serializer;
mod convert;
mod service;
mod sink;

pub use service::OperatorServer;
