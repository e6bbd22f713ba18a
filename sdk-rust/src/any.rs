//! One client for agents of every dialect. It offers the features that dialects have in common, and uses the
//! typed client of the agent's dialect.
//!
//! [`Agent`] detects the dialect of an agent, sends neutral commands, and emits neutral [`Event`]s. The client
//! applies all events to a [`Conversation`](crate::view::Conversation), which is available at any time.
//! Declared tables map each intent to a command of the dialect. A command without an equivalent fails with
//! [`Error::NotInDialect`](crate::Error::NotInDialect) before any frame is sent. [`explain`] lists what is lost
//! if a front end of one dialect uses an agent of another.
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
mod commands;
mod convert;
mod detect;
mod diff;
mod effects;
mod event;
mod explain;
mod members;
mod question;
mod results;
mod run;
mod table;
mod tracker;

pub use crate::generated::intents::Intent;
pub use agent::{Agent, Options};
pub use detect::{Detection, detect};
pub use diff::differences;
pub use event::Event;
pub use explain::{Difference, Fidelity, RowFidelity, RowKind, explain};
pub use members::Member;
pub use question::{Answer, Question, QuestionHandler};
pub use results::{ClearedQueue, ForkResult, Image, ShellResult, State, Stats, StoredSession, UserInput};
pub use run::{Events, Run, RunResult};
pub use table::{accepts_param, supports};
