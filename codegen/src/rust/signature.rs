//! The types of a command's parameters and data.

use agentese_protocol::model::Command;

use super::types::rust_type;

/// Returns the Rust type of a command's parameters.
pub fn params_type(command: &Command) -> &'static str {
    command.params.unwrap_or("NoParams")
}

/// Returns the Rust type of a command's data.
pub fn result_type(command: &Command) -> String {
    match command.result {
        None => "()".to_owned(),
        Some(ty) if command.result_nullable || command.result_optional => {
            format!("Option<{}>", rust_type(&ty))
        }
        Some(ty) => rust_type(&ty),
    }
}
