"""A tool that asks a human. LlamaIndex reads its annotations, so that they are no texts here."""

from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent


async def ask_human(ctx: Context, what: str) -> str:
    """Ask a human."""
    said = await ctx.wait_for_event(
        HumanResponseEvent, waiter_event=InputRequiredEvent(), waiter_id=what
    )
    return f"They said {said.response}."
