"""Reducers for the activity of the agent."""

from dataclasses import replace
from typing import Any, Literal

from agentese.view.conversation import Block, Compaction, Conversation, Json, Message, Retry, Shell, next_key
from agentese.view.messages import add, message_of, replace_message
from agentese.view.panels import notify
from agentese.view.reducer_context import ReducerContext

Slots = dict[str, Json]


def _with_run(conversation: Conversation, **members: Any) -> Conversation:
    """Changes members of the run, and updates its derived state."""
    run = replace(conversation.run, **members)
    state: Literal["idle", "working", "retrying", "compacting", "aborting"] = (
        "working" if run.working else "idle" if run.retry is None else "retrying"
    )
    if run.compaction is not None:
        state = "compacting"
    if run.aborting:
        state = "aborting"
    run = replace(run, state=state)
    return conversation if run == conversation.run else replace(conversation, run=run)


def work(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    on, error, refusal = slots.get("on"), slots.get("error"), slots.get("refusal")
    run = conversation.run
    if not isinstance(on, bool):
        return conversation
    if on:
        return conversation if run.working else _with_run(conversation, working=True, error=None)
    if not isinstance(error, str):
        error = None if run.aborting else conversation.internal.failure
    if error is None and run.working and not run.aborting and isinstance(refusal, str):
        error = refusal
    return _end_run(_with_failure(conversation, None), error, is_dropped=slots.get("dropped") is True)


def _end_run(conversation: Conversation, error: str | None, *, is_dropped: bool) -> Conversation:
    run = conversation.run
    is_growing = any(message.state == "growing" for message in conversation.messages)
    if not run.working and not is_growing and error is None:
        return conversation
    failed = error is not None
    state: Literal["aborted", "failed", "done"] = "aborted" if run.aborting else "failed" if failed else "done"
    over = _end_messages(conversation, state, is_dropped=is_dropped)
    return _with_run(over, working=False, aborting=False, activity=None, error=error if failed else run.error)


def _with_failure(conversation: Conversation, failure: str | None) -> Conversation:
    """Sets the reason for the failure of the current run."""
    if conversation.internal.failure == failure:
        return conversation
    return replace(conversation, internal=replace(conversation.internal, failure=failure))


def outcome(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    """Updates the outcome of the current run. The reason of a failure is set only when the run has
    ended.
    """
    told, message = slots.get("told"), slots.get("message")
    if told == "retried":
        return conversation
    if told != "failed":
        return _with_failure(conversation, None)
    before = conversation.internal.failure or "the agent gave no reason"
    return _with_failure(conversation, message if isinstance(message, str) else before)


def close_conversation(conversation: Conversation, reason: str) -> Conversation:
    """Ends all work and removes all questions, because the connection has ended."""
    is_idle = conversation.run.state == "idle"
    left = _with_run(_with_failure(conversation, None), retry=None, compaction=None)
    calm = _with_run(_end_run(left, None if is_idle else reason, is_dropped=False))
    return replace(calm, dialogs=(), shells=()) if calm.dialogs or calm.shells else calm


def _end_messages(
    conversation: Conversation, state: Literal["aborted", "failed", "done"], *, is_dropped: bool
) -> Conversation:
    """Ends the messages of a run."""
    for place in range(len(conversation.messages) - 1, -1, -1):
        message = conversation.messages[place]
        is_growing = message.state == "growing"
        if message.role == "user" and not is_growing:
            break
        message = replace(message, blocks=tuple(_end_tool(block) for block in message.blocks))
        if is_growing:
            message = replace(message, state=state, gone=True if is_dropped else message.gone)
        conversation = replace_message(conversation, place, message)
    waiting = tuple(item for item in conversation.waiting if item.mode != "prompt" or item.state == "sent")
    held = conversation.internal.held
    ended = replace(conversation, waiting=waiting, internal=replace(conversation.internal, held=()))
    for message in held:
        ended = add(ended, message)
    return ended


def _end_tool(block: Block) -> Block:
    """Marks a tool call without a result as skipped, or as failed if it was running."""
    if block.state == "coming":
        return replace(block, state="skipped")
    return replace(block, state="failed") if block.state == "running" else block


def abort(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    if slots.get("over") is True:
        return _with_run(conversation, aborting=False)
    return conversation if conversation.run.state == "idle" else _with_run(conversation, aborting=True)


def compacting(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    return _with_run(conversation, compaction=Compaction(reason=slots.get("reason")))


def compacted(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    run = conversation.run
    # Some agents report the compaction in events, and respond to the command as well.
    if run.compaction is None:
        return conversation
    notified = _with_run(conversation, compaction=None, aborting=run.aborting and run.working)
    error = slots.get("error")
    if isinstance(error, str):
        notified = notify(notified, "error", error, context.name, context.at)
    summary = message_of(slots)
    if summary is None:
        return replace(notified, complete=False) if slots.get("unknown") is True else notified

    def is_old(message: Message) -> bool:
        return message.role == "summary" and message.kind == summary.kind and not message.gone

    messages = tuple(replace(known, gone=True) if is_old(known) else known for known in notified.messages)
    # The frame does not name the earlier messages that remain in the context.
    return add(replace(notified, complete=False, messages=messages), summary)


def retry(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    parsed = Retry.of({name: value for name, value in slots.items() if name != "reason"})
    # `retry` now holds the reason of the failure, so `error` is removed.
    error = conversation.run.error if slots.get("reason") == "summary" else None
    retrying = _with_run(conversation, retry=replace(parsed, at=context.at), error=error)
    # The agent removes the failed answer from the context before the retry.
    last = retrying.messages[-1] if retrying.messages else None
    if slots.get("reason") == "summary" or last is None or (last.role, last.state) != ("assistant", "failed"):
        return retrying
    return replace_message(retrying, len(retrying.messages) - 1, replace(last, gone=True))


def retried(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    run = conversation.run
    error = slots.get("error")
    failed = error if isinstance(error, str) else run.error
    return _with_run(conversation, retry=None, error=failed, aborting=run.aborting and run.working)


def shell(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    key, keyed = next_key(conversation)
    known = Shell(key=key, command=str(slots.get("command", "")), id=context.id)
    return replace(keyed, shells=(*keyed.shells, known))


def shell_output(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    id, text = slots.get("id"), slots.get("text")
    shells = conversation.shells
    places = [place for place, known in enumerate(shells) if id is None or known.id == id]
    if not places or not isinstance(text, str):
        return conversation
    place = places[-1] if id is None else places[0]
    grown = replace(shells[place], output=shells[place].output + text)
    return replace(conversation, shells=(*shells[:place], grown, *shells[place + 1 :]))


def shell_done(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    left = tuple(known for known in conversation.shells if known.id != context.id)
    over = replace(conversation, shells=left)
    message = message_of(slots)
    if message is None:
        return over
    # The agent adds the message to the conversation after the current run.
    if conversation.run.working:
        return replace(over, internal=replace(over.internal, held=(*over.internal.held, message)))
    return add(over, message)
