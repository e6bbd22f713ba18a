//! Comparison of usage with its limits, without I/O. The [`crate::engine::UsageTracker`] counts the usage,
//! and this module returns the notices that are due.

use agentese::types::{
    BudgetScope, BudgetSnapshot, BudgetSnapshotBuilder, BudgetStatus, BudgetViolationReason,
};
use serde_json::Number;

use crate::config::BudgetLimits;
use crate::providers::number;

/// A notice that is due because a limit is near or reached.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct BudgetNotice {
    /// `true` if the limit is reached.
    pub is_exceeded: bool,
    pub scope: BudgetScope,
    pub snapshot: BudgetSnapshot,
}

/// The limits of a session, and the notices about them that were emitted already.
#[derive(Debug, Default)]
pub(in crate::engine) struct Budget {
    limits: BudgetLimits,
    /// Dimensions about which a warning was emitted.
    warned: Vec<BudgetViolationReason>,
    /// `true` if a notice about a reached limit was emitted.
    exceeded_reported: bool,
    /// `true` if a notice about a rejected subagent was emitted.
    rejection_reported: bool,
}

/// One limit and the usage that it bounds.
struct Dimension {
    reason: BudgetViolationReason,
    used: f64,
    limit: f64,
}

impl Budget {
    pub fn new(limits: BudgetLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Replaces the limits from now on.
    pub fn set_limits(&mut self, limits: BudgetLimits) {
        self.limits = limits;
    }

    /// Returns the same limits, with no usage.
    pub fn fresh(&self) -> Self {
        Self::new(self.limits)
    }

    /// Returns the limits that are set, in the order of their checks.
    #[allow(clippy::cast_precision_loss)] // No count reaches 2^53 here.
    fn dimensions(&self, usage: &CumulativeUsage, wall_ms: u64) -> Vec<Dimension> {
        use BudgetViolationReason as Reason;
        let limits = &self.limits;
        let whole = |limit: Option<u64>| limit.map(|limit| limit as f64);
        [
            (Reason::WallTime, wall_ms as f64, whole(limits.max_wall_time_ms)),
            (Reason::InputTokens, usage.input as f64, whole(limits.max_input_tokens)),
            (Reason::OutputTokens, usage.output as f64, whole(limits.max_output_tokens)),
            (Reason::TotalTokens, usage.tokens as f64, whole(limits.max_total_tokens)),
            (Reason::Cost, usage.cost, limits.max_cost_usd),
            (Reason::ToolCalls, usage.tool_calls as f64, whole(limits.max_tool_calls)),
            (Reason::Subagents, usage.children as f64, whole(limits.max_subagents)),
        ]
        .into_iter()
        .filter_map(|(reason, used, limit)| Some(Dimension { reason, used, limit: limit? }))
        .collect()
    }

    /// Returns the first limit that is reached.
    pub fn exceeded(&self, usage: &CumulativeUsage, wall_ms: u64) -> Option<BudgetViolationReason> {
        let reached = |dimension: &Dimension| dimension.used >= dimension.limit;
        self.dimensions(usage, wall_ms).into_iter().find(reached).map(|dimension| dimension.reason)
    }

    /// Returns the notices that are due because `scope` has used more. Each dimension that is near its limit
    /// gives one warning. The first limit that is reached gives one notice. If usage passes the warning ratio
    /// and the limit at once, there is no warning.
    pub fn due_notices(
        &mut self,
        scope: &BudgetScope,
        usage: &CumulativeUsage,
        wall_ms: u64,
    ) -> Vec<BudgetNotice> {
        let exceeded = self.exceeded(usage, wall_ms);
        let status = if exceeded.is_some() { BudgetStatus::Exceeded } else { BudgetStatus::Warning };
        let mut due = Vec::new();
        for Dimension { reason, used, limit } in self.dimensions(usage, wall_ms) {
            let near = used >= limit * self.limits.warn_at_ratio && used < limit;
            if near && !self.warned.contains(&reason) {
                self.warned.push(reason.clone());
                let snapshot = snapshot(status, usage, wall_ms, Some(reason));
                due.push(BudgetNotice { is_exceeded: false, scope: scope.clone(), snapshot });
            }
        }
        if exceeded.is_some() && !std::mem::replace(&mut self.exceeded_reported, true) {
            let snapshot = snapshot(status, usage, wall_ms, exceeded);
            due.push(BudgetNotice { is_exceeded: true, scope: scope.clone(), snapshot });
        }
        due
    }

    /// Returns the notice about a subagent that the budget rejected. Later calls return `None`.
    pub fn rejection_notice(&mut self, usage: &CumulativeUsage, wall_ms: u64) -> Option<BudgetNotice> {
        let reason = self.exceeded(usage, wall_ms)?;
        let first = !std::mem::replace(&mut self.rejection_reported, true);
        let snapshot = snapshot(BudgetStatus::Exceeded, usage, wall_ms, Some(reason));
        first.then_some(BudgetNotice { is_exceeded: true, scope: BudgetScope::Task, snapshot })
    }

    /// Returns the number of milliseconds until the elapsed time makes a notice due. Returns `None` if no notice
    /// depends on the time.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub fn until_due(&self, wall_ms: u64) -> Option<u64> {
        let limit = self.limits.max_wall_time_ms?;
        let warning = ((limit as f64 * self.limits.warn_at_ratio).ceil() as u64).min(limit);
        if wall_ms < limit && !self.warned.contains(&BudgetViolationReason::WallTime) {
            return Some(warning.saturating_sub(wall_ms).max(1));
        }
        (!self.exceeded_reported).then(|| limit.saturating_sub(wall_ms).max(1))
    }
}

