//! Assignment of tool results to the calls with which they are shown.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{calls, text};
use super::kind::Kind;
use super::title::LONGEST;
use super::tool;
use super::tree::Tree;

/// Tool calls and their results, by the indices of their entries.
#[derive(Default)]
pub(super) struct Results {
    /// Calls of each answer, in the order of the answer.
    calls: HashMap<usize, Vec<Call>>,
    /// Id of the call and name of the tool, for each result that is not yet assigned to a call.
    origins: HashMap<usize, ResultOrigin>,
    call_of: HashMap<usize, (usize, usize)>,
}

/// A call in an answer.
struct Call {
    /// Index of the call's content block in the answer.
    block: usize,
    id: String,
    /// Short description of the call, such as its command or file.
    subject: String,
    /// Index of the entry with the result; `None` without a result.
    result: Option<usize>,
}

struct ResultOrigin {
    call_id: String,
    tool: String,
}

impl Results {
    /// Adds the next entry of the session.
    pub fn push(&mut self, at: usize, kind: Kind, entry: &Value) {
        match kind {
            Kind::Assistant | Kind::Step => {
                let calls = calls(entry).map(|(block, call)| Call {
                    block,
                    id: text(call, "id").to_owned(),
                    subject: tool::subject(call, LONGEST),
                    result: None,
                });
                let calls: Vec<Call> = calls.collect();
                if !calls.is_empty() {
                    self.calls.insert(at, calls);
                }
            }
            Kind::Tool => {
                let message = &entry["message"];
                let member = |name| text(message, name).to_owned();
                self.origins
                    .insert(at, ResultOrigin { call_id: member("toolCallId"), tool: member("toolName") });
            }
            _ => {}
        }
    }

    /// Assigns results to calls in the trunk and in each branch. A result belongs to the last answer before
    /// it. A result without a matching call is shown by itself. The title of an assigned result contains the
    /// subject of its call.
    pub fn finish(&mut self, tree: &mut Tree) {
        let origins = std::mem::take(&mut self.origins);
        self.pair(tree, &origins, &tree.trunk);
        for (depth, line) in tree.lines() {
            if depth > 0 {
                self.pair(tree, &origins, line);
            }
        }
        for (&at, (answer, block)) in &self.call_of {
            if let (Some(call), Some(origin)) = (self.call(*answer, *block), origins.get(&at)) {
                tree.nodes[at].title = format!("{} {}", origin.tool, call.subject).into();
            }
        }
    }

    fn pair(&mut self, tree: &Tree, origins: &HashMap<usize, ResultOrigin>, line: &[usize]) {
        let mut answer: Option<usize> = None;
        for &at in line {
            match tree.nodes[at].kind {
                Kind::Assistant | Kind::Step => answer = Some(at),
                Kind::Tool => {
                    let (Some(answer), Some(origin)) = (answer, origins.get(&at)) else { continue };
                    let calls = self.calls.get_mut(&answer).into_iter().flatten();
                    let mut open = calls.filter(|call| call.id == origin.call_id && call.result.is_none());
                    if let Some(call) = open.next() {
                        call.result = Some(at);
                        self.call_of.insert(at, (answer, call.block));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the index of the entry with the result of a call. `block` is the index of the call's block in
    /// the answer.
    pub fn result(&self, answer: usize, block: usize) -> Option<usize> {
        self.call(answer, block)?.result
    }

    fn call(&self, answer: usize, block: usize) -> Option<&Call> {
        let calls = self.calls.get(&answer)?;
        calls.binary_search_by_key(&block, |call| call.block).ok().map(|at| &calls[at])
    }

    /// Returns true if an answer has calls, and each of them has a result.
    pub fn has_all_results(&self, answer: usize) -> bool {
        self.calls.get(&answer).is_some_and(|calls| calls.iter().all(|call| call.result.is_some()))
    }

    /// Returns true if a result is shown with its call.
    pub fn has_call(&self, result: usize) -> bool {
        self.call_of.contains_key(&result)
    }
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
            // Another branch, which starts between call and result.
            result("r4", "a", "x"),
        ];
        let mut tree = Tree::new(entries.iter(), Some("b"));
        let mut results = Results::default();
        entries.iter().enumerate().for_each(|(at, entry)| results.push(at, tree.nodes[at].kind, entry));
        results.finish(&mut tree);
        assert_eq!([0, 1, 2].map(|block| results.result(0, block)), [Some(2), Some(3), Some(1)]);
        assert_eq!([1, 4, 6].map(|result| results.has_call(result)), [true, false, false]);
        assert!(results.has_all_results(0) && !results.has_all_results(5));
        assert_eq!(results.result(5, 0), None);
    }
}
