//! The dialects of pi and its heirs: what they have in common is written once.
//!
//! [`Front`] has the commands that all of them keep (`agentese::pi::Kept`). A dialect adds what is its own, in its own
//! folder: what omp brings and pisces keeps is `agentese::omp::Kept`, what only pi has is `agentese::pi::Own`. Events that a
//! dialect does not declare are not sent.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the commands that all keep |
//! | `sink`, `snapshot`, `growing` | events, and how an answer grows |
//! | `convert` | values of the engine as the family writes them |
//! | `newer` | events as pi writes them since 1.5 |
//! | `dialogs` | what is shown and asked |

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
    /// The ways of its agent, in that revision.
    fn customs(spec: &'static Spec) -> Customs;

    /// Where its users keep settings and models.
    const HOME: Home;

    /// Adds what its agent has besides.
    fn equip(parts: &mut Parts) {
        let _ = parts;
    }

    /// Tells that the editor of that id is not asked for any more; none where the dialect has no words for it.
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

/// Speaks a dialect of the family: converts, and asks the desk.
#[derive(Debug)]
pub struct Front<D: Family> {
    pub(super) desk: Desk,
    sink: Arc<Sink<D>>,
    /// The revision that is spoken.
    pub(super) spec: &'static Spec,
    /// The state as it was told last.
    pub(super) told: told::Told,
    /// Cancelled when somebody else than the client ends the serving.
    stop: CancellationToken,
}

impl<D: Family> Front<D> {
    /// Does what the end of input stops. Where the revision is silent about such work, the call is left without an answer
    /// then.
    pub(super) async fn stoppable<R, T>(&self, call: &Call<D, R>, work: impl Future<Output = T>) -> T {
        let done = work.await;
        if self.sink.is_closed() {
            call.leave_unanswered();
        }
        done
    }

    /// Says whether the end of input has stopped work about which the revision is silent then.
    pub(super) fn ended(&self) -> impl Fn() -> bool + Send + Sync + use<D> {
        let sink = self.sink.clone();
        move || sink.is_closed()
    }

    /// A model as the revision shows it: newer ones tell more of it.
    pub(super) fn shown(&self, model: Model) -> Model {
        if is_newer(self.spec) { self.engine().describe(model) } else { model }
    }

    /// The engine, for what needs nothing beside it.
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
        // Revisions that have it begin with it.
        if let Ok(Some(ready)) = convert::body(self.spec, &Ready::new()) {
            emitter.emit_body_now(ready);
        }
        self.sink.connect(emitter.clone());
        self.desk.connect(Arc::new(Dialogs(emitter)));
    }
}

/// Whether a revision has what pi 1.5 brought: deltas alone, an event behind all that the agent does on its own, times.
pub(super) fn is_newer(spec: &Spec) -> bool {
    convert::declares::<AgentSettled>(spec)
}

/// A failure as its text.
pub(super) fn refuse(error: impl ToString) -> Refusal {
    Refusal::new(error.to_string())
}
