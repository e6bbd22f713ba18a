//! All declared types by their names.

use std::collections::BTreeMap;

use crate::extension;
use crate::model::{Row, TypeDef};
use crate::types::{driver, formats, model_log, profile, report, steps, suite};

/// Returns all declared types by name: those of the dialects, the other protocols, the extension protocol and the file
/// formats.
pub fn declared_types() -> BTreeMap<&'static str, &'static TypeDef> {
    let mut types = BTreeMap::new();
    let mut add = |row: &'static Row| match row {
        Row::Type(def) => {
            types.insert(def.name, *def);
        }
        Row::Command(command) => {
            if let Some(def) = command.params_def {
                types.insert(def.name, def);
            }
        }
        Row::Event(event) => {
            types.insert(event.payload.name, event.payload);
        }
        Row::Dialog(dialog) => {
            types.insert(dialog.params.name, dialog.params);
        }
    };
    let all = crate::DIALECTS.iter().chain(crate::PROTOCOLS);
    all.flat_map(|d| d.rows.iter().copied().flatten()).for_each(&mut add);
    let files =
        [formats::ROWS, suite::ROWS, steps::ROWS, profile::ROWS, report::ROWS, model_log::ROWS, driver::ROWS];
    for rows in files {
        rows.iter().for_each(&mut add);
    }
    extension::ROWS.iter().copied().flatten().for_each(&mut add);
    types
}
