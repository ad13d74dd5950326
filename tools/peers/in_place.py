"""A pytest plugin that puts loopmend in place in LangChain's tests, and notes their outcomes.

It runs in the environment of a suite, where nothing of the checkout can be imported, so it
imports nothing but what is installed there.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import pytest

ARM: Final = "LOOPMEND_PEERS_ARM"
"""The variable of the environment that tells what to put in place; nothing if it is unset."""
RESULTS: Final = "LOOPMEND_PEERS_RESULTS"
"""The variable of the environment that tells where to write the outcomes."""

AGENT_PARSERS: Final = (
    "chat.output_parser.ChatOutputParser",
    "conversational.output_parser.ConvoOutputParser",
    "conversational_chat.output_parser.ConvoOutputParser",
    "mrkl.output_parser.MRKLOutputParser",
    "output_parsers.json.JSONAgentOutputParser",
    "output_parsers.react_json_single_input.ReActJsonSingleInputOutputParser",
    "output_parsers.react_single_input.ReActSingleInputOutputParser",
    "output_parsers.xml.XMLAgentOutputParser",
    "structured_chat.output_parser.StructuredChatOutputParser",
)
"""The parsers of langchain-classic for agents that write their calls as text."""
RETRY_PARSERS: Final = (
    "fix.OutputFixingParser",
    "retry.RetryOutputParser",
    "retry.RetryWithErrorOutputParser",
)
"""The parsers of langchain-classic that ask a model again."""


VALUE_PARSERS: Final = {
    "langchain_core.output_parsers.json.JsonOutputParser": "langchain_loopmend.JsonOutputParser",
    "langchain_core.output_parsers.pydantic.PydanticOutputParser": (
        "langchain_loopmend.PydanticOutputParser"
    ),
}
"""The parsers of langchain-core for values, and ours for each."""
STRUCTURED_PARSER: Final = {
    "langchain_classic.output_parsers.structured.StructuredOutputParser": (
        "langchain_loopmend.classic.StructuredOutputParser"
    ),
}
"""The same for langchain-classic."""


class Watcher(logging.Handler):
    """Attaches to the test that runs what loopmend logs, and that it was reached at all."""

    item: pytest.Item | None = None

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember which test runs."""
        self.item = item

    def emit(self, record: logging.LogRecord) -> None:
        """Attach a message."""
        self.attach("told", record.getMessage())

    def attach(self, name: str, text: str = "") -> None:
        """Attach something, once."""
        if self.item is not None and (name, text) not in self.item.user_properties:
            self.item.user_properties.append((name, text))


WATCHER: Final = Watcher(logging.WARNING)


def add_middleware(name: str, at: str) -> None:
    """Add a middleware to every agent that `create_agent` makes; without a name, an idle one."""
    from langchain.agents import factory

    middleware_class = (
        found(f"langchain_loopmend.middleware.{name}") if name else _idle_middleware()
    )
    original: Callable[..., Any] = factory.create_agent

    @wraps(original)
    def create_agent(*args: Any, middleware: Iterable[Any] = (), **kwargs: Any) -> Any:
        WATCHER.attach("reached")
        ours, theirs = [middleware_class()], list(middleware)
        every = ours + theirs if at == "first" else theirs + ours
        return original(*args, middleware=every, **kwargs)

    rebind(modules_of("langchain"), {id(original): create_agent})


def _idle_middleware() -> type:
    from langchain.agents.middleware import AgentMiddleware

    class IdleMiddleware(AgentMiddleware[Any, Any, Any]):
        """Wraps the calls of the model, as ours do, and changes nothing."""

        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(request)

        async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return await handler(request)

    return IdleMiddleware


class Everywhere:
    """Looks to LangChain like a context variable that holds a handler in every context."""

    make: Callable[[], Any] = staticmethod(lambda: None)
    handler: Any = None

    def get(self) -> Any:
        """Return the handler of the test that runs."""
        WATCHER.attach("reached")
        return self.handler


EVERYWHERE: Final = Everywhere()


def add_handler(path: str) -> None:
    """Add a callback handler to every run."""
    from langchain_core.tracers.context import register_configure_hook

    EVERYWHERE.make = found(path)
    register_configure_hook(cast("ContextVar[Any]", EVERYWHERE), inheritable=True)


@pytest.fixture(autouse=True)
def _new_handler() -> Iterator[None]:
    """Give each test its own recorder, as one complains only once about each hook."""
    EVERYWHERE.handler = EVERYWHERE.make()
    yield
    EVERYWHERE.handler = None


