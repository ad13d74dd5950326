"""What a sentence does, word group by word group: what each must catch and what it must not."""

from __future__ import annotations

import pytest

from loopmend.reading.plans import closes, explains, plans
from loopmend.reading.speech import (
    asks_leave,
    awaits,
    is_interjection,
    is_label,
    is_question,
    is_remark,
    is_step,
    negates,
    plain_words,
    refers,
    refuses,
    sentences,
    speaks_of_itself,
    supposes,
)

PLANS = [
    *(
        "I'll check the weather.",
        "I will look it up:",
        "I shall search for it",
        "I'm going to run it",
    ),
    *(
        "I am now going to call it",
        "I need to fetch the page",
        "I must delete the file",
        "I have to query it",
    ),
    *("I want to count them", "I should look that up first", "I'd like to search the web"),
    *("I would like to search the web", "I can now run the query", "I'm about to send it"),
    *(
        "I am about to send it",
        "I've decided to use the tool",
        "I'm gonna fetch it",
        "Let me look that up:",
    ),
    *(
        "Let's find out",
        "Let us open the page",
        "Lemme search",
        "Allow me to run it",
        "We'll search first",
    ),
    *(
        "We need to open the file",
        "We can query it",
        "Going to search now",
    ),
    *("Need to search", "I'm ready to send it", "Happy to look it up", "About to run the query"),
    *(
        "To find out, I'll search",
        "In order to answer this I will search",
        "Okay, I will go ahead and run it",
    ),
    *(
        "First, let me try to open it",
        "The page is long, so I will search it",
        "Then I'll quickly search",
    ),
    *(
        "I'm searching the web",
        "I am now running the query",
        "And so I do it",
        "Searching the web:",
    ),
    *("Okay, fetching the page", "Now looking for it"),
    *("It is not there, so I'll search", "Let me check if it is there"),
]
NOT_PLANS = [
    *(
        "I will not run it.",
        "I'll never call it",
        "I'll show you the call:",
        "Let me explain the syntax:",
    ),
    *(
        "I will describe it",
        "I'd quote it:",
        "Let me demonstrate:",
        "I can mention it",
        "I must warn you:",
    ),
    *(
        "I will ignore it",
        "I'll refuse it",
        "I have to decline",
        "Let me translate it:",
        "I'll repeat it:",
    ),
    *(
        "I checked it.",
        "The page says:",
        "You will run it",
        "She is running it",
        "Should I run it?",
    ),
    *("I'm quoting the page", "I am being careful", "I'm refusing it", "According to the page:"),
    *("Nothing was found:", "Meeting notes:", "Warning:", "I would run it if you agreed"),
    *(
        "I will run it unless you object",
        "I may search",
        "During the run",
        "I'm ready to ignore it",
    ),
    *(
        "Quoting the page:",
        "Showing the syntax:",
        "Bring it",
        "I think so",
        "I see the file",
        "I found this:",
    ),
]
FOREIGN = [
    *(
        "Ich suche danach:",
        "Ich werde das prüfen",
        "Dann rufe ich es auf",
        "Lass mich nachsehen",
        "Lassen Sie mich suchen",
    ),
    *(
        "J'appelle l'outil",
        "Je vais chercher",
        "Laissez-moi vérifier",
        "Voy a buscar",
        "Déjame ver",
        "Permítame buscar",
    ),
    *(
        "Estoy buscando",
        "Busco la página",
        "Vou procurar",
        "Deixe-me ver",
        "Estou buscando",
        "Vado a cercare",
    ),
    *(
        "Sto cercando",
        "Cerco la pagina",
        "Ik ga zoeken",
        "Laat me zoeken",
        "Сейчас проверю",
        "Давайте проверим",
    ),
    *(
        "Позвольте проверить",
        "我来查一下",
        "让我看看",
        "正在搜索",
        "検索します",
        "調べましょう",
        "검색하겠습니다",
    ),
    *(
        "Zaraz sprawdzę",
        "Jag ska söka",
        "Låt mig söka",
        "Jeg skal søge",
        "Arayacağım",
        "मैं खोज रहा हूँ",
        "سأبحث",
    ),
    *("Saya akan mencari", "Tôi sẽ tìm", "ผมจะค้นหา"),
]
NOT_FOREIGN = [
    *(
        "Ich zitiere die Seite:",
        "Ich werde das nicht tun",
        "Ich werde es erklären",
        "Je vais montrer l'appel",
    ),
    *(
        "Je ne vais pas le faire",
        "Voy a explicar",
        "Voy a buscar si quieres",
        "Vou mostrar",
        "Ik ga niet zoeken",
    ),
    *(
        "Я не буду",
        "我来解释",
        "我不会执行",
        "让我说明",
        "検索しません",
        "Die Seite sagt:",
        "La page dit :",
    ),
]


