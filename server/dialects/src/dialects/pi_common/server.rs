//! The server of a dialect of the family.

use std::sync::Arc;

use agentese::serve::{Call, Dispatch, Emitter};
use agentese::spec::Spec;
use agentese::types::{Model, Ready};
use tokio_util::sync::CancellationToken;

use super::client_ui::ClientUi;
use super::convert;
use super::dialect::PiCommon;
use super::revision_features::RevisionFeatures;
use super::sink::Sink;
use super::state_cache::StateCache;
use crate::config::AgentPaths;
use crate::conversation::{AgentComponents, ConversationService};
use crate::engine::{BehaviorProfile, Engine};

/// Speaks a dialect of the family: converts values and calls the conversation service.
#[derive(Debug)]
pub struct PiCommonServer<D: PiCommon> {
    pub(in crate::dialects) conversation: ConversationService,
    pub(super) sink: Arc<Sink<D>>,
    /// The revision of the connection.
    pub(in crate::dialects) spec: &'static Spec,
    /// The features of that revision.
    pub(in crate::dialects) features: &'static RevisionFeatures,
    /// The last state response.
    pub(in crate::dialects) state_cache: StateCache,
    /// Token that is cancelled if the server stops serving for a reason other than the end of its input.
    pub(super) stop: CancellationToken,
}

impl<D: PiCommon> PiCommonServer<D> {
    /// Runs work that is stopped at the end of input. If the input has ended meanwhile, the client receives
    /// no response to the call.
    pub(in crate::dialects) async fn stoppable<R, T>(
        &self,
        call: &Call<D, R>,
        work: impl Future<Output = T>,
    ) -> T {
        let done = work.await;
        if self.sink.is_closed() {
            call.leave_unanswered();
        }
        done
    }

    /// Returns a function that returns true once the end of input has stopped the work of the connection.
    pub(in crate::dialects) fn input_ended(&self) -> impl Fn() -> bool + Send + Sync + use<D> {
        let sink = self.sink.clone();
        move || sink.is_closed()
    }

    /// Returns a model in the form of the revision: newer revisions show more members.
    pub(in crate::dialects) fn describe_model(&self, model: Model) -> Model {
        if self.features.describes_models { self.engine().describe(model) } else { model }
    }

    /// Returns the engine, for calls that need nothing else.
    pub(in crate::dialects) fn engine(&self) -> &Engine {
        self.conversation.engine()
    }
}

impl<D: PiCommon> crate::dialects::DialectServer for PiCommonServer<D>
where
    Self: Dispatch<D>,
{
    type Dialect = D;

    const PATHS: AgentPaths = D::PATHS;

    fn configure(components: &mut AgentComponents) {
        D::configure(components);
    }

    fn behavior_profile(spec: &'static Spec) -> BehaviorProfile {
        D::behavior_profile(spec)
    }

    fn new(components: AgentComponents, spec: &'static Spec, stop: CancellationToken) -> Self {
        let features = RevisionFeatures::of(spec);
        let sink = Arc::new(Sink::new(components.updates, features.updates_are_deltas));
        let conversation = ConversationService::new(components, sink.clone(), stop.clone());
        Self { conversation, sink, spec, features, state_cache: StateCache::default(), stop }
    }

    fn connect(&self, emitter: Emitter<D>) {
        // Revisions that declare this event begin with it.
        if let Ok(Some(ready)) = convert::body(self.spec, &Ready::new()) {
            emitter.emit_body_now(ready);
        }
        self.sink.connect(emitter.clone());
        self.conversation.connect(Arc::new(ClientUi(emitter)));
    }
}
