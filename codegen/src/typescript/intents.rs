//! The intents of front ends, and the commands for them, as constants.

use agentese_protocol::Index;

use super::banner;
use crate::Artefact;

pub fn artefacts(folder: &str, dialects: &[Index]) -> Vec<Artefact> {
    let mut neutral = banner("The intents of a front end, independent of the agent's dialect.");
    neutral.push_str(&format!(
        "/** The intents with their neutral parameters and results. */\nexport const neutral = {} as const;\n",
        crate::meaning::text(&crate::intents::neutral_table())
    ));
    let mut files = vec![Artefact::new(format!("{folder}/intents/neutral.ts"), neutral)];
    for index in dialects {
        let name = index.dialect.name;
        let mut out = banner(&format!("The commands of {name} for the intents."));
        out.push_str("import type { IntentMappings } from \"../../any/table.js\";\n\n");
        out.push_str(&format!(
            "/** The table of {name}. */\nexport const {name}: IntentMappings = {};\n",
            crate::meaning::text(&crate::intents::table(index))
        ));
        files.push(Artefact::new(format!("{folder}/intents/{name}.ts"), out));
    }
    let mut all = banner("The intents of a front end, and the commands for them.");
    for name in ["neutral"].into_iter().chain(dialects.iter().map(|index| index.dialect.name)) {
        all.push_str(&format!("export {{ {name} }} from \"./{name}.js\";\n"));
    }
    files.push(Artefact::new(format!("{folder}/intents/index.ts"), all));
    files
}
