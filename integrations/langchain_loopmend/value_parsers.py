"""Output parsers for values: LangChain's `JsonOutputParser` and `PydanticOutputParser`, mended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Generic, TypeVar, cast

from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import JsonOutputParser as LangChainJsonParser
from langchain_core.output_parsers import PydanticOutputParser as LangChainPydanticParser
from langchain_core.outputs import Generation
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import BaseModel, ConfigDict, SkipValidation
from typing_extensions import override

from langchain_loopmend.errors import ValueParseException
from langchain_loopmend.messages import reply_of_generation
from langchain_loopmend.streaming import StreamingParser, Tell
from loopmend import Failure, FailurePattern, JsonReader, JsonReading, ReadingConfig, Reply
from loopmend.adapting import read_value_reply
from loopmend.mending import value_correction, value_schema
from loopmend.reading import Schema, fit_value, schema_of

__all__ = ["JsonOutputParser", "PydanticOutputParser", "ValueReader", "value_parser"]

T = TypeVar("T")


class _Described:
    """Looks like a pydantic model to what only asks one for its schema, as LangChain 1.0 does."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def model_json_schema(self) -> dict[str, Any]:
        """Return its schema; LangChain leaves out the type, so only objects can go without one."""
        described = self._schema.json
        return described if "properties" in described else value_schema(self._schema)


class ValueReader(StreamingParser, LangChainJsonParser):
    """How the value parsers read, and what they raise."""

    model_config = ConfigDict(extra="forbid")  # a misspelt option is an error, not a default

    pydantic_object: Any = None
    """What the value has to be: a pydantic model, as in LangChain's parsers, a dataclass, a
    `TypedDict`, any other type that pydantic knows, or a JSON Schema; `None` for any value."""
    strict: bool = False
    """Whether a reply that needs repair is an error."""

    @property
    def wanted(self) -> Schema | None:
        """What the value has to be, in the core's form."""
        return _wanted(self.pydantic_object)

    @staticmethod
    @override
    def _get_schema(pydantic_object: Any) -> dict[str, Any]:
        return dict(pydantic_object.model_json_schema())

    @override
    def get_format_instructions(self) -> str:
        """Return what LangChain's parser tells the model, for any schema."""
        wanted = self.wanted
        if wanted is None:
            return super().get_format_instructions()
        described = self.model_copy(update={"pydantic_object": _Described(wanted)})
        return super(ValueReader, described).get_format_instructions()

    @override
    def parse(self, text: str) -> Any:
        """Read a text.

        Raises:
            ValueParseException: No value can be read with certainty.
        """
        return self._read(Reply(text))

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        if partial:  # part of a model is no instance of it
            whole = isinstance(self, PydanticOutputParser)
            return None if whole else JsonReader().feed(result[0].text)
        return self._read(self._reply(result[0]))

    def _reply(self, generation: Generation) -> Reply:
        """Return a reply whose calls are only those that give the value."""
        reply = reply_of_generation(generation)
        wanted = self.wanted
        named = "" if wanted is None else wanted.name or str(wanted.json.get("title", ""))
        calls = tuple(call for call in reply.calls if call.name == named)
        broken = tuple(call for call in reply.broken_calls if call.name == named)
        return Reply(reply.text, calls, broken, reply.finish_reason)

    def _read(self, reply: Reply) -> Any:
        config = ReadingConfig(strict=self.strict)
        reading = read_value_reply(reply, self.wanted, config).reading
        if reading.failure is not None:
            raise self._refused(reply.text, reading, reading.failure)
        return self._result(reply.text, reading)

    def _refused(self, text: str, reading: JsonReading, failure: Failure) -> OutputParserException:
        words = value_correction(failure, self.wanted)
        name = getattr(self.pydantic_object, "__name__", "a value")
        return ValueParseException(text, reading, failure, words, name)

    def _result(self, text: str, reading: JsonReading) -> Any:  # noqa: ARG002 - for subclasses
        wanted = self.wanted
        if wanted is None or not isinstance(reading.data, (dict, list)):
            return reading.data
        # What a model of pydantic takes may still be another kind than its schema says.
        fitted = fit_value(reading.data, wanted.json)
        return fitted.value if fitted.ok else reading.data

    @override
    def _listener(self) -> tuple[Tell, Tell]:
        reader, told = JsonReader(), None

        def tell(part: Any) -> Iterator[Any]:
            nonlocal told
            if part is not None and part != told:
                before, told = told, part
                yield self._diff(before, part) if self.diff else part

        # Part of a model is no instance of it.
        whole = isinstance(self, PydanticOutputParser)
        return lambda text: () if whole else tell(reader.feed(text)), tell