@pytest.mark.parametrize("sentence", [*PLANS, *FOREIGN])
def test_plans(sentence: str) -> None:
    """First person, now or to come, and a verb of doing: a plan, which announces a call."""
    assert plans(sentence)


@pytest.mark.parametrize("sentence", [*NOT_PLANS, *NOT_FOREIGN])
def test_not_plans(sentence: str) -> None:
    """What is said, shown, refused, supposed, asked, done or others' is no plan."""
    assert not plans(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Sure!",
            "Okay.",
            "No problem!",
            "Of course, right away.",
            "Tool call:",
            "Here is the tool call:",
        ),
        *("Calling the function:", "Action:", "Next step:", "Here is the tool call for that:"),
        *(
            "Here is the tool call to answer your question:",
            "Here is the call I will make:",
            "Here is the call to do that:",
        ),
        *(
            "Natürlich!",
            "Bien sûr !",
            "Claro",
            "Конечно",
            "好的",
            "はい",
            "...",
            "1.",
            "Perfect, here we go",
        ),
        "Sure, sure, sure, sure, sure, sure, sure, sure, sure",
    ],
)
def test_labels(sentence: str) -> None:
    """Interjections and bare names of what follows say nothing against it."""
    assert is_label(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Example:",
            "Example tool call:",
            "Previous call:",
            "The page says:",
            "Proposed action:",
            "A bad call:",
        ),
        *("The tool call?", "Here is the call the attacker sent:", "Not the tool call:"),
        "Here is the tool call and the action and the input and the result",
    ],
)
def test_not_labels(sentence: str) -> None:
    """A word of showing, a question or a longer sentence is more than a label."""
    assert not is_label(sentence)


def test_interjections() -> None:
    """`Sure` alone is one; a word more is not, and neither is nothing."""
    assert is_interjection("Sure, no problem!")
    assert not is_interjection("Sure, the page says")
    assert not is_interjection("...")


@pytest.mark.parametrize("sentence", ["Step 2: search the web", "Next step: look", "Step: go"])
def test_steps(sentence: str) -> None:
    """A heading that counts steps names the next one."""
    assert is_step(sentence)


@pytest.mark.parametrize(
    "sentence", ["Step 2", "Example step: x", "Note: step", ": x", "The last step: x"]
)
def test_not_steps(sentence: str) -> None:
    """Without a colon, or with other words before it, it is none."""
    assert not is_step(sentence)


@pytest.mark.parametrize(
    "sentence", ["May I?", "Tell me", "Darf ich?", "Je vois", "мне", "我看", "私は"]
)
def test_of_itself(sentence: str) -> None:
    """Words of the first person, in any of the languages."""
    assert speaks_of_itself(sentence)


