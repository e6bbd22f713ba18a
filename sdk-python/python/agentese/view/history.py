"""Reducers that replace messages."""

from dataclasses import replace

from agentese.view.conversation import Block, Conversation, Json, Message, Run, Session, Usage, next_key
from agentese.view.messages import copy_result, total, with_tool_state
from agentese.view.reducer_context import ReducerContext

Slots = dict[str, Json]


def _marks(message: Message) -> list[str]:
    """Returns one or two texts that identify a message: the first from its id or time, the second
    from its content.
    """
    with_text = f"{message.role} words {message.command or ''} {message.call_id or ''} {message.text}"
    place = message.time if message.id is None else message.id
    return [with_text] if place is None else [f"{message.role} {place} {message.call_id or ''}", with_text]


def history(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    """Replaces the messages by those that the agent reports. Known messages keep their keys."""
    given = slots.get("messages")
    if not isinstance(given, list):
        return conversation
    known: dict[str, list[Message]] = {}
    for earlier in conversation.messages:
        for mark in _marks(earlier):
            known.setdefault(mark, []).append(earlier)
    kept: set[str] = set()
    reported: list[Message] = []
    after = conversation
    used = Usage()
    for members in given:
        message = Message.of(members)
        same = (old for mark in _marks(message) for old in known.get(mark, []))
        old = next((old for old in same if old.key not in kept and old.state != "growing"), None)
        used = used if message.usage is None else total(used, message.usage)
        if old is None:
            key, after = next_key(after)
            reported.append(replace(message, key=key))
            continue
        kept.add(old.key)
        message = replace(message, key=old.key, blocks=_tools(old, message.blocks))
        reported.append(old if old == message else message)
    usage = after.usage if (after.usage.total or 0) > (used.total or 0) else used
    after = replace(after, messages=_merge(conversation.messages, reported), usage=usage, complete=True)
    for message in reported:
        after = copy_result(after, message) if message.role == "tool" else after
    return after


def _tools(old: Message, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Returns the blocks of a message, with the state that the tool calls have in the old message.
    """
    known = {block.call_id: block for block in reversed(old.blocks) if block.type == "tool"}

    def with_known_state(block: Block) -> Block:
        before = known.get(block.call_id) if block.type == "tool" else None
        return block if before is None else replace(with_tool_state(block, before), state=before.state)

    return tuple(with_known_state(block) for block in blocks)


def _merge(old: tuple[Message, ...], reported: list[Message]) -> tuple[Message, ...]:
    """Merges the reported messages into the old ones, in the order of arrival. Old messages that the agent did
    not report are marked as outside of the model's context."""
    places = {message.key: place for place, message in enumerate(reported)}
    known = {message.key for message in old}
    merged: list[Message] = []
    begun = 0
    for message in old:
        place = places.get(message.key)
        if place is None:
            stays = message.state == "growing" or message.gone
            merged.append(message if stays else replace(message, gone=True))
            continue
        merged.extend(new for new in reported[begun:place] if new.key not in known)
        begun = max(begun, place)
        merged.append(reported[place])
    merged.extend(new for new in reported[begun:] if new.key not in known)
    if _keys(merged, places) == _keys(reported, places):
        return tuple(merged)
    growing = [message for message in merged if message.state == "growing"]
    return (*(message for message in merged if message.gone), *reported, *growing)


def _keys(messages: list[Message], wanted: dict[str, int]) -> list[str]:
    """Returns the keys of the messages in `wanted`, except summaries. The agent reports summaries first; here
    they keep their place."""
    return [message.key for message in messages if message.role != "summary" and message.key in wanted]


def count(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    """Compares the number of messages with the number that the agent reports. If they differ, marks
    the conversation as incomplete."""
    messages = slots.get("messages")
    seen = sum(1 for message in conversation.messages if not message.gone and message.state != "growing")
    if conversation.run.working or not isinstance(messages, int) or messages == seen or not conversation.complete:
        return conversation
    return replace(conversation, complete=False)


def replace_all(conversation: Conversation, slots: Slots, _context: ReducerContext) -> Conversation:
    """Empties the conversation for another session. Values that belong to the agent, such as its models,
    remain."""
    return replace(
        conversation,
        messages=(),
        complete=slots.get("empty") is True,
        waiting=tuple(item for item in conversation.waiting if item.state == "sent"),
        run=Run(),
        usage=Usage(),
        dialogs=(),
        shells=(),
        tasks=(),
        session=Session(directory=conversation.session.directory),
        internal=replace(conversation.internal, held=()),
        context=None,
        fork_points=None,
        todos=None,
    )
