//! Usage of an agent and its subagents, and the notices near its limits.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use agentese::types::{BudgetScope, BudgetViolationReason, ToolCall, Usage};

use super::budget::{Budget, BudgetNotice, CumulativeUsage};
use super::run_limits::{RunLimitError, RunMeter};
use crate::config::{BudgetLimits, RunLimits};
use crate::engine::event::Event;
use crate::providers::tokens;
use crate::tools::ToolOutput;

/// Emits events of a usage tracker to the subscribers of an engine.
pub(in crate::engine) trait Listener: Send + Sync {
    /// Emits an event.
    fn emit(&self, event: Event<'_>);
}

/// Counts the usage of one engine and adds it to the tracker of the parent engine. The root tracker holds the
/// limits, because it includes the usage of all subagents. Its engine emits the notices about the limits.
#[derive(Default)]
pub struct UsageTracker {
    usage: Mutex<CumulativeUsage>,
    parent: Option<Arc<UsageTracker>>,
    budget: Mutex<Budget>,
    /// The limits of each run.
    run_limits: Mutex<RunLimits>,
    /// Usage of the current run, measured against `run_limits`.
    run_meter: Mutex<RunMeter>,
    /// Start of the first run, in milliseconds since the Unix epoch.
    started_at_ms: OnceLock<i64>,
    /// The engine that emits the notices.
    engine: OnceLock<Weak<dyn Listener>>,
}

impl std::fmt::Debug for UsageTracker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UsageTracker").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl UsageTracker {
    /// Creates a tracker with limits on all usage, and on each run.
    pub fn with_limits(limits: BudgetLimits, run_limits: RunLimits) -> Self {
        let (budget, run_limits) = (Mutex::new(Budget::new(limits)), Mutex::new(run_limits));
        Self { budget, run_limits, ..Self::default() }
    }

    /// Creates a tracker that adds its usage to the tracker `parent`.
    pub fn with_parent(parent: Arc<UsageTracker>) -> Self {
        Self { parent: Some(parent), ..Self::default() }
    }

    /// Creates a tracker with the same limits and no usage.
    pub fn fresh(&self) -> Self {
        let root = self.root();
        let (budget, run_limits) = (Mutex::new(root.budget().fresh()), Mutex::new(root.run_limits()));
        Self { budget, run_limits, ..Self::default() }
    }

    /// Replaces the limits from now on.
    pub(in crate::engine) fn set_limits(&self, limits: BudgetLimits, run_limits: RunLimits) {
        let root = self.root();
        root.budget().set_limits(limits);
        *root.run_limits.lock().unwrap_or_else(PoisonError::into_inner) = run_limits;
    }

