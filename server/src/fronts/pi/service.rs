//! The commands.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::pi::{
    AvailableModels, BashParams, BashResult, Cancellation, Commands, CompactParams, CompactionResult,
    CycledModel, CycledThinkingLevel, ExportHtmlParams, FollowUpParams, ForkParams, ForkPoint, ForkPoints,
    ForkResult, ImageContent, LastAssistantText, Messages, Model, NewSessionParams, Pi, PromptParams, Reply,
    SessionState, SessionStats, SetAutoCompactionParams, SetAutoRetryParams, SetFollowUpModeParams,
    SetModelParams, SetSessionNameParams, SetSteeringModeParams, SetThinkingLevelParams, SteerParams,
    SwitchSessionParams, TokenTotals, WrittenFile,
};
use agentese::serve::{Call, Emitter, Refusal};
use agentese::types::InputSource;
use agentese::wire::NoParams;
use tokio_util::sync::CancellationToken;

use super::{Dialogs, Sink, convert};
use crate::engine::{Engine, Input};
use crate::extensions::{GIVEN_UP, Heard, Host};
use crate::fronts::trust::{Gate, Waiting};
use crate::fronts::{self, Parts};
use crate::providers::number;

/// How long commands of extensions may go on after the end of stdin.
const LAST_COMMANDS: Duration = Duration::from_secs(1);

/// Carries the commands of the dialect out. A command without a method here is answered as not
/// available.
#[derive(Debug)]
pub struct Front {
    engine: Engine,
    gate: Gate,
    host: Arc<Host>,
    sink: Arc<Sink>,
}

impl fronts::Front for Front {
    type Dialect = Pi;

    fn new(parts: Parts, stop: CancellationToken) -> Self {
        let sink = Arc::new(Sink::new(parts.updates));
        let (engine, host, undecided) = parts.assemble(sink.clone(), stop);
        Self { engine, gate: Gate::new(undecided), host, sink }
    }

    fn connect(&self, emitter: Emitter<Pi>) {
        self.sink.connect(emitter.clone());
        self.host.begin(Arc::new(Dialogs::to(emitter)));
    }
}

impl Front {
    /// Waits until it is known whether the working directory is trusted.
    async fn pass(&self, call: &Call<Pi>, who: Waiting) -> Result<(), Refusal> {
        self.gate.pass(&self.engine, &self.host, call.emitter(), who).await.map_err(refuse)
    }

    /// What is queued cannot be a command of an extension, which runs at once.
    async fn refuse_commands(&self, text: &str) -> Result<(), Refusal> {
        self.host.ready().await;
        // The text is the document's.
        self.host.find(text).map_or(Ok(()), |invoked| {
            Err(Refusal::new(format!(
                "Extension command \"/{}\" cannot be queued. Use prompt() or execute the command when not streaming.",
                invoked.name()
            )))
        })
    }
}

fn refuse(error: impl ToString) -> Refusal {
    Refusal::new(error.to_string())
}

fn input(message: String, images: Option<Vec<ImageContent>>) -> Input {
    Input::new(message, images.unwrap_or_default())
}

impl agentese::pi::Service for Front {
    async fn prompt(&self, params: PromptParams, call: Call<Pi>) -> Result<(), Refusal> {
        self.host.ready().await;
        self.pass(&call, Waiting::Prompt).await?;
        if !self.host.restarted().await {
            return Err(refuse(GIVEN_UP));
        }
        if let Some(invoked) = self.host.find(&params.message) {
            let accepted = Box::new(move || call.answer(&Reply::Prompt));
            self.host.invoke(invoked, accepted).await;
            return Ok(());
        }
        let images = params.images.unwrap_or_default();
        let asked = self.host.input(params.message, images, InputSource::Rpc);
        let (text, images) = match self.host.until_replaced(call.replaced(), asked).await {
            Heard::Words(text, images) => (text, images),
            Heard::Handled => return Ok(()),
            Heard::GivenUp => return Err(refuse(GIVEN_UP)),
        };
        let streaming = params.streaming_behavior.map(convert::streaming_behavior);
        let input = self.engine.prepare(Input::new(text, images)).await.map_err(refuse)?;
        let begun = self.engine.begin(input, streaming).map_err(refuse)?;
        // The answer stands before the run's first event.
        call.answer(&Reply::Prompt);
        begun.start();
        Ok(())
    }

    async fn steer(&self, params: SteerParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.refuse_commands(&params.message).await?;
        let input = self.engine.prepare(input(params.message, params.images)).await.map_err(refuse)?;
        self.engine.steer(input);
        Ok(())
    }

    async fn follow_up(&self, params: FollowUpParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.refuse_commands(&params.message).await?;
        let input = self.engine.prepare(input(params.message, params.images)).await.map_err(refuse)?;
        self.engine.follow_up(input);
        Ok(())
    }

    async fn abort(&self, _: NoParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.gate.stop(Waiting::Prompt);
        self.host.give_up();
        self.engine.abort().await;
        Ok(())
    }

    async fn new_session(&self, params: NewSessionParams, call: Call<Pi>) -> Result<Cancellation, Refusal> {
        self.host.ready().await;
        let work = self.engine.new_session(params.parent_session);
        let done = self.host.until_replaced(call.replaced(), work).await;
        Ok(Cancellation::new(!done))
    }

    async fn get_state(&self, _: NoParams, _: Call<Pi>) -> Result<SessionState, Refusal> {
        self.host.ready().await;
        Ok(convert::state(self.engine.view()))
    }

    async fn get_messages(&self, _: NoParams, _: Call<Pi>) -> Result<Messages, Refusal> {
        Ok(Messages::new(convert::messages(&self.engine.messages())))
    }

