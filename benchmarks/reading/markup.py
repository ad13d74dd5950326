"""How calls are written down in tags and special tokens."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.reading.forms import dumped, form, named, only, plain_text, strings, thought
from benchmarks.reading.offered import Call


def raw(value: Any) -> str:
    """Write a value between tags: strings as they are, the rest as JSON."""
    return value if isinstance(value, str) else dumped(value)


def unescaped(call: Call) -> bool:
    """Tell whether all values can stand between tags without being escaped."""
    texts = strings(call.arguments)
    return all(text == text.strip() and not set("<&") & set(text) for text in texts)


def _gemma(value: Any, quote: str) -> str:
    """Write a value in the manner of Gemma, with a token for quotes and none around keys."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(v, quote)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_gemma(v, quote) for v in value) + "]"
    return dumped(value)


@form("Hermes", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return "\n".join(f"<tool_call>\n{dumped(named(call))}\n</tool_call>" for call in calls)


@form("Qwen Coder", several=True, fits=unescaped)
def _(calls: list[Call], _: random.Random) -> str:
    def one(call: Call) -> str:
        inside = "".join(
            f"<parameter={k}>\n{raw(v)}\n</parameter>\n" for k, v in call.arguments.items()
        )
        return f"<tool_call>\n<function={call.name}>\n{inside}</function>\n</tool_call>"

    return "\n".join(one(call) for call in calls)


@form("function with JSON", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return "\n".join(f"<function={name}>{dumped(args)}</function>" for name, args in calls)


def _invoke(call: Call) -> str:
    inside = "".join(
        f'<parameter name="{k}">{raw(v)}</parameter>\n' for k, v in call.arguments.items()
    )
    return f'<invoke name="{call.name}">\n{inside}</invoke>'


@form("invoke", several=True, fits=unescaped)
def _(calls: list[Call], _: random.Random) -> str:
    inside = "\n".join(_invoke(call) for call in calls)
    return f"<function_calls>\n{inside}\n</function_calls>"


@form("invoke, MiniMax", several=True, fits=unescaped)
def _(calls: list[Call], _: random.Random) -> str:
    inside = "\n".join(_invoke(call) for call in calls)
    return f"<minimax:tool_call>\n{inside}\n</minimax:tool_call>"


@form("GLM", several=True, fits=unescaped)
def _(calls: list[Call], _: random.Random) -> str:
    def one(call: Call) -> str:
        pairs = "".join(
            f"<arg_key>{k}</arg_key>\n<arg_value>{raw(v)}</arg_value>\n"
            for k, v in call.arguments.items()
        )
        return f"<tool_call>{call.name}\n{pairs}</tool_call>"

    return "\n".join(one(call) for call in calls)


@form("Mistral", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{dumped(args)}" for name, args in calls)


@form("Mistral, list", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return f"[TOOL_CALLS] {dumped([named(call) for call in calls])}"


@form("DeepSeek V3", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    inside = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumped(args)}\n```"  # noqa: RUF001
        "<｜tool▁call▁end｜>"  # noqa: RUF001
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{inside}<｜tool▁calls▁end｜>"  # noqa: RUF001


@form("DeepSeek V3.1", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    inside = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dumped(args)}<｜tool▁call▁end｜>"  # noqa: RUF001
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{inside}<｜tool▁calls▁end｜>"  # noqa: RUF001


@form("Kimi", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    inside = "".join(
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>"
        f"{dumped(args)}<|tool_call_end|>"
        for number, (name, args) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inside}<|tool_calls_section_end|>"


@form("Harmony")
def _(calls: list[Call], chance: random.Random) -> str:
    name, arguments = calls[0]
    return (
        f"<|channel|>analysis<|message|>{thought(chance)}<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{dumped(arguments)}<|call|>"
    )


@form("FunctionGemma", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return "".join(
        f"<start_function_call>call:{name}{_gemma(args, '<escape>')}<end_function_call>"
        for name, args in calls
    )


@form("Gemma 4", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    quote = '<|"|>'
    return "".join(
        f"<|tool_call>call:{name}{_gemma(args, quote)}<tool_call|>" for name, args in calls
    )


@form("Cohere", several=True)
def _(calls: list[Call], chance: random.Random) -> str:
    entries = [
        {"tool_call_id": str(number), **named(call, "tool_name", "parameters")}
        for number, call in enumerate(calls)
    ]
    plan = f"<|START_THINKING|>{thought(chance)}<|END_THINKING|>"
    return f"{plan}<|START_ACTION|>{dumped(entries)}<|END_ACTION|>"


@form("Llama", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    objects = "; ".join(dumped(named(call, arguments="parameters")) for call in calls)
    return f"<|python_tag|>{objects}"


@form("Granite", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return f"<|tool_call|>{dumped([named(call) for call in calls])}"


@form("Nemotron", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return f"<TOOLCALL>{dumped([named(call) for call in calls])}</TOOLCALL>"


@form("InternLM")
def _(calls: list[Call], _: random.Random) -> str:
    inside = dumped(named(calls[0], arguments="parameters"))
    return f"<|action_start|><|plugin|>\n{inside}<|action_end|>"


@form("XML agent", fits=plain_text)
def _(calls: list[Call], _: random.Random) -> str:
    return f"<tool>{calls[0].name}</tool><tool_input>{only(calls[0])}</tool_input>"
