//! One client for agents of every dialect: what the dialects have in common, with the typed client underneath.
//!
//! [`Agent`] finds out which dialect an agent speaks, carries out neutral commands, and tells what happens as neutral
//! [`Event`]s beside the [`Conversation`](crate::view::Conversation) that they add up to. Which command of a dialect carries
//! what is declared; a command that a dialect lacks fails with [`Error::NotInDialect`](crate::Error::NotInDialect) before
//! anything is sent. [`explain`] says what is lost where an agent of one dialect stands behind a front end of another.
//!
//! ```no_run
//! # async fn example() -> Result<(), agentese::Error> {
//! use agentese::any::{Agent, Event};
//!
//! let agent = Agent::connect(["pi", "--mode", "rpc"]).await?;
//! let mut run = agent.prompt("What is in this folder?").await?;
//! while let Some(event) = run.next().await {
//!     match event? {
//!         Event::TextGrew { text, .. } => print!("{text}"),
//!         Event::ToolStarted { name, .. } => println!("[{name}]"),
//!         _ => {}
//!     }
//! }
//! println!("{}", run.result().await?.text());
//! agent.close().await;
//! # Ok(())
//! # }
//! ```

mod agent;
mod ask;
mod commands;
mod detect;
mod differ;
mod effects;
mod event;
mod explain;
mod folded;
mod members;
mod results;
mod run;
mod table;
mod write;

pub use crate::generated::intents::Intent;
pub use agent::{Agent, Options};
pub use ask::{Answer, Asked, Question};
pub use detect::{Detected, detect};
pub use differ::differences;
pub use event::Event;
pub use explain::{Difference, Fate, RowFate, RowKind, explain};
pub use members::Member;
pub use results::{ClearedQueue, Forked, Image, KeptSession, ShellResult, State, Stats, Words};
pub use run::{Events, Run, RunResult};
pub use table::{carries, takes};
