//! What an agent and its children have used, and what is said where it nears a limit.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use agentese::types::{BudgetScope, BudgetViolationReason, ToolCall, Usage};

use super::budget::{Budget, Due, Spent};
use super::event::Event;
use super::limits::{RunLimitError, RunMeter};
use crate::config::{BudgetLimits, RunLimits};
use crate::providers::tokens;
use crate::tools::ToolOutput;

/// Emits events of a ledger to the subscribers of an engine.
pub(super) trait Listener: Send + Sync {
    /// Emits an event.
    fn emit(&self, event: Event<'_>);
}

/// Counts what one engine uses, and tells the ledger of its parent. The first one has the limits: all that its children
/// use counts there, and what is due is told to those who listen to its engine.
#[derive(Default)]
pub struct Ledger {
    spent: Mutex<Spent>,
    parent: Option<Arc<Ledger>>,
    budget: Mutex<Budget>,
    /// The limits of each run.
    run_limits: Mutex<RunLimits>,
    /// Use of these limits by the run that goes on.
    run: Mutex<RunMeter>,
    /// When the first run began.
    begun: OnceLock<i64>,
    /// The engine whose listeners are told.
    engine: OnceLock<Weak<dyn Listener>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ledger").field("spent", &self.spent()).finish_non_exhaustive()
    }
}

impl Ledger {
    /// One with limits: of all that is used, and of each run.
    pub fn limited(limits: BudgetLimits, run_limits: RunLimits) -> Self {
        let (budget, run_limits) = (Mutex::new(Budget::new(limits)), Mutex::new(run_limits));
        Self { budget, run_limits, ..Self::default() }
    }

    /// One whose sums are part of another's.
    pub fn within(parent: Arc<Ledger>) -> Self {
        Self { parent: Some(parent), ..Self::default() }
    }

    /// One with the same limits, of which nothing was used.
    pub fn fresh(&self) -> Self {
        let root = self.root();
        let (budget, run_limits) = (Mutex::new(root.budget().fresh()), Mutex::new(root.run_limits()));
        Self { budget, run_limits, ..Self::default() }
    }

    /// Other limits, as of now.
    pub(super) fn limit(&self, limits: BudgetLimits, run_limits: RunLimits) {
        let root = self.root();
        root.budget().limit(limits);
        *root.run_limits.lock().unwrap_or_else(PoisonError::into_inner) = run_limits;
    }

    fn run_limits(&self) -> RunLimits {
        *self.run_limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) -> MutexGuard<'_, RunMeter> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures the run that begins now by the limits.
    pub(super) fn begin_run(&self, now_ms: i64) {
        let meter = RunMeter::new(self.root().run_limits(), now_ms, self.spent().cost);
        *self.run() = meter;
    }

    /// Counts a turn of the run whose answer is there.
    pub(super) fn count_turn(&self) {
        self.run().count_turn();
    }

    /// Takes note of the result of a call; see [`RunMeter::count_result`].
    pub(super) fn count_result(&self, call: &ToolCall, output: &mut ToolOutput) {
        self.run().count_result(call, output);
    }

    /// Returns how long the run may still last; `None` without a limit.
    pub(super) fn until_end(&self, now_ms: i64) -> Option<Duration> {
        self.run().until_end(now_ms)
    }

    /// Takes note that the time of the run is over.
    pub(super) fn run_out_of_time(&self) {
        self.run().run_out_of_time();
    }

