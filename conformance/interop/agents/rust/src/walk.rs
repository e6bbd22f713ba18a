//! Walk through all commands of each dialect. A macro contains the code that pi and omp share, because
//! their clients have different types.

use std::sync::Arc;
use std::time::Duration;

use agentese::transport::ChildOptions;
use agentese::types::{
    AgentMessage, AssistantMessageEvent, CompactParams, ExportHtmlParams, InputBlock, InputContent,
    InterruptMode, QueueMode, ThinkingLevel,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::PATIENCE;
use crate::dialogs::{DialogHandler, DialogLog};
use crate::report::{BoxError, DiagnosticTap, Report};

/// Returns the text of a user message.
fn input_text(content: &InputContent) -> String {
    match content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => blocks
            .iter()
            .map(|block| if let InputBlock::Text(text) = block { text.text.as_str() } else { "" })
            .collect(),
    }
}

fn role(message: &AgentMessage) -> &str {
    match message {
        AgentMessage::User(_) => "user",
        AgentMessage::Assistant(_) => "assistant",
        AgentMessage::ToolResult(_) => "toolResult",
        AgentMessage::BashExecution(_) => "bashExecution",
        AgentMessage::Custom(_) => "custom",
        AgentMessage::BranchSummary(_) => "branchSummary",
        AgentMessage::CompactionSummary(_) => "compactionSummary",
        AgentMessage::Unknown(unknown) => &unknown.tag,
        _ => "a newer role",
    }
}

