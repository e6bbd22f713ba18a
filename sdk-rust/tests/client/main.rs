//! The client against agents that behave well, badly and not at all.

mod calls;
mod dialogs;
mod faults;
mod peer;
mod process;
mod queues;
mod runs;
