//! Tests of task lists and of reminders about them.

use agentese::omp::Omp;
use agentese_server::config::Settings;
use serde_json::{Value, json};

use crate::scripted;
use crate::support::link::{Link, builder};

fn plan() -> Value {
    let tasks = json!([{"content": "Do A", "status": "in_progress"}, {"content": "Do B"}]);
    let ops = json!([{"op": "replace", "phases": [{"name": "Work", "tasks": tasks}]}]);
    json!({"blocks": [{"tool": {"id": "c1", "name": "todo_write", "args": {"ops": ops}}}]})
}

fn finish() -> Value {
    let ops = ["task-1", "task-2"].map(|id| json!({"op": "update", "id": id, "status": "completed"}));
    json!({"blocks": [{"tool": {"id": "c2", "name": "todo_write", "args": {"ops": ops}}}]})
}

fn reminders(frames: &[Value]) -> Vec<(Value, Value)> {
    let reminders = frames.iter().filter(|frame| frame["type"] == "todo_reminder");
    reminders.map(|frame| (frame["attempt"].clone(), frame["maxAttempts"].clone())).collect()
}

#[tokio::test]
async fn open_tasks_cause_at_most_three_reminders() {
    let (mut link, _place) = scripted(json!({"responses": [plan()], "default": {"text": "I stop here."}}));
    link.send(json!({"type": "prompt", "message": "plan"})).await;
    for attempt in 1..=3 {
        link.until_event("agent_end").await;
        let reminder = link.next().await.unwrap();
        let todos = json!([
            {"id": "task-1", "content": "Do A", "status": "in_progress"},
            {"id": "task-2", "content": "Do B", "status": "pending"},
        ]);
        assert_eq!(
            reminder,
            json!({"type": "todo_reminder", "todos": todos, "attempt": attempt, "maxAttempts": 3})
        );
        let next = link.until_event("message_start").await;
        assert_eq!(next[next.len() - 1]["message"]["role"], "assistant", "the reminder is not shown");
    }
    link.until_event("agent_end").await;
    let messages = link.messages().await;
    let reminder_messages: Vec<_> =
        messages.iter().filter(|message| message["role"] == "developer").collect();
    assert_eq!((messages.len(), reminder_messages.len()), (10, 3));
    assert!(
        reminder_messages[2]["content"][0]["text"].as_str().unwrap().contains("- Work\n  - Do A\n  - Do B\n")
    );
    // Another prompt restarts the count.
    link.send(json!({"type": "prompt", "message": "on"})).await;
    let frames = link.until_event("todo_reminder").await;
    assert_eq!(reminders(&frames), [(json!(1), json!(3))]);
}

#[tokio::test]
async fn finished_tasks_cause_no_reminder() {
    let script = json!({"responses": [plan(), {"text": "Not yet."}, finish(), {"text": "All done."}]});
    let (mut link, _place) = scripted(script);
    link.send(json!({"type": "prompt", "message": "plan"})).await;
    link.until_event("todo_reminder").await;
    let frames = link.until_event("agent_end").await;
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert!(end["result"]["content"][0]["text"].as_str().unwrap().starts_with("Remaining items: none."));
    assert_eq!(end["result"]["details"]["storage"], "memory");
    assert_eq!(link.state().await["isStreaming"], false);
}

async fn without_reminders(change: impl FnOnce(&mut Settings)) {
    let (builder, _place) =
        builder(json!({"responses": [plan(), {"text": "stop"}], "default": {"text": "more"}}));
    let mut settings = Settings::default();
    change(&mut settings);
    let mut link = Link::for_dialect::<Omp>(builder.settings(settings));
    link.run("plan").await;
    assert_eq!(link.state().await["isStreaming"], false);
    assert!(reminders(&link.seen).is_empty());
}

#[tokio::test]
async fn settings_switch_reminders_off_and_limit_them() {
    without_reminders(|settings| settings.todo.reminders = false).await;
    without_reminders(|settings| settings.todo.enabled = false).await;
    without_reminders(|settings| settings.todo.max_reminders = 0).await;
}

#[tokio::test]
async fn branch_restores_its_task_list() {
    let (mut link, _place) =
        scripted(json!({"responses": [{"text": "one"}, plan()], "default": {"text": "ok"}}));
    link.run("first").await;
    link.send(json!({"type": "prompt", "message": "plan"})).await;
    for _ in 0..4 {
        link.until_event("agent_end").await;
    }
    let points = link.data(json!({"type": "get_branch_messages"})).await["messages"].clone();
    link.data(json!({"type": "branch", "entryId": points[1]["entryId"]})).await;
    let before = link.seen.len();
    link.run("on").await;
    link.state().await;
    assert!(reminders(&link.seen[before..]).is_empty());
}
