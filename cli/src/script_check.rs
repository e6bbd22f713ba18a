//! Validation of model scripts. Users write them by hand, so a misspelt member is an error and does not
//! lead to an empty answer.

use agentese::types::{ModelScript, ScriptBlock, ScriptResponse};
use agentese::wire::ExtraMembers;

/// Returns the path of the first undeclared member, or `None` if the script is valid.
pub(super) fn undeclared(script: &ModelScript) -> Option<String> {
    let responses =
        script.responses.iter().enumerate().map(|(at, response)| (format!("responses[{at}]."), response));
    let default = script.default.iter().map(|response| ("default.".to_owned(), response));
    let device = script.device.as_ref().and_then(|device| first("device.", &device.extra));
    first("", &script.extra)
        .or(device)
        .or_else(|| responses.chain(default).find_map(|(path, response)| in_response(&path, response)))
}

fn in_response(path: &str, response: &ScriptResponse) -> Option<String> {
    let nested = [
        ("when.", response.when.as_ref().map(|condition| &condition.extra)),
        ("raw.", response.raw.as_ref().map(|raw| &raw.extra)),
        ("usage.", response.usage.as_ref().map(|usage| &usage.extra)),
        ("error.", response.error.as_ref().map(|error| &error.extra)),
        ("empty_error.", response.empty_error.as_ref().map(|error| &error.extra)),
    ];
    let nested = nested.into_iter().find_map(|(name, extra)| first(&format!("{path}{name}"), extra?));
    let mut blocks = response.blocks.iter().flatten().enumerate();
    first(path, &response.extra)
        .or(nested)
        .or_else(|| blocks.find_map(|(at, block)| in_block(&format!("{path}blocks[{at}]."), block)))
}

fn in_block(path: &str, block: &ScriptBlock) -> Option<String> {
    match block {
        ScriptBlock::Text(block) => first(path, &block.extra),
        ScriptBlock::Thinking(block) => first(path, &block.extra),
        ScriptBlock::Tool(block) => {
            first(path, &block.extra).or_else(|| first(&format!("{path}tool."), &block.tool.extra))
        }
        ScriptBlock::TextRepeat(block) => first(path, &block.extra),
        ScriptBlock::ThinkingRepeat(block) => first(path, &block.extra),
    }
}

fn first(path: &str, extra: &ExtraMembers) -> Option<String> {
    extra.iter().next().map(|(name, _)| format!("`{path}{name}`"))
}

#[cfg(test)]
mod tests {
    use super::undeclared;

    #[test]
    fn a_misspelt_member_is_named_with_its_path() {
        let cases = [
            (r#"{"responses":[{"text":"a"}]}"#, None),
            (r#"{"responses":[{"txt":"a"}]}"#, Some("`responses[0].txt`")),
            (r#"{"responses":[],"defualt":{}}"#, Some("`defualt`")),
            (
                r#"{"responses":[{"blocks":[{"tool":{"name":"x","arg":{}}}]}]}"#,
                Some("`responses[0].blocks[0].tool.arg`"),
            ),
            (r#"{"responses":[{"usage":{"inputs":1}}]}"#, Some("`responses[0].usage.inputs`")),
        ];
        for (text, expected) in cases {
            assert_eq!(undeclared(&serde_json::from_str(text).unwrap()).as_deref(), expected, "{text}");
        }
    }
}
