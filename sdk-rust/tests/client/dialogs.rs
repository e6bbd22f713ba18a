//! Tests of dialogs: handlers, and the declared policy without a handler.

use agentese::pi::{ConfirmDialog, Dialogs, NotifyNotice, Pi, SelectDialog};
use agentese::tap::Diagnostic;
use agentese::{Builder, opal, pi};
use serde_json::json;
use std::sync::{Arc, Mutex};

use crate::peer::{pair, state, within};

#[derive(Clone, Default)]
struct RecordingHandler(Arc<Mutex<Vec<String>>>);

impl Dialogs for RecordingHandler {
    async fn select(&self, dialog: SelectDialog) -> Option<String> {
        dialog.options.into_iter().next_back()
    }

    async fn confirm(&self, dialog: ConfirmDialog) -> Option<bool> {
        assert_ne!(dialog.title, "panic", "a handler that fails");
        Some(true)
    }

    fn notify(&self, notice: NotifyNotice) {
        self.0.lock().unwrap().push(notice.message);
    }
}

const SELECT: &str =
    r#"{"type":"extension_ui_request","id":"u1","method":"select","title":"Go?","options":["Yes","No"]}"#;

#[tokio::test]
async fn a_handler_answers() {
    let polite = RecordingHandler::default();
    let (client, mut peer, _) = pair(pi::Client::builder().dialogs(polite.clone()));
    peer.send(SELECT).await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "u1", "value": "No"}));
    peer.send(r#"{"type":"extension_ui_request","id":"u2","method":"confirm","title":"?","message":""}"#)
        .await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "u2", "confirmed": true}));
    // A dialog without a handler method is dismissed.
    peer.send(r#"{"type":"extension_ui_request","id":"u3","method":"input","title":"Name"}"#).await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "u3", "cancelled": true}));
    // A notice is not answered, so the next line answers the next question.
    peer.send(r#"{"type":"extension_ui_request","id":"u4","method":"notify","message":"done"}"#).await;
    peer.send(SELECT).await;
    assert_eq!(peer.receive().await["id"], "u1");
    assert_eq!(*polite.0.lock().unwrap(), ["done"]);
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_are_delivered_in_order() {
    let polite = RecordingHandler::default();
    let (_client, mut peer, _) = pair(pi::Client::builder().dialogs(polite.clone()));
    let sent: Vec<_> = (0..200).map(|number| number.to_string()).collect();
    for message in &sent {
        let notice =
            json!({"type": "extension_ui_request", "id": message, "method": "notify", "message": message});
        peer.send(&notice.to_string()).await;
    }
    peer.send(SELECT).await;
    assert_eq!(peer.receive().await["id"], "u1");
    assert_eq!(*polite.0.lock().unwrap(), sent);
}

#[tokio::test]
async fn without_a_handler_the_declared_policy_answers_and_is_reported() {
    let (client, mut peer, seen) = pair(Builder::<Pi>::default());
    peer.send(SELECT).await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "u1", "cancelled": true}));
    assert!(seen.has(|d| matches!(d, Diagnostic::DialogByPolicy { method, .. } if method == "select")));
    let (rpc, mut peer, _) = pair(Builder::<opal::Opal>::default());
    peer.send(r#"{"jsonrpc":"2.0","id":"s2c-1","method":"client/confirm","params":{"session_id":"s","title":"","message":"","actions":["allow","deny"]}}"#).await;
    assert_eq!(peer.receive().await, json!({"jsonrpc": "2.0", "id": "s2c-1", "result": {"action": "deny"}}));
    peer.send(r#"{"jsonrpc":"2.0","id":"s2c-2","method":"client/ask_user","params":{"session_id":"s","question":"?"}}"#).await;
    assert_eq!(peer.receive().await["error"]["code"], -32000);
    drop((client, rpc));
}

/// F21: an undocumented method is answered as cancelled.
#[tokio::test]
async fn fm_f21_an_unknown_dialog_is_dismissed() {
    for with_handler in [false, true] {
        let builder = if with_handler {
            pi::Client::builder().dialogs(RecordingHandler::default())
        } else {
            Builder::default()
        };
        let (client, mut peer, _) = pair(builder);
        peer.send(r#"{"type":"extension_ui_request","id":"u9","method":"hologram","title":"?"}"#).await;
        assert_eq!(
            peer.receive().await,
            json!({"type": "extension_ui_response", "id": "u9", "cancelled": true})
        );
        drop(client);
    }
}

/// F43: a handler that panics or never answers does not delay any other operation.
#[tokio::test]
async fn fm_f43_a_handler_that_fails_or_hangs_stalls_nothing() {
    struct HangingHandler;
    impl Dialogs for HangingHandler {
        async fn input(&self, _: pi::InputDialog) -> Option<String> {
            std::future::pending().await
        }
        async fn confirm(&self, _: ConfirmDialog) -> Option<bool> {
            panic!("a handler that fails")
        }
    }
    let (client, mut peer, _) = pair(pi::Client::builder().dialogs(HangingHandler));
    peer.send(r#"{"type":"extension_ui_request","id":"u1","method":"input","title":"Name"}"#).await;
    peer.send(r#"{"type":"extension_ui_request","id":"u2","method":"confirm","title":"?","message":""}"#)
        .await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "u2", "cancelled": true}));
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dialog_that_does_not_fit_is_dismissed_and_reported() {
    let (client, mut peer, seen) = pair(pi::Client::builder().dialogs(RecordingHandler::default()));
    peer.send(r#"{"type":"extension_ui_request","id":"u1","method":"select","title":"Go?","options":7}"#)
        .await;
    assert_eq!(peer.receive().await["cancelled"], true);
    assert!(
        seen.has(|d| matches!(d, Diagnostic::DialogMalformed { reason, .. } if reason.contains("options")))
    );
    drop(client);
}