def found(path: str) -> Any:
    """Return what has a name in a module."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def swap_classes(package: str, names: Sequence[str], spared: str, ours: str) -> None:
    """Put a class of ours in the place of several of langchain-classic, wherever they are used.

    Args:
        package: Where they are.
        names: Their names in it.
        spared: How the names of modules end that keep what they have; none if empty.
        ours: The class to put there.
    """
    import_module("langchain_classic.agents")
    replacement = found(ours)
    replacements = {id(found(f"{package}.{name}")): replacement for name in names}
    modules = modules_of("langchain_classic", spared)
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, type) and not (spared and value.__module__.endswith(spared)):
            change_defaults(value, replacements)
    rebind(modules, replacements)
    for name in ("__init__", "parse"):
        setattr(replacement, name, watched(getattr(replacement, name)))


def swap_each(package: str, parsers: Mapping[str, str]) -> None:
    """Put a class of ours in the place of each of several, wherever a package uses them.

    Args:
        package: Where they are used.
        parsers: The classes, and ours for each.
    """
    replacements = {id(found(theirs)): found(ours) for theirs, ours in parsers.items()}
    rebind(modules_of(package), replacements)
    for replacement in replacements.values():
        replacement.__init__ = watched(replacement.__init__)


def watched(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that notes which tests call it."""

    @wraps(method)
    def watching(*args: Any, **kwargs: Any) -> Any:
        WATCHER.attach("reached")
        return method(*args, **kwargs)

    return watching


def change_defaults(model: Any, replacements: Mapping[int, Any]) -> None:
    """Have the fields of a pydantic model made by other classes if nothing is passed for them."""
    fields: dict[str, Any] = getattr(model, "__pydantic_fields__", {})
    changed = [one for one in fields.values() if id(one.default_factory) in replacements]
    for field in changed:
        field.default_factory = replacements[id(field.default_factory)]
    if changed:
        model.model_rebuild(force=True)


def rebind(modules: Iterable[ModuleType], replacements: Mapping[int, Any]) -> None:
    """Change the global names that stand for certain objects, known by their ids."""
    for module in modules:
        for name, value in list(vars(module).items()):
            if id(value) in replacements:
                setattr(module, name, replacements[id(value)])


def modules_of(package: str, spared: str = "") -> list[ModuleType]:
    """Return the modules of a package that are imported, except for some."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == package and not (spared and name.endswith(spared))
    ]


def hook_agents(way: str) -> None:
    """Give LlamaIndex's agents step hooks in one of the ways, wherever their classes are used."""
    agents = import_module("llama_index.core.agent.workflow")
    ours = import_module("llama_index_loopmend")
    kinds = [agents.FunctionAgent, agents.ReActAgent, agents.CodeActAgent]
    if way == "workflow":
        replacements = {id(agents.AgentWorkflow): ours.PlannedAgentWorkflow}
    elif way == "planned":
        replacements = {id(kind): getattr(ours, f"Planned{kind.__name__}") for kind in kinds}
    else:
        hooks = None if way == "wrapped" else [ours.PlannerStepHook(mode=way)]
        replacements = {id(kind): _wrapping(kind, ours.with_hooks, hooks) for kind in kinds}
    rebind(modules_of("llama_index"), replacements)
    hooked = import_module("llama_index_loopmend.hooked_steps").HookedSteps
    take_step = hooked.take_step

    async def reached(*args: Any, **named: Any) -> Any:
        WATCHER.attach("reached")
        return await take_step(*args, **named)

    hooked.take_step = reached


def _wrapping(kind: Any, with_hooks: Callable[..., Any], hooks: Any) -> Any:
    """Return a class whose instances are those of another one, with hooks."""

    class Meta(type(kind)):  # type: ignore[misc] # known only now
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not Wrapping:
                return super().__call__(*args, **kwargs)
            return with_hooks(kind(*args, **kwargs), hooks)

    class Wrapping(kind, metaclass=Meta):  # type: ignore[misc] # known only now
        pass

    Wrapping.__name__ = kind.__name__
    return Wrapping


def swap_react_parser() -> None:
    """Put our ReAct parser in the place of LlamaIndex's."""
    agent = found("llama_index.core.agent.workflow.ReActAgent")
    theirs = found("llama_index.core.agent.react.output_parser.ReActOutputParser")
    ours = found("llama_index_loopmend.TolerantReActOutputParser")
    ours.parse = watched(ours.parse)
    change_defaults(agent, {id(theirs): ours})
    rebind(modules_of("llama_index"), {id(theirs): ours})


