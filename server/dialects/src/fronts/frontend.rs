//! The interface between a front and the rest of the server.

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

/// The placeholder for the newest revision that the server speaks, as in `NAME@latest`.
const LATEST: &str = "latest";

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

    /// Looks up `NAME` (the first revision), `NAME@REVISION` or `NAME@latest`. Fails if the dialect is not
    /// declared, or if the server does not speak it.
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

/// The reason why a dialect has no front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoFront {
    /// The dialect is unknown.
    #[error("unknown dialect \"{asked}\"; known: {declared}")]
    Unknown {
        /// The requested name.
        asked: String,
        /// The declared dialects.
        declared: String,
    },
    /// The dialect is known, but this server does not speak it.
    #[error("the dialect {asked} is not available in this version; available: {served}")]
    NotServed {
        /// The requested name.
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
    // An extension may end this agent, but nothing else that the token of the caller stops.
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
