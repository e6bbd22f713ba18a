//! Tests of every command and event with the typed client.

use agentese::operator::{Client, Operator};

use crate::support::rows::every_row;

#[tokio::test]
async fn every_row_through_the_client() {
    every_row::<Operator>(|_, _| Client::builder()).await;
}
