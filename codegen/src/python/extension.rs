//! The shapes of the frames between an agent and its extensions, as one file without dependencies.

use std::collections::BTreeMap;

use agentese_protocol::extension;
use agentese_protocol::index::format_types;
use agentese_protocol::model::TypeDef;

use super::banner;
use super::shapes::shape;

/// Returns the module, which contains only types and no runtime code.
pub fn module() -> String {
    let defs: BTreeMap<&str, &TypeDef> =
        extension::ROOTS.iter().flat_map(|root| format_types(root)).collect();
    let mut out =
        banner("JSON shapes of the frames between an agent and its extensions. Python 3.11 or later.");
    out.push_str(
        "from collections.abc import Mapping, Sequence\nfrom typing import Literal, NotRequired, TypeAlias, TypedDict\n\n\
         JsonValue: TypeAlias = \"None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]\"\n",
    );
    for def in defs.values() {
        shape(&mut out, def, &[], false);
    }
    out
}
