//! The commands of the whole family.

use std::path::Path;

use agentese::pi::Kept;
use agentese::serve::{Call, Refusal};
use agentese::spec::EndOfInput;
use agentese::types::{
    AvailableModels, BashExecutionUpdate, BashParams, BashResult, Cancellation, CompactParams,
    CompactionReason, CompactionResult, ContextUsage, CycledModel, CycledThinkingLevel, Disposition,
    ExportHtmlParams, LastAssistantText, Messages, Model, NewSessionParams, PromptParams, SessionStats,
    SessionStatsBuilder, SetAutoCompactionParams, SetAutoRetryParams, SetFollowUpModeParams, SetModelParams,
    SetSessionNameParams, SetSteeringModeParams, SetThinkingLevelParams, SwitchSessionParams, ThinkingLevel,
    TokenTotalsBuilder, WordsTaken, WrittenFile,
};
use agentese::wire::NoParams;

use super::convert::{self, is_newer, refuse};
use super::dialect::Family;
use super::front::Front;
use super::newer;
use crate::desk::{Caller, Said, Taken};
use crate::engine::{CompactError, Event};
use crate::providers::number;
use crate::session::one_line;

/// Returns the outcome of a prompt, for revisions that report it.
pub(in crate::fronts) fn words_taken(taken: &Taken) -> WordsTaken {
    WordsTaken::new(match taken {
        Taken::Run(_) => Disposition::Started,
        Taken::Queued => Disposition::Queued,
        Taken::Command(_) | Taken::Handled => Disposition::Handled,
    })
}

impl<D: Family> Front<D> {
    /// Handles a prompt of a client.
    pub(in crate::fronts) async fn say(
        &self,
        params: PromptParams,
        caller: Caller,
    ) -> Result<Taken, Refusal> {
        let mut said = Said::new(params.message, params.images);
        said.streaming = params.streaming_behavior.map(convert::streaming_behavior);
        self.desk.prompt(said, caller).await.map_err(refuse)
    }

    /// Returns the usage of the context. Returns `None` without a model.
    fn context_usage(&self) -> Option<ContextUsage> {
        let window = self.engine().view().model?.context_window;
        let tokens = self.engine().context_tokens();
        let percent =
            tokens.filter(|_| window > 0).map(|tokens| number(tokens as f64 * 100.0 / window as f64));
        Some(ContextUsage::new(tokens, window, percent))
    }
}

impl<D: Family> Kept<D> for Front<D> {
    async fn abort(&self, _: NoParams, _: Call<D>) -> Result<(), Refusal> {
        self.desk.abort().await;
        Ok(())
    }

    async fn new_session(
        &self,
        params: NewSessionParams,
        call: Call<D, Cancellation>,
    ) -> Result<Cancellation, Refusal> {
        let caller = Caller::of(&call);
        let done = self.stoppable(&call, self.desk.new_session(params.parent_session, caller)).await;
        Ok(Cancellation::new(!done))
    }

    async fn switch_session(
        &self,
        params: SwitchSessionParams,
        call: Call<D, Cancellation>,
    ) -> Result<Cancellation, Refusal> {
        let path = Path::new(&params.session_path);
        let unusable = |error| refuse(error).of_value();
        let switched = self.desk.switch_session(path, Caller::of(&call));
        let done = self.stoppable(&call, switched).await.map_err(unusable)?;
        Ok(Cancellation::new(!done))
    }

