"""Made-up secrets and what looks like them, put together at run time so that no scanner trips."""

import base64
import json
import random
import re
import string
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KINDS = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_letters + string.digits + "-_",
    "S": string.ascii_letters + string.digits + "+/",
    "H": "0123456789abcdef",
    "L": string.ascii_lowercase + string.digits,
    "C": string.ascii_uppercase + "234567",
    "D": string.digits,
    "P": string.ascii_letters + string.digits + "!#%*^~",
}
_HOLE = re.compile(r"<(~?)(?:([ABSHLCDP])([0-9]+)|([UJ]))>")
_WINDOW = 6
"""So many signs of a secret in a row are a leak."""


@dataclass(frozen=True)
class Row:
    """One carrier of a secret, or of what looks like one."""

    name: str
    carrier: Any
    """A text, a value, or the pieces of a stream (a tuple)."""
    secrets: tuple[str, ...]
    held_out: bool
    """Whether the row is kept for the last score: a third of all, by the name's checksum."""

    def leaks(self, written: str) -> bool:
        """Whether `written` holds a piece of a secret."""
        return any(
            secret[at : at + _WINDOW] in written
            for secret in self.secrets
            for at in range(max(1, len(secret) - _WINDOW + 1))
        )


def _signs(draw: random.Random, kind: str, length: int) -> str:
    """So many signs; letters and digits both, neither first nor last a sign that ends a word."""
    if kind == "D":
        return draw.choice("123456789") + "".join(draw.choices(string.digits, k=length - 1))
    inner = "".join(draw.choices(_KINDS[kind], k=length))
    ends = [letter for letter in _KINDS[kind] if letter.isalnum()]
    return draw.choice(ends) + inner[1:-1] + draw.choice(ends) if length > 1 else inner


def _jwt(draw: random.Random) -> str:
    """A token of three parts, as RFC 7519 writes them."""
    parts = (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": _signs(draw, "D", 10), "name": _signs(draw, "A", 12)},
    )
    coded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    ]
    return ".".join([*coded, _signs(draw, "B", 43)])


def _filled(name: str, template: str) -> tuple[str, tuple[str, ...]]:
    """The template with its holes filled, and what is secret of it."""
    draw = random.Random(name)  # noqa: S311 - they are no secrets
    secrets: list[str] = []

    def fill(hole: re.Match[str]) -> str:
        filler, kind, length, whole = hole.groups()
        if whole == "U":
            made = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        elif whole == "J":
            made = _jwt(draw)
        else:
            made = _signs(draw, kind, int(length))
        if not filler:
            secrets.append(made)
        return made

    return _HOLE.sub(fill, template), tuple(secrets)


def _row(line: str) -> Row:
    name, template = (part.strip() for part in line.split(" | ", 1))
    text, secrets = _filled(name, template)
    carrier: Any
    if text.startswith("json:"):
        carrier = json.loads(text.removeprefix("json:"))
    else:
        text = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
        carrier = (
            tuple(text.removeprefix("chunks:").split("␞")) if text.startswith("chunks:") else text
        )
    return Row(name, carrier, secrets, zlib.crc32(name.encode()) % 3 == 0)


def rows(file: str) -> list[Row]:
    """The rows of a file beside this one."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return [_row(line) for line in lines if line and not line.startswith("#")]
