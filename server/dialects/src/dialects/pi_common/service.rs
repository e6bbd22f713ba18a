//! The commands that all dialects of the pi family share.

use std::path::Path;

use agentese::pi::BaseService;
use agentese::serve::{Call, CommandError};
use agentese::spec::EndOfInput;
use agentese::types::{
    AvailableModels, BashExecutionUpdate, BashParams, BashResult, Cancellation, CompactParams,
    CompactionReason, CompactionResult, ContextUsage, CycledModel, CycledThinkingLevel, Disposition,
    ExportHtmlParams, InputReceipt, LastAssistantText, Messages, Model, NewSessionParams, PromptParams,
    SessionStats, SessionStatsBuilder, SetAutoCompactionParams, SetAutoRetryParams, SetFollowUpModeParams,
    SetModelParams, SetSessionNameParams, SetSteeringModeParams, SetThinkingLevelParams, SwitchSessionParams,
    ThinkingLevel, TokenTotalsBuilder, WrittenFile,
};
use agentese::wire::NoParams;

use super::convert::{self, command_error};
use super::dialect::PiCommon;
use super::pi_1_5_events;
use super::server::PiCommonServer;
use crate::conversation::{PromptOutcome, PromptRequest, RequestContext};
use crate::engine::{CompactError, Event};
use crate::providers::number;
use crate::session::one_line;

/// Returns the outcome of a prompt, for revisions that report it.
pub(in crate::dialects) fn input_receipt(outcome: &PromptOutcome) -> InputReceipt {
    InputReceipt::new(match outcome {
        PromptOutcome::Run(_) => Disposition::Started,
        PromptOutcome::Queued => Disposition::Queued,
        PromptOutcome::Command(_) | PromptOutcome::Handled => Disposition::Handled,
    })
}

impl<D: PiCommon> PiCommonServer<D> {
    /// Handles a prompt of a client.
    pub(in crate::dialects) async fn submit_prompt(
        &self,
        params: PromptParams,
        context: RequestContext,
    ) -> Result<PromptOutcome, CommandError> {
        let mut request = PromptRequest::new(params.message, params.images);
        request.delivery = params.streaming_behavior.map(convert::delivery);
        self.conversation.prompt(request, context).await.map_err(command_error)
    }

    /// Returns the usage of the context. Returns `None` without a model.
    fn context_usage(&self) -> Option<ContextUsage> {
        let window = self.engine().status().model?.context_window;
        let tokens = self.engine().context_tokens();
        let percent =
            tokens.filter(|_| window > 0).map(|tokens| number(tokens as f64 * 100.0 / window as f64));
        Some(ContextUsage::new(tokens, window, percent))
    }
}

impl<D: PiCommon> BaseService<D> for PiCommonServer<D> {
    async fn abort(&self, _: NoParams, _: Call<D>) -> Result<(), CommandError> {
        self.conversation.abort().await;
        Ok(())
    }

    async fn new_session(
        &self,
        params: NewSessionParams,
        call: Call<D, Cancellation>,
    ) -> Result<Cancellation, CommandError> {
        let context = RequestContext::for_call(&call);
        let done = self.stoppable(&call, self.conversation.new_session(params.parent_session, context)).await;
        Ok(Cancellation::new(!done))
    }

    async fn switch_session(
        &self,
        params: SwitchSessionParams,
        call: Call<D, Cancellation>,
    ) -> Result<Cancellation, CommandError> {
        let path = Path::new(&params.session_path);
        let unusable = |error| command_error(error).invalid_params();
        let switched = self.conversation.switch_session(path, RequestContext::for_call(&call));
        let done = self.stoppable(&call, switched).await.map_err(unusable)?;
        Ok(Cancellation::new(!done))
    }

    async fn compact(
        &self,
        params: CompactParams,
        call: Call<D, CompactionResult>,
    ) -> Result<CompactionResult, CommandError> {
        let focus = params.custom_instructions.as_deref();
        let emit = |event: Event<'_>| match pi_1_5_events::event(self.spec, event, &CompactionReason::Manual)
        {
            Ok(Some(body)) if self.features.compaction_emits_events && !self.sink.is_closed() => {
                call.emitter().emit_body_now(body);
            }
            _ => {}
        };
        if self.features.compaction_emits_events {
            // The closing events of the current run precede the compaction.
            self.engine().abort().await;
        }
        emit(Event::CompactionStarted { reason: &CompactionReason::Manual });
        let done =
            self.stoppable(&call, self.conversation.compact(focus, RequestContext::for_call(&call))).await;
        let (aborted, will_retry) = (matches!(done, Err(CompactError::Cancelled)), false);
        let error =
            done.as_ref().err().filter(|_| !aborted).map(|error| format!("Compaction failed: {error}"));
        let (result, error) = (done.as_ref().ok(), error.as_deref());
        emit(Event::CompactionEnded { result, aborted, will_retry, error });
        done.map_err(command_error)
    }

    async fn bash(&self, params: BashParams, call: Call<D, BashResult>) -> Result<BashResult, CommandError> {
        let hidden = params.exclude_from_context == Some(true) && self.features.hides_shell_commands;
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
        let done = self.stoppable(&call, self.conversation.bash(&params.command, hidden, &mut shown)).await;
        done.map(convert::bash_result).map_err(command_error)
    }

