//! The meanings of frames, as a JSON text for each dialect.

use std::fmt::Write as _;

use agentese_protocol::Index;

use super::banner;
use crate::Artefact;

pub fn artefacts(folder: &str, dialects: &[Index]) -> Vec<Artefact> {
    let mut module = banner("The effects of the dialects' frames on a conversation.");
    module.push_str(
        "/// The tables of the dialects whose features are on: name, and JSON text.\npub const TABLES: &[(&str, &str)] = &[\n",
    );
    let mut files = Vec::new();
    for index in dialects {
        let name = index.dialect.name;
        let _ = writeln!(
            module,
            "    #[cfg(feature = {name:?})]\n    ({name:?}, include_str!(\"meaning/{name}.json\")),"
        );
        let text = crate::meaning::file(index);
        files.push(Artefact::new(format!("{folder}/meaning/{name}.json"), text));
    }
    module.push_str("];\n");
    files.push(Artefact::new(format!("{folder}/meaning.rs"), module));
    files
}