def swap_pydantic_parser() -> None:
    """Put our parser of values in the place of LlamaIndex's."""
    theirs = found("llama_index.core.output_parsers.pydantic.PydanticOutputParser")
    ours = found("llama_index_loopmend.PydanticOutputParser")
    ours.parse = watched(ours.parse)
    rebind(modules_of("llama_index"), {id(theirs): ours})


_SWAP_AGENT_PARSERS: Final = partial(swap_classes, "langchain_classic.agents", AGENT_PARSERS)
_MIDDLEWARE: Final = {
    "normalization": "NormalizationMiddleware",
    "loops": "LoopGuardMiddleware",
    "signals": "MetaSignalMiddleware",
    "idle": "",
}
_AT: Final = ("last", "first")

IN_PLACE: Final[dict[str, Callable[[], None]]] = {
    **{
        f"{ours}-{at}": partial(add_middleware, name, at)
        for ours, name in _MIDDLEWARE.items()
        for at in _AT
    },
    **{
        f"hooks-{way}": partial(hook_agents, way)
        for way in ("planned", "wrapped", "workflow", "observe", "advise")
    },
    "react-parser": swap_react_parser,
    "pydantic-parser": swap_pydantic_parser,
    "recorder": partial(add_handler, "langchain_loopmend.TraceRecorder"),
    "idle-handler": partial(add_handler, "langchain_core.callbacks.BaseCallbackHandler"),
    # The classes of agents, in modules called base, insist on a subclass of their own class.
    "parser": partial(_SWAP_AGENT_PARSERS, ".base", "langchain_loopmend.AgentActionOutputParser"),
    "parser-classic": partial(
        _SWAP_AGENT_PARSERS, "", "langchain_loopmend.classic.ReActOutputParser"
    ),
    "retry": partial(
        swap_classes,
        "langchain_classic.output_parsers",
        RETRY_PARSERS,
        "",
        "langchain_loopmend.RetryingOutputParser",
    ),
    "values": partial(swap_each, "langchain_core", VALUE_PARSERS),
    "structured": partial(swap_each, "langchain_classic", STRUCTURED_PARSER),
}
"""What each arm puts in place."""
CONTROLS: Final = {
    **{f"{ours}-{at}": f"idle-{at}" for ours in _MIDDLEWARE for at in _AT},
    "recorder": "idle-handler",
}
"""The arms that put something in the same place which does nothing."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Put loopmend in place before the suite imports anything."""
    arm = os.environ.get(ARM)
    if arm:
        IN_PLACE[arm]()


class Outcomes:
    """Notes for each test whether it passed, and what it said if not."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a phase of a test; a test fails if any of its phases does."""
        self.note(report, report.user_properties)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self.note(report, [])

    def note(
        self,
        report: pytest.TestReport | pytest.CollectReport,
        attached: Sequence[tuple[str, object]],
    ) -> None:
        """Note an outcome, unless a worse one is known."""
        test = self.tests.setdefault(
            report.nodeid,
            {"outcome": "passed", "line": "", "text": "", "told": [], "reached": False},
        )
        test["told"] = [text for name, text in attached if name == "told"]
        test["reached"] = ("reached", "") in map(tuple, attached)
        if test["outcome"] == "failed" or report.passed:
            return
        test["outcome"] = report.outcome
        if report.failed:
            test["line"], test["text"] = first_line(report), report.longreprtext

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write down what was noted; the workers of xdist have told it to their controller."""
        if not hasattr(session.config, "workerinput"):
            Path(os.environ[RESULTS]).write_text(json.dumps(self.tests), encoding="utf-8")


def first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the first line of what a failure says."""
    crash = getattr(report.longrepr, "reprcrash", None)
    said = str(crash.message) if crash is not None else report.longreprtext
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [""]
    # A file that cannot be imported says at the end why.
    return lines[0] if crash is not None else lines[-1].removeprefix("E ").strip()


def pytest_configure(config: pytest.Config) -> None:
    """Start noting."""
    config.pluginmanager.register(Outcomes())
    config.pluginmanager.register(WATCHER)
    for name in ("loopmend", "langchain_loopmend", "llama_index_loopmend"):
        logging.getLogger(name).addHandler(WATCHER)