/// Waits up to ten seconds for a file.
async fn eventually(path: &str) -> Result<(), BoxError> {
    for _ in 0..1000 {
        if std::fs::exists(path)? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(format!("no {path}").into())
}

macro_rules! family {
    ($dialect:ident) => {
        use agentese::$dialect::{Client, Event, Run};

        fn is_delta(event: &Event) -> bool {
            matches!(event, Event::MessageUpdate(update)
                if matches!(update.assistant_message_event, AssistantMessageEvent::TextDelta(_)))
        }

        /// Follows a run to its end; `act` is called once, at the first matching event.
        async fn follow(
            mut run: Run,
            when: impl Fn(&Event) -> bool,
            act: impl AsyncFnOnce(&Run) -> Result<(), BoxError>,
        ) -> Result<Vec<Event>, BoxError> {
            let mut events = Vec::new();
            let mut act = Some(act);
            while let Some(event) = timeout(PATIENCE, run.next()).await? {
                let event = event?;
                let meant = when(&event);
                events.push(event);
                if meant && let Some(act) = act.take() {
                    act(&run).await?;
                }
            }
            Ok(events)
        }

        async fn prompt(client: &Client, message: &str) -> Result<Vec<Event>, BoxError> {
            follow(client.prompt(message).await?, |_| false, async |_| Ok(())).await
        }

        /// Returns the texts of the user messages in the events of a run.
        fn input_texts(events: &[Event]) -> String {
            let texts: Vec<_> = events
                .iter()
                .filter_map(|event| match event {
                    Event::MessageStart(start) => Some(&start.message),
                    _ => None,
                })
                .filter_map(|message| match message {
                    AgentMessage::User(user) => Some(input_text(&user.content)),
                    _ => None,
                })
                .collect();
            texts.join(", ")
        }

        /// Counts all events in the report. Returns a receiver for failures of extensions.
        fn listen(client: &Client, report: Arc<Report>) -> Result<mpsc::UnboundedReceiver<String>, BoxError> {
            let mut events = client.events()?;
            let (sender, failures) = mpsc::unbounded_channel();
            tokio::spawn(async move {
                while let Some(Ok(raw)) = events.next_raw().await {
                    match raw.decode() {
                        Ok(Event::Unknown(unknown)) => report.unknown(format!("event {}", unknown.tag)),
                        Ok(event) => {
                            report.event(raw.kind());
                            if let Event::ExtensionError(failed) = event {
                                let _ = sender.send(failed.error);
                            }
                        }
                        Err(error) => report.mismatch(error.to_string()),
                    }
                }
            });
            Ok(failures)
        }

        fn start(
            command: Vec<String>,
            report: &Arc<Report>,
            log: &Arc<DialogLog>,
        ) -> Result<Client, BoxError> {
            let mut command = command.into_iter();
            let options = ChildOptions::new(command.next().unwrap_or_default()).args(command);
            Ok(Client::builder()
                .tap(DiagnosticTap(report.clone()))
                .dialogs(DialogHandler(log.clone()))
                .timeout(PATIENCE)
                .spawn(options)?)
        }

        /// Exercises the settings of the model and the session, and the shell. Returns the path of the
        /// session's file.
        async fn settings(client: &Client, report: &Report) -> Result<String, BoxError> {
            let model = |state: Option<agentese::types::Model>| state.map(|model| format!("{}/{}", model.provider, model.id));
            report.step("get_state", async { Ok(model(state_model(client).await?).unwrap_or_default()) }).await;
            let file = client.get_state().await?.session_file.unwrap_or_default();
            report
                .step("get_available_models", async {
                    let models = client.get_available_models().await?.models;
                    Ok(models.into_iter().map(|model| model.id).collect::<Vec<_>>().join(", "))
                })
                .await;
            report.step("set_model", async { Ok(client.set_model("loopback", "two").await?.id) }).await;
            report
                .step("cycle_model", async { Ok(client.cycle_model().await?.ok_or("no other model")?.model.id) })
                .await;
            report
                .step("set_thinking_level", async {
                    client.set_thinking_level(ThinkingLevel::Low).await?;
                    level(client).await
                })
                .await;
            report
                .step("cycle_thinking_level", async {
                    let cycled = client.cycle_thinking_level().await?.ok_or("the model does not think")?;
                    Ok(cycled.level.as_str().to_owned())
                })
                .await;
            report
                .step("set_steering_mode", async {
                    client.set_steering_mode(QueueMode::All).await?;
                    Ok(client.get_state().await?.steering_mode.as_str().to_owned())
                })
                .await;
            report
                .step("set_follow_up_mode", async {
                    client.set_follow_up_mode(QueueMode::All).await?;
                    Ok(client.get_state().await?.follow_up_mode.as_str().to_owned())
                })
                .await;
            report
                .step("set_auto_compaction", async {
                    client.set_auto_compaction(false).await?;
                    Ok(client.get_state().await?.auto_compaction_enabled.to_string())
                })
                .await;
            report.step("set_auto_retry", async { Ok(client.set_auto_retry(true).await.map(|()| "taken".to_owned())?) }).await;
            report
                .step("set_session_name", async {
                    client.set_session_name("a walk").await?;
                    Ok(client.get_state().await?.session_name.unwrap_or_default())
                })
                .await;
            report
                .step("bash", async {
                    let done = client.bash("echo hello").await?;
                    let code = done.exit_code.into_option().ok_or("no exit code")?;
                    Ok(format!("{}, exit code {code}", done.output.trim()))
                })
                .await;
            let sleeping = tokio::spawn({
                let client = client.clone();
                async move { client.bash("touch sleeping; sleep 3").await }
            });
            eventually("sleeping").await?;
            report
                .step("abort_bash", async {
                    client.abort_bash().await?;
                    Ok(format!("cancelled: {}", sleeping.await??.cancelled))
                })
                .await;
            Ok(file)
        }

        /// Exercises prompts, and all commands that act on a run.
        async fn runs(client: &Client, report: &Report) {
            report
                .step("prompt", async {
                    let events = prompt(client, "use a tool").await?;
                    let tools = events.iter().filter_map(|event| match event {
                        Event::ToolExecutionEnd(end) => Some(end.tool_name.as_str()),
                        _ => None,
                    });
                    Ok(format!("ran {}", tools.collect::<Vec<_>>().join(", ")))
                })
                .await;
            report
                .step("get_last_assistant_text", async {
                    Ok(client.get_last_assistant_text().await?.text.into_option().ok_or("no text")?)
                })
                .await;
            report
                .step("steer", async {
                    let run = client.prompt("speak slowly").await?;
                    let events = follow(run, is_delta, async |run| {
                        run.steer("turn left").await?;
                        report
                            .step("follow_up", async { Ok(run.follow_up("and then").await.map(|_| "queued".to_owned())?) })
                            .await;
                        Ok(())
                    });
                    Ok(format!("the run took {}", input_texts(&events.await?)))
                })
                .await;
            report
                .step("abort", async {
                    let run = client.prompt("speak slowly").await?;
                    let events = follow(run, is_delta, async |run| Ok(run.abort().await?)).await?;
                    let reason = events.iter().rev().find_map(|event| match event {
                        Event::MessageEnd(end) => match &end.message {
                            AgentMessage::Assistant(answer) => Some(answer.stop_reason.as_str().to_owned()),
                            _ => None,
                        },
                        _ => None,
                    });
                    Ok(format!("the answer is {}", reason.ok_or("missing")?))
                })
                .await;
            report
                .step("abort_retry", async {
                    let run = client.prompt("be overloaded").await?;
                    let waits = |event: &Event| matches!(event, Event::AutoRetryStart(_));
                    let events = follow(run, waits, async |_| Ok(client.abort_retry().await?)).await?;
                    let end = events.iter().find_map(|event| match event {
                        Event::AutoRetryEnd(end) => Some(end),
                        _ => None,
                    });
                    let end = end.ok_or("no end of the retries")?;
                    Ok(format!("retry {} given up: {}", end.attempt, !end.success))
                })
                .await;
        }

        /// Exercises the queries of a session, and its compaction.
        async fn session(client: &Client, report: &Report) {
            report
                .step("get_session_stats", async {
                    Ok(format!("{} tool call", client.get_session_stats().await?.tool_calls))
                })
                .await;
            report
                .step("get_messages", async {
                    let mut roles: Vec<String> = Vec::new();
                    for message in client.get_messages().await?.messages {
                        let role = role(&message).to_owned();
                        if !roles.contains(&role) {
                            roles.push(role);
                        }
                    }
                    Ok(roles.join(", "))
                })
                .await;
            report
                .step("export_html", async {
                    let page = std::env::current_dir()?.join("walk.html");
                    let mut params = ExportHtmlParams::new();
                    params.output_path = Some(page.to_string_lossy().into_owned());
                    client.export_html_with(params).await?;
                    let written = std::fs::read_to_string(page)?.to_lowercase().contains("<html");
                    Ok((if written { "a page" } else { "no page" }).to_owned())
                })
                .await;
            report
                .step("compact", async {
                    let mut params = CompactParams::new();
                    params.custom_instructions = Some("Be brief.".into());
                    let done = client.compact_with(params).await?;
                    Ok((if done.summary.is_empty() { "no summary" } else { "a summary" }).to_owned())
                })
                .await;
        }

        /// Exercises the changes between sessions.
        async fn sessions(client: &Client, report: &Report, file: String) {
            report
                .step("new_session", async {
                    let new = client.new_session().await?;
                    let count = client.get_state().await?.message_count;
                    Ok(format!("{count} messages, cancelled: {}", new.cancelled))
                })
                .await;
            report
                .step("switch_session", async {
                    client.switch_session(file).await?;
                    Ok(client.get_state().await?.session_name.unwrap_or_default())
                })
                .await;
        }

        /// Exercises the dialogs and the failure of an extension.
        async fn extension(
            client: &Client,
            report: &Report,
            log: &DialogLog,
            mut failures: mpsc::UnboundedReceiver<String>,
        ) {
            if std::env::var_os("WALK_EXTENSIONS").is_none() {
                return;
            }
            report
                .step("(dialogs)", async {
                    prompt(client, "/ask").await?;
                    Ok(timeout(PATIENCE, log.all()).await?)
                })
                .await;
            report
                .step("(extension error)", async {
                    prompt(client, "/boom").await?;
                    Ok(timeout(PATIENCE, failures.recv()).await?.ok_or("no failure")?)
                })
                .await;
        }

        async fn automatic_compaction(client: &Client, report: &Report) {
            report
                .step("(automatic compaction)", async {
                    client.set_auto_compaction(true).await?;
                    let events = prompt(client, "fill the context").await?;
                    let end = events.iter().find_map(|event| match event {
                        Event::AutoCompactionEnd(end) => Some(end),
                        _ => None,
                    });
                    let done = end.is_some_and(|end| end.result.as_option().is_some());
                    Ok((if done { "a summary" } else { "none" }).to_owned())
                })
                .await;
        }
    };
}

pub mod pi {
    use super::*;

    family!(pi);

    async fn state_model(client: &Client) -> Result<Option<agentese::types::Model>, BoxError> {
        Ok(client.get_state().await?.model.into_option())
    }

    async fn level(client: &Client) -> Result<String, BoxError> {
        Ok(client.get_state().await?.thinking_level.as_str().to_owned())
    }

    pub async fn walk(command: Vec<String>) -> Result<(), BoxError> {
        let (report, log) = (Arc::new(Report::default()), Arc::new(DialogLog::default()));
        let client = start(command, &report, &log)?;
        let failures = listen(&client, report.clone())?;
        let file = settings(&client, &report).await?;
        runs(&client, &report).await;
        session(&client, &report).await;
        report
            .step("get_commands", async {
                let commands = client.get_commands().await?.commands;
                let mut names: Vec<_> = commands.into_iter().map(|command| command.name).collect();
                names.sort();
                Ok(names.join(", "))
            })
            .await;
        let points = client.get_fork_messages().await?.messages;
        let first = points.first().ok_or("nothing to fork from")?;
        report.step("get_fork_messages", async { Ok(first.text.clone()) }).await;
        report
            .step("fork", async {
                let made = client.fork(&first.entry_id).await?;
                Ok(format!("{}, cancelled: {}", made.text.unwrap_or_default(), made.cancelled))
            })
            .await;
        sessions(&client, &report, file).await;
        extension(&client, &report, &log, failures).await;
        automatic_compaction(&client, &report).await;
        client.close().await;
        report.end();
        Ok(())
    }
}

pub mod omp {
    use super::*;

    family!(omp);

    async fn state_model(client: &Client) -> Result<Option<agentese::types::Model>, BoxError> {
        Ok(client.get_state().await?.model.into_option())
    }

    async fn level(client: &Client) -> Result<String, BoxError> {
        Ok(client.get_state().await?.thinking_level.ok_or("no level")?.as_str().to_owned())
    }

    pub async fn walk(command: Vec<String>) -> Result<(), BoxError> {
        let (report, log) = (Arc::new(Report::default()), Arc::new(DialogLog::default()));
        let client = start(command, &report, &log)?;
        let failures = listen(&client, report.clone())?;
        report
            .step("set_interrupt_mode", async {
                client.set_interrupt_mode(InterruptMode::Wait).await?;
                Ok(client.get_state().await?.interrupt_mode.as_str().to_owned())
            })
            .await;
        let file = settings(&client, &report).await?;
        runs(&client, &report).await;
        report
            .step("abort_and_prompt", async {
                let first = client.prompt("speak slowly").await?;
                let (sender, second) = tokio::sync::oneshot::channel();
                follow(first, is_delta, async |_| {
                    let second = client.abort_and_prompt("something else").await?;
                    sender.send(second).map_err(|_| "no caller follows the second run".into())
                })
                .await?;
                let events = follow(second.await?, |_| false, async |_| Ok(())).await?;
                Ok(format!("the second run took {}", input_texts(&events)))
            })
            .await;
        session(&client, &report).await;
        let points = client.get_branch_messages().await?.messages;
        let first = points.first().ok_or("nothing to branch from")?;
        report.step("get_branch_messages", async { Ok(first.text.clone()) }).await;
        report
            .step("branch", async {
                let made = client.branch(&first.entry_id).await?;
                Ok(format!("{}, cancelled: {}", made.text.unwrap_or_default(), made.cancelled))
            })
            .await;
        sessions(&client, &report, file).await;
        extension(&client, &report, &log, failures).await;
        report
            .step("(rule)", async {
                let events = prompt(&client, "say the word").await?;
                let rules = events.iter().filter_map(|event| match event {
                    Event::TtsrTriggered(triggered) => Some(&triggered.rules),
                    _ => None,
                });
                let names: Vec<_> = rules.flatten().map(|rule| rule.name.as_str()).collect();
                Ok(format!("triggered: {}", names.join(", ")))
            })
            .await;
        report
            .step("(reminders)", async {
                let events = prompt(&client, "leave things open").await?;
                let attempts = events.iter().filter_map(|event| match event {
                    Event::TodoReminder(reminder) => Some(reminder.attempt.to_string()),
                    _ => None,
                });
                Ok(format!("attempts: {}", attempts.collect::<Vec<_>>().join(", ")))
            })
            .await;
        automatic_compaction(&client, &report).await;
        client.close().await;
        report.end();
        Ok(())
    }
}
