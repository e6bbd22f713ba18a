//! The meanings of frames, as a constant for each dialect.

use agentese_protocol::Index;

use super::banner;

pub fn file(index: &Index) -> String {
    let name = index.dialect.name;
    let mut out = banner(&format!("The effects of {name}'s frames on a conversation."));
    out.push_str("import type { Meaning } from \"../../ui/meaning.js\";\n\n");
    out.push_str(&format!(
        "/** The table of {name}. */\nexport const {name}: Meaning = {};\n",
        crate::meaning::text(&crate::meaning::table(index))
    ));
    out
}
