"""One table of words gives tags, keys, headers and infos their roles."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend.reading import lexicon
from loopmend.reading.lexicon import WORDS, Polarity, Role, polarity_of, role_of, words_of

_LISTED = [
    (word, role)
    for rows in (lexicon._ROWS, lexicon._WHOLE)
    for role, words in rows
    for word in words.split()
]


def test_each_word_stands_in_one_row() -> None:
    """No word has two senses: the table says so, and a later row would win silently."""
    counted = Counter(word for word, _ in _LISTED)
    assert [word for word, times in counted.items() if times > 1] == []
    assert len(WORDS) == len(_LISTED)


def test_no_word_is_a_polarity_as_well() -> None:
    """A word that opens or closes names nothing."""
    assert not set(WORDS) & set(lexicon._POLES)


@pytest.mark.parametrize(("word", "role"), _LISTED)
def test_each_word_alone_has_its_role(word: str, role: Role) -> None:
    """Each word of the table can be reached: it is a word, and has its own role."""
    if re.fullmatch(r"[^\W\d_]+", word):
        assert words_of(word) == (word,)
        assert role_of(word) is role
        assert role_of(word.upper()) is role_of(word.upper().lower())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("toolCall_ID 2", ("tool", "call", "id")),
        ("ACTIONINPUT", ("action", "input")),
        ("actioninput", ("action", "input")),
        ("XMLToolCall", ("xml", "tool", "call")),
        ("tool-calls-begin", ("tool", "calls", "begin")),
        ("toolcallend", ("tool", "call", "end")),
        ("ActionX", ("action", "x")),
        ("zebra", ("zebra",)),
        ("toolzebra", ("toolzebra",)),
        ("123", ()),
        ("", ()),
    ],
)
def test_words(name: str, words: tuple[str, ...]) -> None:
    """A name is taken apart at case, separators and digits; one word only if all of it is known."""
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("tool_call", Role.CALL),
        ("Function Call", Role.CALL),
        ("tool_call_id", Role.ID),
        ("action_input", Role.ARGUMENTS),
        ("tool_input", Role.ARGUMENTS),
        ("toolName", Role.NAME),
        ("parameter_name", Role.KEY),
        ("arg_key", Role.KEY),
        ("arg_value", Role.VALUE),
        ("tool_type", Role.TYPE),
        ("tool_response", Role.OBSERVATION),
        ("function_results", Role.OBSERVATION),
        ("response", Role.SAY),
        ("Final Answer", Role.ANSWER),
        ("final_thought", Role.THINK),
        ("clarification question", Role.ASK),
        ("tool_sep", Role.SEPARATOR),
        ("end", None),
        ("the list", Role.FILLER),
        ("example tool call", Role.SHOWN),
        ("last_action", Role.SHOWN),
        ("réponse finale", Role.ANSWER),
        ("Aktionseingabe", Role.ARGUMENTS),
        ("行动输入", Role.ARGUMENTS),
        ("最终答案", Role.ANSWER),
        ("Course of Action", None),
        ("banana", None),
        ("42", None),
        ("", None),
    ],
)
def test_roles_of_compounds(name: str, role: Role | None) -> None:
    """The senses of all words give one role, by priority; one unknown word is too many."""
    assert role_of(name) is role


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("longcat_tool_call", Role.CALL),
        ("minimax:tool_call", Role.CALL),
        ("seed:think", Role.THINK),
        ("acme-arg-value", Role.VALUE),
        ("banana", None),
        ("acme_example_call", Role.SHOWN),
    ],
)
def test_qualifiers_in_tags(name: str, role: Role | None) -> None:
    """Tags may be qualified by a vendor's name; keys and headers may not."""
    assert role_of(name, every=False) is role
    assert role_of(name) is None


@pytest.mark.parametrize(
    ("name", "polarity"),
    [
        ("tool_calls_begin", Polarity.OPEN),
        ("im_start", Polarity.OPEN),
        ("tool_call_end", Polarity.CLOSE),
        ("endofcall", None),
        ("ToolCallStop", Polarity.CLOSE),
        ("tool_call", None),
    ],
)
def test_polarity(name: str, polarity: Polarity | None) -> None:
    """A token says in words of its own whether it opens or closes."""
    assert polarity_of(name) is polarity


@given(
    st.lists(
        st.sampled_from([w for w in WORDS if w.isascii() and w.isalpha() and len(w) > 2]),
        min_size=1,
        max_size=3,
    )
)
def test_separators_and_case_do_not_matter(words: list[str]) -> None:
    """However the words of a name are joined and spelled, its role is the same."""
    role = role_of(" ".join(words))
    for joined in (
        "_".join(words),
        "-".join(words).upper(),
        " ".join(word.capitalize() for word in words),
        words[0] + "".join(word.capitalize() for word in words[1:]),
        "".join(word.capitalize() for word in words),
        "_".join(words) + "_2",
    ):
        assert role_of(joined) is role


@given(st.text(max_size=40))
def test_any_name_has_words_and_at_most_one_role(name: str) -> None:
    """Whatever a name is, its words are letters in lower case, and asking twice gives the same."""
    assert all(word == word.lower() and word for word in words_of(name))
    assert role_of(name) is role_of(name)
    if role_of(name) is not None:
        assert role_of(name, every=False) is role_of(name)
