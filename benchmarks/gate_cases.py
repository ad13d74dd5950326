"""What `benchmarks.gate` counts: reading, mending, recording, classifying, planning, adapters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent

from benchmarks.inputs import EVERYTHING
from benchmarks.test_langchain import _agent as langchain_agent
from benchmarks.test_llama_index import _agent as llama_index_agent
from benchmarks.test_llama_index import _run as llama_index_run
from benchmarks.test_reading import BROKEN, CLEAN, REACT, USERS
from benchmarks.test_traces import run
from langchain_loopmend import AgentActionOutputParser
from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware
from langchain_loopmend.recorder import TraceRecorder
from llama_index_loopmend import record_traces, with_hooks
from llama_index_loopmend.hooked_steps import default_hooks
from loopmend import (
    Mending,
    Reply,
    Trace,
    TurnReader,
    classify_trace,
    load_traces,
    read_json,
    read_turn,
)
from loopmend.contracts import plan
from loopmend.reading import Toolbox
from loopmend.traces import Redactor, redact_secrets

TOOLS = Toolbox(["Search", "Lookup"])
CALL = '{"name": "Search", "arguments": {"query": "home runs", "limit": 5, "exact": true}}'
TEXTS = {
    "call as JSON": CALL,
    "call in a tag": f"I look it up.\n<tool_call>\n{CALL}\n</tool_call>",
    "call in a fence": f"Let me search.\n```json\n{CALL}\n```",
    "prose": "The player hit 34 home runs in the 2022 season, more than in any year before. " * 5,
    "ReAct, marked up": "**Thought:** I have to look it up\n**Action:** `Search`\n"
    '**Action Input:** "home runs"\nObservation: 34\nFinal Answer: 34',
    "plan that is told": "I will use the Search tool with 'home runs' and tell you what it says.",
}
RECORDED: Callable[..., Any] = langchain_agent([])
TRACE = run(6)
WRITTEN = "\n".join([TRACE.to_json()] * 5).encode()
LOG = "".join(
    f"Thought: t{n}\nAction: Search\nAction Input: {n}\nObservation: o\n" for n in range(6)
)


def _streamed(text: str) -> None:
    reader = TurnReader(tools=TOOLS)
    for at in range(0, len(text), 8):
        list(reader.feed(text[at : at + 8]))
    reader.finish()


def _mended(text: str) -> None:
    mending = Mending(TOOLS, form="react")
    mending.start("How many?")
    mending.reply(Reply(text))


def _recorded(made: Any) -> Callable[[], Any]:
    again = llama_index_run(made)

    def recorded() -> None:
        with record_traces():
            again()

    return recorded


CASES: dict[str, Callable[[], Any]] = {
    **{f"read_turn: ReAct {name}": partial(read_turn, text) for name, text in REACT.items()},
    **{f"read_turn: {name}": partial(read_turn, text, tools=TOOLS) for name, text in TEXTS.items()},
    "TurnReader": partial(_streamed, TEXTS["call in a tag"]),
    "read_json: clean records": partial(read_json, CLEAN[10], USERS),
    "read_json: broken": lambda: [read_json(text) for text in BROKEN],
    "Mending": partial(_mended, TEXTS["plan that is told"]),
    "classify_trace": partial(classify_trace, TRACE),
    "load_traces": lambda: list(load_traces(WRITTEN)),
    "from_react_log": partial(Trace.from_react_log, LOG),
    "redact_secrets": partial(redact_secrets, TRACE),
    "Redactor.text": partial(Redactor().text, f"{LOG}\n{CALL}\nAPI_KEY=x7Gq2v9LmZ4tR8wK\n"),
    "plan": partial(plan, EVERYTHING.state, EVERYTHING.input),
    "LangChain: parser": partial(AgentActionOutputParser().parse, REACT["action"]),
    "LangChain: middleware": langchain_agent([NormalizationMiddleware(), LoopGuardMiddleware()]),
    "LangChain: recorder": partial(RECORDED, config={"callbacks": [TraceRecorder()]}),
    "LlamaIndex: hooks": llama_index_run(
        with_hooks(llama_index_agent(ReActAgent, streaming=False), default_hooks())
    ),
    "LlamaIndex: recorder": _recorded(llama_index_agent(FunctionAgent, streaming=False)),
}
