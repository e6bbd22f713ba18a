//! The handler of a dialect's dialogs.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Dialog, Field, Shape, Ty};

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
    // What takes a question back is the connection's to obey.
    let handled = index.dialogs.iter().filter(|dialog| dialog.withdraws.is_none());
    for (position, dialog) in handled.enumerate() {
        if position > 0 {
            out.push('\n');
        }
        docs(out, "    ", dialog.doc);
        match reply(index, dialog) {
            Some(member) => {
                let _ = writeln!(
                    out,
                    "    ///\n    /// Return `None` to dismiss the question.\n    fn {}(&self, dialog: {}) -> impl Future<Output = Option<{}>> + Send {{\n        \
                     let _ = dialog;\n        async {{ None }}\n    }}",
                    dialog.name,
                    dialog.params.name,
                    rust_type(&member.ty)
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
        "impl<T: Dialogs> crate::dialog::DialogSink<{marker}> for T {{\n    fn ask(self: std::sync::Arc<Self>, dialog: Dialog) -> \
         futures::future::BoxFuture<'static, Option<crate::dialog::Members>> {{\n        Box::pin(async move {{\n            match dialog {{"
    );
    for dialog in &index.dialogs {
        let variant = pascal(dialog.name);
        if dialog.withdraws.is_some() {
            let _ = writeln!(out, "                Dialog::{variant}(_) => None,");
            continue;
        }
        match reply(index, dialog) {
            Some(member) => {
                let _ = writeln!(
                    out,
                    "                Dialog::{variant}(dialog) => self.{}(dialog).await.map(|value| crate::dialog::member({:?}, value)),",
                    dialog.name, member.name
                );
            }
            None => {
                let _ = writeln!(
                    out,
                    "                Dialog::{variant}(notice) => {{\n                    self.{}(notice);\n                    None\n                }}",
                    dialog.name
                );
            }
        }
    }
    out.push_str("            }\n        })\n    }\n}\n\n");
    for dialog in &index.dialogs {
        let (variant, params) = (pascal(dialog.name), dialog.params.name);
        let _ = writeln!(
            out,
            "impl From<{params}> for Dialog {{\n    fn from(params: {params}) -> Self {{\n        Dialog::{variant}(params)\n    }}\n}}\n"
        );
        let Some(member) = reply(index, dialog).filter(|_| dialog.withdraws.is_none()) else { continue };
        let _ = writeln!(
            out,
            "impl crate::serve::Ask<{marker}> for {params} {{\n    type Answer = {};\n    const MEMBER: &'static str = {:?};\n}}\n",
            rust_type(&member.ty),
            member.name
        );
    }
}

/// The member of an answer that carries what was chosen or entered.
pub fn reply(index: &Index, dialog: &Dialog) -> Option<&'static Field> {
    let Some(Ty::Named(name)) = dialog.answer else { return None };
    let Shape::Record { fields, .. } = index.type_def(name)?.shape else { return None };
    fields.iter().find(|field| field.name != "id")
}
