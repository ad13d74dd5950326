"""What a call's element gives its tool: leaves, one object, text, or parameters by name."""

from __future__ import annotations

from typing import Any

from loopmend.reading.element_parts import ElementParts
from loopmend.reading.leaves import content_of, object_of, parameters_of, section_of
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.marks import TAG, argument_start
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import Value, verified

__all__ = ["ElementArguments"]


class ElementArguments(ElementParts):
    """Reads the arguments of a call whose name is known."""

    def _arguments(
        self,
        name: str,
        children: list[Node],
        values: list[Node],
        pieces: list[tuple[str, Role | None]],
    ) -> tuple[Any, Value | None, str | None, bool] | Failure:
        leaves = [c for c in children if c.leaf and c.kind is Kind.TAG and c.role is not Role.NAME]
        if self.node.label is not None and not values and not leaves:
            inner = self.text[self.node.begin : self.node.stop]
            if (found := self._by_parameters(name, inner)) is not None:
                return found, None, None, True
        if any(c.kind is Kind.FENCE and not c.children and self._holds_text(c) for c in children):
            message = f"The arguments of `{name[:80]}` cannot be parsed."
            return Failure(FailurePattern.MALFORMED, message, self.span, name)
        known = [*values, *leaves]
        if known and (
            not self._only_names(name, self._pieces(known)) or self._holds_more(children, known)
        ):
            message = f"Something next to the arguments of `{name[:80]}` cannot be parsed."
            return Failure(FailurePattern.MALFORMED, message, self.span, name)
        if leaves and not values:
            return self._leaves(leaves)
        if len(values) == 1 and not leaves:
            value = values[0].value
            assert value is not None
            value = verified(self.text, value)
            if isinstance(value.value, (dict, str)) or value.value == []:
                return (value.value or {}), value, None, True
        if not values and not leaves and not any(c.kind is Kind.PYTHON for c in children):
            return self._text_body(name, pieces)
        message = f"The call to `{name[:80]}` cannot be parsed."
        return Failure(FailurePattern.MALFORMED, message, self.span, name)

    def _text_body(
        self, name: str, pieces: list[tuple[str, Role | None]]
    ) -> tuple[Any, Value | None, str | None, bool] | Failure:
        node = self.node
        inner = self.text[node.begin : node.stop]
        if node.label is not None and inner.strip():
            found = object_of(inner)
            if not isinstance(found, dict):
                message = f"The arguments of `{name[:80]}` cannot be parsed."
                return Failure(FailurePattern.MALFORMED, message, self.span, name)
            return found, None, None, True
        rest = [text for text, role in pieces if role is not Role.ID]
        lines = sum(len(text.split("\n")) for text in rest) if node.label is None else 0
        if lines > 1 and role_of(rest[0]) not in (Role.CALL, Role.TYPE):
            message = f"Something next to the name of `{name[:80]}` cannot be parsed."
            return Failure(FailurePattern.MALFORMED, message, self.span, name)
        return {}, None, None, node.closed or bool(pieces)

    def _leaves(  # noqa: C901, PLR0912 - one way for each kind of leaf
        self, leaves: list[Node]
    ) -> tuple[Any, Value | None, str | None, bool] | Failure:
        found: dict[str, Any] = {}
        twice: str | None = None
        key: str | None = None
        whole = all(leaf.closed for leaf in leaves)
        single: Any = None
        for leaf in leaves:
            if self._swallows_call(leaf):
                message = "An argument holds the start of another call: its end is unclear."
                return Failure(FailurePattern.MALFORMED, message, (leaf.start, leaf.end))
            content = content_of(self.text, leaf, self.collector.found.repairs)
            section = section_of(content) if leaf.label and isinstance(content, str) else None
            if section is not None:
                content = type(content)(section)
                self.collector.found.repairs.append(Repair("CDATA", (leaf.begin, leaf.stop)))
            if leaf.role is Role.KEY and leaf.label is None:
                key = str(content).strip()
                continue
            if leaf.role is Role.VALUE and key is not None:
                name, key = key, None
            elif leaf.label is not None:
                name = leaf.label
            elif leaf.role is Role.ARGUMENTS and isinstance(content, dict):
                single = content
                continue
            elif leaf.role is Role.ID:
                continue
            elif leaf.role is Role.ARGUMENTS and len(leaves) == 1 and content[:1] not in ("{", "["):
                return content, None, None, whole
            else:
                message = "An argument has no name."
                return Failure(FailurePattern.MALFORMED, message, (leaf.start, leaf.end))
            if name in found:
                if not self._repeats(name):
                    twice = name
                else:
                    content = [*_listed(found[name]), content]
            found[name] = content
        if key is not None:
            message = f"The argument `{key[:80]}` has no value."
            return Failure(FailurePattern.MALFORMED, message, self.span)
        if single is not None:
            return {**single, **found}, None, twice, whole
        if list(found) == ["arguments"] and isinstance(found["arguments"], str):
            return found["arguments"], None, twice, whole
        return found, None, twice, whole

    def _swallows_call(self, leaf: Node) -> bool:
        """Tell whether an argument whose end is not sure holds the start tag of a call."""
        again = argument_start(leaf.name).search(self.text, leaf.begin, leaf.stop)
        if not leaf.guessed and again is None:
            return False
        tags = TAG.finditer(self.text, leaf.begin, leaf.stop)
        return any(not t["slash"] and role_of(t["name"], every=False) is Role.CALL for t in tags)

    def _repeats(self, name: str) -> bool:
        """Tell whether a parameter takes several values, one child each."""
        tools = self.collector.tools
        spec = tools.find(self.node.label or "") if tools is not None else None
        schema = spec.parameters.get(name) if spec is not None else None
        return isinstance(schema, dict) and schema.get("type") == "array"

    def _by_parameters(self, name: str, inner: str) -> Any:
        """Return the arguments if they stand in elements named like the tool's parameters."""
        tools = self.collector.tools
        spec = tools.find(name) if tools is not None else None
        if spec is None or not spec.known:
            return None
        return parameters_of(inner, spec, self.collector.found.repairs, self.node.begin)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
