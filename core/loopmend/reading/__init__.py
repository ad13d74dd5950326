"""What a model meant: text to a turn."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.reading.json_reading import fit_value
    from loopmend.reading.lexicon import Role, role_of
    from loopmend.reading.problem import Problem
    from loopmend.reading.quick import clean_parts, fit_text
    from loopmend.reading.schema import Schema, schema_of
    from loopmend.reading.tools import Toolbox

_LATE = {
    "Problem": "loopmend.reading.problem",
    "Role": "loopmend.reading.lexicon",
    "Schema": "loopmend.reading.schema",
    "Toolbox": "loopmend.reading.tools",
    "clean_parts": "loopmend.reading.quick",
    "fit_text": "loopmend.reading.quick",
    "fit_value": "loopmend.reading.json_reading",
    "role_of": "loopmend.reading.lexicon",
    "schema_of": "loopmend.reading.schema",
}

__all__ = [
    "Problem",
    "Role",
    "Schema",
    "Toolbox",
    "clean_parts",
    "fit_text",
    "fit_value",
    "role_of",
    "schema_of",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