fn snapshot(
    status: BudgetStatus,
    spent: &CumulativeUsage,
    wall_ms: u64,
    reason: Option<BudgetViolationReason>,
) -> BudgetSnapshot {
    let mut snapshot = BudgetSnapshotBuilder {
        status,
        wall_time_ms: Number::from(wall_ms),
        input_tokens: spent.input,
        output_tokens: spent.output,
        total_tokens: spent.tokens,
        cost_usd: number(spent.cost),
        tool_calls: spent.tool_calls,
        subagents: spent.children,
    }
    .build();
    snapshot.reason = reason;
    snapshot
}

/// Sums of usage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CumulativeUsage {
    /// Number of tokens of all kinds.
    pub tokens: u64,
    /// Number of input tokens.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Cost in US dollars.
    pub cost: f64,
    /// Number of answered requests to models.
    pub requests: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// Number of started subagents.
    pub children: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(budget: &mut Budget, usage: CumulativeUsage, wall_ms: u64) -> Vec<(bool, String)> {
        let due = budget.due_notices(&BudgetScope::Session, &usage, wall_ms).into_iter();
        due.map(|due| (due.is_exceeded, due.snapshot.reason.unwrap().to_string())).collect()
    }

    #[test]
    fn each_dimension_is_warned_of_once_and_masks_no_other() {
        let limits = BudgetLimits {
            max_input_tokens: Some(100),
            max_tool_calls: Some(10),
            max_cost_usd: Some(1.0),
            ..BudgetLimits::default()
        };
        let mut budget = Budget::new(limits);
        let usage = |input, tool_calls, cost| CumulativeUsage {
            input,
            tool_calls,
            cost,
            ..CumulativeUsage::default()
        };
        assert_eq!(due(&mut budget, usage(79, 7, 0.1), 0), []);
        let near = [(false, "input_tokens".to_owned()), (false, "tool_calls".to_owned())];
        assert_eq!(due(&mut budget, usage(80, 8, 0.1), 0), near);
        assert_eq!(due(&mut budget, usage(85, 9, 0.1), 0), []);
        // One limit is reached and another is near: both are reported.
        let both = [(false, "cost".to_owned()), (true, "input_tokens".to_owned())];
        assert_eq!(due(&mut budget, usage(100, 9, 0.9), 0), both);
        assert_eq!(due(&mut budget, usage(200, 20, 2.0), 0), [], "it is used up once");
        assert_eq!(budget.exceeded(&usage(0, 10, 0.0), 0), Some(BudgetViolationReason::ToolCalls));
    }

    #[test]
    fn a_jump_over_the_warning_is_not_warned_of() {
        let mut budget = Budget::new(BudgetLimits { max_input_tokens: Some(90), ..BudgetLimits::default() });
        let usage = CumulativeUsage { input: 100, ..CumulativeUsage::default() };
        assert_eq!(due(&mut budget, usage, 0), [(true, "input_tokens".to_owned())]);
        let first = budget.rejection_notice(&usage, 0).unwrap();
        assert_eq!((first.scope, first.snapshot.status), (BudgetScope::Task, BudgetStatus::Exceeded));
        assert_eq!(budget.rejection_notice(&usage, 0), None, "reported once");
    }

    #[test]
    fn time_is_waited_for_until_its_warning_and_until_its_end() {
        let mut budget =
            Budget::new(BudgetLimits { max_wall_time_ms: Some(1000), ..BudgetLimits::default() });
        assert_eq!(budget.until_due(0), Some(800));
        assert_eq!(due(&mut budget, CumulativeUsage::default(), 800), [(false, "wall_time".to_owned())]);
        assert_eq!(budget.until_due(800), Some(200));
        assert_eq!(due(&mut budget, CumulativeUsage::default(), 1000), [(true, "wall_time".to_owned())]);
        assert_eq!(budget.until_due(1000), None);
        assert_eq!(Budget::default().until_due(5), None);
    }
}
