"""Runs that their host keeps as steps of its own, as messages.

smolagents' memory, browser-use's history, DSPy's trajectories, and the turns of Llama Stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from loopmend.traces.readers.values import as_list, as_map, as_text, first

__all__ = ["steps_in"]

Messages = Iterator[Mapping[str, Any]]


def steps_in(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of a run that is kept as steps; none if it is not.

    >>> kept = {"trajectory": {"thought_0": "x", "tool_name_0": "f", "observation_0": "y"}}
    >>> [message["role"] for message in steps_in(kept)]
    ['assistant', 'tool']
    """
    steps = [as_map(step) for step in as_list(value.get("steps"))]
    if any("model_output" in step for step in steps):
        return [said for step in steps for said in _smolagents(step)]
    steps = [as_map(step) for step in as_list(value.get("history"))]
    if steps and all({"model_output", "result"} <= step.keys() for step in steps):
        return [said for at, step in enumerate(steps) for said in _browser_use(step, at)]
    turns = [as_map(turn) for turn in as_list(value.get("turns"))]
    if turns and all({"input_messages", "steps"} <= turn.keys() for turn in turns):
        return [said for turn in turns for said in _llama_stack(turn)]
    kept = as_map(value.get("trajectory"))
    return list(_dspy(kept, value)) if "tool_name_0" in kept else []


def _smolagents(step: Mapping[str, Any]) -> Messages:
    if isinstance(step.get("task"), str):
        yield {"role": "user", "content": step["task"]}
    if "model_output" in step:
        calls = as_list(step.get("tool_calls"))
        yield {"role": "assistant", "content": step["model_output"], "tool_calls": calls}
        seen = {"content": step.get("observations"), "error": step.get("error")}
        if any(seen.values()):
            yield {"role": "tool", **seen}


def _browser_use(step: Mapping[str, Any], at: int) -> Messages:
    """Yield the actions of a step with their results; `done` is the answer, not a tool."""
    told = as_map(step.get("model_output"))
    thought = first(as_map(told.get("current_state")) or told, "next_goal", "thinking")
    actions = [each for each in as_list(told.get("action")) if isinstance(each, Mapping) and each]
    calls = [
        {"id": f"{at}.{n}", "name": next(iter(each)), "arguments": next(iter(each.values()))}
        for n, each in enumerate(actions)
    ]
    done = as_map(actions[-1].get("done")) if actions else {}
    calls = calls[:-1] if done else calls
    said = as_text(done.get("text") or thought)
    yield {"role": "assistant", "content": said, "reasoning_content": thought, "tool_calls": calls}
    results = [as_map(each) for each in as_list(step.get("result"))]
    for call, seen in zip(calls, results, strict=False):
        yield {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": seen.get("extracted_content"),
        } | {key: seen[key] for key in ("error",) if seen.get(key)}
    errors = [each["error"] for each in results if each.get("error")]
    if not calls and errors:  # the reply could not be used
        yield {"role": "tool", "content": None, "error": errors[0]}


def _llama_stack(turn: Mapping[str, Any]) -> Messages:
    yield from as_list(turn.get("input_messages"))
    for step in map(as_map, as_list(turn.get("steps"))):
        if "model_response" in step:
            yield step["model_response"]
        for seen in as_list(step.get("tool_responses")):
            yield {**as_map(seen), "role": "tool"}


def _dspy(kept: Mapping[str, Any], row: Mapping[str, Any]) -> Messages:
    """Yield the steps that stand under numbered keys; another field has the answer."""
    if isinstance(row.get("question"), str):
        yield {"role": "user", "content": row["question"]}
    at = 0
    while (name := kept.get(f"tool_name_{at}")) is not None:
        thought = kept.get(f"thought_{at}")
        call = {"id": f"call {at}", "name": name, "arguments": kept.get(f"tool_args_{at}")}
        if name == "finish":
            yield {"role": "assistant", "content": row.get("answer") or thought}
        else:
            yield {"role": "assistant", "content": thought, "tool_calls": [call]}
        if name != "finish" and f"observation_{at}" in kept:
            seen = as_text(kept[f"observation_{at}"])
            yield {"role": "tool", "tool_call_id": call["id"], "content": seen}
        at += 1
