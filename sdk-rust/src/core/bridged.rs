//! Protocols of agents that clients drive through a bridge, because there is no client of the protocol.

use serde_json::{Value, json};

use crate::error::Error;
use crate::generated::recognition::BRIDGED;

/// A protocol whose agents clients drive through a bridge.
#[derive(Debug, Clone, Copy)]
pub struct BridgedProtocol {
    /// The protocol, such as `acp`.
    pub name: &'static str,
    /// The version of the protocol.
    pub version: u64,
    /// The command that precedes all others.
    pub handshake: &'static str,
    /// The member of the handshake and of its answer for the version.
    pub version_member: &'static str,
    /// The dialect that the bridge serves to clients, such as `pi@1.5`.
    pub front: &'static str,
}

impl BridgedProtocol {
    /// Returns all of these protocols.
    pub fn all() -> &'static [Self] {
        BRIDGED
    }

    /// Returns the request that starts a connection. The agent does not change anything.
    pub fn request(&self, id: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": self.handshake, "params": {self.version_member: self.version}})
    }

    /// Returns `true` if a frame is an answer that an agent of this protocol gives to the handshake.
    pub fn is_answer(&self, frame: &Value) -> bool {
        frame["jsonrpc"] == "2.0" && frame["result"][self.version_member].is_u64()
    }

    /// Returns the error for the use of such an agent without a bridge.
    pub fn error(&self) -> Error {
        Error::BridgeNeeded { protocol: self.name, front: self.front }
    }
}
