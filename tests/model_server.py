"""A server on this machine that speaks OpenAI's interface, and says what a test tells it to say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "completion", "serving"]

Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
"""From what is asked to the status and the body of the reply."""


def completion(text: str) -> dict[str, Any]:
    """Return the body of a reply that says a text."""
    said = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
    }


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve for a while, and give the address and what has been asked so far."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            status, reply = answer(body)
            kind, sent = _written(reply, streamed=status == 200 and bool(body.get("stream")))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _written(reply: dict[str, Any], *, streamed: bool) -> tuple[str, bytes]:
    """Return a reply as it is sent, whole or as the one piece of a stream, and its kind."""
    if not streamed:
        return "application/json", json.dumps(reply).encode()
    choices = [
        {"delta" if k == "message" else k: v for k, v in c.items()} for c in reply["choices"]
    ]
    piece = {**reply, "object": "chat.completion.chunk", "choices": choices}
    return "text/event-stream", f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
