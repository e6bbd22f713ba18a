"""JSON shapes: a TypedDict for every declared record, with the names of the wire."""

from agentese.generated.shapes import *
