"""Differences between two states of a conversation, as events in a fixed order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from agentese.any import event as events
from agentese.any.event import Event
from agentese.view.conversation import Block, Conversation, Message, Usage

Emit = Callable[[Event], None]

NAME_ONLY_MEMBERS = (
    "session", "model", "thinking_level", "settings", "commands", "models", "fork_points", "todos", "tasks", "shells",
    "status", "widgets", "title", "draft",
)  # fmt: skip
"""Members of the conversation whose changes are reported without the new value, by the name of the
member.
"""

TAIL = 16
"""Number of messages at the end that are compared one by one. The earlier messages are first
compared as one slice.
"""

LEAST_COST = 1e-9
"""Smallest difference between costs that is reported, in US dollars. Smaller ones are rounding errors."""


def differences(old: Conversation, now: Conversation) -> list[Event]:
    """Returns the events for the change from one state to the next. The states are those before and after one
    frame."""
    emitted: list[Event] = []
    if old is now:
        return emitted
    emit = emitted.append
    begins = old.run.state == "idle"
    if begins:
        _emit_state(old, now, emit)
    compaction = now.run.compaction
    if compaction is not None and old.run.compaction is None:
        emit(events.CompactionStarted(reason=compaction.reason))
    _emit_messages(old, now, emit)
    if compaction is None and old.run.compaction is not None:
        emit(events.CompactionEnded())
    if old.waiting != now.waiting:
        emit(events.QueueChanged(waiting=now.waiting))
    open_now, open_before = {one.key for one in now.dialogs}, {one.key for one in old.dialogs}
    for question in old.dialogs:
        if question.key not in open_now:
            emit(events.QuestionClosed(question=question.key))
    for question in now.dialogs:
        if question.key not in open_before:
            emit(events.QuestionOpened(question=question))
    # Keys grow, so each notice behind the last known key is new.
    known = old.notices[-1].key if old.notices else None
    first = next((place + 1 for place, notice in enumerate(now.notices) if notice.key == known), 0)
    for notice in now.notices[first:]:
        emit(events.NoticeAdded(notice=notice))
    if not _is_same_usage(old.usage, now.usage) or old.context != now.context:
        emit(events.UsageChanged(usage=now.usage, context=now.context))
    retry = now.run.retry
    if retry is None and old.run.retry is not None:
        emit(events.RetryEnded())
    if retry is not None and old.run.retry != retry:
        emit(events.RetryStarted(retry=retry))
    members = tuple(name for name in NAME_ONLY_MEMBERS if getattr(old, name) != getattr(now, name))
    if members:
        emit(events.MembersChanged(members=members))
    if not begins:
        _emit_state(old, now, emit)
    return emitted


def _is_same_usage(old: Usage, now: Usage) -> bool:
    """Returns `True` if tokens and costs are equal. Rounding errors of the costs are ignored."""
    if old.cost is None or now.cost is None:
        return old == now
    return abs(old.cost - now.cost) < LEAST_COST and replace(old, cost=None) == replace(now, cost=None)


def _emit_state(old: Conversation, now: Conversation, emit: Emit) -> None:
    if (old.run.state, old.run.error) != (now.run.state, now.run.error):
        emit(events.StateChanged(state=now.run.state, error=now.run.error))


def _emit_messages(old: Conversation, now: Conversation, emit: Emit) -> None:
    if old.messages is now.messages:
        return
    both = min(len(old.messages), len(now.messages))
    changed = _changed(old.messages[:both], now.messages[:both])
    if both < len(old.messages) or any(old.messages[place].key != now.messages[place].key for place in changed):
        return emit(events.ConversationReplaced(messages=now.messages))
    for place in changed:
        _emit_growth(old.messages[place], now.messages[place], emit)
    for message in now.messages[both:]:
        emit(events.MessageStarted(message=message.key, role=message.role))
        initial = Message(key=message.key, role=message.role, state="growing")
        if message.state == "growing":
            _emit_growth(initial, message, emit)
        else:
            _emit_tools(initial, message, emit)
            emit(events.MessageEnded(message=message))


def _changed(old: tuple[Message, ...], now: tuple[Message, ...]) -> list[int]:
    """Returns the indices of the messages that changed."""
    # Between two frames, almost always one of the last messages changes. A comparison of slices
    # skips the others quickly.
    passed = max(0, len(old) - TAIL)
    if old[:passed] != now[:passed]:
        passed = 0
    return [place for place in range(passed, len(old)) if old[place] is not now[place]]


def _emit_growth(old: Message, now: Message, emit: Emit) -> None:
    """Emits the changes of a message: new text, progress of its tools, its end, and its removal from the
    context."""
    # Messages of other roles arrive complete, in one frame.
    if old.state == "growing" and now.role == "assistant":
        for place, block in enumerate(now.blocks):
            _emit_block_growth(now.key, place, old.blocks[place] if place < len(old.blocks) else None, block, emit)
    _emit_tools(old, now, emit)
    if old.state == "growing" and now.state != "growing":
        emit(events.MessageEnded(message=now))
    if now.gone and not old.gone:
        emit(events.MessageGone(message=now.key))


def _emit_block_growth(message: str, place: int, old: Block | None, now: Block, emit: Emit) -> None:
    if now is old:
        return
    if now.type == "tool" and (old is None or old.type == "tool"):
        return _emit_argument_growth(message, place, old, now, emit)
    if now.type in ("text", "thinking"):
        before = "" if old is None else (old.text or "") if old.type == now.type else None
        text = now.text or ""
        if before is not None and text.startswith(before):
            more = text[len(before) :]
            if more == "":
                return
            grew = events.TextGrew if now.type == "text" else events.ThinkingGrew
            return emit(grew(message=message, block=place, text=more))
    if old != now:
        emit(events.BlockChanged(message=message, block=place, value=now))


def _emit_argument_growth(message: str, place: int, old: Block | None, now: Block, emit: Emit) -> None:
    call_id, name = now.call_id or "", now.name or ""
    is_new = old is None or (old.name, old.call_id) != (now.name, now.call_id)
    known = (old.arguments_text if old is not None else None) or ""
    whole = now.arguments_text
    text = whole[len(known) :] if whole is not None and len(whole) > len(known) and whole.startswith(known) else None
    before = old.arguments if old is not None else None
    given: Any = now.arguments if now.arguments is not None and before != now.arguments else None
    if is_new or text is not None or given is not None:
        grew = events.ArgumentsGrew(message=message, block=place, call_id=call_id, name=name, text=text, arguments=given)
        emit(grew)


def _emit_tools(old: Message, now: Message, emit: Emit) -> None:
    if old.blocks is now.blocks:
        return
    known: dict[str | None, Block] = {}
    for block in old.blocks:
        if block.type == "tool":
            known.setdefault(block.call_id, block)
    for block in now.blocks:
        if block.type == "tool" and known.get(block.call_id) is not block:
            _emit_tool_progress(known.get(block.call_id), block, emit)


def _is_ended(tool: Block) -> bool:
    return tool.state not in ("coming", "running")


def _emit_tool_progress(old: Block | None, now: Block, emit: Emit) -> None:
    call_id, name = now.call_id or "", now.name or ""
    if (old is None or old.state == "coming") and now.state == "running":
        emit(events.ToolStarted(call_id=call_id, name=name, arguments=now.arguments))
    is_shown = old is not None and old.output == now.output and old.details == now.details
    if now.state == "running" and now.output is not None and not is_shown:
        emit(events.ToolUpdated(call_id=call_id, output=now.output, details=now.details))
    if (old is None or not _is_ended(old)) and _is_ended(now):
        state = cast(Any, now.state)
        emit(events.ToolEnded(call_id=call_id, name=name, state=state, result=now.result or (), details=now.details))
