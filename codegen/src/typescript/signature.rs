//! The types of a command's parameters and data.

use agentese_protocol::model::Command;

use super::types::type_name;

/// Returns the TypeScript type of a command's parameters.
pub fn params_type(command: &Command) -> &'static str {
    command.params.unwrap_or("NoParams")
}

/// Returns the TypeScript type of a command's data.
pub fn data_type(command: &Command) -> String {
    match command.result {
        None => "undefined".to_owned(),
        Some(ty) if command.result_optional => format!("{} | undefined", type_name(&ty)),
        Some(ty) if command.result_nullable => format!("{} | null", type_name(&ty)),
        Some(ty) => type_name(&ty),
    }
}
