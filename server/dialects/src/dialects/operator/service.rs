//! The commands of the dialect.

use std::path::Path;
use std::sync::Arc;

use agentese::operator::{
    Operator, OperatorCompactParams, OperatorForkParams, OperatorForkResult, OperatorPhase,
    OperatorPromptParams, OperatorState, OperatorSwitchResult, OperatorSwitchSessionParams,
};
use agentese::serve::{Call, CommandError, Emitter};
use agentese::spec::Spec;
use agentese::wire::{Maybe, NoParams};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::command_serializer::CommandSerializer;
use super::sink::Sink;
use crate::conversation::{
    AgentComponents, ConversationService, PromptOutcome, PromptRequest, RequestContext,
};
use crate::engine::CompactError;
use crate::session::{ForkError, OpenError};
use crate::ui::{Answer, Dialog, Notice, Ui};

/// Speaks the operator dialect: converts values and calls the conversation service.
#[derive(Debug)]
pub struct OperatorServer {
    conversation: ConversationService,
    sink: Arc<Sink>,
    serializer: CommandSerializer,
}

/// A user interface that dismisses every question at once, because the dialect has no dialogs.
#[derive(Debug)]
struct NullUi;

impl Ui for NullUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn show(&self, _: &Notice) {}

    fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        None
    }
}

impl crate::dialects::DialectServer for OperatorServer {
    type Dialect = Operator;

    fn new(components: AgentComponents, _: &'static Spec, stop: CancellationToken) -> Self {
        let sink = Arc::new(Sink::default());
        Self {
            conversation: ConversationService::new(components, sink.clone(), stop),
            sink,
            serializer: CommandSerializer::default(),
        }
    }

    fn connect(&self, emitter: Emitter<Operator>) {
        self.sink.connect(emitter);
        self.conversation.connect(Arc::new(NullUi));
    }
}

fn command_error(error: impl ToString) -> CommandError {
    CommandError::new(error.to_string())
}

impl agentese::operator::Service for OperatorServer {
    async fn prompt(&self, params: OperatorPromptParams, call: Call<Operator>) -> Result<(), CommandError> {
        let _phase = self.serializer.enter_phase(OperatorPhase::Turn).await?;
        let outcome = self
            .conversation
            .prompt(PromptRequest::new(params.text, None), RequestContext::for_call(&call))
            .await
            .map_err(command_error)?;
        let PromptOutcome::Run(running) = outcome else { return Ok(()) };
        running.ended().await;
        self.sink.failure().map_or(Ok(()), |reason| Err(CommandError::new(reason)))
    }

    async fn compact(&self, params: OperatorCompactParams, call: Call<Operator>) -> Result<(), CommandError> {
        let _phase = self.serializer.enter_phase(OperatorPhase::Compaction).await?;
        match self
            .conversation
            .compact(params.custom_instructions.as_deref(), RequestContext::for_call(&call))
            .await
        {
            // Operator responds the same way if there is nothing to compact.
            Ok(_) | Err(CompactError::NothingToCompact(_)) => Ok(()),
            Err(error) => Err(command_error(error)),
        }
    }

    async fn abort(&self, _: NoParams, call: Call<Operator>) -> Result<(), CommandError> {
        // Operator responds at once; the end of the turn and the response to its prompt follow.
        call.answer(());
        self.conversation.abort().await;
        Ok(())
    }

    async fn new_session(
        &self,
        _: NoParams,
        call: Call<Operator, Option<OperatorSwitchResult>>,
    ) -> Result<Option<OperatorSwitchResult>, CommandError> {
        let _order = self.serializer.acquire().await?;
        self.conversation.new_session(None, RequestContext::for_call(&call)).await;
        Ok(None)
    }

    async fn fork(
        &self,
        params: OperatorForkParams,
        call: Call<Operator, Option<OperatorForkResult>>,
    ) -> Result<Option<OperatorForkResult>, CommandError> {
        let _order = self.serializer.acquire().await?;
        let entry = &params.entry_id;
        // The document prescribes this text, with its quotes.
        let refused = |error| match error {
            ForkError::Remote(reason) => CommandError::new(reason),
            _ => CommandError::new(format!("\"Entry '{entry}' not found in session.\"")),
        };
        self.conversation.go_to(entry, RequestContext::for_call(&call)).await.map(|_| None).map_err(refused)
    }

    async fn switch_session(
        &self,
        params: OperatorSwitchSessionParams,
        call: Call<Operator, Option<OperatorSwitchResult>>,
    ) -> Result<Option<OperatorSwitchResult>, CommandError> {
        let _order = self.serializer.acquire().await?;
        let file = Path::new(&params.session_file);
        self.conversation.switch_session(file, RequestContext::for_call(&call)).await.map(|_| None).map_err(
            |error| match error {
                // The document prescribes this text.
                OpenError::Missing { .. } => {
                    CommandError::new(format!("session file not found: {}", params.session_file))
                }
                error => command_error(error),
            },
        )
    }

    async fn get_state(
        &self,
        _: NoParams,
        _: Call<Operator, OperatorState>,
    ) -> Result<OperatorState, CommandError> {
        let status = self.conversation.state().await;
        let phase = match (status.compacting, self.serializer.phase()) {
            (true, _) => OperatorPhase::Compaction,
            (false, Some(phase)) => phase,
            (false, None) if status.streaming => OperatorPhase::Turn,
            (false, None) => OperatorPhase::Idle,
        };
        let streaming = phase == OperatorPhase::Turn;
        let mut state = OperatorState::new(phase);
        state.is_streaming = Some(streaming);
        let file = status.session_file.map(|file| file.to_string_lossy().into_owned());
        state.session_file = Maybe::or_null(file);
        state.session_id = Maybe::or_null(Some(status.session_id));
        state.session_name = Maybe::or_null(status.session_name);
        let usage = self.conversation.engine().context_usage();
        state.context_tokens = Some(usage.as_ref().map_or(0, |(tokens, _)| *tokens));
        state.context_window = usage.map(|(_, model)| model.context_window);
        state.message_count = Some(status.messages as u64);
        Ok(state)
    }

    async fn shut_down(&self) {
        self.conversation.shut_down().await;
    }

    async fn wait_until_idle(&self) {
        self.conversation.wait_until_idle().await;
    }
}
