//! The operator dialect: seven commands, one at a time, with the response after the command is done; events
//! are in an envelope.
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
