"""Learning the weights: logistic regression over words, scaled by how well each tells apart.

What a word is worth is first what it says alone (the ratio of how often meant and shown replies
hold it), which the regression then weighs against the other words (Wang and Manning, 2012).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loopmend.reading.weighing import Weights, Words, features, is_word
from tools.weighing.rows import Row

__all__ = ["learn"]

Numbers = NDArray[Any]

COMMON: Final = 300
"""How many words keep their identity beside their neighbours."""
SEEN: Final = 3
"""How many rows hold what is learnt at all."""
PENALTY: Final = 3.0
"""How dear a weight is."""
LAYOUT: Final = 100.0
"""How dear it is to go by signs and lines: authors differ in these, and refusals have any."""
HOUSE: Final = 4.0
"""How much a row of the house counts: it stands for a case that once went wrong."""
SCALE: Final = 8.0
"""What a text weighs before anything is learnt."""
ROUNDS: Final = 300
_STEP: Final = 0.05
_SMALLEST: Final = 20


def learn(rows: Sequence[Row]) -> Weights:
    """Return the weights that fit rows best."""
    common = _common(row.words for row in rows)
    found = [frozenset(features(row.words, common)) for row in rows]
    seen = Counter(name for names in found for name in names)
    index = {name: at for at, name in enumerate(sorted(n for n in seen if seen[n] >= SEEN))}
    meant = np.array([row.meant for row in rows])
    matrix = _Matrix(found, index)
    ratio = _ratio(matrix, meant)
    matrix.scale(ratio)
    counts = np.array([HOUSE if row.author == "house" else 1.0 for row in rows])
    penalty = np.array(
        [PENALTY if any(map(str.isalpha, _content(name))) else LAYOUT for name in index]
    )
    weights, bias = _fitted(matrix, meant, counts, penalty)
    weights *= ratio * SCALE
    rounded = np.rint(1000 * weights).astype(int)
    kept = {
        name: int(rounded[at])
        for name, at in index.items()
        if abs(rounded[at]) >= _SMALLEST or is_word(name)  # a word that weighs nothing is known
    }
    return Weights(common, round(1000 * bias), kept)


def _content(name: str) -> str:
    """Return the words of a feature, without the zone; of the layout nothing."""
    return "" if name.startswith(("n", "end ", "lines ", "next ")) else name[1:]


def _common(texts: Iterable[Words]) -> frozenset[str]:
    """Return the words that most texts hold."""
    counted: Counter[str] = Counter()
    for words in texts:
        counted.update({n[1:] for n in features(words, ()) if n[0] in "lt" and n[1:].isalpha()})
    ranked = sorted(counted, key=lambda word: (-counted[word], word))
    return frozenset(ranked[:COMMON])


class _Matrix:
    """Rows of features, each of length one."""

    def __init__(self, found: Sequence[frozenset[str]], index: dict[str, int]) -> None:
        held = [sorted(index[name] for name in names if name in index) for names in found]
        self.rows = np.repeat(np.arange(len(held)), [len(each) for each in held])
        self.columns = np.array([at for each in held for at in each])
        lengths = np.sqrt([len(names) for names in found])
        self.values = 1 / lengths[self.rows]
        self.shape = len(held), len(index)

    def scale(self, ratio: Numbers) -> None:
        """Scale each column."""
        self.values = self.values * ratio[self.columns] * SCALE

    def times(self, weights: Numbers) -> Numbers:
        """Return the sum of each row."""
        return np.bincount(self.rows, self.values * weights[self.columns], self.shape[0])

    def back(self, rows: Numbers) -> Numbers:
        """Return the sum of each column."""
        return np.bincount(self.columns, self.values * rows[self.rows], self.shape[1])

    def counts(self, of: Numbers) -> Numbers:
        """Return how many of some rows hold each feature."""
        return np.bincount(self.columns, of[self.rows].astype(float), self.shape[1])


def _ratio(matrix: _Matrix, meant: Numbers) -> Numbers:
    """Return how well each feature alone tells meant from shown."""
    made, shown = 1 + matrix.counts(meant), 1 + matrix.counts(~meant)
    ratio: Numbers = np.abs(np.log((made / made.sum()) / (shown / shown.sum())))
    return ratio


def _fitted(
    matrix: _Matrix, meant: Numbers, counts: Numbers, penalty: Numbers
) -> tuple[Numbers, float]:
    """Fit by gradient descent (Adam) over all rows at once, so that it comes out the same."""
    balance = np.where(meant, counts / counts[meant].sum(), counts / counts[~meant].sum())
    balance *= len(meant) / 2
    weights = np.zeros(matrix.shape[1] + 1)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for turn in range(1, ROUNDS + 1):
        z = matrix.times(weights[:-1]) + weights[-1]
        error = (1 / (1 + np.exp(-z)) - meant) * balance
        slope = np.append(matrix.back(error) + penalty * weights[:-1], error.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        grown = first / (1 - 0.9**turn) / (np.sqrt(second / (1 - 0.999**turn)) + 1e-8)
        weights -= _STEP * (1 - turn / (ROUNDS + 1)) * grown
    return weights[:-1], float(weights[-1])
