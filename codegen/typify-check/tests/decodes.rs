//! The code that typify generates decodes every example and every recorded frame that the schemas accept.

#![allow(clippy::print_stdout, reason = "the counts are shown with --nocapture")]

use agentese_codegen::examples::{client_frames, server_frames};
use agentese_conformance::transcript::{Record, recorded};
use agentese_protocol::Index;
use agentese_typify_check::{
    omp_client, omp_server, opal_client, opal_server, operator_client, operator_server, pi_client, pi_server,
    pisces_client, pisces_server,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

fn listed() -> Vec<String> {
    let text = include_str!("../../../conformance/schema-exceptions.txt");
    let key = |line: &str| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(key).collect()
}

fn decode<T: DeserializeOwned>(frame: &Value, what: &str) {
    if let Err(error) = serde_json::from_value::<T>(frame.clone()) {
        panic!("{what}: {error}\n{}", frame.to_string().chars().take(600).collect::<String>());
    }
}

fn check<Server: DeserializeOwned, Client: DeserializeOwned>(dialect: &str) {
    let index = Index::named(dialect).unwrap();
    for example in server_frames(&index) {
        decode::<Server>(&example.frame, &format!("the example of {}", example.row));
    }
    for example in client_frames(&index) {
        decode::<Client>(&example.frame, &format!("the example of {}", example.row));
    }
    let listed = listed();
    let mut frames = 0;
    for (name, transcript) in recorded(dialect).unwrap() {
        if dialect == "operator" && name.starts_with("d02") {
            continue;
        }
        let mut numbers = [0usize; 2];
        for record in &transcript.records {
            let (line, side) = match record {
                Record::Sent(line) => (line, 0),
                Record::Received(line) => (line, 1),
                Record::Control(_) => continue,
            };
            numbers[side] += 1;
            let what = format!("{dialect}/{name} {} {}", ["client", "server"][side], numbers[side]);
            if listed.contains(&what) {
                continue;
            }
            let frame: Value =
                serde_json::from_str(line.as_str()).unwrap_or_else(|error| panic!("{what}: {error}"));
            match side {
                0 => decode::<Client>(&frame, &what),
                _ => decode::<Server>(&frame, &what),
            }
            frames += 1;
        }
    }
    println!("{dialect}: {frames} frames");
    assert!(frames > 15);
}

#[test]
fn pi() {
    check::<pi_server::PiServerFrame, pi_client::PiClientFrame>("pi");
}

#[test]
fn omp() {
    check::<omp_server::OmpServerFrame, omp_client::OmpClientFrame>("omp");
}

#[test]
fn pisces() {
    check::<pisces_server::PiscesServerFrame, pisces_client::PiscesClientFrame>("pisces");
}

#[test]
fn operator() {
    check::<operator_server::OperatorServerFrame, operator_client::OperatorClientFrame>("operator");
}

#[test]
fn opal() {
    check::<opal_server::OpalServerFrame, opal_client::OpalClientFrame>("opal");
}
