"""Fixtures for all tests: the reference agent, agents defined in tests, and both kinds of client.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def agent() -> list[str]:
    """Returns the command line of the reference agent."""
    binary = Path(os.environ.get("AGENTESE", ROOT / "target/debug/agentese"))
    assert binary.exists(), f"{binary} is not built: cargo build -p agentese-cli"
    return [str(binary), "--mode", "rpc", "--provider", "scripted", "--no-session"]
