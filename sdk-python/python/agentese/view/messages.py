"""Reducers for messages and their blocks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from agentese.view.conversation import Block, Conversation, Json, Message, Usage, next_key
from agentese.view.reducer_context import ReducerContext, id_text

Slots = dict[str, Json]

GROWING = ("text", "argumentsText")
"""Bindings whose new values are appended to the old text."""


def add(conversation: Conversation, message: Message) -> Conversation:
    """Appends a message."""
    key, keyed = next_key(conversation)
    message = replace(message, key=key)
    added = replace(keyed, messages=(*keyed.messages, message))
    return _remove_pending(added, message.text) if message.role == "user" else added


def _remove_pending(conversation: Conversation, text: str) -> Conversation:
    """Removes user input from the list of waiting input, after it became part of the conversation.
    """
    waiting = conversation.waiting
    same = [place for place, item in enumerate(waiting) if item.text == text]
    # The agent may have expanded a template or a skill, so the message differs from the prompt.
    places = same or [place for place, item in enumerate(waiting) if item.mode == "prompt"]
    if not places:
        return conversation
    return replace(conversation, waiting=waiting[: places[0]] + waiting[places[0] + 1 :])


def arrive(conversation: Conversation, _slots: Slots, context: ReducerContext) -> Conversation:
    """Moves waiting input into the conversation: the input of the answered command, or of all
    prompts.
    """
    for item in conversation.waiting:
        if item.mode == "prompt" and (context.id is None or id_text(item.id) == id_text(context.id)):
            blocks = (Block(type="text", text=item.text),) if item.text else ()
            conversation = add(conversation, Message(role="user", blocks=blocks))
    return conversation


def replace_message(conversation: Conversation, place: int, message: Message) -> Conversation:
    """Replaces a message; returns the same conversation if the messages are equal."""
    messages = conversation.messages
    if messages[place] is message or messages[place] == message:
        return conversation
    return replace(conversation, messages=(*messages[:place], message, *messages[place + 1 :]))


def _last(conversation: Conversation, wanted: Callable[[Message], bool]) -> int | None:
    """Returns the index of the last message that satisfies the condition."""
    messages = conversation.messages
    return next((place for place in range(len(messages) - 1, -1, -1) if wanted(messages[place])), None)


def _growing(conversation: Conversation, role: str) -> int | None:
    return _last(conversation, lambda message: message.state == "growing" and message.role == role)


def with_tool_state(updated: Block, known: Block) -> Block:
    """Returns an updated tool block that keeps the state of the known block."""
    names = ("output", "result", "details", "duration_ms", "label", "child")
    done = {name: getattr(known, name) for name in names if getattr(updated, name) is None}
    return replace(updated, **done, state=updated.state if known.state == "coming" else known.state)


def _carry_tool_state(old: tuple[Block, ...], blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Returns the updated blocks, whose tool blocks keep their state. Equal blocks remain the same
    objects.
    """
    updated: list[Block] = []
    for place, block in enumerate(blocks):
        near = old[place : place + 1]
        if block.type == "tool":
            calls = [known for known in (*near, *old) if known.type == "tool" and known.call_id == block.call_id]
            block = with_tool_state(block, calls[0]) if calls else block
            near = tuple(calls[:1])
        updated.append(near[0] if near and near[0] == block else block)
    return tuple(updated)


def _update_message(conversation: Conversation, place: int, updated: Message, state: Any) -> Conversation:
    """Replaces a message by its updated form."""
    old = conversation.messages[place]
    blocks = _carry_tool_state(old.blocks, updated.blocks)
    message = replace(updated, key=old.key, state=state, blocks=blocks, gone=old.gone or updated.gone)
    return replace_message(conversation, place, message)


def message_of(slots: Slots) -> Message | None:
    """Returns the message in the binding `message`."""
    members = slots.get("message")
    return Message.of(members) if isinstance(members, dict) else None


