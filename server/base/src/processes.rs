//! Processes of the agent: starting them, and the guard that ends them with the agent.
//!
//! | file | concept |
//! |---|---|
//! | `spawner` | the trait that starts commands; tests implement it too |
//! | `local`, `guard` | this machine, and the guard process between the agent and a command |
//! | `open_files` | limits of open files |

pub mod guard;
mod local;
pub mod open_files;
mod spawner;

pub use local::LocalSpawner;
pub use spawner::{CommandLine, Exit, PipedProcess, ProcessHandle, Spawner};
