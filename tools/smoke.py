"""Try out an installed wheel: what its extra promises works, what it lacks is named.

`make dist` runs this file with the Python of an environment that holds the wheel and nothing of
the checkout, so it imports nothing but what is installed there.
"""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

ADAPTERS: Final = {
    "langchain": "langchain_loopmend",
    "agents": "langchain_loopmend.middleware",
    "classic": "langchain_loopmend.classic",
    "llama-index": "llama_index_loopmend",
    "cli": "loopmend.cli.app",
}
"""What each extra makes importable."""
INSTALLS: Final[dict[str, tuple[str, ...]]] = {
    "core": (),
    "langchain": ("langchain",),
    "agents": ("langchain", "agents"),
    "classic": ("langchain", "classic"),
    "llama-index": ("llama-index",),
    "batch": (),
    "cli": ("cli",),
    "notebooks": (),
    "all": ("langchain", "agents", "classic", "llama-index", "cli"),
}
"""Which adapters work after the wheel was installed with an extra, or with none: `core`."""


def search(query: str) -> str:
    """Search the web."""
    return f"{query}: 717,710 people"


NARRATED: Final = "Let me search for that."
ANSWER: Final = "717,710 people."


def try_core() -> None:
    """Read a turn, decide on a retry, plan, and classify a trace."""
    import loopmend
    from loopmend.contracts import TaskStateInput

    installed = Path(loopmend.__file__)
    expect(installed.is_relative_to(sys.prefix), f"loopmend is imported from {installed}")
    expect_equal(loopmend.__version__, version("loopmend"))
    turn = loopmend.read_turn("Action: search\nAction Input: {'query': 'Oslo',}", tools=[search])
    expect_equal(turn.actions, (loopmend.ToolCall("search", {"query": "Oslo"}),))
    step = loopmend.Mending([search]).reply(loopmend.Reply(NARRATED))
    expect(isinstance(step, loopmend.Ask), f"a narrated call leads to {step}")
    advised = loopmend.Planner().advise(TaskStateInput("Hello!"))
    expect_equal(advised.selected.value, "AnswerDirectly")
    trace = loopmend.Trace.from_react_log("Thought 1: easy\nAction 1: Finish[4]")
    expect_equal(loopmend.classify_trace(trace).stop_reason.value, "final_answer")
    # What stops in the middle is never made up.
    torn = loopmend.read_turn('{"name": "search", "arguments": {"query": "Oslo"')
    expect_equal(torn.failure and torn.failure.tool, "search")


def try_langchain() -> None:
    """Correct a chat model in a chain."""
    from langchain_loopmend import with_parsing_retry
    from langchain_loopmend.testing import ScriptedChatModel

    model = ScriptedChatModel(script=[NARRATED, "Action: search\nAction Input: Oslo"])
    action = with_parsing_retry(model, tools=["search"]).invoke("How many live in Oslo?")
    expect_equal((action.tool, len(model.asked)), ("search", 2))


def try_agents() -> None:
    """Correct an agent of `create_agent`."""
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage

    from langchain_loopmend.middleware import NormalizationMiddleware
    from langchain_loopmend.testing import ScriptedChatModel, call

    model = ScriptedChatModel(script=[NARRATED, call("search", query="Oslo"), ANSWER])
    agent = create_agent(model, [search], middleware=[NormalizationMiddleware()])
    said = agent.invoke({"messages": [HumanMessage("How many live in Oslo?")]})["messages"]
    expect_equal([said[-2].content, said[-1].content], [search("Oslo"), ANSWER])


def try_classic() -> None:
    """Let an `AgentExecutor` read what LangChain's own parser cannot."""
    from langchain_classic.agents import AgentExecutor, create_react_agent
    from langchain_core.prompts import PromptTemplate
    from langchain_core.tools import tool

    from langchain_loopmend.classic import ReActOutputParser
    from langchain_loopmend.testing import ScriptedChatModel

    tools = [tool(search)]
    model = ScriptedChatModel(script=["**Action:** search[Oslo]", f"Final Answer: {ANSWER}"])
    prompt = PromptTemplate.from_template("{tools}{tool_names}{input}{agent_scratchpad}")
    agent = create_react_agent(model, tools, prompt, output_parser=ReActOutputParser(tools=tools))
    done = AgentExecutor(agent=agent, tools=tools).invoke({"input": "How many live in Oslo?"})
    expect_equal(done["output"], ANSWER)


def try_llama_index() -> None:
    """Correct a LlamaIndex agent whose steps are planned, and record its run."""
    from llama_index.core.memory import ChatMemoryBuffer

    from llama_index_loopmend import PlannedFunctionAgent, record_traces
    from llama_index_loopmend.testing import ScriptedLLM, call
    from loopmend import Trace

    async def run() -> Trace | None:
        llm = ScriptedLLM(script=[NARRATED, call("search", query="Oslo"), ANSWER])
        memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
        agent: Any = PlannedFunctionAgent(tools=[search], llm=llm)
        with record_traces() as recorder:
            await agent.run(user_msg="How many live in Oslo?", memory=memory)
        return recorder.last

    trace = asyncio.run(run())
    expect_equal(trace and trace.answer, ANSWER)


def try_cli() -> None:
    """Sort a run with the command, and write the page about it."""
    with TemporaryDirectory() as folder:
        log, page = Path(folder, "run.log"), Path(folder, "page.html")
        log.write_text("Thought 1: easy\nAction 1: Finish[4]", encoding="utf-8")
        command = [sys.executable, "-m", "loopmend", "triage", str(log), "--html", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        expect(done.stdout.startswith("1 run: 1 answered."), f"{done.stdout}{done.stderr}")
        expect("final_answer" in page.read_text(encoding="utf-8"), "the page lacks its run")


TRIED: Final[dict[str, Callable[[], None]]] = {
    "langchain": try_langchain,
    "agents": try_agents,
    "classic": try_classic,
    "llama-index": try_llama_index,
    "cli": try_cli,
}
"""What is tried of each extra."""


def refused(extra: str) -> None:
    """Check that an adapter whose extra is not installed says how to install it."""
    try:
        importlib.import_module(ADAPTERS[extra])
    except ImportError as error:
        # Without LangChain at all, what needs more of it names LangChain's own extra first.
        named = [f'pip install "loopmend[{name}]"' for name in (extra, "langchain")]
        expect(any(name in str(error) for name in named), f"{ADAPTERS[extra]} says: {error}")
    else:
        expect(False, f"{ADAPTERS[extra]} can be imported without its extra")  # noqa: FBT003


def expect(true: bool, otherwise: str) -> None:  # noqa: FBT001
    """Stop with a message unless all is well."""
    if not true:
        sys.exit(f"smoke test failed: {otherwise}")


def expect_equal(got: object, wanted: object) -> None:
    """Stop unless two values are equal."""
    expect(got == wanted, f"{got!r} instead of {wanted!r}")


def main(extra: str) -> None:
    """Try out what an install with this extra promises."""
    try_core()
    for name, attempt in TRIED.items():
        if name in INSTALLS[extra]:
            attempt()
        else:
            refused(name)


if __name__ == "__main__":
    main(sys.argv[1])
