"""Answers that are none but answers, and announcements that are no answer."""

from __future__ import annotations

import pytest

from loopmend import FailurePattern, FinalAnswer, ReadingConfig, read_response, read_turn

TOOLS = ["search", "weather", "send_email", "calculator", "create_ticket"]

ANSWERS = [
    "Your ticket has now been created: TICK-42.",
    "Your meeting is now confirmed for 3 pm on Friday.",
    "The address on file is now updated to 5 Main Street.",
    "It is 20 degrees in Oslo. I can check the weather in other cities too, just ask.",
    "Paris has 2.1 million inhabitants. Let me know if you'd like me to search for more.",
    "I found three results. I can run another search with other keywords if these do not help.",
    "I can find no record of that order in our system.",
    "I can see two appointments on Friday: 9:00 and 14:00.",
    "I would start with chapter 3; it needs the least background.",
    "I'd use a dictionary here, as lookups take constant time.",
    "We should see rain in Bergen tomorrow, about 12 mm.",
    "Looking at the data, sales rose by 5 % in May.",
    "Using the formula, the area comes to 12 square metres.",
    "Reading for 20 minutes a day improves vocabulary.",
    "Running costs are 340 euros per month.",
    "Processing takes 3 to 5 business days.",
    "Checking accounts at this bank have no monthly fee.",
    "Je vais bien, merci ! Il fait 20 degrés à Paris.",
    "Ich werde oft gefragt, wie alt Oslo ist: etwa 1000 Jahre.",
    "def add(a, b):\n    return a + b",
    "x = [1, 2, 3]",
    "import math\nprint(math.pi)",
    "for i in range(3):\n    print(i)",
    '{"name": "Oslo", "population": 717710}',
    '{"name": "Bob", "arguments": ["free speech", "privacy"]}',
    '[{"name": "search", "description": "search the web"}]',
    '```json\n{"action": "buy", "amount": 3}\n```',
    '```python\nsearch(query="Oslo")\n```\nThat is how you would call it.',
    "I can help you with searching the web, sending email and creating tickets. What do you need?",
    "I can help you with weather, search and email.",
    "I can search the web, check the weather, send email and create tickets. Just tell me what you need.",
    "I have access to these tools: search, weather, send_email, calculator. I can use any of them.",
    "Hello! I can search the web for you.",
    "Observation: the cell membrane is intact. Conclusion: the sample is viable.",
    "I need to see your ID before I can go on. Please upload it.",
    "I will need to get your confirmation before sending: please reply yes.",
    "To proceed I need your order number.",
    "I'll do my best! Have a nice day.",
    "Let's get started! What would you like to know first",
    "You're welcome! Let me know if there is anything else.",
    "Thanks for the summary. Let's call it a day.",
    "I should do fine with that, thank you.",
    "Sorry, I can't do that. I can only search the web.",
    "The function is called search(query) and returns a string.",
    "To call the tool, write `<tool_call>` and then the JSON.",
    'The XML tag is <invoke name="x">, as in Anthropic\'s format.',
    "Steps:\n1. Open the file\n2. Run `make`\n3. Check the output",
    "Action: buy milk\nDeadline: Friday",
    "Thought for the day: be kind.\nAction: smile at a stranger.",
    "Dear Bob,\n\nI will call you on Monday about the contract.\n\nBest,\nAnn",
    "Draft:\n\nHi team, I'll review the document tomorrow and send my comments.",
    "As the report says: 'We will investigate the matter.'",
    'Hamlet says: "Let me see."',
    "I could not reach the weather service, so I can't tell. I will try again later if you ask.",
    "I was unable to find flights. You could try searching for other dates.",
    "I've sent the email. Now the ticket is updated as well.",
    "Now that the deployment is confirmed, you can close the ticket.",
    "The total is 4,200. I used the calculator to verify it: 42 * 100.",
    "The result is 12. I should use calculator precision notes: none needed.",
    "Sure: I would use the search tool for recent facts and calculator for sums; for your question no tool was needed, the answer is 4.",
    "SELECT name FROM users WHERE id = 1",
    "print('hello')",
    "foo(bar=1)",
    "<div>Hello</div>",
    "calculator(expression='2+2') gives 4.",
    "I should do that",
    "Calling all fans: the concert is on Friday!",
    "Opening hours: 9 to 17, Monday to Friday.",
    "Loading dock B is free at 14:00.",
    "I am going to be honest: I don't know.",
    "You asked whether we should test in production. We should test in staging first.",
]