    fn run_limits(&self) -> RunLimits {
        *self.run_limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_meter(&self) -> MutexGuard<'_, RunMeter> {
        self.run_meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts measuring the current run against the limits.
    pub(in crate::engine) fn start_run(&self, now_ms: i64) {
        let meter = RunMeter::new(self.root().run_limits(), now_ms, self.usage().cost);
        *self.run_meter() = meter;
    }

    /// Counts a turn of the run. Called when the turn has its answer.
    pub(in crate::engine) fn count_turn(&self) {
        self.run_meter().count_turn();
    }

    /// Records the result of a call; see [`RunMeter::count_result`].
    pub(in crate::engine) fn count_result(&self, call: &ToolCall, output: &mut ToolOutput) {
        self.run_meter().count_result(call, output);
    }

    /// Returns the remaining time of the run; `None` without a limit.
    pub(in crate::engine) fn until_end(&self, now_ms: i64) -> Option<Duration> {
        self.run_meter().until_end(now_ms)
    }

    /// Records that the time of the run has elapsed.
    pub(in crate::engine) fn run_out_of_time(&self) {
        self.run_meter().run_out_of_time();
    }

    /// Returns the limit that the run had reached at the last check.
    pub(in crate::engine) fn reached(&self) -> Option<RunLimitError> {
        let own = self.run_meter().reached().cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached()))
    }

    /// Returns the limit that prevents another turn: a limit of this run, or of a parent engine's run to which this
    /// run belongs.
    pub(in crate::engine) fn reached_before_turn(&self, now_ms: i64) -> Option<RunLimitError> {
        let cost = self.usage().cost;
        let own = self.run_meter().check(cost, now_ms).cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached_by_child(now_ms)))
    }

    fn reached_by_child(&self, now_ms: i64) -> Option<RunLimitError> {
        let cost = self.usage().cost;
        let own = self.run_meter().check_shared(cost, now_ms).cloned();
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.reached_by_child(now_ms)))
    }

    /// Returns the usage so far, of the engine and its subagents.
    pub fn usage(&self) -> CumulativeUsage {
        *self.lock_usage()
    }

    /// Counts an answer of a model.
    pub fn count_answer(&self, usage: &Usage) {
        let (tokens, cost) = (tokens(usage), usage.cost.total.as_f64().unwrap_or_default());
        self.add(&|sums| {
            sums.requests += 1;
            sums.tokens = sums.tokens.saturating_add(tokens);
            sums.input = sums.input.saturating_add(usage.input);
            sums.output = sums.output.saturating_add(usage.output);
            sums.cost += cost;
        });
    }

    /// Counts a tool call.
    pub fn count_tool_call(&self) {
        self.add(&|sums| sums.tool_calls += 1);
    }

    /// Counts a started subagent. Fails with the limit that is reached. The first failure also emits a
    /// notice.
    pub(in crate::engine) fn start_child(&self, now_ms: i64) -> Result<(), BudgetViolationReason> {
        self.check_child_budget(now_ms)?;
        self.add(&|sums| sums.children += 1);
        Ok(())
    }

    /// Checks that the budget permits more work for subagents. Fails and emits a notice like
    /// [`UsageTracker::start_child`], but counts no subagent.
    pub(in crate::engine) fn check_child_budget(&self, now_ms: i64) -> Result<(), BudgetViolationReason> {
        let Some(reason) = self.exceeded(now_ms) else { return Ok(()) };
        let (root, wall) = (self.root(), self.wall_ms(now_ms));
        let mut budget = root.budget();
        let due = budget.rejection_notice(&root.usage(), wall);
        root.emit_notices(due);
        Err(reason)
    }

    /// Returns the limit of the budget that is reached; `None` if no limit is reached.
    pub fn exceeded(&self, now_ms: i64) -> Option<BudgetViolationReason> {
        let root = self.root();
        let (usage, wall) = (root.usage(), root.wall_ms(now_ms));
        root.budget().exceeded(&usage, wall)
    }

    /// Returns `true` if the tracker belongs to an engine without a parent.
    pub(in crate::engine) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Sets the engine that emits the notices. Only the first call has an effect.
    pub(in crate::engine) fn set_listener(&self, engine: Weak<dyn Listener>) {
        let _ = self.engine.set(engine);
    }

    /// Records the start of the first run. Later calls have no effect.
    pub(in crate::engine) fn start(&self, now_ms: i64) {
        let _ = self.root().started_at_ms.set(now_ms);
    }

    /// Emits the notices that are due because the usage has increased.
    pub(in crate::engine) fn emit_due_notices(&self, now_ms: i64) {
        let scope = if self.is_root() { BudgetScope::Session } else { BudgetScope::Subagent };
        let root = self.root();
        let wall = root.wall_ms(now_ms);
        let mut budget = root.budget();
        let due = budget.due_notices(&scope, &root.usage(), wall);
        // Under the lock, so that two subagents never emit the same notice, nor emit notices in another
        // order.
        root.emit_notices(due);
    }

    /// Returns the time until the elapsed time makes a notice due. Returns `None` if no notice depends on the time.
    pub(in crate::engine) fn until_due(&self, now_ms: i64) -> Option<Duration> {
        let root = self.root();
        let wall = root.wall_ms(now_ms);
        root.budget().until_due(wall).map(Duration::from_millis)
    }

    fn emit_notices(&self, due: impl IntoIterator<Item = BudgetNotice>) {
        let Some(engine) = self.engine.get().and_then(Weak::upgrade) else { return };
        for BudgetNotice { is_exceeded, scope, snapshot } in due {
            let (scope, snapshot) = (&scope, &snapshot);
            engine.emit(match is_exceeded {
                false => Event::BudgetWarning { scope, snapshot },
                true => Event::BudgetExceeded { scope, snapshot },
            });
        }
    }

    /// Returns the number of milliseconds since the start of the first run.
    fn wall_ms(&self, now_ms: i64) -> u64 {
        let start = self.root().started_at_ms.get().copied().unwrap_or(now_ms);
        u64::try_from(now_ms.saturating_sub(start)).unwrap_or_default()
    }

    /// Returns the tracker of the first agent.
    fn root(&self) -> &UsageTracker {
        self.parent.as_deref().map_or(self, UsageTracker::root)
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_usage(&self) -> MutexGuard<'_, CumulativeUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: &dyn Fn(&mut CumulativeUsage)) {
        change(&mut self.lock_usage());
        if let Some(parent) = &self.parent {
            parent.add(change);
        }
    }
}