    /// Returns the limit that the run has reached, as it was last looked at.
    pub(super) fn reached(&self) -> Option<RunLimitError> {
        let own = self.run().reached().cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached()))
    }

    /// Returns the limit that keeps the run from another turn: of its own limits, or of those of the runs that it is a
    /// part of.
    pub(super) fn reached_before_turn(&self, now_ms: i64) -> Option<RunLimitError> {
        let spent = self.spent().cost;
        let own = self.run().check(spent, now_ms).cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached_by_child(now_ms)))
    }

    fn reached_by_child(&self, now_ms: i64) -> Option<RunLimitError> {
        let spent = self.spent().cost;
        let own = self.run().check_shared(spent, now_ms).cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached_by_child(now_ms)))
    }

    /// What was used so far, by the engine and its children.
    pub fn spent(&self) -> Spent {
        *self.sums()
    }

    /// A model has answered.
    pub fn answered(&self, usage: &Usage) {
        let (tokens, cost) = (tokens(usage), usage.cost.total.as_f64().unwrap_or_default());
        self.add(&|spent| {
            spent.requests += 1;
            spent.tokens = spent.tokens.saturating_add(tokens);
            spent.input = spent.input.saturating_add(usage.input);
            spent.output = spent.output.saturating_add(usage.output);
            spent.cost += cost;
        });
    }

    /// A tool was called.
    pub fn called(&self) {
        self.add(&|spent| spent.tool_calls += 1);
    }

    /// Counts a child, unless a limit is reached: then that is told, once, and the limit is given.
    pub(super) fn start_child(&self, now_ms: i64) -> Result<(), BudgetViolationReason> {
        self.may_start(now_ms)?;
        self.add(&|spent| spent.children += 1);
        Ok(())
    }

    /// Whether work for a child may begin. As [`Ledger::start_child`], for what is not counted as one.
    pub(super) fn may_start(&self, now_ms: i64) -> Result<(), BudgetViolationReason> {
        let Some(reason) = self.exceeded(now_ms) else { return Ok(()) };
        let (root, wall) = (self.root(), self.wall_ms(now_ms));
        let mut budget = root.budget();
        let due = budget.refusal(&root.spent(), wall);
        root.tell(due);
        Err(reason)
    }

    /// The limit that is reached, where one is.
    pub fn exceeded(&self, now_ms: i64) -> Option<BudgetViolationReason> {
        let root = self.root();
        let (spent, wall) = (root.spent(), root.wall_ms(now_ms));
        root.budget().exceeded(&spent, wall)
    }

    /// Whether it counts for an engine that is nobody's child.
    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Those who listen to that engine are told; only the first one counts.
    pub(super) fn listened_by(&self, engine: Weak<dyn Listener>) {
        let _ = self.engine.set(engine);
    }

    /// A run begins; only the first one counts.
    pub(super) fn begin(&self, now_ms: i64) {
        let _ = self.root().begun.set(now_ms);
    }

    /// Tells what is due after something was used.
    pub(super) fn tell_what_is_due(&self, now_ms: i64) {
        let scope = if self.is_root() { BudgetScope::Session } else { BudgetScope::Subagent };
        let root = self.root();
        let wall = root.wall_ms(now_ms);
        let mut budget = root.budget();
        let due = budget.due(&scope, &root.spent(), wall);
        // Under the lock: two children never tell the same, nor in another order than it came.
        root.tell(due);
    }

    /// How long it is until time alone makes something due; none where it never does.
    pub(super) fn until_due(&self, now_ms: i64) -> Option<Duration> {
        let root = self.root();
        let wall = root.wall_ms(now_ms);
        root.budget().until_due(wall).map(Duration::from_millis)
    }

    fn tell(&self, due: impl IntoIterator<Item = Due>) {
        let Some(engine) = self.engine.get().and_then(Weak::upgrade) else { return };
        for Due { used_up, scope, snapshot } in due {
            let (scope, snapshot) = (&scope, &snapshot);
            engine.emit(match used_up {
                false => Event::BudgetNear { scope, snapshot },
                true => Event::BudgetUsedUp { scope, snapshot },
            });
        }
    }

    /// Milliseconds since the first run began.
    fn wall_ms(&self, now_ms: i64) -> u64 {
        let begun = self.root().begun.get().copied().unwrap_or(now_ms);
        u64::try_from(now_ms.saturating_sub(begun)).unwrap_or_default()
    }

    /// The ledger of the first agent.
    fn root(&self) -> &Ledger {
        self.parent.as_deref().map_or(self, Ledger::root)
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sums(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: &dyn Fn(&mut Spent)) {
        change(&mut self.sums());
        if let Some(parent) = &self.parent {
            parent.add(change);
        }
    }
}
