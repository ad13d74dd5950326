"""Kinds of respelling that leave the meaning of a text as it is: around and beside the JSON.

What is in JSON is respelled in `respelled_json.py`, with the same registry.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from benchmarks.reading.rewriting import Rewrite, beside_values, has_raw_line_end
from benchmarks.reading.texts import Case

Respell = Callable[[Case], "str | None"]
KINDS: dict[str, Respell] = {}
"""Each kind under the line that documents it; `None` or the same text where it does not apply."""

_HEADER = re.compile(r"(?m)^(Thought|Action Input|Action)( \d+)?:(?: |(?=\n))")
_TAG = re.compile(r"<(/?)([a-z][a-z_:]*)(?=[\s=>])")
_ATTRIBUTE = re.compile(r'(?<= name=)"([^"<>]*)"(?=>)')
_ACTION = re.compile(r"(?m)^(Action(?: \d+)?: )([^\s()\[\]{}]+)$")


def register(respell: Respell) -> Respell:
    """Register a kind under the first line of its documentation."""
    KINDS[(respell.__doc__ or "").strip(". ")] = respell
    return respell


def beside(rewrite: Rewrite) -> Rewrite:
    """Register a kind that must not touch what calls carry."""

    def respell(case: Case) -> str | None:
        return None if has_raw_line_end(case) else beside_values(case, rewrite)

    respell.__doc__ = rewrite.__doc__
    register(respell)
    return rewrite


def around(rewrite: Rewrite) -> Rewrite:
    """Register a kind that only puts something around the text."""

    def respell(case: Case) -> str | None:
        return rewrite(case.text)

    respell.__doc__ = rewrite.__doc__
    register(respell)
    return rewrite


def _headers(text: str, write: Callable[[str], str]) -> str:
    return _HEADER.sub(lambda m: write(m[1] + (m[2] or "")), text)


def _tags(text: str, write: Callable[[str], str]) -> str:
    if "<escape>" in text:  # a token of the vocabulary, which has just one spelling
        return text
    return _TAG.sub(lambda m: f"<{m[1]}{write(m[2])}", text)


def _lines(text: str, end: str) -> str:
    """End lines in another way, unless that might be taken for a part of a value."""
    return text if "<parameter=" in text else text.replace("\n", end)


@beside
def _(text: str) -> str:
    """Headers in capitals."""
    return _headers(text, lambda h: f"{h.upper()}: ")


@beside
def _(text: str) -> str:
    """Headers bold, colon outside."""
    return _headers(text, lambda h: f"**{h}**: ")


@beside
def _(text: str) -> str:
    """Headers as Markdown headings."""
    return _headers(text, lambda h: f"### {h}:\n")


@beside
def _(text: str) -> str:
    """Headers in square brackets."""
    return _headers(text, lambda h: f"[{h}] ")


@beside
def _(text: str) -> str:
    """Headers behind a break of HTML."""
    return _headers(text, lambda h: f"<br>{h}: ")


@around
def _(text: str) -> str:
    """The model's own name before it speaks."""
    return f"AI: {text}"


@around
def _(text: str) -> str:
    """All signs of markup as HTML entities."""
    plain = "&" not in text and re.search(r"[{\[,:]\s*\"|<", text)
    return html.escape(text, quote=False).replace('"', "&quot;") if plain else text


@beside
def _(text: str) -> str:
    """Headers as items of a list."""
    return _headers(text, lambda h: f"- {h}: ")


@beside
def _(text: str) -> str:
    """Headers in snake case."""
    return _headers(text, lambda h: f"{h.lower().replace(' ', '_')}: ")


@beside
def _(text: str) -> str:
    """Headers in one word."""
    return _headers(text, lambda h: f"{re.sub(r' (?=[A-Z])', '', h)}: ")


@beside
def _(text: str) -> str:
    """Headers with a blank before the colon."""
    return _headers(text, lambda h: f"{h} : ")


@beside
def _(text: str) -> str:
    """Headers with a full-width colon."""
    return _headers(text, lambda h: f"{h}\N{FULLWIDTH COLON}")


@beside
def _(text: str) -> str:
    """Headers with a tab after the colon."""
    return _headers(text, lambda h: f"{h}:\t")


@beside
def _(text: str) -> str:
    """Headers with their content on the next line."""
    return _headers(text, lambda h: f"{h}:\n")


@beside
def _(text: str) -> str:
    """Headers in underscored emphasis."""
    return _headers(text, lambda h: f"__{h}:__ ")


@beside
def _(text: str) -> str:
    """Headers without the thought."""
    return re.sub(r"(?m)^Thought( \d+)?: .*\n(?=Action)", "", text)


