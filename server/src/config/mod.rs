//! Where things are: the environment and the agent directory.

mod agent_dir;

pub use agent_dir::{Environment, agent_dir};
