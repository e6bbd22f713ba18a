"""Frames to decode: small ones of six kinds, and message updates of 50 KB."""

import json
from collections.abc import Iterator
from pathlib import Path


def small(count: int) -> Iterator[str]:
    """Yields frames of about a hundred bytes. Message updates have the form of pi 1.5."""
    kinds: list[dict[str, object]] = [
        {"type": "agent_start"},
        {"type": "turn_start"},
        {"type": "tool_execution_start", "toolCallId": "call_1", "toolName": "bash", "args": {"command": "ls -la"}},
        {"type": "message_update", "assistantMessageEvent": {
            "type": "text_delta", "contentIndex": 0, "delta": "The answer is "}},
        {"type": "message_update", "assistantMessageEvent": {
            "type": "text_delta", "contentIndex": 0, "delta": "in the \"README\""}},
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "overloaded"},
    ]
    lines = [json.dumps(kind, separators=(",", ":")) for kind in kinds]
    for at in range(count):
        yield lines[at % len(lines)]


def large(count: int) -> Iterator[str]:
    """Yields message updates of 50 KB in the form of pi 0.55: each contains the whole text so far twice."""
    text = "Some words of the answer, with a \"quote\" and a line\n" * 420
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "api": "anthropic-messages",
               "provider": "anthropic", "model": "claude", "stopReason": "stop", "timestamp": 1,
               "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
                         "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}
    frame = {"type": "message_update", "message": message, "assistantMessageEvent": {
        "type": "text_delta", "contentIndex": 0, "delta": "a few words more", "partial": message}}
    line = json.dumps(frame, separators=(",", ":"))
    for _ in range(count):
        yield line


def write(path: Path, lines: Iterator[str]) -> None:
    """Writes lines with LF."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line + "\n")
