//! Every method, event and question through the client.

use agentese::opal::{Client, Dialogs, Opal, OpalAskUser, OpalConfirm, OpalInput};
use serde_json::Value;

use crate::support::rows::{Asked, every_row};

struct Answers {
    answers: Value,
    asked: Asked,
}

impl Answers {
    fn say(&self, name: &str) -> Option<String> {
        self.asked.lock().unwrap().insert(name.to_owned());
        self.answers[name].as_str().map(str::to_owned)
    }
}

impl Dialogs for Answers {
    async fn confirm(&self, _: OpalConfirm) -> Option<String> {
        self.say("confirm")
    }

    async fn input(&self, _: OpalInput) -> Option<String> {
        self.say("input")
    }

    async fn ask_user(&self, _: OpalAskUser) -> Option<String> {
        self.say("ask_user")
    }
}

#[tokio::test]
async fn every_row_through_the_client() {
    every_row::<Opal>(|answers, asked| {
        Client::builder().dialogs(Answers { answers: answers.clone(), asked })
    })
    .await;
}
