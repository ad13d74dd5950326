"""What to tell a model about the form that it should write in, and about an error of a parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

__all__ = ["cut_reason", "form_instructions", "parser_correction"]

_REACT: Final = """Write in this form, one label per line:

Question: the question you have to answer
Thought: what you want to do next, and why
Action: the tool to use, exactly one of [{tool_names}]
Action Input: the input of the tool
Observation: what the tool returned; you receive it and never write it yourself
... (repeat Thought, Action, Action Input and Observation as often as you need)
Thought: I now know the final answer
Final Answer: the answer to the question"""
# In words, because agents format the text and a brace would have to be doubled for them.
_JSON: Final = (
    "Reply with exactly one JSON object and nothing else. To call a tool, set type to tool_call, "
    "name to exactly one of [{tool_names}], and arguments to an object. To answer, set type to "
    "final and content to your answer. To ask the user, set type to ask_user and question to your "
    "question."
)
_LONGEST_REASON: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def form_instructions(form: Literal["react", "json"], tools: Iterable[str] | None = None) -> str:
    """Return the instructions for the form in which to write.

    Args:
        form: ReAct text, or one JSON object.
        tools: The names of the tools; without them `{tool_names}` stays for an agent to fill in.

    >>> form_instructions("json", ["search"]).partition("name to ")[2][:23]
    'exactly one of [search]'
    """
    text = _JSON if form == "json" else _REACT
    return text if tools is None else text.replace("{tool_names}", ", ".join(tools))


def parser_correction(reason: str, form: str = "") -> str:
    r"""Return the correction of a reply that another parser refuses.

    Args:
        reason: What the parser says.
        form: What the parser says about the form.

    >>> parser_correction("no date", "Write YYYY-MM-DD.")
    'Your last reply could not be used: no date\n\nWrite YYYY-MM-DD.'
    """
    told = f"Your last reply could not be used: {cut_reason(reason)}"
    return f"{told}\n\n{form}" if form else told


def cut_reason(reason: str) -> str:
    """Shorten a parser's message to what a model or a listener needs, without control characters.

    >>> len(cut_reason("x" * 1000))
    502
    """
    cut = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} …"
    return _CONTROL.sub(" ", cut)
