//! The settings of pisces' document: task verification and budgets.

use super::TaskVerifyConfig;
use crate::model::Setting;
use crate::typed::{Bool, Count, Map, Num, Str, WireType};

const fn setting<T: WireType>(
    key: &'static str,
    default: Option<&'static str>,
    doc: &'static str,
) -> Setting {
    Setting { key, ty: T::TY, default, doc }
}

pub(super) const SETTINGS: &[Setting] = &[
    setting::<Bool>("task.verification.enabled", Some("false"), "`true` to allow the verification of tasks."),
    setting::<Str>(
        "task.verification.defaultProfile",
        Some("\"\""),
        "The profile for `verify: true` and `verify: \"\"`.",
    ),
    setting::<Bool>(
        "task.verification.requireForIsolated",
        Some("false"),
        "`true` to verify every isolated task.",
    ),
    setting::<Count>("task.verification.maxRetries", Some("1"), "Maximum number of repairs."),
    setting::<Count>(
        "task.verification.failureContextLineLimit",
        Some("200"),
        "Number of lines of a failed command's output that a repair receives.",
    ),
    setting::<Map<TaskVerifyConfig>>("task.verification.profiles", Some("{}"), "The profiles by name."),
    setting::<Count>("task.budget.maxWallTimeMs", None, "Maximum wall time of a session in milliseconds."),
    setting::<Count>("task.budget.maxInputTokens", None, "Maximum number of input tokens."),
    setting::<Count>("task.budget.maxOutputTokens", None, "Maximum number of output tokens."),
    setting::<Count>("task.budget.maxTotalTokens", None, "Maximum number of tokens in total."),
    setting::<Num>("task.budget.maxCostUsd", None, "Maximum cost in US dollars."),
    setting::<Count>("task.budget.maxToolCalls", None, "Maximum number of tool calls."),
    setting::<Count>("task.budget.maxSubagents", None, "Maximum number of subagents."),
    setting::<Num>(
        "task.budget.warnAtRatio",
        Some("0.8"),
        "Fraction of a limit at which the agent sends a warning.",
    ),
];
