"""Defects of pisces in subagents, their verification, and budgets."""

from changes import DefectCollection, drop, edit, late, put, renamed, twice, without

BOOK = DefectCollection("pisces")
pisces = BOOK.defect

VERIFIED = "verify_named_profile"
PASSED = "verify_inline_pass"
DISCARDED = "verify_discard_patch"
COST = "budget_cost"
START, END = "subagent_verification_start", "subagent_verification_end"
COMMAND_START, COMMAND_END = "subagent_verification_command_start", "subagent_verification_command_end"
WARNING, EXCEEDED = "budget_warning", "budget_exceeded"

for event in ["subagent_start", "subagent_end", START, END, COMMAND_START, COMMAND_END]:
    pisces(f"no-{event}", f"`{event}` never comes", VERIFIED, event, drop(event))
pisces("subagent-end-twice", "`subagent_end` comes twice", VERIFIED, "subagent_end", twice("subagent_end"))
pisces("end-before-verification", "`subagent_end` comes before its verification is done", VERIFIED, "subagent_end|subagent_verification_end|order", late(END, "subagent_end"))
pisces("start-behind-command", "a verification begins behind its first command", VERIFIED, f"{START}|{COMMAND_START}|order", late(START, COMMAND_START))
pisces("agent-missing", "`subagent_start` does not name the agent", VERIFIED, "agent", without("subagent_start", "agent"))
pisces("isolated-missing", "`subagent_start` does not say whether it is isolated", VERIFIED, "isolated", without("subagent_start", "isolated"))
pisces("isolated-wrong", "an isolated subagent says that it is not", VERIFIED, "isolated", put("subagent_start", "isolated", False))
pisces("id-changes", "the end of a subagent has another id", VERIFIED, "id", put("subagent_end", "id", "other"))
pisces("exit-code-zero", "a subagent whose verification failed ends with 0", VERIFIED, "exitCode", put("subagent_end", "exitCode", 0))
pisces("exit-code-as-text", "exit codes are texts", VERIFIED, "exitCode", put(COMMAND_END, "exitCode", str))
pisces("command-code-wrong", "a command that failed ends with 1", VERIFIED, "exitCode", put(COMMAND_END, "exitCode", 1))
pisces("profile-missing", "a verification does not name its profile", VERIFIED, "profile", without(START, "profile"))
pisces("attempts-from-zero", "attempts are counted from 0", VERIFIED, "attempt", put(START, "attempt", lambda it: it - 1))
pisces("command-name-renamed", "commands have `name`", VERIFIED, "commandName", renamed(COMMAND_START, "commandName", "name"))
pisces("duration-missing", "a command does not say how long it took", VERIFIED, "durationMs", without(COMMAND_END, "durationMs"))
pisces("status-passed", "a verification that failed says that it passed", VERIFIED, "status", put(END, "status", "passed"))
pisces("status-unknown", "the status is `error`", VERIFIED, "status", put(END, "status", "error"))
pisces("status-failed", "a verification that passed says that it failed", PASSED, "status", put(END, "status", "failed"))
pisces("verification-missing", "the end of a subagent has no verification", VERIFIED, "verification", without("subagent_end", "verification"))
pisces("verification-not-requested", "a verification says that nobody asked for it", VERIFIED, "requested", put("subagent_end", "verification.requested", False))
pisces("verification-without-status", "the result of a verification has no status", VERIFIED, "status", without("subagent_end", "verification.status"))
pisces("attempts-lost", "the result of a verification has no attempts", VERIFIED, "attempts", put("subagent_end", "verification.attempts", []))
pisces("retries-wrong", "a retry too many is counted", VERIFIED, "retriesUsed", put("subagent_end", "verification.retriesUsed", lambda it: it + 1))
pisces("commands-renamed", "an attempt has its commands in `commands`", VERIFIED, "commandResults", renamed("subagent_end", "verification.attempts.0.commandResults", "commands"))
pisces("policy-wrong", "another policy is named", DISCARDED, "onFailure", put("subagent_end", "verification.onFailure", "return_failure"))
pisces("no-warning", "`budget_warning` never comes", COST, WARNING, drop(WARNING))
pisces("no-exceeded", "`budget_exceeded` never comes", COST, EXCEEDED, drop(EXCEEDED))
pisces("warning-twice", "`budget_warning` comes twice", COST, WARNING, twice(WARNING))
pisces("scope-missing", "`budget_warning` has no scope", COST, "scope", without(WARNING, "scope"))
pisces("scope-unknown", "the scope is `global`", COST, "scope", put(WARNING, "scope", "global"))
pisces("snapshot-flat", "the snapshot stands in the event", COST, "snapshot", edit(WARNING, lambda it: it.update(it.pop("snapshot"))))
pisces("budget-status-ok", "a warning has the status `ok`", COST, "status", put(WARNING, "snapshot.status", "ok"))
pisces("reason-missing", "the snapshot has no reason", COST, "reason", without(WARNING, "snapshot.reason"))
pisces("reason-wrong", "the snapshot has another reason", COST, "reason", put(EXCEEDED, "snapshot.reason", "wall_time"))
pisces("cost-in-cents", "costs are in cents", COST, "costUsd", put(WARNING, "snapshot.costUsd", lambda it: it * 100))
pisces("tokens-wrong", "tokens in are counted as tokens out", COST, "outputTokens", edit(EXCEEDED, lambda it: it["snapshot"].update(outputTokens=it["snapshot"]["inputTokens"])))
pisces("calls-missing", "the snapshot has no `toolCalls`", COST, "toolCalls", without(EXCEEDED, "snapshot.toolCalls"))
