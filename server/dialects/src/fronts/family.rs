//! The dialects of pi and its heirs: their common code is written once.
//!
//! [`Front`] has the commands that all of them share (`agentese::pi::Kept`). Each dialect adds its own
//! commands in its own folder. `agentese::omp::Kept` has the commands of omp that pisces inherits;
//! `agentese::pi::Own` has the commands of pi alone. Events that a dialect does not declare are not sent.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the commands that all of them share |
//! | `sink`, `snapshot`, `growing` | events, and the updates of an answer |
//! | `convert` | values of the engine in the form of the family |
//! | `newer` | events in the form of pi 1.5 |
//! | `dialogs` | notices and questions |

mod convert;
mod dialogs;
mod growing;
mod newer;
mod service;
mod sink;
mod snapshot;
pub(in crate::fronts) mod told;

use std::sync::Arc;

use agentese::serve::{Call, Dispatch, Emitter, Refusal};
use agentese::spec::{Dialect, Spec};
use agentese::types::{
    AgentSettled, CancelNotice, ConfirmDialog, EditorDialog, InputDialog, Model, NotifyNotice, Ready,
    SelectDialog, SetEditorTextNotice, SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};
use tokio_util::sync::CancellationToken;

use super::{omp, pi};
use crate::config::Home;
use crate::desk::{Desk, Parts};
use crate::engine::{Customs, Engine};
pub(super) use convert::text;
use dialogs::Dialogs;
pub(super) use service::words_taken;
use sink::Sink;

/// A dialect that has the dialogs of pi.
pub trait Family:
    Dialect<
    Dialog: From<SelectDialog>
                + From<ConfirmDialog>
                + From<InputDialog>
                + From<EditorDialog>
                + From<NotifyNotice>
                + From<SetStatusNotice>
                + From<SetWidgetNotice>
                + From<SetTitleNotice>
                + From<SetEditorTextNotice>,
>
{
    /// Returns the behaviour of the dialect's agent in that revision.
    fn customs(spec: &'static Spec) -> Customs;

    /// The location of the settings and models of the dialect's users.
    const HOME: Home;

    /// Adds the features that only the dialect's agent has.
    fn equip(parts: &mut Parts) {
        let _ = parts;
    }

    /// Returns the notice that withdraws the editor with that id. Returns `None` if the dialect has no such
    /// notice.
    fn withdrawal(id: &str) -> Option<Self::Dialog> {
        let _ = id;
        None
    }
}

impl Family for agentese::pi::Pi {
    fn customs(spec: &'static Spec) -> Customs {
        if is_newer(spec) { pi::NEWER } else { pi::FIRST }
    }

    const HOME: Home = Home::PI;
}

impl Family for agentese::omp::Omp {
    fn customs(spec: &'static Spec) -> Customs {
        if convert::declares::<Ready>(spec) { omp::READY } else { omp::CUSTOMS }
    }

    const HOME: Home = omp::HOME;

    fn equip(parts: &mut Parts) {
        omp::equip(parts);
    }

    fn withdrawal(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}

impl Family for agentese::pisces::Pisces {
    fn customs(_: &'static Spec) -> Customs {
        omp::CUSTOMS
    }

    const HOME: Home = omp::HOME;

    fn equip(parts: &mut Parts) {
        omp::equip(parts);
    }

    fn withdrawal(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}

/// Speaks a dialect of the family: converts values and calls the desk.
#[derive(Debug)]
pub struct Front<D: Family> {
    pub(super) desk: Desk,
    sink: Arc<Sink<D>>,
    /// The revision of the connection.
    pub(super) spec: &'static Spec,
    /// The last state response.
    pub(super) told: told::Told,
    /// Cancelled if the serving ends for another reason than the end of input.
    stop: CancellationToken,
}

impl<D: Family> Front<D> {
    /// Runs work that the end of input stops. If the input has ended meanwhile and the revision prescribes no
    /// response, the call stays without one.
    pub(super) async fn stoppable<R, T>(&self, call: &Call<D, R>, work: impl Future<Output = T>) -> T {
        let done = work.await;
        if self.sink.is_closed() {
            call.leave_unanswered();
        }
        done
    }

    /// Returns a check that is true after the end of input has stopped work without a prescribed response.
    pub(super) fn ended(&self) -> impl Fn() -> bool + Send + Sync + use<D> {
        let sink = self.sink.clone();
        move || sink.is_closed()
    }

    /// Returns a model in the form of the revision: newer revisions show more members.
    pub(super) fn shown(&self, model: Model) -> Model {
        if is_newer(self.spec) { self.engine().describe(model) } else { model }
    }

    /// Returns the engine, for calls that need nothing else.
    pub(super) fn engine(&self) -> &Engine {
        self.desk.engine()
    }
}

impl<D: Family> super::Front for Front<D>
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
        Self { desk, sink, spec, told: told::Told::default(), stop }
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

/// Returns true if a revision has the additions of pi 1.5: updates with deltas alone, an event after all work
/// of the agent, and times.
pub(super) fn is_newer(spec: &Spec) -> bool {
    convert::declares::<AgentSettled>(spec)
}

/// Converts an error to a rejection with its text.
pub(super) fn refuse(error: impl ToString) -> Refusal {
    Refusal::new(error.to_string())
}
