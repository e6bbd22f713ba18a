//! Which tool result answers which call.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{list, message, role, text};
use super::tree::Tree;

/// The results that are shown with their calls.
#[derive(Default)]
pub(super) struct Results {
    /// From an answer and the place of a block in it to the entry of the result.
    of_call: HashMap<(usize, usize), usize>,
    call_of: HashMap<usize, (usize, usize)>,
}

impl Results {
    /// Looks along the trunk and along each branch. A result belongs to the answer before it; one whose call cannot
    /// be found is shown by itself.
    pub fn of(tree: &Tree) -> Self {
        let mut results = Self::default();
        results.pair(tree, &tree.trunk);
        for (depth, line) in tree.lines() {
            if depth > 0 {
                results.pair(tree, line);
            }
        }
        results
    }

    fn pair(&mut self, tree: &Tree, line: &[usize]) {
        let mut answer: Option<usize> = None;
        for &at in line {
            let entry = tree.nodes[at].entry;
            match role(entry) {
                "assistant" => answer = Some(at),
                "toolResult" => {
                    let Some(answer) = answer else { continue };
                    let id = text(&entry["message"], "toolCallId");
                    let calls = calls(tree.nodes[answer].entry);
                    let mut open = calls.filter(|(block, call)| {
                        text(call, "id") == id && !self.of_call.contains_key(&(answer, *block))
                    });
                    if let Some((block, _)) = open.next() {
                        self.of_call.insert((answer, block), at);
                        self.call_of.insert(at, (answer, block));
                    }
                }
                _ => {}
            }
        }
    }

    /// The result of the call in a block of an answer.
    pub fn result(&self, answer: usize, block: usize) -> Option<usize> {
        self.of_call.get(&(answer, block)).copied()
    }

    /// The answer, and the block in it, that holds the call of a result.
    pub fn call(&self, result: usize) -> Option<(usize, usize)> {
        self.call_of.get(&result).copied()
    }
}

/// The tool calls of an answer, with their places among its blocks.
pub(super) fn calls(entry: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let blocks = message(entry).map_or(&[][..], |message| list(message, "content"));
    blocks.iter().enumerate().filter(|(_, block)| text(block, "type") == "toolCall")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_find_their_calls() {
        let answer = |id: &str, parent: Option<&str>, calls: &[&str]| {
            let content: Vec<Value> =
                calls.iter().map(|call| json!({"type": "toolCall", "id": call})).collect();
            json!({"type": "message", "id": id, "parentId": parent,
                   "message": {"role": "assistant", "content": content}})
        };
        let result = |id: &str, parent: &str, call: &str| {
            json!({"type": "message", "id": id, "parentId": parent,
                   "message": {"role": "toolResult", "toolCallId": call}})
        };
        let entries = [
            answer("a", None, &["x", "x", "y"]),
            result("r0", "a", "y"),
            result("r1", "r0", "x"),
            result("r2", "r1", "x"),
            result("r3", "r2", "x"),
            answer("b", Some("r3"), &["x"]),
            // Another branch, which leaves between call and result.
            result("r4", "a", "x"),
        ];
        let tree = Tree::new(entries.iter(), Some("b"));
        let results = Results::of(&tree);
        assert_eq!([0, 1, 2].map(|block| results.result(0, block)), [Some(2), Some(3), Some(1)]);
        assert_eq!((results.call(1), results.call(4), results.call(6)), (Some((0, 2)), None, None));
        assert_eq!(results.result(5, 0), None);
    }
}