    async fn get_last_assistant_text(&self, _: NoParams, _: Call<Pi>) -> Result<LastAssistantText, Refusal> {
        let mut answer = LastAssistantText::new();
        // The document: null where there is none.
        answer.text = agentese::wire::Maybe::or_null(self.engine.last_assistant_text());
        Ok(answer)
    }

    async fn set_session_name(&self, params: SetSessionNameParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_session_name(&params.name).map_err(refuse)
    }

    async fn set_steering_mode(&self, params: SetSteeringModeParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_steering_mode(params.mode);
        Ok(())
    }

    async fn set_follow_up_mode(&self, params: SetFollowUpModeParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_follow_up_mode(params.mode);
        Ok(())
    }

    async fn bash(&self, params: BashParams, call: Call<Pi>) -> Result<BashResult, Refusal> {
        self.pass(&call, Waiting::Bash).await?;
        self.engine.bash(&params.command).await.map(convert::bash_result).map_err(refuse)
    }

    async fn abort_bash(&self, _: NoParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.gate.stop(Waiting::Bash);
        self.engine.abort_bash();
        Ok(())
    }

    async fn get_available_models(&self, _: NoParams, _: Call<Pi>) -> Result<AvailableModels, Refusal> {
        Ok(AvailableModels::new(self.engine.models()))
    }

    async fn set_model(&self, params: SetModelParams, _: Call<Pi>) -> Result<Model, Refusal> {
        let (provider, id) = (&params.provider, &params.model_id);
        // The text is the document's.
        self.engine
            .set_model(provider, id)
            .ok_or_else(|| Refusal::new(format!("Model not found: {provider}/{id}")))
    }

    async fn cycle_model(&self, _: NoParams, _: Call<Pi>) -> Result<Option<CycledModel>, Refusal> {
        let cycled = self.engine.cycle_model();
        Ok(cycled.map(|(model, thinking, scoped)| {
            let mut cycled = CycledModel::new(model, scoped);
            cycled.thinking_level = thinking.into();
            cycled
        }))
    }

    async fn set_thinking_level(&self, params: SetThinkingLevelParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_thinking(params.level);
        Ok(())
    }

    async fn cycle_thinking_level(
        &self,
        _: NoParams,
        _: Call<Pi>,
    ) -> Result<Option<CycledThinkingLevel>, Refusal> {
        Ok(self.engine.cycle_thinking().map(CycledThinkingLevel::new))
    }

    async fn get_session_stats(&self, _: NoParams, _: Call<Pi>) -> Result<SessionStats, Refusal> {
        let (id, file, stats) = self.engine.stats();
        let mut answer = SessionStats::new(
            id,
            stats.user_messages,
            stats.assistant_messages,
            stats.tool_calls,
            stats.tool_results,
            stats.total_messages,
            TokenTotals::new(stats.input, stats.output, stats.cache_read, stats.cache_write, stats.tokens()),
            number(stats.cost),
        );
        answer.session_file = file.map(convert::text);
        Ok(answer)
    }

    async fn compact(&self, params: CompactParams, call: Call<Pi>) -> Result<CompactionResult, Refusal> {
        self.host.ready().await;
        let work = self.engine.compact(params.custom_instructions.as_deref());
        self.host.until_replaced(call.replaced(), work).await.map_err(refuse)
    }

    async fn set_auto_compaction(&self, params: SetAutoCompactionParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_auto_compaction(params.enabled);
        Ok(())
    }

    async fn set_auto_retry(&self, params: SetAutoRetryParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.set_auto_retry(params.enabled);
        Ok(())
    }

    async fn abort_retry(&self, _: NoParams, _: Call<Pi>) -> Result<(), Refusal> {
        self.engine.abort_retry().await;
        Ok(())
    }

    async fn switch_session(
        &self,
        params: SwitchSessionParams,
        call: Call<Pi>,
    ) -> Result<Cancellation, Refusal> {
        self.host.ready().await;
        let work = self.engine.switch_session(Path::new(&params.session_path));
        let done = self.host.until_replaced(call.replaced(), work).await.map_err(refuse)?;
        Ok(Cancellation::new(!done))
    }

    async fn fork(&self, params: ForkParams, call: Call<Pi>) -> Result<ForkResult, Refusal> {
        self.host.ready().await;
        let work = self.engine.fork(&params.entry_id);
        let (text, done) = self.host.until_replaced(call.replaced(), work).await.map_err(refuse)?;
        Ok(ForkResult::new(text, !done))
    }

    async fn get_fork_messages(&self, _: NoParams, _: Call<Pi>) -> Result<ForkPoints, Refusal> {
        let points = self.engine.fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }

    async fn export_html(&self, params: ExportHtmlParams, _: Call<Pi>) -> Result<WrittenFile, Refusal> {
        let path = self.engine.export(params.output_path.as_deref()).await.map_err(refuse)?;
        Ok(WrittenFile::new(convert::text(path)))
    }

    async fn get_commands(&self, _: NoParams, _: Call<Pi>) -> Result<Commands, Refusal> {
        self.host.ready().await;
        Ok(Commands::new(self.engine.commands().into_iter().map(convert::command).collect()))
    }

    async fn shut_down(&self) {
        self.engine.shut_down().await;
        self.host.shut_down().await;
    }

    async fn settle(&self) {
        self.engine.settle().await;
        // A command may have set something going; one that waits for ever does not keep the agent.
        self.host.settle(LAST_COMMANDS).await;
        self.engine.settle().await;
        self.host.shut_down_alone().await;
    }
}
