//! Tests of every method, event and question with the typed client.

use agentese::opal::{Client, Dialogs, Opal, OpalAskUser, OpalConfirm, OpalInput};
use serde_json::Value;

use crate::support::rows::{ShownDialogs, every_row};

struct ScriptedDialogs {
    answers: Value,
    shown: ShownDialogs,
}

impl ScriptedDialogs {
    fn reply(&self, name: &str) -> Option<String> {
        self.shown.lock().unwrap().insert(name.to_owned());
        self.answers[name].as_str().map(str::to_owned)
    }
}

impl Dialogs for ScriptedDialogs {
    async fn confirm(&self, _: OpalConfirm) -> Option<String> {
        self.reply("confirm")
    }

    async fn input(&self, _: OpalInput) -> Option<String> {
        self.reply("input")
    }

    async fn ask_user(&self, _: OpalAskUser) -> Option<String> {
        self.reply("ask_user")
    }
}

#[tokio::test]
async fn every_row_through_the_client() {
    every_row::<Opal>(|answers, shown_dialogs| {
        Client::builder().dialogs(ScriptedDialogs { answers: answers.clone(), shown: shown_dialogs })
    })
    .await;
}
