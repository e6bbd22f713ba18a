"""Each command, event and dialog of the declaration exists in both clients and accepts its
example.
"""

import inspect

import pytest
from support.driver import DIALECTS
from support.model import MODEL, merged
from support.walk import walk

from agentese import types
from agentese.aio import AsyncClientBase
from agentese.client import SyncClient
from agentese.service import ServiceBase

MODELS = [pytest.param(model, id=name) for name, model in merged().items()]


@pytest.mark.parametrize("model", MODELS)
def test_a_method_for_every_command_in_both_clients(model):
    module = DIALECTS[model["name"]]
    assert len(model["commands"]) > 5
    for command in model["commands"]:
        sync, aio = getattr(module.Client, command["name"]), getattr(module.AsyncClient, command["name"])
        assert sync is aio, "both come from one table"
        assert command["doc"].split("\n")[0] in sync.__doc__
        for error in command.get("errors", []):
            assert error["when"] in sync.__doc__
        parameters = inspect.signature(sync).parameters
        keyword_only = [p for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert len(keyword_only) >= len(parameters) - 2, "self and at most one other may be given by position"
        assert hasattr(module.Service, command["name"])


def own(there, base=object):
    """Returns the public names that a class adds to its base."""
    inherited = {*dir(base), *getattr(base, "__annotations__", ())}
    return {name for name in dir(there) if not name.startswith("_")} - inherited


@pytest.mark.parametrize("model", MODELS)
def test_undeclared_names_are_no_attributes(model):
    module = DIALECTS[model["name"]]
    commands = {command["name"] for command in model["commands"]}
    # The connection itself handles a dialog that withdraws a question, so there is no
    # handler for it.
    dialogs = {dialog["name"] for dialog in model["dialogs"] if dialog["withdraws"] is None}
    assert own(module.Client, SyncClient) == own(module.AsyncClient, AsyncClientBase) == {*commands, "ask"}
    assert own(module.Service, ServiceBase) == commands
    for handler in ["Dialogs", "AsyncDialogs"]:
        assert own(getattr(module, handler, object)) == dialogs
    assert set(module.EVENTS) == {event["name"] for event in model["events"]}


@pytest.mark.parametrize("model", MODELS)
def test_examples_of_events_are_read(model):
    module = DIALECTS[model["name"]]
    for event in model["events"]:
        record = module.EVENTS[event["name"]].from_dict(event["example"])
        assert record.type == event["name"]
        assert record.to_dict() == event["example"]
        walk(record)


@pytest.mark.parametrize("model", MODELS)
def test_a_handler_for_every_dialog(model):
    module = DIALECTS[model["name"]]
    for dialog in model["dialogs"]:
        handled = dialog["withdraws"] is None
        assert hasattr(module.Dialogs, dialog["name"]) == hasattr(module.AsyncDialogs, dialog["name"]) == handled
        walk(getattr(types, dialog["params"]).from_dict(dialog["example"]))


def names_in(value):
    """Yields the declared types that a part of the declaration names."""
    if isinstance(value, dict):
        for part in value.values():
            yield from names_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from names_in(part)
    elif isinstance(value, str) and value in MODEL["types"]:
        yield value


def test_the_classes_are_those_of_the_declaration():
    # Types that only file formats of the conformance suite use have no class.
    wanted, found = [*names_in(MODEL["dialects"]), "TranscriptRecord", "ModelScript"], set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted.extend(names_in(MODEL["types"][name]))
    records = [name for name in found if MODEL["types"][name]["shape"] == "record"]
    assert len(records) > 200
    for name in records:
        assert issubclass(getattr(types, name), types.Record)