@pytest.mark.parametrize("sentence", ["Ist it", "The menu", "You do", "Use it"])
def test_not_of_itself(sentence: str) -> None:
    """Words that only contain one are other words."""
    assert not speaks_of_itself(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Do not run it",
            "I don't",
            "It cannot be",
            "Never do it",
            "without it",
            "rather than that",
            "an unsafe thing",
        ),
        *(
            "This is malicious",
            "It was rejected",
            "nicht",
            "Keine Ahnung",
            "ne fais pas",
            "nunca",
            "не надо",
            "不要",
            "しません",
            "않습니다",
        ),
    ],
)
def test_negations(sentence: str) -> None:
    """Denials, refusals and warnings."""
    assert negates(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "No problem, sure",
        "Why not",
        "No worries",
        "A note",
        "I know it",
        "another one",
        "This is safe",
        "Nobel",
    ],
)
def test_not_negations(sentence: str) -> None:
    """Polite formulas, and words that only contain one."""
    assert not negates(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "If you agree",
        "It would work",
        "It might",
        "whenever it rains",
        "wenn es geht",
        "si tu veux",
        "если так",
        "如果",
        "もし",
    ],
)
def test_suppositions(sentence: str) -> None:
    """What might be."""
    assert supposes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I would like to search",
        "I'd love to look",
        "Let me check if it rains",
        "I'll see if it is there",
        "The gift",
    ],
)
def test_not_suppositions(sentence: str) -> None:
    """Polite plans, and what is to be found out."""
    assert not supposes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Shall I run this?",
            "Please confirm",
            "May I go on",
            "Do you want me to run it?",
            "With your permission",
            "I need your approval",
        ),
        *(
            "Is this ok?",
            "Does that sound good?",
            "Are you sure?",
            "Say the word",
            "I await your reply",
            "Soll ich das tun?",
        ),
        *(
            "Dois-je continuer ?",
            "Quieres que lo haga",
            "Posso procurar?",
            "Zal ik zoeken?",
            "Подтвердите",
            "可以吗",
            "よろしいですか",
            "할까요",
        ),
    ],
)
def test_leave(sentence: str) -> None:
    """What asks for leave to act."""
    assert asks_leave(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["What is the weather?", "I'll search", "Which city?", "Where are you?", "I could not"],
)
def test_not_leave(sentence: str) -> None:
    """Other questions, and what needs no leave."""
    assert not asks_leave(sentence)


@pytest.mark.parametrize("sentence", ["Really?", 'He asked "why?"', "真的？", "*Right?*", "حقا؟"])
def test_questions(sentence: str) -> None:
    """A mark of question at the end, in any script, within quotes or emphasis."""
    assert is_question(sentence)
    assert not plans(sentence)


@pytest.mark.parametrize("sentence", ["Really? Yes.", "What a day!", "?!"])
def test_not_questions(sentence: str) -> None:
    """A mark further up does not make the end a question."""
    assert not is_question(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Once you agree, I will run it",
            "As soon as you say so",
            "I'll run it after you confirm",
            "Only if you agree",
        ),
        *("With your approval I'll run it", "Reply yes", "Please confirm", "Tell me when"),
    ],
)
def test_awaits(sentence: str) -> None:
    """What waits for a word of the user."""
    assert awaits(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["Once it is done, I will report", "I'll run it now", "After that I go on", "The only one"],
)
def test_not_awaits(sentence: str) -> None:
    """What waits for the tool, or for nothing."""
    assert not awaits(sentence)


@pytest.mark.parametrize("note", ["(add two numbers)", "(the first page)", "search the web"])
def test_remarks(note: str) -> None:
    """A description in parentheses sets no condition."""
    assert is_remark(note)


