//! Models and whoever answers for them.
//!
//! A [`Provider`] takes a request and gives a stream of small events; [`Assembler`] makes the
//! message of them. Nothing here knows sessions, queues or a wire format.
//!
//! | file | concept |
//! |---|---|
//! | `request`, `event`, `failure` | what a provider is asked, what it says, why it fails |
//! | `assemble`, `partial_json`, `price` | from events to a message |
//! | `history` | what of a conversation a model gets to see |
//! | `catalog` | models by name, thinking levels by model |
//! | `scripted` | the embedded model |

mod assemble;
mod catalog;
mod event;
mod failure;
pub mod history;
mod partial_json;
mod price;
mod request;
pub mod scripted;

use agentese::types::Model;
use futures::stream::BoxStream;

pub use assemble::{Answer, Assembler, Update};
pub use catalog::{Catalog, Chosen, levels, nearest_level};
pub use event::{Done, StreamEvent, TokenCounts};
pub use failure::{Failure, FailureKind};
pub use price::number;
pub use request::{Request, ToolDescription};

/// Answers for some models.
pub trait Provider: Send + Sync {
    /// The name by which its models are asked for, as in `NAME/model`.
    fn name(&self) -> &str;

    /// Its models.
    fn models(&self) -> &[Model];

    /// Asks a model. The stream begins with [`StreamEvent::Start`] once the provider is at work and
    /// ends with `Done` or `Error`; it never panics, and every failure is an `Error` event. Dropping
    /// it ends the request.
    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent>;
}