@beside
def _(text: str) -> str:
    """The action's name in backticks."""
    return _ACTION.sub(r"\1`\2`", text)


@beside
def _(text: str) -> str:
    """The action's name in quotes."""
    return _ACTION.sub(r'\1"\2"', text)


@beside
def _(text: str) -> str:
    """The action's name in bold."""
    return _ACTION.sub(r"\1**\2**", text)


@beside
def _(text: str) -> str:
    """The action's name with escaped underscores, as in Markdown."""
    return _ACTION.sub(lambda m: m[1] + m[2].replace("_", "\\_"), text)


@beside
def _(text: str) -> str:
    """The action's JSON input in a fence."""
    return re.sub(r"(?m)^(Action Input): (\{.*\})$", r"\1:\n```json\n\2\n```", text)


@beside
def _(text: str) -> str:
    """Tags in capitals."""
    return _tags(text, str.upper)


@beside
def _(text: str) -> str:
    """Tags with a hyphen."""
    return _tags(text, lambda tag: tag.replace("_", "-"))


@beside
def _(text: str) -> str:
    """Tags with a blank before the bracket that ends them."""
    pattern = r"(</?[a-z][a-z_]*(?: name=\"[^\"<>]*\")?)>"
    return text if "<escape>" in text else re.sub(pattern, r"\1 >", text)


@beside
def _(text: str) -> str:
    """Tags for tool calls under another name."""
    return _tags(text, lambda tag: {"tool_call": "function_call"}.get(tag, tag))


@beside
def _(text: str) -> str:
    """Tags in a wrapper of their own."""
    if not text.startswith(("<tool_call>", "<invoke ", "<function=")):
        return text
    return f"<tool_calls>\n{text}\n</tool_calls>"


@beside
def _(text: str) -> str:
    """Tags without the last closing one."""
    ended = r"(?:(?<=[})])|(?<=</invoke>)|(?<=</function>))"  # so that nothing can be cut off
    return re.sub(rf"{ended}\s*</[a-z_:]+>$", "", text)


@beside
def _(text: str) -> str:
    """Attributes in single quotes."""
    return _ATTRIBUTE.sub(r"'\1'", text)


@beside
def _(text: str) -> str:
    """Attributes without quotes."""
    return _ATTRIBUTE.sub(r"\1", text)


@beside
def _(text: str) -> str:
    """Attributes beside the name."""
    return re.sub(r'<invoke (name="[^"<>]*")>', r'<invoke id="1" \1>', text)


@register
def _(case: Case) -> str | None:
    """Values between tags in CDATA, where the tag names the parameter."""
    pattern = r"(?s)(<parameter name=\"[^\"<>]*\">)((?![\[{]).*?)(?=</)"
    return re.sub(pattern, r"\1<![CDATA[\2]]>", case.text)


@beside
def _(text: str) -> str:
    """Special tokens in ASCII."""
    return text.replace("\N{FULLWIDTH VERTICAL LINE}", "|").replace(
        "\N{LOWER ONE EIGHTH BLOCK}", "_"
    )


@beside
def _(text: str) -> str:
    """Line ends as in old Windows files, with a blank before them."""
    return _lines(text, " \r\n")


@beside
def _(text: str) -> str:
    """Line ends of a carriage return alone."""
    return text.replace("\n", "\r")


@beside
def _(text: str) -> str:
    """Line ends doubled."""
    return _lines(text, "\n\n")


@beside
def _(text: str) -> str:
    """All of it indented."""
    return "  " + _lines(text, "\n  ")


@around
def _(text: str) -> str:
    """All of it in a fence of tildes."""
    return text if "```" in text else f"~~~\n{text}\n~~~"


@around
def _(text: str) -> str:
    """All of it in a fence that names no language of code."""
    return text if "```" in text else f"```tool\n{text}\n```"


@around
def _(text: str) -> str:
    """All of it in backticks."""
    return text if {"`", "\n"} & set(text) else f"`{text}`"


@around
def _(text: str) -> str:
    """All of it after a mark of byte order and blank lines."""
    return f"\ufeff\n\n{text}"


@around
def _(text: str) -> str:
    """All of it after the name of the speaker."""
    return f"Assistant:\n{text}"


@around
def _(text: str) -> str:
    """All of it between the tokens of a chat template."""
    return text if "<|" in text else f"<|im_start|>assistant\n{text}<|im_end|>"


@around
def _(text: str) -> str:
    """All of it before the token that ends a turn."""
    return f"{text}</s>"


@around
def _(text: str) -> str:
    """All of it after thinking."""
    blocks = ("<|channel|>", "<|START_THINKING|>")
    thinking = "<think>\nThey want it done now; one call will do.\n</think>\n\n"
    return text if any(block in text for block in blocks) else thinking + text
