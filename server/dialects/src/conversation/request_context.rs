//! The context of a command: the callback at its acceptance, and the signal of its replacement.

use agentese::serve::Call;
use agentese::spec::Dialect;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::RunHandle;

/// The outcome of an accepted prompt.
#[derive(Debug, Clone)]
pub enum PromptOutcome {
    /// The prompt started a run.
    Run(RunHandle),
    /// The prompt waits in a queue of the current run.
    Queued,
    /// The prompt was a command of an extension. The token is cancelled at the end of the command.
    Command(CancellationToken),
    /// An extension handled the prompt.
    Handled,
}

/// The context of a command. It receives the acceptance, and signals that another command replaces this one.
pub struct RequestContext {
    pub(super) on_accepted: OnAccepted,
    pub(super) replaced: BoxFuture<'static, ()>,
}

pub(super) type OnAccepted = Box<dyn FnOnce(&PromptOutcome) + Send>;

impl RequestContext {
    /// Creates a context. `on_accepted` runs after a prompt is accepted and before its first event. It does not
    /// run if the prompt fails or an extension handles it. `replaced` completes when another command ends
    /// this one and waits for its end.
    pub fn new(
        on_accepted: impl FnOnce(&PromptOutcome) + Send + 'static,
        replaced: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { on_accepted: Box::new(on_accepted), replaced: replaced.boxed() }
    }

    /// Creates the context of a command without response data. The response is sent at the acceptance, if the
    /// dialect responds then.
    pub fn for_call<D: Dialect, R: 'static>(call: &Call<D, R>) -> Self {
        let responder = call.clone();
        Self::new(move |_| responder.accept(), call.replaced())
    }
}

impl std::fmt::Debug for RequestContext {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RequestContext").finish_non_exhaustive()
    }
}