ANNOUNCED = [
    "I'm searching for that now.",
    "I am checking the weather in Oslo...",
    "One moment while I look that up.",
    "Hold on, searching...",
    "Please wait while I fetch the data.",
    "Allow me to search the web.",
    "Going to search now.",
    "Searching…",
    "I'm going to have to look that up.",
    "Time to call the weather tool.",
    " Let me search: ",
    "Let me search for that.",
    "I will use the search tool.",
    "Next, I'll look up Oslo. Then I will check the weather.",
    "I would use search to find that out.",
    "Ich werde das jetzt im Netz suchen.",
    "Je vais chercher cela.",
    "Voy a buscar eso.",
]


@pytest.mark.parametrize("text", ANSWERS)
@pytest.mark.parametrize("after", [False, True])
def test_answers_stay_answers(text: str, *, after: bool) -> None:
    """What an agent says at its end is taken for that, however much it talks of its work."""
    config = ReadingConfig(after_tool_result=after)
    turn = read_response(text, tools=TOOLS, config=config)
    assert turn.failure is None
    assert isinstance(turn.actions[0], FinalAnswer)


@pytest.mark.parametrize("text", ANNOUNCED)
def test_announcements_are_no_answers(text: str) -> None:
    """A model that only says what it is about to do has not done it."""
    failure = read_response(text, tools=TOOLS).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.NARRATED


def test_claims_count_before_any_result_only() -> None:
    """Who has just called a tool may well say that it is done."""
    for claim in (
        "Let me do that. The ticket was created.",
        "Done. The email was sent; I'll be here if he replies and it needs to be updated.",
    ):
        for after in (False, True):
            config = ReadingConfig(after_tool_result=after)
            failure = read_response(claim, tools=TOOLS, config=config).failure
            assert (failure is None) is after


def test_markup_is_talked_of_or_left_over() -> None:
    """The remains of a call start a line or end the text; elsewhere they are talked of."""
    for text in ("<tool_call>", "Sure.\n<tool_call>\n{", "Let us see </tool_call>"):
        assert read_response(text, tools=TOOLS).failure is not None
    assert read_response("Write <tool_call> and then JSON.", tools=TOOLS).failure is None


def test_only_a_thought() -> None:
    """An object with nothing but a thought leads nowhere; a native answer may look like that."""
    text = '{"thought": "I do not know."}'
    assert read_response(text, protocol="text").failure is not None
    assert read_response(text).failure is None


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "refusal"])
def test_declined(reason: str) -> None:
    """A provider that declines has said so: asking again would lose it."""
    assert read_response("", finish_reason=reason, tools=TOOLS).failure is None
    assert read_response("", finish_reason="stop", tools=TOOLS).failure is not None


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Please send me the order number and I'll look it up.",
        "I need to verify your identity first. Please tell me your date of birth.",
        "Let's calculate: 12 * 3 = 36.",
        "We need to find x. 2x = 6, so x = 3.",
        "The file holds 12 lines. I'm looking forward to your feedback.",
        "Sure, I will use metric units from now on.",
        "I'm using the 2024 figures: 717,710.",
        "El informe est\u00e1 listo. Voy a revisar otros si lo deseas.",
        "\u597d\u7684,\u4ee5\u540e\u6211\u4f1a\u4f7f\u7528\u4e2d\u6587\u56de\u7b54\u3002",
        "Give me the file and I will check it for you.",
        "In future I will use shorter sentences.",
        "Let's run through it together: first the name, then the date.",
    ],
)
def test_politeness_and_lessons_are_answers(text: str) -> None:
    """What depends on the user, is put off, or is worked out in the text is no plan."""
    turn = read_turn(text, tools=["web_lookup", "calculator_tool"])
    assert turn.failure is None


@pytest.mark.parametrize(
    "text",
    [
        "Let's search for it:",
        "Let's use web_lookup for that.",
        "We need to run calculator_tool.",
        "I'm looking it up now.",
        "Let me check that for you.",
    ],
)
def test_plans_are_still_plans(text: str) -> None:
    """What names a tool, breaks off or is nothing but the intent is told and not done."""
    turn = read_turn(text, tools=["web_lookup", "calculator_tool"])
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.NARRATED


def test_a_plan_is_judged_where_the_message_ends() -> None:
    """What was said before, and whether a tool has just answered, changes nothing of it."""
    told = "Oslo has 717,710 people as of last year. I will check the spelling of your name."
    done = "I will check the spelling of your name. Oslo has 717,710 people as of last year."
    asked = "I will check it. Which year do you mean?"
    for after in (False, True):
        config = ReadingConfig(after_tool_result=after)
        failure = read_turn(told, tools=["web_lookup"], config=config).failure
        assert failure is not None
        assert failure.pattern is FailurePattern.NARRATED
        for text in (done, asked):
            assert read_turn(text, tools=["web_lookup"], config=config).failure is None
    after_it = ReadingConfig(after_tool_result=True)
    assert read_turn("I will check it.", tools=["web_lookup"], config=after_it).failure is not None