def begin(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    message = message_of(slots)
    return conversation if message is None else add(conversation, replace(message, state="growing"))


def snapshot(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    message = message_of(slots)
    if message is None:
        return conversation
    place = _growing(conversation, message.role)
    if place is None:
        return add(conversation, replace(message, state="growing"))
    return _update_message(conversation, place, message, "growing")


def _change_block(conversation: Conversation, slots: Slots, change: Callable[[Block], Block]) -> Conversation:
    """Changes a block of the growing message: the block at the given index, or the last block.
    If that block does not exist or has another type, creates a new one.
    """
    place = _growing(conversation, "assistant")
    if place is None:
        conversation = add(conversation, Message(role="assistant", state="growing"))
        place = len(conversation.messages) - 1
    message = conversation.messages[place]
    blocks = list(message.blocks)
    kind = slots.get("type", "text")
    index = slots.get("index")
    if type(index) is int and index >= 0:
        index = min(index, len(blocks))
    else:
        index = len(blocks) - 1 if blocks and blocks[-1].type == kind else len(blocks)
    if index == len(blocks) or blocks[index].type != kind:
        is_tool = kind == "tool"
        fresh = Block(type="tool", call_id="", name="", state="coming") if is_tool else Block(type=kind, text="")
        blocks[index : index + 1] = [fresh]
    blocks[index] = change(blocks[index])
    return replace_message(conversation, place, replace(message, blocks=tuple(blocks)))


def _merged(block: Block, members: Slots) -> Block:
    """Returns the block with the given members replaced; the members are in JSON form."""
    given = Block.of({"type": block.type, **members})
    names = {"callId": "call_id", "argumentsText": "arguments_text", "durationMs": "duration_ms"}
    changed = {names.get(name, name): getattr(given, names.get(name, name)) for name in members if name in _BLOCK}
    changed = {name: value for name, value in changed.items() if value is not None}
    return replace(block, **changed)


_BLOCK = {"text", "callId", "name", "arguments", "argumentsText", "state", "output", "result", "details", "durationMs", "label"}


def piece(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    def grow(block: Block) -> Block:
        members = {name: value for name, value in slots.items() if name not in ("index", "type")}
        known = {"text": block.text, "argumentsText": block.arguments_text}
        for name in GROWING:
            if isinstance(known[name], str) and isinstance(members.get(name), str):
                members[name] = known[name] + members[name]
        return _merged(block, members)

    return _change_block(conversation, slots, grow)


def block(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    def whole(block: Block) -> Block:
        members = {name: value for name, value in slots.items() if name not in ("index", "type")}
        changed = _merged(block, members)
        return replace(changed, arguments_text=None) if "arguments" in members else changed

    return _change_block(conversation, slots, whole)


def message(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    place = _growing(conversation, "assistant")
    if place is None:
        return conversation
    given = Message.of(slots)
    members = {name: getattr(given, name) for name in slots if name in ("usage", "gone")}
    return replace_message(conversation, place, replace(conversation.messages[place], **members))


def end(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    updated = message_of(slots)
    place = _growing(conversation, "assistant" if updated is None else updated.role)
    if place is None and updated is None:
        return conversation
    if place is None:
        ended = add(conversation, updated or Message())
        place = len(ended.messages) - 1
    elif updated is None:
        ended = replace_message(conversation, place, replace(conversation.messages[place], state="done"))
    else:
        ended = _update_message(conversation, place, updated, updated.state)
    message = ended.messages[place]
    if message.role == "tool":
        return copy_result(_mark_result_gone(ended, place), message)
    return ended if message.usage is None else replace(ended, usage=total(ended.usage, message.usage))


def _mark_result_gone(conversation: Conversation, place: int) -> Conversation:
    """Marks a tool result as outside of the model's context if its call is outside."""
    result = conversation.messages[place]
    call = _last(conversation, lambda message: _call(message, result.call_id) is not None)
    if call is None or not conversation.messages[call].gone:
        return conversation
    return replace_message(conversation, place, replace(result, gone=True))


def copy_result(conversation: Conversation, message: Message) -> Conversation:
    """Copies the result in a tool message into the block of its call."""
    if message.call_id is None:
        return conversation

    def done(block: Block) -> Block:
        details = block.details if message.details is None else message.details
        state: Literal["failed", "done"] = "failed" if message.state == "failed" else "done"
        return replace(block, result=message.blocks, details=details, state=state)

    return change_tool(conversation, message.call_id, done, create_missing=False)


def total(one: Usage, other: Usage) -> Usage:
    """Returns the sum of two usages."""

    def added(name: str) -> Any:
        numbers = [number for number in (getattr(one, name), getattr(other, name)) if number is not None]
        return sum(numbers) if numbers else None

    return Usage(**{name: added(name) for name in ("input", "output", "cache_read", "cache_write", "total", "cost")})


def tool(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    call = slots.get("callId")
    if not isinstance(call, str):
        return conversation

    def changed(block: Block) -> Block:
        merged = _merged(block, slots)
        is_back = block.state not in ("coming", "running") and merged.state in ("coming", "running")
        return replace(merged, state=block.state) if is_back else merged

    return change_tool(conversation, call, changed, create_missing=True)


def _call(message: Message, call: str | None) -> int | None:
    """Returns the index of the block with that tool call; `None` without such a block."""
    places = (at for at, block in enumerate(message.blocks) if block.type == "tool" and block.call_id == call)
    return next(places, None)


def change_tool(
    conversation: Conversation, call: str, change: Callable[[Block], Block], *, create_missing: bool
) -> Conversation:
    """Changes the block of a tool call. If it does not exist, creates it if `create_missing` is
    true.
    """
    place = _last(conversation, lambda message: _call(message, call) is not None)
    if place is not None:
        message = conversation.messages[place]
        at = _call(message, call) or 0
        blocks = (*message.blocks[:at], change(message.blocks[at]), *message.blocks[at + 1 :])
        return replace_message(conversation, place, replace(message, blocks=blocks))
    if not create_missing:
        return conversation
    made = change(Block(type="tool", call_id=call, name="", state="coming"))
    last = _last(conversation, lambda message: message.role != "tool")
    if last is None or conversation.messages[last].role != "assistant":
        return add(conversation, Message(role="assistant", blocks=(made,)))
    message = conversation.messages[last]
    return replace_message(conversation, last, replace(message, blocks=(*message.blocks, made)))
