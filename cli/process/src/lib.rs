//! Input and output of the process in which an agent, a bridge or a page's server runs.
//!
//! | file | concept |
//! |---|---|
//! | `stdio`, `stdout`, `signals` | an agent on stdin and stdout; its end |
//! | `stderr`, `output`, `sanitize` | output for people |
//! | `http` | HTTP on this machine only |
//! | `environment`, `session_store` | variables; the location of stored sessions |
//! | `error` | failures |

pub mod environment;
pub mod error;
pub mod http;
pub mod output;
pub mod sanitize;
pub mod session_store;
pub mod signals;
pub mod stderr;
pub mod stdio;
pub mod stdout;
