"""A missing extra says what to install; an installed one imports."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys

import pytest

from loopmend._extras import require_extra

ADAPTERS = {
    "langchain_loopmend": ("langchain_core", "langchain"),
    "llama_index_loopmend": ("llama_index", "llama-index"),
}


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("adapter", list(ADAPTERS))
def test_a_missing_framework_names_the_extra(adapter: str) -> None:
    """Without the framework, importing the adapter names the command to run."""
    framework, extra = ADAPTERS[adapter]
    # None in sys.modules is how Python itself marks a module as not importable.
    done = run(f"import sys; sys.modules['{framework}'] = None; import {adapter}")
    assert done.returncode == 1
    assert f"ImportError: `{adapter}` needs `{framework}" in done.stderr
    assert f'pip install "loopmend[{extra}]"' in done.stderr


@pytest.mark.parametrize("adapter", list(ADAPTERS))
def test_an_installed_framework_is_not_imported_yet(adapter: str) -> None:
    """With the framework installed the adapter imports, and quickly."""
    pytest.importorskip(ADAPTERS[adapter][0])
    done = run(
        f"import {adapter}, sys; print(any('{ADAPTERS[adapter][0]}.' in m for m in sys.modules))"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False")


def test_modules_name_their_own_extra() -> None:
    """What needs more than the adapter itself says so."""
    pytest.importorskip("langchain_core")  # without it, that is what is missing first
    for module, framework, extra in (
        ("langchain_loopmend.middleware", "langchain", "agents"),
        ("langchain_loopmend.classic", "langchain_classic", "classic"),
    ):
        done = run(f"import sys; sys.modules['{framework}'] = None; import {module}")
        assert f'pip install "loopmend[{extra}]"' in done.stderr


PUBLIC = {
    "langchain_loopmend": [
        *("ActionParseException", "AgentActionOutputParser", "JsonOutputParser"),
        *("ParsingRetry", "PydanticOutputParser", "ValueParseException"),
        *("AgentActionsOutputParser", "GaveUpFinish", "NormalizationError", "ReadingOutputParser"),
        *(
            "RetryingOutputParser",
            "ToolCallRetry",
            "TurnOutputParser",
            "with_parsing_retry",
            "TraceRecorder",
            "record_traces",
        ),
        "as_tool_caller",
        "with_tool_call_retry",
    ],
    "langchain_loopmend.classic": [
        *("LoopStop", "ReActOutputParser", "StructuredOutputParser", "handle_parsing_error"),
        *("replace_output_parser", "with_loop_guard"),
    ],
    "langchain_loopmend.middleware": [
        *("CapAnswerMiddleware", "LoopGuardMiddleware", "MetaSignalMiddleware"),
        "NormalizationMiddleware",
        *("PlannerMiddleware", "ToolCallingMiddleware"),
    ],
    "langchain_loopmend.testing": ["DecodingChatModel", "ScriptedChatModel", "call"],
    "llama_index_loopmend": [
        *("Accept", "ActionOutputParser", "ActionParseException", "AgentStep", "Answer"),
        *("AskAgain", "HandOver", "LoopGuardHook", "MetaSignalEvent", "MetaSignalHook"),
        *("NormalizationHook", "PlanEvent", "PlannedAgentWorkflow", "PlannedCodeActAgent"),
        *("PlannedFunctionAgent", "PlannedReActAgent", "PlannerStepHook", "Proceed"),
        *("ProtocolIssueEvent", "PydanticOutputParser", "RetryingOutputParser", "StepHook"),
        *("TolerantReActOutputParser", "TraceRecorder", "ValueParseException"),
        *("embedding_match", "record_traces", "with_hooks", "with_parsing_retry"),
    ],
    "llama_index_loopmend.testing": ["ScriptedLLM", "call"],
}


@pytest.mark.parametrize("module", list(PUBLIC))
def test_public_names(module: str) -> None:
    """The adapters' public names are locked like the core's, and each has an example."""
    needs = {"langchain_loopmend.classic": "langchain_classic"}
    needs["langchain_loopmend.middleware"] = "langchain.agents"
    pytest.importorskip(needs.get(module, ADAPTERS[module.partition(".")[0]][0]))
    adapter = importlib.import_module(module)
    assert sorted(adapter.__all__) == sorted(PUBLIC[module])
    for name in PUBLIC[module]:
        documented = inspect.getdoc(getattr(adapter, name)) or ""
        assert doctest.DocTestParser().get_examples(documented), name


@pytest.mark.parametrize("name", list(ADAPTERS))
def test_names_that_do_not_exist(name: str) -> None:
    """A misspelt name is an error as in any module, and all names are listed."""
    pytest.importorskip(ADAPTERS[name][0])
    adapter = importlib.import_module(name)
    with pytest.raises(AttributeError, match="has no attribute 'Paser'"):
        _ = adapter.Paser
    assert dir(adapter) == sorted(PUBLIC[name])


def test_require_extra() -> None:
    """What is installed passes; what is not, or lies in a missing package, is named."""
    require_extra("json", extra="x", needed_by="y")
    for module in ("no_such_module", "no_such_package.module"):
        with pytest.raises(ImportError, match=r'pip install "loopmend\[x\]"') as caught:
            require_extra(module, extra="x", needed_by="y")
        assert caught.value.name == module
