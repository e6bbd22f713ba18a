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

    /// Checks that a model is available, without waiting. Fails if the key is missing.
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

    /// Adds information to a model that only some clients receive.
    fn describe(&self, model: Model) -> Model {
        model
    }

    /// Returns true if several blocks of an answer can be open at once, so that all of them close at its end.
    fn interleaves(&self, _model: &Model) -> bool {
        false
    }

    /// Returns true if an abort of a request to the model closes the open block.
    fn closes_when_aborted(&self, _model: &Model) -> bool {
        false
    }

    /// Sends a request to a model. The stream begins with [`StreamEvent::Start`] when the provider starts to work. It
    /// ends with `Done` or `Error`. Every failure is an `Error` event; the stream never panics. Dropping the stream
    /// ends the request.
    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent>;
}
