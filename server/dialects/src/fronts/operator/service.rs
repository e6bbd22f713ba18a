//! The commands.

use std::path::Path;
use std::sync::Arc;

use agentese::operator::{
    Operator, OperatorCompactParams, OperatorForkParams, OperatorForked, OperatorPhase, OperatorPromptParams,
    OperatorState, OperatorSwitchSessionParams, OperatorSwitched,
};
use agentese::serve::{Call, Emitter, Refusal};
use agentese::spec::Spec;
use agentese::wire::{Maybe, NoParams};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::seat::Seat;
use super::sink::Sink;
use crate::desk::{Caller, Desk, Parts, Said, Taken};
use crate::engine::CompactError;
use crate::session::{ForkError, OpenError};
use crate::ui::{Answer, Dialog, Notice, Ui};

/// Speaks the operator dialect: converts values and calls the desk.
#[derive(Debug)]
pub struct Front {
    desk: Desk,
    sink: Arc<Sink>,
    seat: Seat,
}

/// A user interface without a user: the dialect has no dialogs, so every question is dismissed at once.
#[derive(Debug)]
struct Nobody;

impl Ui for Nobody {
    fn room(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn show(&self, _: &Notice) {}

    fn ask(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        None
    }
}

impl crate::fronts::Front for Front {
    type Dialect = Operator;

    fn new(parts: Parts, _: &'static Spec, stop: CancellationToken) -> Self {
        let sink = Arc::new(Sink::default());
        Self { desk: Desk::new(parts, sink.clone(), stop), sink, seat: Seat::default() }
    }

    fn connect(&self, emitter: Emitter<Operator>) {
        self.sink.connect(emitter);
        self.desk.connect(Arc::new(Nobody));
    }
}

fn refuse(error: impl ToString) -> Refusal {
    Refusal::new(error.to_string())
}

impl agentese::operator::Service for Front {
    async fn prompt(&self, params: OperatorPromptParams, call: Call<Operator>) -> Result<(), Refusal> {
        let _seat = self.seat.take(OperatorPhase::Turn).await?;
        let taken =
            self.desk.prompt(Said::new(params.text, None), Caller::of(&call)).await.map_err(refuse)?;
        let Taken::Run(running) = taken else { return Ok(()) };
        running.ended().await;
        self.sink.failure().map_or(Ok(()), |reason| Err(Refusal::new(reason)))
    }

    async fn compact(&self, params: OperatorCompactParams, call: Call<Operator>) -> Result<(), Refusal> {
        let _seat = self.seat.take(OperatorPhase::Compaction).await?;
        match self.desk.compact(params.custom_instructions.as_deref(), Caller::of(&call)).await {
            // Operator responds the same way if there is nothing to compact.
            Ok(_) | Err(CompactError::Nothing(_)) => Ok(()),
            Err(error) => Err(refuse(error)),
        }
    }

    async fn abort(&self, _: NoParams, call: Call<Operator>) -> Result<(), Refusal> {
        // Operator responds at once; the end of the turn and the response to its prompt follow.
        call.answer(());
        self.desk.abort().await;
        Ok(())
    }

    async fn new_session(
        &self,
        _: NoParams,
        call: Call<Operator, Option<OperatorSwitched>>,
    ) -> Result<Option<OperatorSwitched>, Refusal> {
        let _order = self.seat.wait().await?;
        self.desk.new_session(None, Caller::of(&call)).await;
        Ok(None)
    }

    async fn fork(
        &self,
        params: OperatorForkParams,
        call: Call<Operator, Option<OperatorForked>>,
    ) -> Result<Option<OperatorForked>, Refusal> {
        let _order = self.seat.wait().await?;
        let entry = &params.entry_id;
        // The document prescribes this text, with its quotes.
        let refused = |error| match error {
            ForkError::Elsewhere(reason) => Refusal::new(reason),
            _ => Refusal::new(format!("\"Entry '{entry}' not found in session.\"")),
        };
        self.desk.go_to(entry, Caller::of(&call)).await.map(|_| None).map_err(refused)
    }

    async fn switch_session(
        &self,
        params: OperatorSwitchSessionParams,
        call: Call<Operator, Option<OperatorSwitched>>,
    ) -> Result<Option<OperatorSwitched>, Refusal> {
        let _order = self.seat.wait().await?;
        let file = Path::new(&params.session_file);
        self.desk.switch_session(file, Caller::of(&call)).await.map(|_| None).map_err(|error| match error {
            // The document prescribes this text.
            OpenError::Missing { .. } => {
                Refusal::new(format!("session file not found: {}", params.session_file))
            }
            error => refuse(error),
        })
    }

    async fn get_state(
        &self,
        _: NoParams,
        _: Call<Operator, OperatorState>,
    ) -> Result<OperatorState, Refusal> {
        let view = self.desk.state().await;
        let phase = match (view.compacting, self.seat.phase()) {
            (true, _) => OperatorPhase::Compaction,
            (false, Some(phase)) => phase,
            (false, None) if view.streaming => OperatorPhase::Turn,
            (false, None) => OperatorPhase::Idle,
        };
        let streaming = phase == OperatorPhase::Turn;
        let mut state = OperatorState::new(phase);
        state.is_streaming = Some(streaming);
        let file = view.session_file.map(|file| file.to_string_lossy().into_owned());
        state.session_file = Maybe::or_null(file);
        state.session_id = Maybe::or_null(Some(view.session_id));
        state.session_name = Maybe::or_null(view.session_name);
        let usage = self.desk.engine().context_usage();
        state.context_tokens = Some(usage.as_ref().map_or(0, |(tokens, _)| *tokens));
        state.context_window = usage.map(|(_, model)| model.context_window);
        state.message_count = Some(view.messages as u64);
        Ok(state)
    }

    async fn shut_down(&self) {
        self.desk.shut_down().await;
    }

    async fn wait_until_idle(&self) {
        self.desk.wait_until_idle().await;
    }
}
