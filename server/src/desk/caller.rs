//! Who sent a command, as far as carrying it out goes.

use agentese::serve::Call;
use agentese::spec::Dialect;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::Running;

/// What became of a prompt that was accepted.
#[derive(Debug, Clone)]
pub enum Taken {
    /// It set a run going.
    Run(Running),
    /// It waits in a queue of the run that is going on.
    Queued,
    /// It was a command of an extension. The token is cancelled when the command is over.
    Command(CancellationToken),
    /// An extension has dealt with it.
    Handled,
}

/// Who sent a command: is told that it was accepted, and knows when another one is to take its place.
pub struct Caller {
    pub(super) accepted: Accepted,
    pub(super) replaced: BoxFuture<'static, ()>,
}

pub(super) type Accepted = Box<dyn FnOnce(&Taken) + Send>;

impl Caller {
    /// `accepted` is called once a prompt is, before any of its events; not where an error is given, nor where an
    /// extension deals with it. `replaced` is ready when a command has come that ends this one and cannot begin before.
    pub fn new(
        accepted: impl FnOnce(&Taken) + Send + 'static,
        replaced: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { accepted: Box::new(accepted), replaced: replaced.boxed() }
    }

    /// The sender of a command whose answer has no data: it is answered when it is accepted, where its dialect answers
    /// then.
    pub fn of<D: Dialect, R: 'static>(call: &Call<D, R>) -> Self {
        let answering = call.clone();
        Self::new(move |_| answering.accept(), call.replaced())
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Caller").finish_non_exhaustive()
    }
}
