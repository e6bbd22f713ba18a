//! Tests of providers over HTTP: requests, and the handling of responses.

#[path = "providers/aimock.rs"]
mod aimock;
#[path = "providers/answers.rs"]
mod answers;
#[path = "providers/catalog.rs"]
mod catalog;
#[path = "providers/failures.rs"]
mod failures;
#[path = "providers/forms.rs"]
mod forms;
#[path = "providers/long_conversations.rs"]
mod long_conversations;
#[path = "providers/network.rs"]
mod network;
#[path = "providers/round_trip.rs"]
mod round_trip;
#[path = "providers/secrets.rs"]
mod secrets;
#[path = "support/mod.rs"]
mod served;
#[path = "providers/support.rs"]
mod support;
#[path = "providers/tools.rs"]
mod tools;
#[path = "providers/trust.rs"]
mod trust;
