//! Rules of each API for names and schemas of tools.

/// Rules of an API for names and schemas of tools.
#[derive(Debug)]
pub struct ToolRules {
    /// `true` if a tool's name must begin with a letter or `_`.
    pub(super) letter_first: bool,
    /// For names of properties: allowed characters besides letters and digits, and maximum length. `None` if any name
    /// is accepted.
    pub(super) properties: Option<(&'static [char], usize)>,
    /// Keywords of schemas that the API supports; `None` for all of JSON Schema.
    pub(super) keywords: Option<&'static [&'static str]>,
}

impl ToolRules {
    pub(super) fn accepts_name(&self, name: &str) -> bool {
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        !name.is_empty()
            && name.len() <= LONGEST_NAME
            && name.bytes().all(usual)
            && (!self.letter_first || name.bytes().next().is_some_and(first))
    }

    /// Converts a name to a form that the API accepts.
    pub(super) fn sanitize_name(&self, name: &str) -> String {
        let usual =
            |one: char| if one.is_ascii_alphanumeric() || matches!(one, '_' | '-') { one } else { '_' };
        let mut sent: String = name.chars().map(usual).collect();
        if sent.is_empty() || (self.letter_first && !sent.starts_with(|one: char| one.is_ascii_alphabetic()))
        {
            sent.insert(0, '_');
        }
        sent.truncate(LONGEST_NAME);
        sent
    }

    pub(super) fn accepts_property(&self, name: &str) -> bool {
        let Some((others, longest)) = self.properties else { return true };
        let usual = |one: char| one.is_ascii_alphanumeric() || others.contains(&one);
        !name.is_empty() && name.len() <= longest && name.chars().all(usual)
    }
}

/// Maximum length of a tool name that every API accepts. Every API accepts letters, digits, `_` and `-`.
pub(super) const LONGEST_NAME: usize = 64;

/// The rules of Anthropic, from its errors: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
/// "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", "input_schema does not
/// support oneOf, allOf, or anyOf at the top level", "JSON schema is invalid. It must match JSON Schema draft 2020-12".
pub const ANTHROPIC: ToolRules =
    ToolRules { letter_first: false, properties: Some((&['_', '.', '-'], 64)), keywords: None };

/// The rules of OpenAI, in both of its APIs: "Invalid 'tools[0].function.name': string does not match pattern
/// '^[a-zA-Z0-9_-]+$'", 64 characters by its reference; "schema must have type 'object' and not have
/// 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"; "array schema missing items".
pub const OPENAI: ToolRules = ToolRules { letter_first: false, properties: None, keywords: None };

/// The rules of Google. `FunctionDeclaration.name` "must start with a letter or an underscore" and has 64 characters at
/// most. Permitted keywords of schemas are listed in its discovery document, in `GenerationConfig.responseJsonSchema`
/// and `Schema`.
pub const GOOGLE: ToolRules = ToolRules {
    letter_first: true,
    properties: None,
    keywords: Some(&[
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "example",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "nullable",
        "oneOf",
        "pattern",
        "prefixItems",
        "properties",
        "propertyOrdering",
        "required",
        "title",
        "type",
    ]),
};
