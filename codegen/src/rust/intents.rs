//! The intents, and for each dialect the commands for them, as JSON text.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::intent::INTENTS;

use super::{banner, docs};
use crate::Artefact;

pub fn artefacts(folder: &str, dialects: &[Index]) -> Vec<Artefact> {
    let mut module = banner("The intents of a front end, and the commands for them.");
    module.push_str(
        "/// An intent of a front end, independent of the agent's dialect.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[non_exhaustive]\npub enum Intent {\n",
    );
    for row in INTENTS {
        docs(&mut module, "    ", row.doc);
        let _ = writeln!(module, "    {},", variant(row.name));
    }
    module.push_str("}\n\nimpl Intent {\n    /// All intents.\n    pub const ALL: &[Intent] = &[\n");
    for row in INTENTS {
        let _ = writeln!(module, "        Intent::{},", variant(row.name));
    }
    module.push_str("    ];\n\n    /// Returns its name, which is the same in every language.\n    pub const fn name(self) -> &'static str {\n        match self {\n");
    for row in INTENTS {
        let _ = writeln!(module, "            Intent::{} => {:?},", variant(row.name), row.name);
    }
    module.push_str("        }\n    }\n}\n\n/// The intents with their neutral parameters and results, as JSON text.\npub const NEUTRAL: &str = include_str!(\"intents/neutral.json\");\n\n");
    module.push_str(
        "/// The tables of the dialects whose features are on: name, and JSON text.\npub const TABLES: &[(&str, &str)] = &[\n",
    );
    let mut files = vec![Artefact::new(
        format!("{folder}/intents/neutral.json"),
        crate::intents::file(crate::intents::neutral_table()),
    )];
    for index in dialects {
        let name = index.dialect.name;
        let _ = writeln!(
            module,
            "    #[cfg(feature = {name:?})]\n    ({name:?}, include_str!(\"intents/{name}.json\")),"
        );
        let text = crate::intents::file(crate::intents::accounted(index));
        files.push(Artefact::new(format!("{folder}/intents/{name}.json"), text));
    }
    module.push_str("];\n");
    files.push(Artefact::new(format!("{folder}/intents.rs"), module));
    files
}

fn variant(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
