//! The front of a dialect of the family.

use std::sync::Arc;

use agentese::serve::{Call, Dispatch, Emitter};
use agentese::spec::Spec;
use agentese::types::{Model, Ready};
use tokio_util::sync::CancellationToken;

use super::convert::{self, is_newer};
use super::dialect::Family;
use super::dialogs::Dialogs;
use super::sink::Sink;
use super::told::Told;
use crate::config::Home;
use crate::desk::{Desk, Parts};
use crate::engine::{Customs, Engine};

/// Speaks a dialect of the family: converts values and calls the desk.
#[derive(Debug)]
pub struct Front<D: Family> {
    pub(in crate::fronts) desk: Desk,
    pub(super) sink: Arc<Sink<D>>,
    /// The revision of the connection.
    pub(in crate::fronts) spec: &'static Spec,
    /// The last state response.
    pub(in crate::fronts) told: Told,
    /// Cancelled if the serving ends for another reason than the end of input.
    pub(super) stop: CancellationToken,
}

impl<D: Family> Front<D> {
    /// Runs work that the end of input stops. If the input has ended meanwhile and the revision prescribes no
    /// response, the call stays without one.
    pub(in crate::fronts) async fn stoppable<R, T>(
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

    /// Returns a check that is true after the end of input has stopped work without a prescribed response.
    pub(in crate::fronts) fn ended(&self) -> impl Fn() -> bool + Send + Sync + use<D> {
        let sink = self.sink.clone();
        move || sink.is_closed()
    }

    /// Returns a model in the form of the revision: newer revisions show more members.
    pub(in crate::fronts) fn shown(&self, model: Model) -> Model {
        if is_newer(self.spec) { self.engine().describe(model) } else { model }
    }

    /// Returns the engine, for calls that need nothing else.
    pub(in crate::fronts) fn engine(&self) -> &Engine {
        self.desk.engine()
    }
}

impl<D: Family> crate::fronts::Front for Front<D>
where
    Self: Dispatch<D>,
{
    type Dialect = D;

    const HOME: Home = D::HOME;

    fn equip(parts: &mut Parts) {
        D::equip(parts);
    }

    fn customs(spec: &'static Spec) -> Customs {
        D::customs(spec)
    }

    fn new(parts: Parts, spec: &'static Spec, stop: CancellationToken) -> Self {
        let sink = Arc::new(Sink::new(parts.updates, is_newer(spec)));
        let desk = Desk::new(parts, sink.clone(), stop.clone());
        Self { desk, sink, spec, told: Told::default(), stop }
    }

    fn connect(&self, emitter: Emitter<D>) {
        // Revisions that declare this event begin with it.
        if let Ok(Some(ready)) = convert::body(self.spec, &Ready::new()) {
            emitter.emit_body_now(ready);
        }
        self.sink.connect(emitter.clone());
        self.desk.connect(Arc::new(Dialogs(emitter)));
    }
}
