//! The question whether the working directory is trusted, as a dialog.

use agentese::pi::{Dialog, Pi, SelectDialog};
use agentese::serve::Emitter;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::fronts::trust::{Answer, Ask, Question};

/// What can be chosen, in that order.
const CHOICES: [(&str, Answer); 3] = [
    ("Do not trust it", Answer::No),
    ("Trust it for now", Answer::Once),
    ("Trust it from now on", Answer::Always),
];

impl Ask for Emitter<Pi> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        async move {
            let choices =
                CHOICES.iter().filter(|(_, answer)| question.can_remember || *answer != Answer::Always);
            let options = choices.clone().map(|(text, _)| (*text).to_owned()).collect();
            let mut dialog = SelectDialog::new(question.title.as_str(), options);
            dialog.timeout = u64::try_from(question.timeout.as_millis()).ok();
            let answer = Emitter::ask(self, &Dialog::Select(dialog), Some(question.timeout)).await;
            // Dismissed, or anything that is not among the choices, is no.
            let chosen = answer.as_ref().and_then(|members| members.get("value")).and_then(Value::as_str);
            choices.clone().find(|(text, _)| Some(*text) == chosen).map_or(Answer::No, |(_, answer)| *answer)
        }
        .boxed()
    }
}
