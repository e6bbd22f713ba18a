//! The shapes of keys.

use std::fmt::Write as _;

use agentese_protocol::secrets::{ENVELOPES, KEYS, MEMBERS, REDACTED, SECRET_EVENTS, SUFFIX_LENGTH};

use super::{banner, quote};

pub fn file() -> String {
    let mut out =
        banner("What keys look like: names of members that hold them, and the shapes of well-known keys.");
    let _ = writeln!(
        out,
        "/** What stands in place of a key. */\nexport const REDACTED = {};\n",
        quote(REDACTED)
    );
    out.push_str(
        "/**\n * Names of members whose values are keys, in lower case and without anything but letters and digits. A member\n \
         * holds a key where its name, written that way, is one of these, or ends with one that has at least\n \
         * `SUFFIX_LENGTH` characters. Its strings are replaced, those inside its arrays and objects as well.\n */\n",
    );
    let members: Vec<String> = MEMBERS.iter().map(|member| quote(member)).collect();
    let _ = writeln!(out, "export const MEMBERS: readonly string[] = [\n  {},\n];\n", members.join(",\n  "));
    let _ = writeln!(
        out,
        "/** How long a name has to be to count as the end of a longer one. */\nexport const SUFFIX_LENGTH = {SUFFIX_LENGTH};\n"
    );
    let sealed: Vec<String> = SECRET_EVENTS.iter().map(|event| quote(event)).collect();
    let _ = writeln!(
        out,
        "/** Events of which nothing is shown but their type: they carry a key in members of any name. */\nexport const SECRET_EVENTS: readonly string[] = [{}];\n",
        sealed.join(", ")
    );
    let envelopes: Vec<String> = ENVELOPES.iter().map(|member| quote(member)).collect();
    let _ = writeln!(
        out,
        "/** Members that hold the event in frames of dialects that wrap it. */\nexport const ENVELOPES: readonly string[] = [{}];\n",
        envelopes.join(", ")
    );
    out.push_str(
        "/**\n * How a well-known key looks: it begins with `prefix`, where no ASCII letter or digit stands before it, and goes on\n \
         * with at least `rest` ASCII letters, digits, `-`, `_` and characters of `also`. Where it is a `scheme`, the prefix\n \
         * is kept, and its case does not matter.\n */\n\
         export interface KeyShape {\n  readonly prefix: string;\n  readonly rest: number;\n  readonly also: string;\n  readonly scheme: boolean;\n}\n\n\
         /** The shapes of well-known keys. */\nexport const KEYS: readonly KeyShape[] = [\n",
    );
    for shape in KEYS {
        let _ = writeln!(
            out,
            "  {{ prefix: {}, rest: {}, also: {}, scheme: {} }},",
            quote(shape.prefix),
            shape.rest,
            quote(shape.also),
            shape.scheme
        );
    }
    out.push_str("];\n");
    out
}
