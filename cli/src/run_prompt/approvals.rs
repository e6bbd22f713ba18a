//! Answers to the agent's questions. No user is present, so a question is denied unless it asks for a tool that was
//! approved on the command line.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use agentese::any::{Agent, Answer, Question, QuestionHandler};
use agentese::view::{Block, Conversation, ToolState};
use agentese_process::stderr::Stderr;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::SharedAgent;

/// Beginnings of options that permit a call, in lower case.
const PERMITTING: [&str; 4] = ["allow", "yes", "approve", "accept"];

/// Answers to the agent's questions.
#[derive(Clone)]
pub(super) struct Approvals {
    /// Names of the tools whose calls are approved.
    tools: Arc<[String]>,
    denied: Arc<AtomicBool>,
    /// The agent with the questions, while it is connected.
    agent: SharedAgent,
    stderr: Stderr,
}

impl Approvals {
    /// Creates answers that approve calls of `tools` alone.
    pub fn new(tools: Vec<String>, stderr: Stderr) -> Self {
        Self { tools: tools.into(), denied: Arc::default(), agent: Arc::default(), stderr }
    }

    /// Returns the handler for the agent's questions.
    pub fn handler(&self) -> impl QuestionHandler + use<> {
        let approvals = self.clone();
        move |question: Question| -> BoxFuture<'static, Option<Answer>> {
            let answer = approvals.answer(&question);
            async move { answer }.boxed()
        }
    }

    /// Sets the agent whose conversation has the waiting calls.
    pub fn connect(&self, agent: &Agent) {
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent.clone());
    }

    /// Releases the agent.
    pub fn disconnect(&self) {
        drop(self.agent.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns `true` if a question was denied or dismissed.
    pub fn denied_any(&self) -> bool {
        self.denied.load(Ordering::Acquire)
    }

    fn answer(&self, question: &Question) -> Option<Answer> {
        let agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let waiting = agent.map(|agent| waiting_tools(&agent.conversation())).unwrap_or_default();
        if let Some(answer) = approval(question, &waiting, &self.tools) {
            return Some(answer);
        }
        self.denied.store(true, Ordering::Release);
        let text = question.text.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
        let advice = match waiting.as_slice() {
            [tool] => format!("; to approve it beforehand, pass --approve {tool}"),
            _ => String::new(),
        };
        self.stderr.write_line(format_args!("Denied: {}{text}{advice}", question.title));
        (question.kind == "confirm").then_some(Answer::Confirmed(false))
    }
}

/// Returns the permitting answer to a question about the only waiting call, if its tool is approved and the question
/// names the tool. Returns `None` in any other case.
fn approval(question: &Question, waiting: &[String], approved: &[String]) -> Option<Answer> {
    let [tool] = waiting else { return None };
    let names_tool =
        question.title.contains(tool) || question.text.as_ref().is_some_and(|text| text.contains(tool));
    if !approved.contains(tool) || !names_tool {
        return None;
    }
    if question.kind == "confirm" {
        return Some(Answer::Confirmed(true));
    }
    let permits = |option: &&String| PERMITTING.iter().any(|word| option.to_lowercase().starts_with(word));
    let mut permitting: Vec<_> = question.options.iter().filter(permits).collect();
    // An option for one call takes precedence over an option for all calls.
    permitting.sort_by_key(|option| !option.to_lowercase().contains("once"));
    permitting.first().map(|option| Answer::Text((*option).clone()))
}

/// Returns the names of the tools whose calls have not ended.
fn waiting_tools(conversation: &Conversation) -> Vec<String> {
    let blocks = conversation.messages.iter().flat_map(|message| &message.blocks);
    let tools = blocks.filter_map(|block| match block {
        Block::Tool(call) => Some(call),
        _ => None,
    });
    let waiting = tools.filter(|call| matches!(call.state, ToolState::Coming | ToolState::Running));
    waiting.map(|call| call.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: &str, title: &str, options: &[&str]) -> Question {
        let options: Vec<_> = options.iter().map(|option| serde_json::json!(option)).collect();
        serde_json::from_value(serde_json::json!({"kind": kind, "title": title, "options": options})).unwrap()
    }

    #[test]
    fn only_a_question_that_names_the_one_waiting_approved_tool_is_answered() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (bash, approved) = (names(&["bash"]), names(&["bash", "edit"]));
        let confirm = question("confirm", "Allow bash?", &[]);
        assert_eq!(approval(&confirm, &bash, &approved), Some(Answer::Confirmed(true)));
        assert_eq!(approval(&confirm, &bash, &names(&["edit"])), None, "not approved");
        assert_eq!(approval(&confirm, &names(&["bash", "edit"]), &approved), None, "two calls wait");
        assert_eq!(approval(&confirm, &[], &approved), None, "no call waits");
        assert_eq!(approval(&question("confirm", "Delete all?", &[]), &bash, &approved), None);
        let select = question("select", "bash: ls", &["Deny", "Allow always", "Allow once"]);
        assert_eq!(approval(&select, &bash, &approved), Some(Answer::Text("Allow once".to_owned())));
        assert_eq!(approval(&question("select", "bash: colour?", &["red"]), &bash, &approved), None);
        assert_eq!(approval(&question("input", "bash: name?", &[]), &bash, &approved), None);
    }
}
