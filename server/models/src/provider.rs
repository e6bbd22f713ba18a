//! The trait of what answers for some models.

use agentese::types::{Model, ThinkingLevel};
use futures::stream::BoxStream;

use super::event::StreamEvent;
use super::keys::NotReady;
use super::levels::levels;
use super::request::Request;

/// Answers for some models.
pub trait Provider: Send + Sync {
    /// The name by which its models are asked for, as in `NAME/model`.
    fn name(&self) -> &str;

    /// Its models.
    fn models(&self) -> &[Model];

    /// Whether a model can be asked now, as far as that is known without waiting. Fails for want of a
    /// key.
    fn ready(&self, _model: &Model) -> Result<(), NotReady> {
        Ok(())
    }

    /// Those of its models that can be asked now, as [`Provider::ready`] says of each.
    fn available(&self) -> Vec<&Model> {
        self.models().iter().filter(|model| self.ready(model).is_ok()).collect()
    }

    /// The thinking levels that a model has, weakest first.
    fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        levels(model)
    }

    /// A model of its own with what is known of it besides, for clients that get to see that.
    fn describe(&self, model: Model) -> Model {
        model
    }

    /// Whether the blocks of an answer of that model may grow side by side, so that all of them close with the last one.
    fn interleaves(&self, _model: &Model) -> bool {
        false
    }

    /// Whether a block that is open when a request to that model is aborted is closed.
    fn closes_when_aborted(&self, _model: &Model) -> bool {
        false
    }

    /// Asks a model. The stream begins with [`StreamEvent::Start`] once the provider is at work and
    /// ends with `Done` or `Error`; it never panics, and every failure is an `Error` event. Dropping
    /// it ends the request.
    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent>;
}
