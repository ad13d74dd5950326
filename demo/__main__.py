"""One agent run that goes wrong, seen by the five contracts."""

from __future__ import annotations

import textwrap

from loopmend import (
    MAX_NORMALIZATION_RETRIES,
    ActionParseError,
    AskUser,
    Final,
    NormalizationPattern,
    TaskStateInput,
    ToolCall,
    build_normalization_retry_prompt,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
    detect_meta_signal,
    detect_normalization_failure,
    parse_action,
    plan,
    read_turn,
    synthesize_task_state,
    to_json,
)

TOOLS = ("web_search", "calculator")
REPLIES = (
    "I would use web_search to find the population of Oslo.",
    "Thought: look\nAction: web_search\nAction Input: {'q': 'Oslo',}\nObservation: 1 million",
    'Action: web_search\nAction Input: {"query": "population of Oslo"',
    '```json\n{"type": "tool_call", "name": "web_search", "arguments": {"q": "Oslo"}}\n```',
    '<answer confidence="0.9">About 720,000<caveat>as of 2024</caveat></answer>',
    '{"type": "final", "content": "About 720,000 people live in Oslo."}',
)
TRACE = {
    "iterations": 6,
    "exit_code": 0,
    "answer": "About 720,000 people live in Oslo.",
    "scratchpad": "Thought: look it up\nAction: web_search\nAction Input: Oslo\n"
    "Observation: 717,710\nThought: that is it\nFinal Answer: About 720,000",
}
BUDGET = 4


def main() -> None:
    """Walk through the run: each reply, the whole trace, and what to do next."""
    print("A model is asked for the population of Oslo. Its replies, one after the other:")
    broken = [show_reply(number, reply) for number, reply in enumerate(REPLIES, 1)]
    show_trace()
    show_plan(had_issues=any(broken))
    print("\nNext: docs/contracts.md has every rule; `make test` runs everything.")


def show_reply(number: int, reply: str) -> bool:
    """Show what the contracts on one turn say, and return whether it broke the protocol."""
    print(f"\n{number}. {textwrap.shorten(reply, 84)}")
    show_reading(reply)
    try:
        action = parse_action(reply)
    except ActionParseError as error:
        line("action", f"none: {error}")
    else:
        line("action", f"{describe(action)}   wire: {textwrap.shorten(to_json(action), 60)}")
        return False
    if signal := detect_meta_signal(reply):
        line("signal", str(signal))
    pattern = detect_normalization_failure(reply)
    line("protocol", "kept" if pattern is None else f"broken: {pattern}")
    if pattern is not None:
        show_correction(pattern)
    return pattern is not None


def show_reading(reply: str) -> None:
    """Show what the tolerant reader makes of one turn."""
    turn = read_turn(reply, tools=TOOLS)
    if turn.failure is not None:
        line("reading", f"{turn.failure.pattern}: {turn.failure.message}")
    for action in turn.actions:
        line("reading", f"{describe(action)}   ({turn.fidelity})")


def show_correction(pattern: NormalizationPattern) -> None:
    """Show what the model is told."""
    prompt = build_normalization_retry_prompt(pattern, len(TOOLS))
    line("tell it", textwrap.shorten(prompt, 84))
    line("", f"(at most {MAX_NORMALIZATION_RETRIES} times in a row)")


def describe(action: Final | ToolCall | AskUser) -> str:
    """Put an action into words."""
    match action:
        case Final(content):
            return f"answer {content!r}"
        case ToolCall(name, arguments):
            return f"call {name} with {arguments}"
        case AskUser(question):
            return f"ask the user {question!r}"


def show_trace() -> None:
    """Show what the contracts on a whole run say."""
    print(f"\nThe whole run, which had a budget of {BUDGET} iterations:")
    line("stopped", str(classify_termination(TRACE)))
    line("grammar", str(classify_scratchpad_grammar(str(TRACE["scratchpad"]))))
    line("budget", str(classify_iteration_bound(TRACE, BUDGET)))


def show_plan(*, had_issues: bool) -> None:
    """Show what should happen in the next turn."""
    turn = TaskStateInput(
        "And of Bergen? Let the geographer check it.",
        intents=["Execution"],
        authority="Creator",
        remaining_budget_tokens=6000,
        taskable_agent_count=1,
        fit_agent_count=1,
        fit_agent_names=["geographer"],
        explicit_specialist_workflow=True,
        previous_turn_had_protocol_issues=had_issues,
    )
    planned = plan(synthesize_task_state(turn), turn)
    print(f"\nThe user goes on: {turn.user_content!r} What should happen, without a model call:")
    for candidate in planned.candidates:
        chosen = "->" if candidate is planned.candidates[0] else "  "
        print(f"   {chosen} {candidate.confidence:.2f} {candidate.action:22} {candidate.rationale}")


def line(label: str, text: str) -> None:
    """Print one labelled line."""
    print(f"   {label:9} {text}")


if __name__ == "__main__":
    main()
