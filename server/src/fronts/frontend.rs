//! What a front is to the rest of the server.

use std::fmt;

use agentese::schema::{self, Side};
use agentese::serve::{Dispatch, Emitter, Options, ServeEnd, serve_with};
use agentese::spec::{Dialect, Spec};
use agentese::transport::Transport;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::FRONTENDS;
use crate::config::Home;
use crate::desk::Parts;
use crate::engine::Customs;

/// What stands in place of a revision for the newest one that the server speaks.
const LATEST: &str = "latest";

/// Speaks one dialect with one client. Commands come to it as the [`Dispatch`] of the dialect, which
/// everything has that implements the generated `Service`.
pub trait Front: Dispatch<<Self as Front>::Dialect> {
    /// What it speaks.
    type Dialect: Dialect;

    /// The ways of its agent, in that revision of the dialect.
    fn customs(_spec: &'static Spec) -> Customs {
        Customs::PI
    }

    /// Where its users keep settings and models.
    const HOME: Home = Home::PI;

    /// Adds what its agent has besides: tools, hooks, policies.
    fn equip(parts: &mut Parts) {
        let _ = parts;
    }

    /// Puts an agent of those parts together, which speaks that revision of the dialect. Nothing begins yet, and nothing
    /// is sent. Cancelling `stop` ends the serving.
    fn new(parts: Parts, spec: &'static Spec, stop: CancellationToken) -> Self;

    /// The client is there: from now on events and questions go to it. Called once, in a runtime, before the first line
    /// is read.
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
    /// The first revision of the dialect that a front speaks.
    pub const fn of<F: Front>() -> Self {
        Self::at::<F>(0)
    }

    /// A later revision of it, by its place in the declared order.
    pub const fn at<F: Front>(revision: usize) -> Self {
        Self {
            spec: F::Dialect::REVISIONS[revision],
            home: F::HOME,
            customs: customs::<F>,
            serve: |spec, parts, transport, options| serve::<F>(spec, parts, transport, options).boxed(),
        }
    }

    /// The tables of that revision.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Where its users keep settings and models.
    pub fn home(&self) -> Home {
        self.home
    }

    /// The ways of its agent.
    pub fn customs(&self) -> Customs {
        (self.customs)(self.spec)
    }

    /// Serves one client until its input ends. Never fails: bad input is answered.
    pub async fn serve(&self, parts: Parts, transport: Transport, options: Options) -> ServeEnd {
        (self.serve)(self.spec, parts, transport, options).await
    }

    /// The one of a name, which means its first revision, of `NAME@REVISION`, or of `NAME@latest`. Fails for a dialect that is not declared, and for one that is but that
    /// the server does not speak.
    pub fn find(dialect: &str) -> Result<&'static Self, NoFront> {
        let asked = || dialect.to_owned();
        let (name, revision) = dialect.split_once('@').unwrap_or((dialect, ""));
        let latest = revision == LATEST;
        if schema::schema(if latest { name } else { dialect }, Side::Server).is_none() {
            return Err(NoFront::Unknown { asked: asked(), declared: schema::dialects().join(", ") });
        }
        let mut served = FRONTENDS.iter().filter(|frontend| frontend.spec.name == name);
        let found = match revision {
            LATEST => served.next_back(),
            "" => served.next(),
            revision => served.find(|frontend| frontend.spec.revision == revision),
        };
        found.ok_or_else(|| {
            let all: Vec<_> = FRONTENDS.iter().map(|frontend| frontend.spec.id()).collect();
            NoFront::NotServed { asked: asked(), served: all.join(", ") }
        })
    }
}

/// Why there is no front for a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoFront {
    /// The dialect is unknown.
    #[error("unknown dialect \"{asked}\"; known: {declared}")]
    Unknown {
        /// The name that was given.
        asked: String,
        /// The dialects that there are.
        declared: String,
    },
    /// The dialect is known, but this server does not speak it.
    #[error("the dialect {asked} is not available in this version; available: {served}")]
    NotServed {
        /// The name that was given.
        asked: String,
        /// The dialects that the server speaks.
        served: String,
    },
}

/// The ways of a front's agent, with the behavior that its revision declares.
fn customs<F: Front>(spec: &'static Spec) -> Customs {
    Customs { behavior: spec.behavior, ..F::customs(spec) }
}

async fn serve<F: Front>(
    spec: &'static Spec,
    mut parts: Parts,
    transport: Transport,
    mut options: Options,
) -> ServeEnd {
    // An extension may end the agent, and nothing else that the caller stops with it.
    options.stop = options.stop.child_token();
    options.revision = Some(spec);
    parts.options.customs = customs::<F>(spec);
    F::equip(&mut parts);
    let front = std::sync::Arc::new(F::new(parts, spec, options.stop.clone()));
    let connected = front.clone();
    serve_with(transport, front, options, move |emitter| connected.connect(emitter)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_found_by_its_name_and_by_its_revision() {
        for frontend in FRONTENDS {
            let spec = frontend.spec();
            assert_eq!(Frontend::find(&spec.id()).unwrap().spec().id(), spec.id());
        }
        let found = |name: &str| Frontend::find(name).unwrap().spec().id();
        assert_eq!([found("pi"), found("omp")], ["pi@0.55", "omp@12.7"]);
        assert_eq!([found("pi@latest"), found("omp@latest")], ["pi@1.6", "omp@13.19"]);
        let unknown = Frontend::find("klingon").unwrap_err().to_string();
        assert!(unknown.starts_with("unknown dialect \"klingon\"; known: pi@"), "{unknown}");
        assert!(matches!(Frontend::find("pi@0.1"), Err(NoFront::Unknown { .. })));
        for declared in schema::dialects() {
            let served = FRONTENDS.iter().any(|frontend| frontend.spec().id() == declared);
            assert_eq!(Frontend::find(&declared).is_ok(), served, "{declared}");
        }
    }
}
