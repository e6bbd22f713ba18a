"""Differences between two states of a conversation, as events in a fixed order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from agentese.any import event as events
from agentese.any.event import Event
from agentese.view.conversation import Block, Conversation, Message, Usage

Tell = Callable[[Event], None]

OTHERS = (
    "session", "model", "thinking_level", "settings", "commands", "models", "fork_points", "todos", "tasks", "shells",
    "status", "widgets", "title", "draft",
)  # fmt: skip
"""Members of the conversation whose change is reported by name alone."""

TAIL = 16
"""Number of messages at the end that are compared one by one before the others."""

LEAST_COST = 1e-9
"""Smallest reported difference of costs in US dollars."""


def differences(old: Conversation, now: Conversation) -> list[Event]:
    """Returns the events between two states that are one frame apart."""
    told: list[Event] = []
    if old is now:
        return told
    tell = told.append
    begins = old.run.state == "idle"
    if begins:
        _state(old, now, tell)
    compaction = now.run.compaction
    if compaction is not None and old.run.compaction is None:
        tell(events.CompactionBegan(reason=compaction.reason))
    _messages(old, now, tell)
    if compaction is None and old.run.compaction is not None:
        tell(events.CompactionEnded())
    if old.waiting != now.waiting:
        tell(events.Queue(waiting=now.waiting))
    open_now, open_before = {one.key for one in now.dialogs}, {one.key for one in old.dialogs}
    for question in old.dialogs:
        if question.key not in open_now:
            tell(events.Answered(question=question.key))
    for question in now.dialogs:
        if question.key not in open_before:
            tell(events.Asked(question=question))
    # Keys grow, so each notice behind the last known key is new.
    known = old.notices[-1].key if old.notices else None
    first = next((place + 1 for place, notice in enumerate(now.notices) if notice.key == known), 0)
    for notice in now.notices[first:]:
        tell(events.NoticeCame(notice=notice))
    if not _used_the_same(old.usage, now.usage) or old.context != now.context:
        tell(events.UsageChanged(usage=now.usage, context=now.context))
    retry = now.run.retry
    if retry is None and old.run.retry is not None:
        tell(events.RetryEnded())
    if retry is not None and old.run.retry != retry:
        tell(events.RetryBegan(retry=retry))
    members = tuple(name for name in OTHERS if getattr(old, name) != getattr(now, name))
    if members:
        tell(events.Changed(members=members))
    if not begins:
        _state(old, now, tell)
    return told


def _used_the_same(old: Usage, now: Usage) -> bool:
    """Returns `True` if the tokens are equal, and the costs are equal except for rounding."""
    if old.cost is None or now.cost is None:
        return old == now
    return abs(old.cost - now.cost) < LEAST_COST and replace(old, cost=None) == replace(now, cost=None)


def _state(old: Conversation, now: Conversation, tell: Tell) -> None:
    if (old.run.state, old.run.error) != (now.run.state, now.run.error):
        tell(events.StateChanged(state=now.run.state, error=now.run.error))


def _messages(old: Conversation, now: Conversation, tell: Tell) -> None:
    if old.messages is now.messages:
        return
    both = min(len(old.messages), len(now.messages))
    changed = _changed(old.messages[:both], now.messages[:both])
    if both < len(old.messages) or any(old.messages[place].key != now.messages[place].key for place in changed):
        return tell(events.Replaced(messages=now.messages))
    for place in changed:
        _growth(old.messages[place], now.messages[place], tell)
    for message in now.messages[both:]:
        tell(events.MessageBegan(message=message.key, role=message.role))
        begun = Message(key=message.key, role=message.role, state="growing")
        if message.state == "growing":
            _growth(begun, message, tell)
        else:
            _tools(begun, message, tell)
            tell(events.MessageEnded(message=message))


def _changed(old: tuple[Message, ...], now: tuple[Message, ...]) -> list[int]:
    """Returns the indices of the messages that changed."""
    # Between two frames, almost always one of the last messages changes. A slice comparison skips the others
    # without a loop.
    passed = max(0, len(old) - TAIL)
    if old[:passed] != now[:passed]:
        passed = 0
    return [place for place in range(passed, len(old)) if old[place] is not now[place]]


def _growth(old: Message, now: Message, tell: Tell) -> None:
    """Emits the growth of a message, the progress of its tools and its end."""
    # Messages of other roles arrive whole.
    if old.state == "growing" and now.role == "assistant":
        for place, block in enumerate(now.blocks):
            _grown(now.key, place, old.blocks[place] if place < len(old.blocks) else None, block, tell)
    _tools(old, now, tell)
    if old.state == "growing" and now.state != "growing":
        tell(events.MessageEnded(message=now))
    if now.gone and not old.gone:
        tell(events.MessageGone(message=now.key))


def _grown(message: str, place: int, old: Block | None, now: Block, tell: Tell) -> None:
    if now is old:
        return
    if now.type == "tool" and (old is None or old.type == "tool"):
        return _written(message, place, old, now, tell)
    if now.type in ("text", "thinking"):
        before = "" if old is None else (old.text or "") if old.type == now.type else None
        text = now.text or ""
        if before is not None and text.startswith(before):
            more = text[len(before) :]
            if more == "":
                return
            grew = events.TextGrew if now.type == "text" else events.ThinkingGrew
            return tell(grew(message=message, block=place, text=more))
    if old != now:
        tell(events.BlockChanged(message=message, block=place, value=now))


def _written(message: str, place: int, old: Block | None, now: Block, tell: Tell) -> None:
    call_id, name = now.call_id or "", now.name or ""
    is_new = old is None or (old.name, old.call_id) != (now.name, now.call_id)
    known = (old.arguments_text if old is not None else None) or ""
    whole = now.arguments_text
    text = whole[len(known) :] if whole is not None and len(whole) > len(known) and whole.startswith(known) else None
    before = old.arguments if old is not None else None
    given: Any = now.arguments if now.arguments is not None and before != now.arguments else None
    if is_new or text is not None or given is not None:
        grew = events.ArgumentsGrew(message=message, block=place, call_id=call_id, name=name, text=text, arguments=given)
        tell(grew)


def _tools(old: Message, now: Message, tell: Tell) -> None:
    if old.blocks is now.blocks:
        return
    known: dict[str | None, Block] = {}
    for block in old.blocks:
        if block.type == "tool":
            known.setdefault(block.call_id, block)
    for block in now.blocks:
        if block.type == "tool" and known.get(block.call_id) is not block:
            _ran(known.get(block.call_id), block, tell)


def _is_over(tool: Block) -> bool:
    return tool.state not in ("coming", "running")


def _ran(old: Block | None, now: Block, tell: Tell) -> None:
    call_id, name = now.call_id or "", now.name or ""
    if (old is None or old.state == "coming") and now.state == "running":
        tell(events.ToolStarted(call_id=call_id, name=name, arguments=now.arguments))
    is_shown = old is not None and old.output == now.output and old.details == now.details
    if now.state == "running" and now.output is not None and not is_shown:
        tell(events.ToolUpdated(call_id=call_id, output=now.output, details=now.details))
    if (old is None or not _is_over(old)) and _is_over(now):
        state = cast(Any, now.state)
        tell(events.ToolEnded(call_id=call_id, name=name, state=state, result=now.result or (), details=now.details))
