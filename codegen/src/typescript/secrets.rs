//! The members and patterns by which keys are recognised.

use std::fmt::Write as _;

use agentese_protocol::secrets::{ENVELOPES, KEYS, MEMBERS, REDACTED, SECRET_EVENTS, SUFFIX_LENGTH};

use super::{banner, quote};

pub fn file() -> String {
    let mut out =
        banner("Keys in frames: the names of members that contain keys, and the shapes of well-known keys.");
    let _ = writeln!(out, "/** Text in place of a key. */\nexport const REDACTED = {};\n", quote(REDACTED));
    out.push_str(
        "/**\n * Names of members whose values are keys, in lower case and without other characters than letters and digits. A\n \
         * member contains a key if its name, in this form, is one of these names, or ends with one of at least\n \
         * `SUFFIX_LENGTH` characters. Its strings are replaced, including the strings in its arrays and objects.\n */\n",
    );
    let members: Vec<String> = MEMBERS.iter().map(|member| quote(member)).collect();
    let _ = writeln!(out, "export const MEMBERS: readonly string[] = [\n  {},\n];\n", members.join(",\n  "));
    let _ = writeln!(
        out,
        "/** Minimum length of a name that may be the end of a longer one. */\nexport const SUFFIX_LENGTH = {SUFFIX_LENGTH};\n"
    );
    let secret_events: Vec<String> = SECRET_EVENTS.iter().map(|event| quote(event)).collect();
    let _ = writeln!(
        out,
        "/** Events whose type alone may be shown, because they carry a key in members of any name. */\nexport const SECRET_EVENTS: readonly string[] = [{}];\n",
        secret_events.join(", ")
    );
    let envelopes: Vec<String> = ENVELOPES.iter().map(|member| quote(member)).collect();
    let _ = writeln!(
        out,
        "/** Members that contain the event in frames of dialects that wrap it. */\nexport const ENVELOPES: readonly string[] = [{}];\n",
        envelopes.join(", ")
    );
    out.push_str(
        "/**\n * Shape of a well-known key. It begins with `prefix`, not preceded by an ASCII letter or digit, and continues\n \
         * with at least `rest` ASCII letters, digits, `-`, `_` and characters of `also`. If the shape is a `scheme`, the\n \
         * prefix stays in the text, and its case does not matter.\n */\n\
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
