"""What to tell a model about the form of its replies."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["TextForm", "format_instructions"]

TextForm = Literal["react", "json"]
"""How a model is asked to write: ReAct text, or one JSON object."""

_REACT: Final = """Write in this form, one label per line:

Question: the question you have to answer
Thought: what you think should be done next
Action: the tool to use, exactly one of [{tool_names}]
Action Input: what the tool gets
Observation: what the tool returned; it is given to you, never write it yourself
... (Thought, Action, Action Input and Observation may come several times)
Thought: I now know the final answer
Final Answer: the answer to the question"""

# In words, because agents format the text and a brace would have to be doubled for them.
_JSON: Final = (
    "Reply with exactly one JSON object and nothing else. To use a tool, its type is tool_call, "
    "its name is exactly one of [{tool_names}], and its arguments are an object. To answer, its "
    "type is final and its content is the answer. To ask the user, its type is ask_user and its "
    "question is the question."
)


def format_instructions(form: TextForm, tool_names: list[str] | None) -> str:
    """Return the instructions; without names they keep the placeholder that agents fill."""
    text = _JSON if form == "json" else _REACT
    return text if tool_names is None else text.replace("{tool_names}", ", ".join(tool_names))
