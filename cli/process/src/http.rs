//! HTTP server that accepts only connections from this machine.
//!
//! | file | concept |
//! |---|---|
//! | `authentication` | authentication: token, origin, host |
//! | `connections` | connections and their limits |

pub mod authentication;
pub mod connections;
use std::net::Ipv4Addr;
use std::process::ExitCode;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use tokio::net::TcpListener;

use super::error::Error;
use super::signals;
use authentication::Token;

/// HTTP server on a port of this machine, with the token that its clients must send.
pub struct LocalServer {
    listener: TcpListener,
    /// Port on 127.0.0.1 on which the server listens.
    pub port: u16,
    /// Secret part of the address.
    pub token: Token,
}

impl LocalServer {
    /// Listens on a port; 0 selects a free one. Fails if the port is in use.
    pub async fn bind(port: u16) -> Result<Self, Error> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(io(&format!("port {port}")))?;
        let port = listener.local_addr().map_err(io("the port"))?.port();
        let token = Token::random().map_err(|error| Error::Io {
            context: "no random token".to_owned(),
            source: std::io::Error::other(error.to_string()),
        })?;
        Ok(Self { listener, port, token })
    }

    /// Returns the address with the token.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.reveal())
    }

    /// Answers requests until a signal ends the program. Returns the exit code.
    pub async fn serve<A, R>(self, answer: A) -> ExitCode
    where
        A: Fn(Request) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<Body>> + Send + 'static,
    {
        tokio::select! {
            never = connections::serve(self.listener, answer) => match never {},
            () = signals::shutdown_signal() => ExitCode::SUCCESS,
        }
    }
}

fn io(context: &str) -> impl FnOnce(std::io::Error) -> Error {
    let context = context.to_owned();
    move |source| Error::Io { context, source }
}
