//! The trait of model providers.

use agentese::types::{Model, ThinkingLevel};
use futures::stream::BoxStream;

use super::event::StreamEvent;
use super::keys::ModelUnavailableError;
use super::levels::levels;
use super::request::Request;

/// A provider of models.
pub trait Provider: Send + Sync {
    /// Returns the name of the provider, as in `NAME/model`.
    fn name(&self) -> &str;

    /// Returns the models of the provider.
    fn models(&self) -> &[Model];

    /// Checks that a model is available, as far as this is known without waiting. Fails if the key is missing.
    fn ready(&self, _model: &Model) -> Result<(), ModelUnavailableError> {
        Ok(())
    }

    /// Returns the available models, each checked by [`Provider::ready`].
    fn available(&self) -> Vec<&Model> {
        self.models().iter().filter(|model| self.ready(model).is_ok()).collect()
    }

    /// Returns the thinking levels of a model, weakest first.
    fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        levels(model)
    }

    /// Adds further facts to a model of the provider, for clients that receive them.
    fn describe(&self, model: Model) -> Model {
        model
    }

    /// Returns whether the blocks of an answer may grow side by side, so that all of them close with the last one.
    fn interleaves(&self, _model: &Model) -> bool {
        false
    }

    /// Returns whether the open block is closed when a request to that model is aborted.
    fn closes_when_aborted(&self, _model: &Model) -> bool {
        false
    }

    /// Sends a request to a model. The stream begins with [`StreamEvent::Start`] once the provider is at work and ends
    /// with `Done` or `Error`. The stream never panics; every failure is an `Error` event. Dropping the stream ends the
    /// request.
    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent>;
}
