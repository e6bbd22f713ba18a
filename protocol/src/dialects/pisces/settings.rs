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
    setting::<Bool>("task.verification.enabled", Some("false"), "Whether tasks may be verified at all."),
    setting::<Str>(
        "task.verification.defaultProfile",
        Some("\"\""),
        "The profile of `verify: true` and `verify: \"\"`.",
    ),
    setting::<Bool>(
        "task.verification.requireForIsolated",
        Some("false"),
        "Whether every isolated task is verified.",
    ),
    setting::<Count>("task.verification.maxRetries", Some("1"), "How many repairs are allowed."),
    setting::<Count>(
        "task.verification.failureContextLineLimit",
        Some("200"),
        "How many lines of a failed command's output a repair gets to see.",
    ),
    setting::<Map<TaskVerifyConfig>>("task.verification.profiles", Some("{}"), "The profiles by name."),
    setting::<Count>(
        "task.budget.maxWallTimeMs",
        None,
        "The longest wall time of a session, in milliseconds.",
    ),
    setting::<Count>("task.budget.maxInputTokens", None, "The most input tokens."),
    setting::<Count>("task.budget.maxOutputTokens", None, "The most output tokens."),
    setting::<Count>("task.budget.maxTotalTokens", None, "The most tokens altogether."),
    setting::<Num>("task.budget.maxCostUsd", None, "The most money, in US dollars."),
    setting::<Count>("task.budget.maxToolCalls", None, "The most tool calls."),
    setting::<Count>("task.budget.maxSubagents", None, "The most subagents."),
    setting::<Num>("task.budget.warnAtRatio", Some("0.8"), "At which part of a limit the warning comes."),
];
