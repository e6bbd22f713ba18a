//! The context of a command: a callback for its acceptance, and a future that completes when another command
//! replaces it.

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
    /// The prompt was a command of an extension. The token is cancelled when the command has ended.
    Command(CancellationToken),
    /// An input hook of an extension handled the prompt, so no run starts.
    Handled,
}

/// The context of a command. It reports the acceptance to the sender, and completes a future when another command
/// replaces this one.
pub struct RequestContext {
    pub(super) on_accepted: OnAccepted,
    pub(super) replaced: BoxFuture<'static, ()>,
}

pub(super) type OnAccepted = Box<dyn FnOnce(&PromptOutcome) + Send>;

impl RequestContext {
    /// Creates a context. `on_accepted` runs when a prompt is accepted, before its first event. It does not run if
    /// the prompt fails or an extension handles it. `replaced` completes when another command stops this one and
    /// waits for its end.
    pub fn new(
        on_accepted: impl FnOnce(&PromptOutcome) + Send + 'static,
        replaced: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { on_accepted: Box::new(on_accepted), replaced: replaced.boxed() }
    }

    /// Creates the context of a command without response data. If the dialect responds at the acceptance, the
    /// context sends that response.
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
