"""Reducers for everything besides the messages: queue, dialogs, notices, status, settings, tasks.
"""

import dataclasses
from dataclasses import replace
from typing import Any, Literal

from agentese.view.conversation import Block, Context, Conversation, Draft, Json, Notice, OpenQuestion, PendingInput, Usage
from agentese.view.conversation import camel, next_key
from agentese.view.conversation import member as kind_of
from agentese.view.messages import change_tool
from agentese.view.reducer_context import ReducerContext, id_text

Slots = dict[str, Json]

NOTICES = 100
"""Maximum number of stored notices."""


def wait(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    key, keyed = next_key(conversation)
    text = slots.get("text")
    item = PendingInput.of({"mode": "prompt", **slots, "text": text if isinstance(text, str) else "", "key": key})
    return replace(keyed, waiting=(*keyed.waiting, replace(item, id=context.id)))


def waited(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    state: Any = slots.get("state")
    waiting = conversation.waiting
    key = None if context.id is None else id_text(context.id)
    places = [place for place, item in enumerate(waiting) if key is not None and id_text(item.id) == key]
    if not places:
        return conversation
    [place, *_] = places
    left = () if state == "gone" else (replace(waiting[place], state=state),)
    return replace(conversation, waiting=(*waiting[:place], *left, *waiting[place + 1 :]))


def queue(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    left = list(conversation.waiting)
    queued: list[PendingInput] = []
    modes: list[tuple[Literal["steer", "followUp"], str]] = [("steer", "steering"), ("followUp", "followUp")]
    for mode, name in modes:
        texts = slots.get(name)
        for text in texts if isinstance(texts, list) else []:
            if not isinstance(text, str):
                continue
            # A prompt that was sent during a run is now in one of the queues.
            same = (item for item in left if item.text == text and item.mode in (mode, "prompt"))
            item = next(same, None)
            if item is not None:
                left.remove(item)
            else:
                key, conversation = next_key(conversation)
                item = PendingInput(key=key, text=text)
            queued.append(replace(item, mode=mode, state="queued"))
    others = [item for item in left if item.mode == "prompt" or item.state == "sent"]
    return replace(conversation, waiting=(*others, *queued))


def _assign(conversation: Conversation, name: str, value: Json) -> Conversation:
    """Sets a member by its name. A name with a dot refers to a nested member."""
    first, _, second = name.partition(".")
    known = {camel(field.name): field.name for field in dataclasses.fields(Conversation)}
    member = known.get(first)
    if member is None:
        return conversation
    old: Any = getattr(conversation, member)
    if isinstance(old, dict):
        others = {key: item for key, item in old.items() if key != second}
        made: Any = others if value is None else {**others, second: value}
    elif second:
        base = Context() if old is None else old
        made = replace(base, **{second: kind_of(base, second, value)})
    else:
        made = None if value is None else getattr(Conversation.of({"dialect": "", first: value}), member)
    return conversation if made == old else replace(conversation, **{member: made})


def set_members(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    for name in context.names:
        conversation = _assign(conversation, name, slots.get(name))
    return conversation


def keep(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    for name, value in slots.items():
        conversation = _assign(conversation, name, value)
    return conversation


def usage(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    members = slots.get("usage")
    return replace(conversation, usage=Usage.of(members)) if isinstance(members, dict) else conversation


def ask(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    if context.id is None:
        return conversation
    key, keyed = next_key(conversation)
    question = OpenQuestion.of({**slots, "key": key, "id": context.id, "method": context.name, "at": context.at})
    return replace(keyed, dialogs=(*keyed.dialogs, question))


def remove_question(conversation: Conversation, id: Json) -> Conversation:
    """Removes the question with that id."""
    dialogs = tuple(question for question in conversation.dialogs if id_text(question.id) != id_text(id))
    return conversation if len(dialogs) == len(conversation.dialogs) else replace(conversation, dialogs=dialogs)


def remove_expired(conversation: Conversation, now: float | None) -> Conversation:
    """Removes questions whose time limit has passed, because the agent has continued without an answer."""

    def is_open(question: OpenQuestion) -> bool:
        at, timeout = question.at, question.timeout_ms
        return now is None or at is None or timeout is None or now < at + timeout

    dialogs = tuple(filter(is_open, conversation.dialogs))
    return conversation if len(dialogs) == len(conversation.dialogs) else replace(conversation, dialogs=dialogs)


def withdraw(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    return remove_question(conversation, slots.get("id"))


def notify(conversation: Conversation, level: Any, text: str, source: str | None, at: float | None) -> Conversation:
    """Adds a notice."""
    key, keyed = next_key(conversation)
    notice = Notice(key=key, level=level, text=text, source=source, at=at)
    return replace(keyed, notices=(*keyed.notices[1 - NOTICES :], notice))


def notice(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    text, source = slots.get("text"), slots.get("source")
    if not isinstance(text, str):
        return conversation
    level = slots.get("level")
    known = level if level in ("warning", "error") else "info"
    return notify(conversation, known, text, source if isinstance(source, str) else None, context.at)


def entry(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    key = slots.get("key")
    if not isinstance(key, str):
        return conversation
    is_status = slots.get("in") == "status"
    old: dict[str, Any] = dict(conversation.status if is_status else conversation.widgets)
    others = {name: value for name, value in old.items() if name != key}
    value = slots.get("value")
    if value is not None and not (isinstance(value, str) if is_status else _is_widget(value)):
        return conversation
    made = others if value is None else {**others, key: value}
    if made == old:
        return conversation
    return replace(conversation, status=made) if is_status else replace(conversation, widgets=made)


def _is_widget(value: Json) -> bool:
    """Returns `True` if the value has `lines`, a list of strings."""
    lines = value.get("lines") if isinstance(value, dict) else None
    return isinstance(lines, list) and all(isinstance(line, str) for line in lines)


def draft(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    text = slots.get("text")
    count = 1 if conversation.draft is None else conversation.draft.count + 1
    return replace(conversation, draft=Draft(text=text, count=count)) if isinstance(text, str) else conversation


def task(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    if not isinstance(slots.get("id"), str):
        return conversation
    tasks = conversation.tasks
    places = [place for place, known in enumerate(tasks) if known["id"] == slots["id"]]
    if not places:
        return replace(conversation, tasks=(*tasks, {"state": "running", **slots}))
    [place] = places
    return replace(conversation, tasks=(*tasks[:place], {**tasks[place], **slots}, *tasks[place + 1 :]))


def child(conversation: Conversation, slots: Slots, context: ReducerContext) -> Conversation:
    call, event = slots.get("callId"), slots.get("event")
    if not isinstance(call, str) or not isinstance(event, dict):
        return conversation

    def folded(block: Block) -> Block:
        return replace(block, child=context.child(block.child, event))

    return change_tool(conversation, call, folded, create_missing=True)