    async fn compact(
        &self,
        params: CompactParams,
        call: Call<D, CompactionResult>,
    ) -> Result<CompactionResult, Refusal> {
        let focus = params.custom_instructions.as_deref();
        let tell = |event: Event<'_>| match newer::event(self.spec, event, &CompactionReason::Manual) {
            Ok(Some(body)) if is_newer(self.spec) && !self.sink.is_closed() => {
                call.emitter().emit_body_now(body);
            }
            _ => {}
        };
        if is_newer(self.spec) {
            // The closing events of the current run precede the compaction.
            self.engine().abort().await;
        }
        tell(Event::CompactionStarted { reason: &CompactionReason::Manual });
        let done = self.stoppable(&call, self.desk.compact(focus, Caller::of(&call))).await;
        let (aborted, will_retry) = (matches!(done, Err(CompactError::Cancelled)), false);
        let error =
            done.as_ref().err().filter(|_| !aborted).map(|error| format!("Compaction failed: {error}"));
        let (result, error) = (done.as_ref().ok(), error.as_deref());
        tell(Event::CompactionEnded { result, aborted, will_retry, error });
        done.map_err(refuse)
    }

    async fn bash(&self, params: BashParams, call: Call<D, BashResult>) -> Result<BashResult, Refusal> {
        let hidden = params.exclude_from_context == Some(true) && is_newer(self.spec);
        let id = call.id().and_then(|id| serde_json::from_str(id).ok());
        let mut shown = |text: &str| {
            let mut update = BashExecutionUpdate::new(text);
            update.id.clone_from(&id);
            if let Ok(Some(body)) = convert::body(self.spec, &update)
                && !self.sink.is_closed()
            {
                call.emitter().emit_body_now(body);
            }
        };
        let done = self.stoppable(&call, self.desk.bash(&params.command, hidden, &mut shown)).await;
        done.map(convert::bash_result).map_err(refuse)
    }

    async fn abort_bash(&self, _: NoParams, _: Call<D>) -> Result<(), Refusal> {
        self.desk.abort_bash();
        Ok(())
    }

    async fn shut_down(&self) {
        // Since 1.5 no event reports work that the end of input stops.
        if is_newer(self.spec) {
            self.sink.close();
        }
        // After an end of input that aborts all work, no client is left to show the dialogs of extensions.
        let left = self.spec.edges.end_of_input == EndOfInput::Abort && !self.stop.is_cancelled();
        if left && D::customs(self.spec).begins_what_waits {
            tokio::select! {
                () = self.desk.begin_what_waits() => {}
                () = self.stop.cancelled() => {}
            }
        }
        if left { self.desk.shut_down_alone().await } else { self.desk.shut_down().await }
    }

    async fn wait_until_idle(&self) {
        self.desk.wait_until_idle().await;
    }

    async fn get_messages(&self, _: NoParams, call: Call<D, Messages>) -> Result<Messages, Refusal> {
        call.answer_text(convert::message_texts(self.engine().message_texts()));
        // The call has its response already; this value is ignored.
        Ok(Messages::new(Vec::new()))
    }

    async fn get_last_assistant_text(
        &self,
        _: NoParams,
        _: Call<D, LastAssistantText>,
    ) -> Result<LastAssistantText, Refusal> {
        let mut answer = LastAssistantText::new();
        // The document requires null if there is no text.
        answer.text = agentese::wire::Maybe::or_null(self.engine().last_assistant_text());
        Ok(answer)
    }

    async fn set_session_name(&self, params: SetSessionNameParams, _: Call<D>) -> Result<(), Refusal> {
        // Since 1.5 a name is one line.
        let name = if is_newer(self.spec) { one_line(&params.name) } else { params.name };
        self.engine().set_session_name(&name).map_err(refuse)
    }

    async fn set_steering_mode(&self, params: SetSteeringModeParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().set_steering_mode(params.mode);
        Ok(())
    }

    async fn set_follow_up_mode(&self, params: SetFollowUpModeParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().set_follow_up_mode(params.mode);
        Ok(())
    }

    async fn get_available_models(
        &self,
        _: NoParams,
        _: Call<D, AvailableModels>,
    ) -> Result<AvailableModels, Refusal> {
        let models = self.engine().models().into_iter();
        Ok(AvailableModels::new(models.map(|model| self.shown(model)).collect()))
    }

    async fn set_model(&self, params: SetModelParams, _: Call<D, Model>) -> Result<Model, Refusal> {
        let (provider, id) = (&params.provider, &params.model_id);
        // The document prescribes this text.
        self.engine()
            .set_model(provider, id)
            .map(|model| self.shown(model))
            .ok_or_else(|| Refusal::new(format!("Model not found: {provider}/{id}")))
    }

    async fn cycle_model(
        &self,
        _: NoParams,
        _: Call<D, Option<CycledModel>>,
    ) -> Result<Option<CycledModel>, Refusal> {
        let cycled = self.engine().cycle_model();
        Ok(cycled.map(|(model, thinking, scoped)| {
            let mut cycled = CycledModel::new(self.shown(model), scoped);
            cycled.thinking_level = thinking.into();
            cycled
        }))
    }

    async fn set_thinking_level(&self, params: SetThinkingLevelParams, _: Call<D>) -> Result<(), Refusal> {
        // The other revisions do not have that level.
        let auto = params.level == ThinkingLevel::Auto;
        if auto || (params.level == ThinkingLevel::Max && !is_newer(self.spec)) {
            return Err(Refusal::new(format!(
                "Invalid parameters of `set_thinking_level`: level: \"{}\" is none of its values",
                params.level
            )));
        }
        self.engine().set_thinking(params.level);
        Ok(())
    }

    async fn cycle_thinking_level(
        &self,
        _: NoParams,
        _: Call<D, Option<CycledThinkingLevel>>,
    ) -> Result<Option<CycledThinkingLevel>, Refusal> {
        Ok(self.engine().cycle_thinking().map(CycledThinkingLevel::new))
    }

    async fn get_session_stats(
        &self,
        _: NoParams,
        _: Call<D, SessionStats>,
    ) -> Result<SessionStats, Refusal> {
        let (id, file, stats) = self.engine().stats_there().await;
        let mut answer = SessionStatsBuilder {
            session_id: id,
            user_messages: stats.user_messages,
            assistant_messages: stats.assistant_messages,
            tool_calls: stats.tool_calls,
            tool_results: stats.tool_results,
            total_messages: stats.total_messages,
            tokens: TokenTotalsBuilder {
                input: stats.input,
                output: stats.output,
                cache_read: stats.cache_read,
                cache_write: stats.cache_write,
                total: stats.tokens(),
            }
            .build(),
            cost: number(stats.cost),
        }
        .build();
        answer.session_file = file.map(convert::text);
        if is_newer(self.spec) {
            answer.context_usage = self.context_usage();
        }
        Ok(answer)
    }

    async fn set_auto_compaction(&self, params: SetAutoCompactionParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().set_auto_compaction(params.enabled);
        Ok(())
    }

    async fn set_auto_retry(&self, params: SetAutoRetryParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().set_auto_retry(params.enabled);
        Ok(())
    }

    async fn abort_retry(&self, _: NoParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().abort_retry().await;
        Ok(())
    }

    async fn export_html(
        &self,
        params: ExportHtmlParams,
        _: Call<D, WrittenFile>,
    ) -> Result<WrittenFile, Refusal> {
        let path = self.engine().export(params.output_path.as_deref()).await.map_err(refuse)?;
        Ok(WrittenFile::new(convert::text(path)))
    }
}
