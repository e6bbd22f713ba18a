"""An MCP server whose tools have schemas that some APIs reject."""

import json
import sys

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
SCHEMAS = {
    "1starts_digit": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
    "weird": {"type": "object", "properties": {"weird key$": {"type": "array"}}},
    "forms": {"anyOf": [{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}]},
    "tree": {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
}
ANSWERS = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "zoo", "version": "1"},
    },
    "tools/list": lambda params: {
        "tools": [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]
    },
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = ANSWERS.get(message["method"], lambda params: {})(message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
