"""Recordings of sessions that never were, to be looked at."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

from mcpgen.recording import Entry, Header, read

HEADER = {
    "recording": 1,
    "mcpgen": "0.1.0",
    "transport": "stdio",
    "target": "python -m weather",
    "started": "2026-11-18T18:39:00.000Z",
}
VERSION = "2025-11-25"
CITIES = ["Oslo", "Bergen", "Tromsø", "Kraków", "São Paulo", "東京", "Reykjavík"]


def recording(entries: Iterable[dict[str, Any]], **header: Any) -> bytes:
    """The bytes of a file."""
    lines = [{**HEADER, **header}, *entries]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def parsed(data: bytes) -> tuple[Header, Iterator[tuple[int, Entry]]]:
    """What the commands read from it."""
    return read(io.BytesIO(data), "session.jsonl")


def client(t: float, frame: Any, **more: Any) -> dict[str, Any]:
    return {"t": t, "from": "client", "frame": frame, **more}


def server(t: float, frame: Any, **more: Any) -> dict[str, Any]:
    return {"t": t, "from": "server", "frame": frame, **more}


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: Any, **content: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": content}


def error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def opening() -> list[dict[str, Any]]:
    """A handshake, and the list of tools."""
    wish = {
        "protocolVersion": VERSION,
        "capabilities": {"sampling": {}},
        "clientInfo": {"name": "desk", "version": "3.1.0"},
    }
    offer = {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "weather", "version": "1.4.2"},
    }
    tool = {
        "name": "forecast",
        "description": "Forecast for a city.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    return [
        {"t": 0.0012, "from": "stderr", "text": "weather 1.4.2 is listening"},
        client(0.0021, request(0, "initialize", **wish)),
        server(0.0484, result(0, **offer), method="initialize", ms=46.3),
        client(0.0491, note("notifications/initialized")),
        client(0.0502, request(1, "tools/list")),
        server(0.0515, result(1, tools=[tool]), method="tools/list", ms=1.3),
    ]


def busy(entries: int, seed: int = 7) -> bytes:
    """A session of so many entries, in which everything happens that can."""
    return recording(_busy(entries, random.Random(seed)))


def _busy(count: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    start = opening()
    yield from start
    left, t, id = count - len(start), 0.06, 1
    while left > 0:
        id += 1
        for entry in _exchange(id, t, chance)[:left]:
            left -= 1
            t = max(t, entry["t"])
            yield entry
        t += chance.choice([0.002, 0.01, 0.05, 0.2] * 8 + [4.0])


def _exchange(id: int, t: float, chance: random.Random) -> list[dict[str, Any]]:
    """A request, and what comes of it."""
    ms = round(chance.lognormvariate(3, 1.2), 2)
    end = round(t + ms / 1000, 4)
    city = chance.choice(CITIES)
    call = request(
        id, "tools/call", name="forecast", arguments={"city": city, "days": id % 7}
    )
    told = {"method": "tools/call", "ms": ms}
    match chance.randrange(16):
        case 0:
            failed = error(id, -32602, "Invalid params: days must be positive")
            return [client(t, call), server(end, failed, **told)]
        case 1:
            words = [{"type": "text", "text": f"No station in {city}"}]
            failed = result(id, content=words, isError=True)
            trace = f"  File weather.py, line {id}: no station"
            return [
                client(t, call),
                {
                    "t": end,
                    "from": "stderr",
                    "text": "Traceback (most recent call last)",
                },
                {"t": end, "from": "stderr", "text": trace},
                server(end, failed, **told),
            ]
        case 2:
            return [
                client(t, call),
                server(end, note("notifications/tools/list_changed")),
            ]
        case 3:
            return [
                {"t": t, "from": "server", "text": f"DEBUG looking for {city}"},
                client(t, request(id, "ping")),
                server(end, result(id), method="ping", ms=ms),
            ]
        case 4 | 5:
            ask = request(f"s-{id}", "sampling/createMessage", maxTokens=100)
            answer = result(f"s-{id}", role="assistant", model="m", content=_text(city))
            middle, later = t + ms / 4000, t + ms / 2000
            asked = {"method": "sampling/createMessage", "ms": ms / 4}
            return [
                client(t, call),
                server(middle, ask),
                client(later, answer, **asked),
                server(end, _forecast(id, city, chance), **told),
            ]
        case 6 | 7:
            steps = [
                server(
                    t + ms / 5000 * step,
                    note(
                        "notifications/progress",
                        progressToken=id,
                        progress=step,
                        total=4,
                    ),
                )
                for step in range(1, 5)
            ]
            return [
                client(t, call),
                *steps,
                server(end, _forecast(id, city, chance), **told),
            ]
        case _:
            return [
                client(t, call),
                server(end, _forecast(id, city, chance), **told),
            ]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _forecast(id: int, city: str, chance: random.Random) -> dict[str, Any]:
    days = [
        {"day": day, "low": round(chance.uniform(-20, 10), 1), "sky": "rain\nand wind"}
        for day in range(id % 7)
    ]
    words = f"{city}: {len(days)} days"
    return result(id, content=[_text(words)], structuredContent={"days": days})
