"""The test vectors for framing, which all languages share."""

import base64
import json

import pytest
from conftest import ROOT

from agentese._native import Framer

VECTORS = json.loads((ROOT / "conformance/vectors/framing.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector['row']}-{vector['name']}" for vector in VECTORS])
def test_vector(vector):
    framer = Framer(**vector.get("options", {}))
    found = [line for chunk in vector["chunks"] for line in framer.push(base64.b64decode(chunk))]
    found += framer.finish()
    told = [
        {"line": text} if wrong is None else dict(zip(("error", "offset", "bytes"), wrong)) for text, wrong in found
    ]
    assert told == vector["expect"]