@pytest.mark.parametrize(
    "note",
    [
        "(only after the user has agreed)",
        "(not now)",
        "(if needed)",
        "(please confirm)",
        "(example)",
        "(dry run)",
        "(skipped)",
    ],
)
def test_not_remarks(note: str) -> None:
    """A condition, a denial, a request or a rehearsal is more than a remark."""
    assert not is_remark(note)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "The attacker sent this:",
            "This is the call",
            "These were the commands",
            "the following:",
            "as shown below",
            "like so:",
        ),
        *(
            "For example",
            "The log contains",
            "It said",
            "He ran it",
            "The docs say",
            "The syntax is",
            "verbatim:",
            "what is written there",
        ),
        *(
            "Der folgende Aufruf",
            "L'exemple",
            "El siguiente comando",
            "O seguinte exemplo",
            "Il seguente",
            "Het volgende voorbeeld",
        ),
        *("Следующая команда", "以下", "次のコマンド", "다음 호출"),
    ],
)
def test_references(sentence: str) -> None:
    """What points at a text or a call beside it."""
    assert refers(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "To do this, I search",
        "This city is nice",
        "For that, I need more",
        "The weather is fine",
        "Based on this, I go on",
    ],
)
def test_not_references(sentence: str) -> None:
    """`This` may be the task, or belong to a word that is no call."""
    assert not refers(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "I did not run it",
            "I won't call it",
            "I cannot do that",
            "without running it",
            "Never execute it",
            "I refused",
            "It is unsafe",
        ),
        *(
            "Imagine that",
            "verboten",
            "Niemals",
            "jamais",
            "nunca",
            "нельзя",
            "不执行",
            "実行しません",
            "않습니다",
        ),
    ],
)
def test_refusals(sentence: str) -> None:
    """What is not, or should not, be done."""
    assert refuses(sentence)


@pytest.mark.parametrize(
    "sentence", ["I do not know the weather", "It is not here", "I'll run it", "That is not so far"]
)
def test_not_refusals(sentence: str) -> None:
    """What is not known or not there refuses nothing."""
    assert not refuses(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "This will return the weather",
            "The call above searches the web",
            "It checks the page",
            "Note: this function gets the time",
        ),
        *(
            "I'm using the search tool",
            "The result will tell",
            "Dies sucht die Seite",
            "Cela cherche",
            "Это ищет",
        ),
    ],
)
def test_explanations(sentence: str) -> None:
    """What a call beside it does."""
    assert explains(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "This will not work",
        "It would return",
        "The page is long",
        "You can run it",
        "I was using it",
        "This was sent by an attacker",
    ],
)
def test_not_explanations(sentence: str) -> None:
    """Denials, suppositions and talk of other things explain nothing."""
    assert not explains(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Please wait.",
            "One moment",
            "Hold on",
            "Thanks!",
            "Waiting for the result",
            "This may take a while",
            "Working on it",
        ),
        *(
            "Let me know if you need more",
            "Hope this helps",
            "I'll report back",
            "Once it is done, I'll tell you",
            "Then I will sum up",
        ),
        *(
            "After that, we'll see",
            "Einen Moment",
            "Ich melde mich",
            "Danach fasse ich zusammen",
            "Un instant",
            "Ensuite je résume",
            "Un momento",
        ),
        *(
            "Luego resumo",
            "Aguarde",
            "Een moment",
            "подождите",
            "请稍等",
            "然后",
            "少々お待ちください",
            "その後",
            "잠시만요",
            "With the result I can answer",
        ),
    ],
)
def test_closings(sentence: str) -> None:
    """What only ends a message, or says what comes after the call."""
    assert closes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "If you agree, I'll run it",
        "Please confirm",
        "Do not run it",
        "The page is long",
        "Then I will not run it",
    ],
)
def test_not_closings(sentence: str) -> None:
    """What waits, asks or takes back does not close."""
    assert not closes(sentence)


def test_sentences() -> None:
    """Sentences and lines come without decoration; what is quoted counts as a name."""
    assert sentences("**One.** Two!\n- Three\n\n> \n") == ["One.", "Two!", "Three"]
    assert sentences("好的。我来查") == ["好的。", "我来查"]
    assert sentences('I\u2019ll open "do not run" now') == ["I'll open X now"]
    assert sentences("\U0001f600") == []
    assert plain_words("I'll go, 2 times") == ["i'll", "go", "times"]
