//! Providers on the network: requests, and the handling of responses.

#[path = "providers/aimock.rs"]
mod aimock;
#[path = "providers/answers.rs"]
mod answers;
#[path = "providers/catalog.rs"]
mod catalog;
#[path = "providers/failures.rs"]
mod failures;
#[path = "providers/secrets.rs"]
mod secrets;
#[path = "support/mod.rs"]
mod served;
#[path = "providers/support.rs"]
mod support;
#[path = "providers/trust.rs"]
mod trust;
