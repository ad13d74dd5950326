"""An output parser for values: LlamaIndex's `PydanticOutputParser`, mended."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any, get_origin

from llama_index.core.output_parsers.pydantic import PYDANTIC_FORMAT_TMPL
from llama_index.core.output_parsers.pydantic import PydanticOutputParser as LlamaIndexParser
from typing_extensions import is_typeddict, override

from llama_index_loopmend.errors import ValueParseException
from loopmend import JsonReading, ReadingConfig, read_json
from loopmend.mending import value_correction
from loopmend.reading import Schema, schema_of

__all__ = ["PydanticOutputParser", "refused_value", "value_parser"]


class _Described:
    """Looks like a pydantic model to what only asks one for its schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def model_json_schema(self) -> dict[str, Any]:
        return dict(self._schema.json)


class PydanticOutputParser(LlamaIndexParser[Any]):
    r"""Like LlamaIndex's `PydanticOutputParser`, but reads what models really write.

    It takes the same arguments and tells the model the same. Besides pydantic models it takes every
    other schema that `read_json` takes. A value that stops in the middle is an error.

    >>> from pydantic import BaseModel
    >>> class City(BaseModel):
    ...     name: str
    ...     people: int
    >>> PydanticOutputParser(City).parse("Sure!\n```json\n{name: 'Oslo', people: '717710',}\n```")
    City(name='Oslo', people=717710)
    """

    def __init__(
        self,
        output_cls: Any,
        excluded_schema_keys_from_format: list[str] | None = None,
        pydantic_format_tmpl: str = PYDANTIC_FORMAT_TMPL,
        *,
        strict: bool = False,
    ) -> None:
        """Make a parser.

        Args:
            output_cls: What the value has to be: a pydantic model, a dataclass, a `TypedDict`, any
                other type that pydantic knows, or a JSON Schema.
            excluded_schema_keys_from_format: As in LlamaIndex's parser.
            pydantic_format_tmpl: As in LlamaIndex's parser.
            strict: Whether a reply that needs repair is an error.

        Raises:
            TypeError: `output_cls` describes no type.
        """
        self.wanted = schema_of(output_cls)
        """The value's schema, in the core's form."""
        self.config = ReadingConfig(strict=strict)
        """How to read."""
        self._given = output_cls
        described: Any = _Described(self.wanted or Schema(None, {}))
        super().__init__(described, excluded_schema_keys_from_format, pydantic_format_tmpl)

    @property
    @override
    def output_cls(self) -> Any:
        """The class of the value; `object` if what it has to be is no class.

        LlamaIndex's programs ask whether the value is an instance of it, and of a `TypedDict` or a
        JSON Schema nothing is.
        """
        given = self._given
        is_class = isinstance(given, type) and get_origin(given) is None
        return given if is_class and not is_typeddict(given) else object

    @override
    def parse(self, text: str) -> Any:
        """Read a reply.

        Raises:
            ValueParseException: It holds no value for sure.
        """
        reading = read_json(text, self.wanted, config=self.config)
        if reading.failure is not None:
            raise refused_value(text, reading, self.wanted)
        return reading.value


def refused_value(text: str, reading: JsonReading, wanted: Schema | None) -> ValueParseException:
    """Return the error of a reply that holds no value for sure."""
    assert reading.failure is not None
    words = value_correction(reading.failure, wanted or Schema(None, {}))
    return ValueParseException(text, reading, reading.failure, words)


def value_parser(parser: object) -> PydanticOutputParser | None:
    """Return ours in place of LlamaIndex's own, which reads less; `None` for any other parser."""
    if isinstance(parser, PydanticOutputParser):
        return parser
    # One that reads in its own way is left alone.
    reads = [getattr_static(kind, "parse", None) for kind in (type(parser), LlamaIndexParser)]
    given: Any = parser
    return PydanticOutputParser(given.output_cls) if reads[0] is reads[1] else None
