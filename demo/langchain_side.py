"""LangChain's `create_agent`, as it is and with loopmend's middleware."""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from demo.runs import ANSWER, QUESTION, Ran, ran, search
from langchain_loopmend import TraceRecorder
from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware
from langchain_loopmend.testing import ScriptedChatModel, call

__all__ = ["run"]

_CALL: Final = call("search", query="Oslo")
_THEN: Final = (_CALL, f"{ANSWER} people live in Oslo.")
_CUT_OFF: Final = AIMessage(
    "",
    invalid_tool_calls=[{"name": "search", "args": '{"query": "Os', "id": "call_1", "error": None}],
)
_SCRIPTS: Final[dict[str, list[Any]]] = {
    "malformed": [_CUT_OFF, *_THEN],
    "narrated": ["Let me search for that.", *_THEN],
    "empty": ["", *_THEN],
    "unknown tool": [call("google", query="Oslo"), *_THEN],
    "loop": [_CALL] * 30,
}


def run(failure: str, mended: bool) -> Ran:  # noqa: FBT001 - one of two ways
    """Run the agent on a model that fails in a way."""
    model = ScriptedChatModel(script=_SCRIPTS[failure])
    middleware: list[Any] = [LoopGuardMiddleware(), NormalizationMiddleware()] if mended else []
    agent: Any = create_agent(model, [search], middleware=middleware)
    recorder = TraceRecorder()
    asked = {"messages": [("user", QUESTION)]}
    try:
        result = agent.invoke(asked, {"callbacks": [recorder], "recursion_limit": 25})
        answer = str(result["messages"][-1].text)
    except Exception as error:  # noqa: BLE001 - what the user would get to see
        answer = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ran(answer, len(model.asked), recorder.last)
