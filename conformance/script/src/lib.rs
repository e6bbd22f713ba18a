//! Model scripts: a script determines the response to each request, and the pieces in which it is streamed.
//!
//! A script replaces a language model. Either a provider inside an agent plays it, or a server on loopback.
//! Both use this crate, so that a script has the same meaning in both.

use agentese::types::{
    Chunks, ModelScript, ScriptArguments, ScriptBlock, ScriptCondition, ScriptRepeat, ScriptResponse,
    ScriptStop, ScriptUsage,
};

/// Text of the responses after the last one of a script without a default response.
const EXHAUSTED: &str = "(script exhausted)";

/// Default number of input tokens, for responses without token numbers in the script.
const INPUT: u64 = 100;
const OUTPUT: u64 = 20;

/// Properties of a request that the conditions of a script test.
#[derive(Clone, Copy)]
pub struct RequestProperties<'a> {
    /// The text of the user's last message.
    pub user: &'a str,
    /// The system prompt of the request.
    pub system: &'a str,
    /// The model that the request names.
    pub model: &'a str,
    /// True if tool results follow the user's last message.
    pub tool_results: bool,
    /// Function that returns the whole request as text. It is called only for a script with a condition on
    /// the body.
    pub body: &'a dyn Fn() -> String,
}

impl std::fmt::Debug for RequestProperties<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestProperties")
            .field("user", &self.user)
            .field("model", &self.model)
            .field("tool_results", &self.tool_results)
            .finish_non_exhaustive()
    }
}

impl RequestProperties<'_> {
    fn fits(&self, condition: &ScriptCondition) -> bool {
        let within = |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|it| text.contains(it));
        within(&condition.user, self.user)
            && within(&condition.system, self.system)
            && condition.model.as_ref().is_none_or(|model| model == self.model)
            && condition.tool_results.is_none_or(|wanted| wanted == self.tool_results)
            && condition.body.as_ref().is_none_or(|wanted| (self.body)().contains(wanted))
    }
}

/// The response to one request.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The number of the request, from 0.
    pub number: u64,
    /// Index of the response in the script; `None` if all responses of the script were used.
    pub place: Option<usize>,
    /// The response of the script.
    pub answer: ScriptResponse,
}

/// A script in progress.
#[derive(Debug)]
pub struct Playlist {
    script: ModelScript,
    used: Vec<bool>,
    requests: u64,
}

impl Playlist {
    /// Starts a script at its beginning.
    pub fn new(script: ModelScript) -> Self {
        Self { used: vec![false; script.responses.len()], script, requests: 0 }
    }

    /// Returns the response to the next request.
    ///
    /// An unused response with a matching condition is preferred to the next unused response without a
    /// condition. If no response is left, returns the default response, or a text that states so.
    pub fn next(&mut self, request: &RequestProperties<'_>) -> Turn {
        let number = self.requests;
        self.requests += 1;
        let left = || self.script.responses.iter().enumerate().filter(|(place, _)| !self.used[*place]);
        let fitting =
            left().find(|(_, answer)| answer.when.as_ref().is_some_and(|condition| request.fits(condition)));
        let chosen = fitting.or_else(|| left().find(|(_, answer)| answer.when.is_none()));
        let Some((place, answer)) = chosen else {
            let answer = self.script.default.clone().unwrap_or_else(|| {
                let mut answer = ScriptResponse::new();
                answer.text = Some(EXHAUSTED.to_owned());
                answer
            });
            return Turn { number, place: None, answer };
        };
        let answer = answer.clone();
        self.used[place] = answer.keep != Some(true);
        Turn { number, place: Some(place), answer }
    }
}

/// Type of a content block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A block of text.
    Text,
    /// A block of reasoning.
    Thinking {
        /// Signature of the block, which the provider requires in later requests.
        signature: Option<String>,
    },
    /// A tool call. Its joined pieces are the JSON text of the arguments.
    ToolCall {
        /// The id of the call, if the script has one.
        id: Option<String>,
        /// Name of the tool.
        name: String,
    },
}

/// A block of a response, divided into its streamed pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Kind of the block.
    pub kind: Kind,
    /// The pieces in which the block is streamed.
    pub pieces: Vec<String>,
}

/// Interruption of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The stream stays open without further data.
    Hang,
    /// The connection is reset.
    Reset,
    /// The connection is closed normally, before the response is complete.
    Close,
    /// An error is sent within the stream.
    Error,
}

/// Returns the interruption of a response, and the number of pieces before it. A negative number means an
/// interruption before any output. Returns `None` for a complete response.
pub fn interruption_of(answer: &ScriptResponse) -> Option<(Interruption, i64)> {
    [
        (Interruption::Hang, answer.hang_after),
        (Interruption::Reset, answer.drop_after),
        (Interruption::Close, answer.fin_after),
        (Interruption::Error, answer.stream_error_after),
    ]
    .into_iter()
    .find_map(|(kind, after)| Some((kind, after?)))
}

/// Returns the blocks of a response.
pub fn blocks(answer: &ScriptResponse) -> Vec<Block> {
    match (&answer.blocks, &answer.text) {
        (Some(blocks), _) => blocks.iter().map(block).collect(),
        (None, Some(text)) => vec![Block { kind: Kind::Text, pieces: vec![text.clone()] }],
        (None, None) => Vec::new(),
    }
}

