"""Runs that their host keeps as steps of its own, as messages.

smolagents' memory, browser-use's history, DSPy's trajectories, the turns of Llama Stack, CrewAI's
tasks, Dify's thoughts, and the tree of an export of ChatGPT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first

__all__ = ["steps_in"]

_FINAL: Final = "is_final_answer"
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
    tasks = [as_map(task) for task in as_list(value.get("tasks_output"))]
    if tasks:
        return [said for task in tasks for said in _crewai(task)]
    thoughts = [as_map(each) for each in as_list(value.get("agent_thoughts"))]
    if thoughts:
        return list(_dify(thoughts, value))
    if isinstance(value.get("mapping"), Mapping) and value.get("current_node") is not None:
        return list(_chatgpt(value["mapping"], value["current_node"]))
    kept = as_map(value.get("trajectory"))
    return list(_dspy(kept, value)) if "tool_name_0" in kept else []


def _smolagents(step: Mapping[str, Any]) -> Messages:
    if isinstance(step.get("task"), str):
        yield {"role": "user", "content": step["task"]}
    if "model_output" in step:
        calls = as_list(step.get("tool_calls"))
        done = {"final_answer": as_text(step.get("action_output"))} if step.get(_FINAL) else {}
        yield {"role": "assistant", "content": step["model_output"], "tool_calls": calls, **done}
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


def _crewai(task: Mapping[str, Any]) -> Messages:
    """Yield a task's messages; the host writes what a tool returned behind what asked for it."""
    messages = [as_map(each) for each in as_list(task.get("messages"))]
    if not messages:
        yield {"role": "user", "content": task.get("description")}
        yield {"role": "assistant", "name": task.get("agent"), "content": task.get("raw")}
    for message in messages:
        content = message.get("content")
        said, seen = content, None
        if message.get("role") == "assistant" and isinstance(content, str):
            said, found, rest = content.partition("\nObservation:")
            seen = rest.strip() if found else None
        yield {**message, "content": said}
        if seen is not None:
            yield {"role": "tool", "content": seen}


def _dify(thoughts: list[Mapping[str, Any]], row: Mapping[str, Any]) -> Messages:
    yield {"role": "user", "content": row.get("query")}
    for thought in sorted(thoughts, key=_position):
        names = [name for name in as_text(thought.get("tool")).split(";") if name]
        given, seen = (as_map(decoded(thought.get(key))) for key in ("tool_input", "observation"))
        id = as_text(thought.get("id"))
        calls = [{"id": f"{id} {name}", "name": name, "args": given.get(name)} for name in names]
        said = thought.get("thought") or (None if calls else row.get("answer"))
        yield {"role": "assistant", "content": said, "tool_calls": calls}
        for name in names:
            if thought.get("observation"):
                told = seen.get(name, thought["observation"])
                yield {"role": "tool", "tool_call_id": f"{id} {name}", "content": as_text(told)}


def _position(thought: Mapping[str, Any]) -> int:
    told = thought.get("position")
    return told if isinstance(told, int) else 0


def _chatgpt(nodes: Mapping[str, Any], last: Any) -> Messages:
    """Yield the branch of a conversation that is shown: from its last message up to its root."""
    branch: list[Mapping[str, Any]] = []
    while len(branch) < len(nodes) and (node := as_map(nodes.get(str(last)))):
        branch.append(as_map(node.get("message")))
        last = node.get("parent")
    for message in reversed(branch):
        role, content = as_map(message.get("author")).get("role"), as_map(message.get("content"))
        parts = as_list(content.get("parts")) or [content.get("text")]
        text = "\n".join(map(as_text, parts))
        to = message.get("recipient")
        if role == "assistant" and to not in (None, "all"):
            yield {"role": role, "tool_calls": [{"name": to, "arguments": text}]}
        elif role is not None and text:
            yield {"role": role, "content": text}
