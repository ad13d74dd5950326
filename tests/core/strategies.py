"""What a model may emit, as hypothesis strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
"""Any `str` at all, lone surrogates and NUL included."""

PIECES = (
    *("Thought:", "Action:", "action :", "Action Input:", "Observation:", "Final Answer:"),
    *("tool_call", "I would use", "I'll run", "let me use the", "{", "}", "[", "]", '"', "\\"),
    *("<answer", ' confidence="', "0.5", "nan", '">', "<answer>", "</answer>", "<caveat>"),
    *("</caveat>", "<caveat>a</caveat>", "<cav", "eat>", "<uncertain>", "</uncertain>"),
    *("<stuck>", "</stuck>", "<request>", "</request>", "<yield>", "</yield>", "<thinking"),
    *(' steps="', "</thinking>", "<partial>", "</partial>", "I'm stuck", "It's unclear"),
    *("```json", "```", '{"type":', '"final"', '"tool_call"', ',"content":', ',"name":'),
    *(',"arguments":', "1e999", "-0", "NaN", "\\ud800", ":", ",", " ", "\n", "\x1c", "\u3000"),
)
protocol_text = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)
"""Pieces of every protocol in any order: far likelier to reach a rule than plain text."""

emitted_text = any_text | protocol_text

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)

traces: st.SearchStrategy[Any] = json_values | st.fixed_dictionaries(
    {},
    optional={
        "exit_code": st.integers(-1, 5) | json_values,
        "reason": st.sampled_from(["final_answer", "timeout", "tool_error"]) | json_values,
        "answer": st.text(max_size=5) | json_values,
        "iterations": st.integers(-2, 20) | json_values,
    },
)