/// Returns the stop reason of a complete response.
pub fn stop_of(answer: &ScriptResponse, blocks: &[Block]) -> ScriptStop {
    let calls = blocks.iter().any(|block| matches!(block.kind, Kind::ToolCall { .. }));
    answer.stop.clone().unwrap_or(if calls { ScriptStop::ToolUse } else { ScriptStop::Stop })
}

/// Token numbers of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Number of input tokens that were not read from the cache.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Number of tokens read from the cache.
    pub cache_read: u64,
    /// Number of tokens written to the cache.
    pub cache_write: u64,
}

/// Returns the token numbers of a response. If the script lacks them, returns default numbers.
pub fn tokens_of(answer: &ScriptResponse) -> Tokens {
    let count = |pick: fn(&ScriptUsage) -> Option<u64>| answer.usage.as_ref().and_then(pick);
    Tokens {
        input: count(|usage| usage.input).unwrap_or(INPUT),
        output: count(|usage| usage.output).unwrap_or(OUTPUT),
        cache_read: count(|usage| usage.cache_read).unwrap_or_default(),
        cache_write: count(|usage| usage.cache_write).unwrap_or_default(),
    }
}

fn block(block: &ScriptBlock) -> Block {
    match block {
        ScriptBlock::Text(block) => Block { kind: Kind::Text, pieces: pieces(&block.text) },
        ScriptBlock::TextRepeat(block) => Block { kind: Kind::Text, pieces: repeated(&block.text_repeat) },
        ScriptBlock::Thinking(block) => Block {
            kind: Kind::Thinking { signature: block.signature.clone() },
            pieces: pieces(&block.thinking),
        },
        ScriptBlock::ThinkingRepeat(block) => Block {
            kind: Kind::Thinking { signature: block.signature.clone() },
            pieces: repeated(&block.thinking_repeat),
        },
        ScriptBlock::Tool(block) => {
            let call = &block.tool;
            let pieces = match &call.args {
                None => vec!["{}".to_owned()],
                Some(ScriptArguments::Object(members)) => {
                    vec![serde_json::Value::Object(members.clone()).to_string()]
                }
                Some(ScriptArguments::Whole(text)) => vec![text.clone()],
                Some(ScriptArguments::Pieces(pieces)) => pieces.clone(),
            };
            Block { kind: Kind::ToolCall { id: call.id.clone(), name: call.name.clone() }, pieces }
        }
    }
}

fn pieces(chunks: &Chunks) -> Vec<String> {
    match chunks {
        Chunks::Whole(text) => vec![text.clone()],
        Chunks::Pieces(pieces) => pieces.clone(),
    }
}

fn repeated(repeat: &ScriptRepeat) -> Vec<String> {
    (0..repeat.n).map(|number| repeat.chunk.replace("{i}", &number.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(script: serde_json::Value, requests: &[(&str, bool)]) -> Vec<String> {
        let mut playlist = Playlist::new(serde_json::from_value(script).unwrap());
        let mut answers = Vec::new();
        for (user, tool_results) in requests {
            let asked = RequestProperties {
                user,
                system: "Be brief.",
                model: "m",
                tool_results: *tool_results,
                body: &|| format!("body of {user}"),
            };
            let turn = playlist.next(&asked);
            assert_eq!(turn.number, answers.len() as u64);
            answers.push(turn.answer.text.unwrap());
        }
        answers
    }

    #[test]
    fn requests_get_the_answers_in_order_and_then_the_default() {
        let script = serde_json::json!({"responses": [{"text": "a"}, {"text": "b"}]});
        assert_eq!(play(script, &[("", false); 3]), ["a", "b", EXHAUSTED]);
        let script = serde_json::json!({"responses": [{"text": "a"}], "default": {"text": "d"}});
        assert_eq!(play(script, &[("", false); 3]), ["a", "d", "d"]);
    }

    #[test]
    fn an_answer_with_a_condition_waits_for_its_request() {
        let script = serde_json::json!({"responses": [
            {"text": "next"},
            {"when": {"user": "run", "tool_results": false}, "text": "call"},
            {"when": {"user": "run", "tool_results": true}, "keep": true, "text": "done"},
            {"when": {"body": "body of deep", "model": "m", "system": "brief"}, "text": "deep"},
            {"when": {"model": "another"}, "keep": true, "text": "never"},
        ]});
        let requests =
            [("run it", false), ("run it", true), ("run it", true), ("deep", false), ("deep", false)];
        assert_eq!(play(script, &requests), ["call", "done", "done", "deep", "next"]);
    }

    #[test]
    fn blocks_come_in_their_pieces() {
        let answer: ScriptResponse = serde_json::from_value(serde_json::json!({"blocks": [
            {"thinking": "t", "signature": "s"}, {"text_repeat": {"chunk": "w{i} ", "n": 2}},
            {"tool": {"name": "ls"}}, {"tool": {"id": "c", "name": "bash", "args": ["{", "}"]}},
        ], "fin_after": 3}))
        .unwrap();
        let blocks = blocks(&answer);
        let pieces: Vec<_> = blocks.iter().map(|block| block.pieces.join("|")).collect();
        assert_eq!(pieces, ["t", "w0 |w1 ", "{}", "{|}"]);
        assert_eq!(blocks[0].kind, Kind::Thinking { signature: Some("s".to_owned()) });
        assert_eq!(stop_of(&answer, &blocks), ScriptStop::ToolUse);
        assert_eq!(interruption_of(&answer), Some((Interruption::Close, 3)));
    }
}
