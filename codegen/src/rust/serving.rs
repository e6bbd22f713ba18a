//! The trait that a server of the dialect implements.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command};

use super::docs;
use super::signature::{params_type, result_type};
use crate::names::pascal;

pub fn service(out: &mut String, index: &Index, marker: &str) {
    let _ = writeln!(
        out,
        "/// The commands of a server of this dialect. A command that is not implemented answers that it is\n\
         /// not available.\npub trait Service: Send + Sync + 'static {{"
    );
    for (position, command) in index.commands.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        docs(out, "    ", command.doc);
        let when = match command.answer {
            Answer::Never => "A notification: an error of this method is logged.",
            Answer::Done => "Answered when the future completes.",
            Answer::Accepted => {
                "Answered when the future completes: as soon as the work can start, not when it is done."
            }
            Answer::Acknowledged => {
                "Acknowledged before this method is called; an error is sent with the same id."
            }
        };
        let _ = writeln!(out, "    ///\n    /// {when}");
        let _ = writeln!(
            out,
            "    fn {}(&self, params: {}, call: crate::serve::Call<{marker}{}>) -> impl Future<Output = Result<{}, crate::serve::CommandError>> + Send {{\n        \
             let _ = (params, call);\n        async {{ Err(crate::serve::CommandError::not_available({:?})) }}\n    }}",
            command.name,
            params_type(command),
            answered_with(command),
            result_type(command),
            command.wire
        );
    }
    let _ = writeln!(
        out,
        "\n    /// Stops all running work. Called when stdin has ended and the dialect does not let the work finish, or when\n    /// stdout is broken.\n    \
         fn shut_down(&self) -> impl Future<Output = ()> + Send {{\n        async {{}}\n    }}\n\n    \
         /// Waits until all running work is done. Called when stdin has ended and the dialect lets the work finish.\n    \
         fn wait_until_idle(&self) -> impl Future<Output = ()> + Send {{\n        async {{}}\n    }}\n}}\n"
    );
    let _ = writeln!(
        out,
        "impl<T: Service> crate::serve::Dispatch<{marker}> for T {{\n    fn dispatch(self: std::sync::Arc<Self>, command: Command, call: crate::serve::Call<{marker}, Reply>) -> \
         futures::future::BoxFuture<'static, Result<Reply, crate::serve::CommandError>> {{\n        match command {{"
    );
    for command in &index.commands {
        let variant = pascal(command.name);
        let wrap = if command.result.is_none() {
            format!(".map(|()| Reply::{variant})")
        } else {
            format!(".map(Reply::{variant})")
        };
        let typed = match command.result {
            None => format!("|()| Reply::{variant}"),
            Some(_) => format!("Reply::{variant}"),
        };
        let _ = writeln!(
            out,
            "            Command::{variant}(params) => Box::pin(async move {{ self.{}(params, call.typed({typed})).await{wrap} }}),",
            command.name
        );
    }
    out.push_str(
        "        }\n    }\n\n    fn shut_down(self: std::sync::Arc<Self>) -> futures::future::BoxFuture<'static, ()> {\n        \
         Box::pin(async move { Service::shut_down(&*self).await })\n    }\n\n    \
         fn wait_until_idle(self: std::sync::Arc<Self>) -> futures::future::BoxFuture<'static, ()> {\n        \
         Box::pin(async move { Service::wait_until_idle(&*self).await })\n    }\n}\n",
    );
}

/// Returns the second type argument of a call, which is the type of its response's data. Returns an empty text
/// if the response has no data.
pub fn answered_with(command: &Command) -> String {
    match command.result {
        None => String::new(),
        Some(_) => format!(", {}", result_type(command)),
    }
}
