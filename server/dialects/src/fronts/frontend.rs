//! The interface between a front and the rest of the server.

use std::fmt;

use agentese::serve::{Dispatch, Emitter, Options, ServeEnd, serve_with};
use agentese::spec::{Dialect, Spec};
use agentese::transport::Transport;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::config::Home;
use crate::desk::Parts;
use crate::engine::Customs;

/// Speaks one dialect with one client. Commands arrive through the [`Dispatch`] of the dialect, which every
/// implementation of the generated `Service` has.
pub trait Front: Dispatch<<Self as Front>::Dialect> {
    /// The dialect of the front.
    type Dialect: Dialect;

    /// Returns the behaviour of the dialect's agent in a revision.
    fn customs(_spec: &'static Spec) -> Customs {
        Customs::PI
    }

    /// The location of the settings and models of the dialect's users.
    const HOME: Home = Home::PI;

    /// Adds the features that only the dialect's agent has: tools, hooks, policies.
    fn equip(parts: &mut Parts) {
        let _ = parts;
    }

    /// Creates an agent of those parts, which speaks that revision of the dialect. Starts nothing and sends
    /// nothing. Cancelling `stop` ends the serving.
    fn new(parts: Parts, spec: &'static Spec, stop: CancellationToken) -> Self;

    /// Connects the client: from now on events and questions go to it. Called once, in a runtime, before the
    /// server reads the first line.
    fn connect(&self, emitter: Emitter<Self::Dialect>);
}

/// A revision of a dialect that the server speaks.
pub struct Frontend {
    spec: &'static Spec,
    home: Home,
    customs: fn(&'static Spec) -> Customs,
    serve: fn(&'static Spec, Parts, Transport, Options) -> BoxFuture<'static, ServeEnd>,
}

impl fmt::Debug for Frontend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Frontend").field("dialect", &self.spec.id()).finish_non_exhaustive()
    }
}

impl Frontend {
    /// Returns the first revision of the dialect of a front.
    pub const fn of<F: Front>() -> Self {
        Self::at::<F>(0)
    }

    /// Returns a later revision, by its index in the declared order.
    pub const fn at<F: Front>(revision: usize) -> Self {
        Self {
            spec: F::Dialect::REVISIONS[revision],
            home: F::HOME,
            customs: customs::<F>,
            serve: |spec, parts, transport, options| serve::<F>(spec, parts, transport, options).boxed(),
        }
    }

    /// Returns the tables of that revision.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Returns the location of the settings and models of the dialect's users.
    pub fn home(&self) -> Home {
        self.home
    }

    /// Returns the behaviour of the dialect's agent.
    pub fn customs(&self) -> Customs {
        (self.customs)(self.spec)
    }

    /// Serves one client until its input ends. Never fails: bad input gets an error response.
    pub async fn serve(&self, parts: Parts, transport: Transport, options: Options) -> ServeEnd {
        (self.serve)(self.spec, parts, transport, options).await
    }
}

/// Returns the behaviour of a front's agent, with the switches that its revision declares.
fn customs<F: Front>(spec: &'static Spec) -> Customs {
    Customs { behavior: spec.behavior, ..F::customs(spec) }
}

async fn serve<F: Front>(
    spec: &'static Spec,
    mut parts: Parts,
    transport: Transport,
    mut options: Options,
) -> ServeEnd {
    // An extension may end this agent, but must not cancel the token of the caller.
    options.stop = options.stop.child_token();
    options.revision = Some(spec);
    parts.options.customs = customs::<F>(spec);
    F::equip(&mut parts);
    let front = std::sync::Arc::new(F::new(parts, spec, options.stop.clone()));
    let connected = front.clone();
    serve_with(transport, front, options, move |emitter| connected.connect(emitter)).await
}
