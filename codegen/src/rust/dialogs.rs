//! The handler of a dialect's dialogs.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::index::Reply;

use super::docs;
use super::types::rust_type;
use crate::names::pascal;

pub fn handler(out: &mut String, index: &Index, marker: &str) {
    if index.dialogs.is_empty() {
        return;
    }
    out.push_str(
        "/// Answers the agent's dialogs. Every method has a default: questions are dismissed, notices ignored.\n\
         ///\n/// Handlers run concurrently: a slow handler delays only its own dialog. When the agent withdraws a question, or the\n\
         /// connection ends, the handler's future is dropped and no answer is sent.\n\
         pub trait Dialogs: Send + Sync + 'static {\n",
    );
    // The connection itself handles the withdrawal of a question.
    let handled = index.dialogs.iter().filter(|dialog| dialog.withdraws.is_none());
    for (position, dialog) in handled.enumerate() {
        if position > 0 {
            out.push('\n');
        }
        docs(out, "    ", dialog.doc);
        let given = match index.reply(dialog) {
            Reply::Nothing => None,
            Reply::Member(member) => Some(rust_type(&member.ty)),
            Reply::All(record) => Some(record.to_owned()),
        };
        match given {
            Some(given) => {
                let _ = writeln!(
                    out,
                    "    ///\n    /// Return `None` to dismiss the question.\n    fn {}(&self, dialog: {}) -> impl Future<Output = Option<{}>> + Send {{\n        \
                     let _ = dialog;\n        async {{ None }}\n    }}",
                    dialog.name, dialog.params.name, given
                );
            }
            None => {
                let _ = writeln!(
                    out,
                    "    fn {}(&self, notice: {}) {{\n        let _ = notice;\n    }}",
                    dialog.name, dialog.params.name
                );
            }
        }
    }
    out.push_str("}\n\n");
    let _ = writeln!(
        out,
        "impl<T: Dialogs> crate::dialog::DialogHandler<{marker}> for T {{\n    fn answer(self: std::sync::Arc<Self>, dialog: Dialog) -> \
         futures::future::BoxFuture<'static, Option<crate::dialog::AnswerMembers>> {{\n        Box::pin(async move {{\n            match dialog {{"
    );
    for dialog in &index.dialogs {
        let variant = pascal(dialog.name);
        if dialog.withdraws.is_some() {
            let _ = writeln!(out, "                Dialog::{variant}(_) => None,");
            continue;
        }
        match index.reply(dialog) {
            Reply::All(_) => {
                let _ = writeln!(
                    out,
                    "                Dialog::{variant}(dialog) => self.{}(dialog).await.map(|answer| crate::dialog::members(&answer)),",
                    dialog.name
                );
            }
            Reply::Member(member) => {
                let _ = writeln!(
                    out,
                    "                Dialog::{variant}(dialog) => self.{}(dialog).await.map(|value| crate::dialog::member({:?}, value)),",
                    dialog.name, member.name
                );
            }
            Reply::Nothing => {
                let _ = writeln!(
                    out,
                    "                Dialog::{variant}(notice) => {{\n                    self.{}(notice);\n                    None\n                }}",
                    dialog.name
                );
            }
        }
    }
    out.push_str("            }\n        })\n    }\n}\n\n");
}

/// Adds the functions with which a server sends questions.
pub fn asking(out: &mut String, index: &Index, marker: &str) {
    for dialog in &index.dialogs {
        let (variant, params) = (pascal(dialog.name), dialog.params.name);
        let _ = writeln!(
            out,
            "impl From<{params}> for Dialog {{\n    fn from(params: {params}) -> Self {{\n        Dialog::{variant}(params)\n    }}\n}}\n"
        );
        let Reply::Member(member) = index.reply(dialog) else { continue };
        let _ = writeln!(
            out,
            "impl crate::serve::QuestionParams<{marker}> for {params} {{\n    type Answer = {};\n    const MEMBER: &'static str = {:?};\n}}\n",
            rust_type(&member.ty),
            member.name
        );
    }
}
