//! Explanation of a pair of dialects: the fidelity of each row.

use agentese::any::RowFidelity;
use agentese::dynamic;
use agentese::spec::Spec;
use agentese_server_dialects::dialects::ACP;

use crate::agui;
use crate::error::BridgeError;
use crate::fidelity_report;
use crate::launch::is_acp;

/// Fidelity of each row of the client's dialect if the agent speaks another dialect.
#[derive(Debug)]
pub struct Explanation {
    front: &'static Spec,
    agent: &'static Spec,
    rows: Vec<RowFidelity>,
}

/// Returns the fidelity of each row of the dialect `front`, with an agent of the dialect `agent`. Fails if one of
/// them is unknown.
pub fn explain(front: &str, agent: &str) -> Result<Explanation, BridgeError> {
    let spec = |name: &str| match name {
        name if is_acp(name) => Ok(ACP.spec()),
        name if agui::is_agui(name) => Ok(agui::spec()),
        name => dynamic::spec(name),
    };
    let spec = |name: &str| spec(name).map_err(|error| BridgeError::Usage(error.to_string()));
    let (front, agent) = (spec(front)?, spec(agent)?);
    let rows = agentese::any::explain(front, agent).map_err(|error| BridgeError::Usage(error.to_string()))?;
    Ok(Explanation { front, agent, rows })
}

impl Explanation {
    /// Returns the explanation as readable text that ends in a line feed.
    pub fn text(&self) -> String {
        fidelity_report::text(self.front, self.agent, &self.rows)
    }

    /// Returns the explanation as a JSON object that ends in a line feed.
    pub fn json(&self) -> String {
        let Self { front, agent, rows } = self;
        let value = serde_json::json!({"front": front.id(), "agent": agent.id(), "rows": rows});
        format!("{value:#}\n")
    }
}
