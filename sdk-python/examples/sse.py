"""A bridge to browsers: GET /?prompt=… runs an agent and streams its events as server-sent events."""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from agentese import AgenteseError, pi

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = (await reader.readuntil(b"\r\n\r\n")).decode()
    query = parse_qs(urlsplit(request.split(" ", 2)[1]).query)
    writer.write(HEAD)
    try:
        async with pi.AsyncClient.spawn(sys.argv[1:] or AGENT) as client:
            async for event in client.prompt(query.get("prompt", ["Hello"])[0]):
                # `raw` is one line of JSON, the content of a `data:` field.
                writer.write(f"event: {event.type}\ndata: {event.raw}\n\n".encode())
                await writer.drain()
    except AgenteseError as error:
        writer.write(f"event: error\ndata: {error}\n\n".encode())
    except ConnectionError:
        pass  # The browser is gone, and the agent with it.
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/?prompt=Hello", flush=True)
    await server.serve_forever()


asyncio.run(main())
