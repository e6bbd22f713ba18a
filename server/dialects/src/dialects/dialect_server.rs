//! The interface between a dialect server and the rest of the server.

use std::fmt;

use agentese::serve::{Dispatch, Emitter, Options, ServeEnd, serve_with};
use agentese::spec::{Dialect, Spec};
use agentese::transport::Transport;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::config::AgentPaths;
use crate::conversation::AgentComponents;
use crate::engine::BehaviorProfile;

/// Speaks one dialect with one client. Commands arrive through [`Dispatch`], which is implemented for each type
/// that implements the generated `Service`.
pub trait DialectServer: Dispatch<<Self as DialectServer>::Dialect> {
    /// The dialect of the server.
    type Dialect: Dialect;

    /// Returns the behaviour of the agent whose dialect this is, for one revision of the dialect.
    fn behavior_profile(_spec: &'static Spec) -> BehaviorProfile {
        BehaviorProfile::default()
    }

    /// The directories with the settings and models of the agent's users.
    const PATHS: AgentPaths = AgentPaths::PI;

    /// Adds the features that only the agent of this dialect has: tools, hooks, policies.
    fn configure(components: &mut AgentComponents) {
        let _ = components;
    }

    /// Creates an agent from `components` that speaks the revision `spec` of the dialect. Starts nothing and sends
    /// nothing. If `stop` is cancelled, the server stops serving.
    fn new(components: AgentComponents, spec: &'static Spec, stop: CancellationToken) -> Self;

    /// Connects the client; from now on it receives events and questions. Called once, in a runtime, before the
    /// server reads the first line.
    fn connect(&self, emitter: Emitter<Self::Dialect>);
}

/// A revision of a dialect that the server speaks.
pub struct DialectEntry {
    spec: &'static Spec,
    paths: AgentPaths,
    behavior_profile: fn(&'static Spec) -> BehaviorProfile,
    serve: fn(&'static Spec, AgentComponents, Transport, Options) -> BoxFuture<'static, ServeEnd>,
}

impl fmt::Debug for DialectEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DialectEntry").field("dialect", &self.spec.id()).finish_non_exhaustive()
    }
}

impl DialectEntry {
    /// Returns the entry of the first revision of a dialect server.
    pub const fn first_revision<F: DialectServer>() -> Self {
        Self::revision::<F>(0)
    }

    /// Returns the entry of a later revision. `revision` is its index in the declaration, from 0 for the first
    /// revision.
    pub const fn revision<F: DialectServer>(revision: usize) -> Self {
        Self {
            spec: F::Dialect::REVISIONS[revision],
            paths: F::PATHS,
            behavior_profile: revision_profile::<F>,
            serve: |spec, components, transport, options| {
                serve::<F>(spec, components, transport, options).boxed()
            },
        }
    }

    /// Returns the tables of this revision.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Returns the directories with the settings and models of the agent's users.
    pub fn paths(&self) -> AgentPaths {
        self.paths
    }

    /// Returns the behaviour of the dialect's agent.
    pub fn behavior_profile(&self) -> BehaviorProfile {
        (self.behavior_profile)(self.spec)
    }

    /// Serves one client until its input ends. Invalid input gets an error response and never ends the serving.
    pub async fn serve(
        &self,
        components: AgentComponents,
        transport: Transport,
        options: Options,
    ) -> ServeEnd {
        (self.serve)(self.spec, components, transport, options).await
    }
}

/// Returns the behaviour of the agent, with the `behavior` that its revision declares.
fn revision_profile<F: DialectServer>(spec: &'static Spec) -> BehaviorProfile {
    BehaviorProfile { behavior: spec.behavior, ..F::behavior_profile(spec) }
}

async fn serve<F: DialectServer>(
    spec: &'static Spec,
    mut components: AgentComponents,
    transport: Transport,
    mut options: Options,
) -> ServeEnd {
    // An extension may end this agent, but must not cancel the token of the caller.
    options.stop = options.stop.child_token();
    options.revision = Some(spec);
    components.options.profile = revision_profile::<F>(spec);
    F::configure(&mut components);
    let server = std::sync::Arc::new(F::new(components, spec, options.stop.clone()));
    let connected = server.clone();
    serve_with(transport, server, options, move |emitter| connected.connect(emitter)).await
}