class JsonOutputParser(ValueReader):
    r"""Like LangChain's `JsonOutputParser`, but reads what models really write and loses nothing.

    It takes the same options and gives the same format instructions. With a `pydantic_object` it
    checks the value by it and returns plain data. A value that stops in the middle is an error,
    not a shorter value; so is an unreadable stream, which LangChain's parser passes over.

    >>> JsonOutputParser().parse("Sure! ```json\n{'city': 'Oslo', people: 717710,}\n```")
    {'city': 'Oslo', 'people': 717710}
    >>> for part in JsonOutputParser().transform(iter(['{"city": "Os', 'lo"}'])):
    ...     print(part)
    {'city': 'Os'}
    {'city': 'Oslo'}
    """


class PydanticOutputParser(ValueReader, LangChainPydanticParser[Any], Generic[T]):
    """Like LangChain's `PydanticOutputParser`, but reads what models write and loses nothing.

    It takes the same options and gives the same format instructions. Besides pydantic models it
    takes every other schema that `read_json` takes. A stream yields the one whole value.

    >>> from pydantic import BaseModel
    >>> class City(BaseModel):
    ...     name: str
    ...     people: int
    >>> parser = PydanticOutputParser(pydantic_object=City)
    >>> parser.parse("<think>Easy.</think>{name: 'Oslo', people: '717710'}")
    City(name='Oslo', people=717710)
    >>> try:
    ...     parser.parse('{"name": "Oslo"}')
    ... except ValueParseException as error:
    ...     print(error.failure.message)
    `people` is missing: an integer.
    """

    model_config = ConfigDict(extra="forbid")  # which the other base class would ignore

    pydantic_object: Annotated[type[T], SkipValidation()]

    @property
    @override
    def OutputType(self) -> Any:
        return self.pydantic_object

    @override
    def parse(self, text: str) -> T:
        return cast("T", super().parse(text))

    @override
    def _result(self, text: str, reading: JsonReading) -> Any:
        model: Any = self.pydantic_object
        if not _is_v1(model):
            return reading.value
        try:
            return model.parse_obj(reading.data)
        except ValueError as error:
            failure = Failure(FailurePattern.BAD_VALUE, str(error), reading.span)
            raise self._refused(text, reading, failure) from error


def value_parser(parser: Any) -> Any:
    """Return ours in place of a JSON parser of LangChain's, which reads less; else the parser."""
    if isinstance(parser, ValueReader):
        return parser
    own = type(parser)
    reads = getattr(own, "parse_result", None), getattr(own, "parse", None)
    for theirs, ours in _OURS:  # one that reads in its own way is left alone
        if reads == (theirs.parse_result, theirs.parse):
            return ours(pydantic_object=parser.pydantic_object)
    names = getattr(parser, "response_schemas", None)
    structured = own.__name__ == "StructuredOutputParser" and isinstance(names, list)
    return JsonOutputParser(pydantic_object=_by_names(names)) if structured else parser


_OURS: Any = (
    (LangChainPydanticParser, PydanticOutputParser),
    (LangChainJsonParser, JsonOutputParser),
)


def _by_names(response_schemas: Any) -> dict[str, Any]:
    """Return what langchain-classic's `ResponseSchema`s say; their types are for the model only."""
    described = {each.name: {"description": each.description} for each in response_schemas}
    return {"type": "object", "properties": described, "required": list(described)}


def _wanted(described: Any) -> Schema | None:
    if isinstance(described, dict) and "properties" not in described:
        described = _unwrapped(described)
    return schema_of(described.schema() if _is_v1(described) else described)


def _is_v1(described: Any) -> bool:
    """Tell whether something is a model of pydantic 1."""
    return hasattr(described, "parse_obj") and not (
        isinstance(described, type) and issubclass(described, BaseModel)
    )


def _unwrapped(described: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool or function that is described as providers want it."""
    function = described.get("function", described)
    inner = isinstance(function, dict) and "parameters" in function and "name" in function
    return convert_to_json_schema(described) if inner else described
