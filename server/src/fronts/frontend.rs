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

/// Speaks one dialect with one client. Commands come to it as the [`Dispatch`] of the dialect, which
/// everything has that implements the generated `Service`.
pub trait Front: Dispatch<<Self as Front>::Dialect> {
    /// What it speaks.
    type Dialect: Dialect;

    /// The ways of its agent.
    const CUSTOMS: Customs = Customs::PI;

    /// Where its users keep settings and models.
    const HOME: Home = Home::PI;

    /// Adds what its agent has besides: tools, hooks, policies.
    fn equip(parts: &mut Parts) {
        let _ = parts;
    }

    /// Puts an agent of those parts together. Nothing begins yet, and nothing is sent. Cancelling `stop` ends the
    /// serving.
    fn new(parts: Parts, stop: CancellationToken) -> Self;

    /// The client is there: from now on events and questions go to it. Called once, in a runtime, before the first line
    /// is read.
    fn connect(&self, emitter: Emitter<Self::Dialect>);
}

/// A dialect that the server speaks.
pub struct Frontend {
    spec: &'static Spec,
    home: Home,
    customs: Customs,
    serve: fn(Parts, Transport, Options) -> BoxFuture<'static, ServeEnd>,
}

impl fmt::Debug for Frontend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Frontend").field("dialect", &self.spec.id()).finish_non_exhaustive()
    }
}

impl Frontend {
    /// The one that front speaks.
    pub const fn of<F: Front>() -> Self {
        Self {
            spec: F::Dialect::SPEC,
            home: F::HOME,
            customs: F::CUSTOMS,
            serve: |parts, transport, options| serve::<F>(parts, transport, options).boxed(),
        }
    }

    /// The tables of the dialect.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Where its users keep settings and models.
    pub fn home(&self) -> Home {
        self.home
    }

    /// The ways of its agent.
    pub fn customs(&self) -> &Customs {
        &self.customs
    }

    /// Serves one client until its input ends. Never fails: bad input is answered.
    pub async fn serve(&self, parts: Parts, transport: Transport, options: Options) -> ServeEnd {
        (self.serve)(parts, transport, options).await
    }

    /// The one of a name, or of `NAME@REVISION`. Fails for a dialect that is not declared, and for one that is but that
    /// the server does not speak.
    pub fn find(dialect: &str) -> Result<&'static Self, NoFront> {
        let asked = || dialect.to_owned();
        if schema::schema(dialect, Side::Server).is_none() {
            return Err(NoFront::Unknown { asked: asked(), declared: schema::dialects().join(", ") });
        }
        let (name, revision) = dialect.split_once('@').unwrap_or((dialect, ""));
        let served = |frontend: &&Self| {
            frontend.spec.name == name && (revision.is_empty() || frontend.spec.revision == revision)
        };
        FRONTENDS.iter().find(served).ok_or_else(|| {
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

async fn serve<F: Front>(mut parts: Parts, transport: Transport, mut options: Options) -> ServeEnd {
    // An extension may end the agent, and nothing else that the caller stops with it.
    options.stop = options.stop.child_token();
    parts.options.customs = F::CUSTOMS;
    F::equip(&mut parts);
    let front = std::sync::Arc::new(F::new(parts, options.stop.clone()));
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
            for name in [spec.name.to_owned(), spec.id()] {
                assert_eq!(Frontend::find(&name).unwrap().spec().id(), spec.id());
            }
        }
        let unknown = Frontend::find("klingon").unwrap_err().to_string();
        assert!(unknown.starts_with("unknown dialect \"klingon\"; known: pi@"), "{unknown}");
        assert!(matches!(Frontend::find("pi@0.1"), Err(NoFront::Unknown { .. })));
        for declared in schema::dialects() {
            let served = FRONTENDS.iter().any(|frontend| frontend.spec().id() == declared);
            assert_eq!(Frontend::find(&declared).is_ok(), served, "{declared}");
        }
    }
}
