"""Finding a specialist by what it does, with embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from llama_index.core.base.embeddings.base import BaseEmbedding, similarity

from loopmend.adapting import Match
from loopmend.planning import RosterMatch, match_specialists

__all__ = ["embedding_match"]

_MOST: Final = 256


def embedding_match(embed_model: BaseEmbedding, *, threshold: float = 0.80) -> Match:
    """Return a `match` for `PlannerStepHook` that compares messages with descriptions.

    A specialist addressed by name comes first. Otherwise it returns those whose description is at
    least as similar to the message as the threshold, the most similar first. This costs one
    embedding for each message, and one in total for each description.

    Args:
        embed_model: Makes the embeddings.
        threshold: The cosine similarity from which a specialist fits.

    >>> from llama_index.core.embeddings import MockEmbedding
    >>> callable(embedding_match(MockEmbedding(embed_dim=4)))
    True
    """
    known: dict[str, list[float]] = {}

    async def match(text: str, roster: Mapping[str, str]) -> RosterMatch:
        named = match_specialists(text, roster)
        if named.explicit or not roster:
            return named
        asked = await embed_model.aget_query_embedding(text)
        if len(known) > _MOST:
            known.clear()
        held = dict(known)  # another run may change it meanwhile
        new = [does for does in roster.values() if does and does not in held]
        if new:
            held.update(zip(new, await embed_model.aget_text_embedding_batch(new), strict=True))
            known.update(held)
        scores = {name: similarity(asked, held[does]) for name, does in roster.items() if does}
        fit = [name for name in scores if scores[name] >= threshold]
        fit.sort(key=lambda name: -scores[name])
        return RosterMatch(bool(fit), tuple(fit))

    return match