    async fn abort_bash(&self, _: NoParams, _: Call<D>) -> Result<(), CommandError> {
        self.conversation.abort_bash();
        Ok(())
    }

    async fn shut_down(&self) {
        if self.features.silent_after_input_end {
            self.sink.close();
        }
        // After an end of input that aborts all work, no client is left to show the dialogs of extensions.
        let disconnected = self.spec.edges.end_of_input == EndOfInput::Abort && !self.stop.is_cancelled();
        if disconnected && D::behavior_profile(self.spec).input.starts_waiting_prompts {
            tokio::select! {
                () = self.conversation.start_waiting_prompts() => {}
                () = self.stop.cancelled() => {}
            }
        }
        if disconnected {
            self.conversation.shut_down_disconnected().await
        } else {
            self.conversation.shut_down().await
        }
    }

    async fn wait_until_idle(&self) {
        self.conversation.wait_until_idle().await;
    }

    async fn get_messages(&self, _: NoParams, call: Call<D, Messages>) -> Result<Messages, CommandError> {
        call.answer_text(convert::message_texts(self.engine().message_texts()));
        // The call has its response already; this value is ignored.
        Ok(Messages::new(Vec::new()))
    }

    async fn get_last_assistant_text(
        &self,
        _: NoParams,
        _: Call<D, LastAssistantText>,
    ) -> Result<LastAssistantText, CommandError> {
        let mut answer = LastAssistantText::new();
        // The document requires null if there is no text.
        answer.text = agentese::wire::Maybe::or_null(self.engine().last_assistant_text());
        Ok(answer)
    }

    async fn set_session_name(&self, params: SetSessionNameParams, _: Call<D>) -> Result<(), CommandError> {
        let name = if self.features.one_line_names { one_line(&params.name) } else { params.name };
        self.engine().set_session_name(&name).map_err(command_error)
    }

    async fn set_steering_mode(&self, params: SetSteeringModeParams, _: Call<D>) -> Result<(), CommandError> {
        self.engine().set_steering_mode(params.mode);
        Ok(())
    }

    async fn set_follow_up_mode(
        &self,
        params: SetFollowUpModeParams,
        _: Call<D>,
    ) -> Result<(), CommandError> {
        self.engine().set_follow_up_mode(params.mode);
        Ok(())
    }

    async fn get_available_models(
        &self,
        _: NoParams,
        _: Call<D, AvailableModels>,
    ) -> Result<AvailableModels, CommandError> {
        let models = self.engine().models().into_iter();
        Ok(AvailableModels::new(models.map(|model| self.describe_model(model)).collect()))
    }

    async fn set_model(&self, params: SetModelParams, _: Call<D, Model>) -> Result<Model, CommandError> {
        let (provider, id) = (&params.provider, &params.model_id);
        // The document prescribes this text.
        self.engine()
            .set_model(provider, id)
            .map(|model| self.describe_model(model))
            .ok_or_else(|| CommandError::new(format!("Model not found: {provider}/{id}")))
    }

    async fn cycle_model(
        &self,
        _: NoParams,
        _: Call<D, Option<CycledModel>>,
    ) -> Result<Option<CycledModel>, CommandError> {
        let cycled = self.engine().cycle_model();
        Ok(cycled.map(|(model, thinking, scoped)| {
            let mut cycled = CycledModel::new(self.describe_model(model), scoped);
            cycled.thinking_level = thinking.into();
            cycled
        }))
    }

    async fn set_thinking_level(
        &self,
        params: SetThinkingLevelParams,
        _: Call<D>,
    ) -> Result<(), CommandError> {
        // The other revisions do not have that level.
        let auto = params.level == ThinkingLevel::Auto;
        if auto || (params.level == ThinkingLevel::Max && !self.features.has_max_thinking) {
            return Err(CommandError::new(format!(
                "Invalid parameters of `set_thinking_level`: level: \"{}\" is not one of its values",
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
    ) -> Result<Option<CycledThinkingLevel>, CommandError> {
        Ok(self.engine().cycle_thinking().map(CycledThinkingLevel::new))
    }

    async fn get_session_stats(
        &self,
        _: NoParams,
        _: Call<D, SessionStats>,
    ) -> Result<SessionStats, CommandError> {
        let (id, file, stats) = self.engine().reported_stats().await;
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
        answer.session_file = file.map(convert::path_text);
        if self.features.stats_have_context {
            answer.context_usage = self.context_usage();
        }
        Ok(answer)
    }

    async fn set_auto_compaction(
        &self,
        params: SetAutoCompactionParams,
        _: Call<D>,
    ) -> Result<(), CommandError> {
        self.engine().set_auto_compaction(params.enabled);
        Ok(())
    }

    async fn set_auto_retry(&self, params: SetAutoRetryParams, _: Call<D>) -> Result<(), CommandError> {
        self.engine().set_auto_retry(params.enabled);
        Ok(())
    }

    async fn abort_retry(&self, _: NoParams, _: Call<D>) -> Result<(), CommandError> {
        self.engine().abort_retry().await;
        Ok(())
    }

    async fn export_html(
        &self,
        params: ExportHtmlParams,
        _: Call<D, WrittenFile>,
    ) -> Result<WrittenFile, CommandError> {
        let path = self.engine().export(params.output_path.as_deref()).await.map_err(command_error)?;
        Ok(WrittenFile::new(convert::path_text(path)))
    }
}
