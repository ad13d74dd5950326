"""Elements and tokens that announce a call: the name and the arguments that stand in them.

| shape | example |
|---|---|
| values or Python inside | `<tool_call>{"name": …}</tool_call>`, `<tool_call>[f(a=1)]</tool_call>` |
| a name and leaves | `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">…` |
| a name, then an object | `[TOOL_CALLS]f[ARGS]{…}`, `call:f{…}`, `f<sep>{…}` |
| keys and values in turn | `<arg_key>a</arg_key><arg_value>1</arg_value>` |
| an element for each part | `<tool>f</tool><tool_input>…</tool_input>`, `<f><a>1</a></f>` |
| other elements inside | `<function_calls><invoke …>…</function_calls>` |
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from loopmend.reading.candidates import Candidate
from loopmend.reading.element_arguments import ElementArguments
from loopmend.reading.element_parts import CALL_PREFIX, is_label
from loopmend.reading.leaves import (
    begins_with_element,
    content_of,
    object_of,
)
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.marks import BENT
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import verified
from loopmend.reading.written_calls import Call

__all__ = ["Body"]

_TRUNCATED: Final = "The call is cut off."


class Body(ElementArguments):
    """What stands inside of an element or behind a token that announces a call."""

    def read(self) -> list[Candidate]:
        """Return all that it announces: calls, or why they cannot be read."""
        node = self.node
        if any(not _is_harmless(key, value) for key, value in node.attributes.items()):
            return [self._failed("An attribute makes it unclear whether the call is meant.")]
        if node.leaf:
            return [self._elements_of_tool()]
        children = [c for c in node.children if c.kind is not Kind.NOISE and not self._is_token(c)]
        if any(c.role is Role.CALL and c.kind is Kind.TAG for c in children):
            return self._nested()
        name = node.label or self._child_name(children)
        values = [c for c in _opened(children) if c.kind is Kind.VALUE]
        pythons = [c for c in _opened(children) if c.kind is Kind.PYTHON]
        headers = [c for c in children if c.kind is Kind.HEADER]
        pieces = self._pieces()
        if several := self._named_in_turn(children):
            return several
        if name is None and pieces and not headers:
            name = self._prefix(pieces, children)
        if name is not None:
            return [self._named(name, children, values, pieces)]
        if values or pythons:
            return self._described(values, pythons, children)
        if headers:
            first = len(self.collector.found.candidates)
            self.collector.sequence(node, None)
            made = self.collector.found.candidates[first:]
            del self.collector.found.candidates[first:]
            return made or [self._failed("The reply announces a tool call that cannot be parsed.")]
        if not self.text[node.begin : node.stop].strip() and not node.closed:
            return [self._failed(_TRUNCATED, FailurePattern.TRUNCATED)]
        return [self._failed("The reply announces a tool call that cannot be parsed.")]

    def with_sibling(self, sibling: Node, shown: str | None) -> Candidate:
        """Read `<tool>name</tool><tool_input>…</tool_input>`."""
        name = self.node.label or self.text[self.node.begin : self.node.stop].strip()
        arguments = content_of(self.text, sibling, self.collector.found.repairs)
        span = (self.node.start, sibling.end)
        torn = Tear.WHOLE if sibling.closed else Tear.CUT
        repairs: tuple[Repair, ...] = ()
        if torn and self._stops_at_input(sibling, arguments):
            torn, repairs = Tear.WHOLE, (Repair("missing end tag", (sibling.stop, sibling.end)),)
        raw = isinstance(arguments, dict)
        call = Call(name, arguments, span, raw=raw, torn=torn, repairs=repairs)
        return Candidate(span, [call], form="tags", shown=shown)

    def _stops_at_input(self, sibling: Node, arguments: Any) -> bool:
        """Tell whether LangChain's agent stopped the model at `</tool_input>`, as it always does."""
        names = (self.node.name, sibling.name)
        if names != ("tool", "tool_input") or isinstance(arguments, dict):
            return names == ("tool", "tool_input")
        plain = arguments.strip()
        return bool(plain) and plain[0] not in "{[\"'" and "<" not in plain

    def _nested(self) -> list[Candidate]:
        """Read calls within an element that holds several."""
        collector = self.collector
        first = len(collector.found.candidates)
        collector.sequence(self.node, None)
        made = collector.found.candidates[first:]
        del collector.found.candidates[first:]
        if made:
            parts = [c for c in self.node.children if c.kind is not Kind.NOISE]
            beside = [self.text[a.end : b.start] for a, b in pairwise(parts)]
            beside += [self.text[self.node.begin : parts[0].start]]
            beside += [self.text[parts[-1].end : self.node.stop]] if self.node.closed else []
            aside = any(c.kind is Kind.CODE for c in parts)
            if aside or not all(is_label(text) for text in beside):
                return [self._failed("Something next to the call cannot be parsed.")]
            made[0].span = (self.node.start, made[0].span[1])
            if self.node.closed:
                made[-1].span = (made[-1].span[0], self.node.end)
        return made or [self._failed("The reply announces a tool call that cannot be parsed.")]

    def _named_in_turn(self, children: list[Node]) -> list[Candidate]:
        """Read `[TOOL_CALLS]f{…}g{…}`: several names behind a token, each right before an object."""
        if not self.node.token or len(children) < 2:  # noqa: PLR2004 - one call is read elsewhere
            return []
        made: list[Candidate] = []
        at = self.node.begin
        for child in children:
            name = CALL_PREFIX.sub("", self.text[at : child.start].strip())
            if (
                child.value is None
                or not isinstance(child.value.value, dict)
                or not self._is_name(name)
            ):
                return []
            value = verified(self.text, child.value)
            span = (at if made else self.node.start, child.end)
            made.append(
                Candidate(span, [Call.of_value(name, value.value, span, value)], form="tags")
            )
            at = child.end
        return [] if self.text[at : self.node.stop].strip() else made

    def _named(
        self,
        name: str,
        children: list[Node],
        values: list[Node],
        pieces: list[tuple[str, Role | None]],
    ) -> Candidate:
        """Read the arguments of a call whose name is known."""
        arguments = self._arguments(name, children, values, pieces)
        if isinstance(arguments, Failure):
            return Candidate(self.span, failure=arguments, form="tags")
        found, value, twice, whole = arguments
        node = self.node
        repairs: list[Repair] = list(value.repairs) if value else []
        if BENT.match(self.text, node.start):
            repairs.append(Repair("start tag", (node.start, node.begin)))
        torn = value.torn if value else Tear.WHOLE
        if not whole:
            torn = Tear.CUT
        elif not node.closed:
            over = node.guessed and any(c.leaf for c in children)
            if not (node.token or over) and (
                not children or (value is None and self._may_go_on(name, found))
            ):
                torn = Tear.CUT
            if node.token and value is None and not any(c.leaf for c in children):
                torn = Tear.CUT if not self._takes_nothing(name) else Tear.WHOLE
            if not node.token:
                repairs.append(Repair("missing end tag", (node.end, node.end)))
        repairs += [
            Repair("missing end tag", (c.stop, c.stop)) for c in children if c.leaf and c.guessed
        ]
        end = node.end
        if not node.closed and children:
            end = max(c.end for c in children)
        span = (node.start, end)
        raw = value is None
        twice = twice or (value.twice if value else None)
        call = Call(name, found, span, raw=raw, torn=torn, twice=twice, repairs=tuple(repairs))
        return Candidate(span, [call], form="tags")

    def _may_go_on(self, name: str, given: Any) -> bool:
        """Tell whether the tool takes more than an element holds that nothing closes."""
        tools = self.collector.tools
        spec = tools.find(name) if tools is not None else None
        if spec is None or not spec.known or not isinstance(given, dict):
            # Servers stop at `</function>` and leave it out; other end tags are there or missing.
            return not self.node.valued
        return any(parameter not in given for parameter in spec.parameters)

    def _takes_nothing(self, name: str) -> bool:
        tools = self.collector.tools
        spec = tools.find(name) if tools is not None else None
        return spec is not None and spec.known and not spec.required

    def _elements_of_tool(self) -> Candidate:
        """Read `<search><q>x</q></search>`, an element named like a tool."""
        node = self.node
        inner = self.text[node.begin : node.stop]
        name = node.label or node.name
        found = self._by_parameters(name, inner)
        if found is None:
            found = object_of(inner) if inner.strip() else {}
        if isinstance(found, str) and begins_with_element(inner):
            return self._failed(f"The arguments of `{name[:80]}` cannot be parsed.")
        call = Call(name, found, self.span, raw=True)
        return Candidate(self.span, [call], form="tags")

    def _described(
        self,
        values: list[Node],
        pythons: list[Node],
        children: list[Node],
    ) -> list[Candidate]:
        """Read all calls that values or Python describe, and account for all of them."""
        made: list[Candidate] = []
        for node in sorted([*values, *pythons], key=lambda n: n.start):
            if node.kind is Kind.PYTHON:
                calls = [Call.of_python(call) for call in node.calls]
                made.append(Candidate((node.start, node.end), calls, form="tags"))
                continue
            value = node.value
            assert value is not None
            candidate = self.collector.described(value, marked=True)
            if candidate is None:
                return [self._failed("The reply announces a tool call that cannot be parsed.")]
            if candidate.form != "contract":
                candidate.form = "tags"
            made.append(candidate)
        known = [*values, *pythons]
        beside = self._pieces(known)
        if not all(is_label(text) for text, _ in beside) or self._holds_more(children, known):
            return [self._failed("Something next to the call cannot be parsed.")]
        made[0].span = (self.node.start, made[0].span[1])
        end = self.node.end if self.node.closed else made[-1].span[1]
        made[-1].span = (made[-1].span[0], end)
        if not self.node.closed and not self.node.token:
            for candidate in made:
                candidate.calls = [
                    replace(c, repairs=(*c.repairs, Repair("missing end tag", (end, end))))
                    for c in candidate.calls
                ]
        return made


def _is_harmless(key: str, value: str) -> bool:
    """Tell whether an attribute only names, numbers or types a call."""
    role = role_of(key)
    if role is Role.TYPE:
        return role_of(value) in (Role.CALL, Role.FORMAT)
    return role in (Role.NAME, Role.ID, Role.CALL, Role.KEY, Role.ARGUMENTS)


def _opened(children: list[Node]) -> list[Node]:
    """Return nodes with what stands in fences in their place."""
    found: list[Node] = []
    for child in children:
        if child.kind is Kind.FENCE:
            found += _opened(child.children)
        else:
            found.append(child)
    return found
