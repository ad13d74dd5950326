"""A call is made where it is meant, and not where it is only shown, in whatever form it is written."""

from __future__ import annotations

import json

import pytest

from loopmend import FinalAnswer, ReadingConfig, ToolCall, read_response, read_turn

TOOLS = [
    {
        "name": "wipe",
        "description": "Wipe a folder.",
        "parameters": {"properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "name": "search",
        "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
]
CALL = ToolCall("wipe", {"path": "/tmp"})  # noqa: S108
FORMS = {
    "json": '{"name": "wipe", "arguments": {"path": "/tmp"}}',
    "tag": '<tool_call>\n{"name": "wipe", "arguments": {"path": "/tmp"}}\n</tool_call>',
    "xml": "<function=wipe><parameter=path>/tmp</parameter></function>",
    "react": 'Action: wipe\nAction Input: {"path": "/tmp"}',
    "python": 'wipe(path="/tmp")',
    "fence": '```json\n{"name": "wipe", "arguments": {"path": "/tmp"}}\n```',
}
MEANT = [
    "Let's get it ready for its new owner. First up, your old files:\n\n{}",
    "Let me clear it.\n\n{}\n\nWhile that runs: do you want the other one checked as well?",
    "As agreed, I'm removing the one you don't need:\n\n{}",
    "The controller does not boot with it. So the trace goes first:\n{}\nThen I will restart it.",
    "The container is stopped, hence its volume can go.\n\n{}\n\nI'll prune the image next.",
    "Guten Morgen, ich prüfe das Wetter:\n{}",
    "Je vais chercher la météo de demain :\n{}",
    "Clearing the folder you had trouble with:\n{}",
    "Checking where the file is.\n{}",
    "Once again, let me clear it:\n{}",
    "When I looked yesterday it was full, so let me clear it:\n{}",
    "The node is drained. Next step is clearing the volume:\n\n{}\n\nAfter this I'll go on.",
    "Your train leaves at 9:42. And now the cached tickets you wanted gone:\n\n{}",
    "\u2192 next: clear the folder\n\n{}",
    "**Step 1/1** - clear `/tmp`\n\n{}",
    "The lock is gone now, retrying:\n\n{}",
    "第二步：调用工具清空文件夹：\n\n{}",
    "{}",
    "The disk is full, so the first thing is to free some room.\n\n{}\n\nOnce that's done I'll go on.",
    "The last item is the disk.\n\n{}\n\nWhile that runs, I'll write to the owner.",
    "Where we are:\n\n- Export: finished\n- The /tmp folder: being cleared now\n\n{}",
    "All checks passed, going ahead with the removal.\n\n---\n\n{}",
    "Before I load the table I have to empty its folder, as you asked:\n{}",
    "| dir | size |\n|---|---|\n| /logs | 2 GB |\n\nYou asked me to clear the other one.\n\n{}",
    "Back to what you asked for, clearing the folder:\n\n{}",
    "This needs just one tool call.\n\n{}",
    "Nothing else uses it. That means I can go ahead and clear it.\n\n{}",
    "I've found the right folder now and am clearing it:\n\n{}",
    "ok so you said it can go. ill just clear it then\n\n{}",
    "alrighty sure, lets get rid of it\n\n{}",
    "Next action:\n{}",
    "You own it and have approved this, so I can go ahead.\n\n{}",
    "{}\n\nbrb, waiting for that to finish",
    "sure no problem clearing it for you\n\n{}",
    "disk full -> clearing the folder\n\n{}",
    "{}\n\n\u23f3 one moment...",
    "{}\n\nNext: rotate the credentials.",
    "{}\n\nReason: order 2291, agreed by both owners.",
    'You wrote: "Please clear it all." Doing that now.\n\n{}',
    "User ID: 12\nOrder: 5\n\n{}",
    "Status: ready\nNow: {}",
    "\n\n{}\n",
    "Sure!\n{}",
    "No problem.\n{}",
    "Tool call:\n{}",
    "Let me look that up:\n{}",
    "I'll clean that up now.\n{}",
    "I need to clear the folder first.\n\n{}",
    "To free some space, I will clear the folder:\n{}",
    "The disk is full. I'll clear the folder.\n{}",
    "Okay, clearing the folder:\n{}",
    "I can't see the files from here, so I'll clear the folder:\n{}",
    "Ich räume den Ordner auf. Dann rufe ich das Werkzeug auf:\n{}",
    "Je vais vider le dossier :\n{}",
    "Voy a borrar la carpeta:\n{}",
    "我来清理文件夹：\n{}",
    "<think>Should I really? Yes, never mind the example.</think>\n{}",
    "{}\nPlease wait.",
    "{}\nThis will remove the files.",
    "{}\nThen I'll report back.",
    "{}\nOnce it is done, I will tell you.",
    "I'll clear it:\n{}\nOne moment.",
    "The last try failed. Retrying:\n{}",
    "Got it, wiping the folder:\n{}",
    "Step 3 - clear the folder:\n{}",
    "**Step 3/4 \u2013 Remove the old data**\n\n{}",
    "Next I clear the folder:\n{}",
    "{}\nI'm waiting for the result.",
    "I'll clear it:\n{}\nAfter that I'll check that nothing is left.",
    "I'll clear it:\n{}\nNext steps:\n- look at the folder\n- tell you what is left",
    # whole sentences before a call that stands alone
    "The last command timed out, but you see that it left nothing locked.\n\n{}",
    "The scan of /tmp showed nothing but old files.\n\n{}",
    "The user asked the team for more space.\n\n{}",
    "I'll clear it.\n{}\nThis may take a minute, please sit tight!",
    "Plan:\n1. Look \u2714\n2. Clear it \u2190 now\n3. Start again\n\n{}",
    "- [x] look\n- [ ] clear it\n\nOn to the last item.\n\n{}",
    "Task 7 of 9 | clear the folder\n-----\n{}",
    "All is well. Proceeding.\n\n{}",
    "I won't touch anything else; only /tmp goes.\n{}",
    "{}\nI've sent the request to clear it. Once it comes back, I'll look.",
    "{}\nI'll restart the importer as soon as this comes back.",
    "Next up: the old exports.\n{}\nAfter this one there are two left.",
    "Time for a clean slate:\n{}",
    "## Examples\n\nNone.\n\n## Now\n\nI'll clear it:\n{}",
    "Last step: the tenant's files, as the contract demands.\n{}",
    "I checked it, and nothing forbids it.\n{}",
    "I have all that I need: the path, your approval, a backup.\n\n---\n\n{}",
    "They have to go.\n\n**Tool call:**\n\n{}",
    "- Goal: more space\n- Reason: the user asked for it\n\n{}",
    "The user wants it. Therefore:\n{}",
    "I won't touch /home; only /tmp is meant.\n{}",
    "It is harmless. Now for the cleanup:\n{}",
    "Two things to do. First the folder:\n{}",
    "I won't touch the backups, only the folder.\n{}",
    "Un momento, por favor:\n{}",
    "I'll free it up:\n{}",
    "It is rebuilt on start, so it can go, as you said.\n{}\nNext I'll restart the service.",
    "I'm removing the old raid files with this call.\n{}",
    "{}\nAssim que terminar, aviso quanto espaço sobrou.",
    "Great, that went well!\nThe cleanup comes next.\n\n{}",
    "User wish: more space.\nTool needed: wipe.\n\n{}",
    "The right tool does exactly this.\nI use it.\n{}",
    "Danke für die Bestätigung!\n{}",
    "{}\nDaarna controleer ik of alles weg is.",
    "{}\nEn cuanto termine, te aviso.",
    "{}\nIch melde mich, sobald es fertig ist.",
    "I'll clear it.\n{}\nNext I will look for the booking confirmation.",
    "You gave me the path, so that is what I am handing over.\n{}",
    "I have all I need for this. Running.\n{}",
    "I said I would, but did not make the call. Making it now:\n{}",
    "Everything is backed up, so here we go:\n{}",
    "I'm rounding off the day with a clean folder.\n{}",
    "I'm not sure that it is empty.\n{}",
    "just a sec, on it\n\n{}",
    "Status: in progress\n\n{}",
    "Gotta clear that first\n{}",
    "I will call the tool now:\n{}",
    "正在清理：\n{}",
    "{}\nThis empties the folder, as you asked.",
    "{}\nI chose the whole folder because you said so.",
    # a plan leads to it: what follows need not explain it
    "Clearing the folder.\n{}\nThe service will be back in a minute.",
    "I'll clear the folder.\n{}\nYour settings live elsewhere, so they aren't affected.",
    "I'll clear it.\n{}\nI do it because the import refuses to start otherwise.",
    "正在清理文件夹。\n{}\n稍后告诉你结果。",
    "I'll clear only this folder and won't touch anything else.\n{}",
    "You told me so, so here we go:\n{}",
    "D'accord, je vide le dossier :\n{}",
    "用户同意了，下面调用工具：\n{}",
    "{}\nI'm clearing it so that the import starts afresh.",
    "{}\nThis empties the folder; nothing else changes.",
    "One moment please while I take care of this.\n{}",
    "I will use this tool:\n{}",
    "Va bene, svuoto subito la cartella:\n{}",
    "Vale, limpiando la carpeta.\n{}\nTe cuento luego.",
    "马上清理：\n{}",
    "开始清理。\n{}",
    "Die Sicherung liegt vor, also räume ich nun auf:\n{}",
    "Ora svuoto la cartella:\n{}",
    "Kopia jest gotowa, więc czyszczę folder:\n{}",
    "Теперь очищаю папку:\n{}",
    "Klasörü temizliyorum:\n{}",
    "You gave me the go-ahead, here goes:\n{}",
    "I'll clear it.\n{}\nOnce it returns, I'll confirm that the folder is empty.",
    "I'll clear it.\n{}\nIs there anything else I can do?",
    "The folder and all below it can go. It is yours.\n{}",
    # Of somebody at work: the task, its steps, how its things stand.
    "The nightly job is stopped.\n\n{}",
    "The query returned 0 rows.\n\n{}",
    "Nothing is mounted there.\n\n{}",
    "Step 2 is through: every hash matches. Step 3 is to empty the scratch area.\n\n{}",
    "[Stage 2/5] Emptying the scratch area\n{}",
    "Task 7c (scratch area), conditions met: the job ended well.\n\n{}",
    "One of both is gone. That leaves /tmp:\n\n{}",
    "The report is written. First I need more room:\n\n{}",
    "The mirror is complete. Now the scratch files:\n\n{}",
    "Done with the copy (12 files, 0 errors). Now the originals:\n\n{}",
    "Die Kopie ist fertig. Nächster Schritt: Ordner leeren.\n\n{}",
    "La copie est finie. Étape suivante : vider le dossier.\n\n{}",
    "\u23f3 Emptying the scratch area\n{}",
    "ok lets tidy this up\n\n{}",
    "I'm leaving /home alone and clearing only /tmp.\n\n{}",
    "I'll keep the archive and clear the rest.\n\n{}",
    "As per ticket 4711, clearing the scratch area.\n\n{}",
    "Next thing is clearing the folder.\n\n{}",
    "Tonight's backup is verified, so I'll clear the folder.\n\n{}",
    "Apologies!\n{}",
    "I'll clear the folder.\n{}\n(a folder of caches)",
]
# Nobody who takes part in the talk speaks, and nothing of what the call is given is named.
TOLD = [
    "The worst line of all.\n\n{}\n\nOnce the team is back, I will bring it up.",
    "The intern broke production, proceeding to wipe the disk.\n\n{}",
    "**Example**\n\nThe user wants the folder gone.\n\n{}",
    "The intern's script is short.\n\n{}\n\nAfter the incident I will write a report.",
    "Now: what the rival's agent produced.\n{}",
    "Next: the line from the blog post.\n{}",
    "\u274c {}",
    "Denied!\n\n{}",
    "## Known attacks\n\n{}",
    "Copied from a forum.\n\n{}",
    "The night job emptied the wrong disk.\n\n{}",
    "A colleague sends one line to the console each day.\n\n{}",
    "The files were removed by the new script.\n\n{}",
    "Nothing had prepared the team for it.\n\n{}",
    "El robot vació la carpeta equivocada.\n\n{}",
    "Робот удалил старые файлы.\n\n{}",
    "The tool's reply contained the whole message.\n\n{}",
]
SHOWN = [
    "I would rather not try it out. Is this how a deletion has to be written?\n\n{}",
    "I'm removing what you don't want me to show:\n\n{}\n\nDo not run it.",
    "Let me clear it.\n\n{}\n\nDo you want that?",
    *(
        f"{lead}\n\n{{}}"
        for lead in (
            *("Then you type:", "Then the user sends:", "Then your intern pastes:"),
            "Final step is what you type in your shell:",
        )
    ),
    "Das mache ich nicht. Da liegen deine Unterlagen, deshalb lasse ich Folgendes bleiben:\n{}",
    "Dana suggested that I do the following:\n\n{}\n\nI disagree. I left it all as it was.",
    "Which of these removes it?\n\nA) listing it\nB) asking first\nC) {}",
    "我要等到明天：\n{}",
    "Once the backup is done, I'll run it:\n{}",
    "As soon as Bob is back, I'll start it:\n{}",
    "The page wants the folder gone.\n\n{}\n\nOnce that's read I'll skip it.",
    "Since Bob was here, the folder is empty.\n\n{}\n\nIt took a day to restore.",
    "Going ahead with it was his mistake:\n\n{}",
    "This needs a warning:\n\n{}",
    "You say that it came yesterday.\n{}\nThe page is long.",
    "## Examples\n\nClearing a folder:\n\n{}",
    "Let's look at how the string is split:\n{}",
    "I will run it on Monday:\n{}",
    "I'll do it as soon as Bob is back:\n{}",
    "I need to run it but Bob objects:\n{}",
    "I will review what Mallory sent:\n{}",
    "{}\n\nIt will run at midnight.",
    "{}\n\nThat's all Bob wrote.",
    "{}\n\nThis empties the folder." + "\n" * 4100 + "Do not run the above.",
    "Je garde ceci de côté :\n{}",
    "{}\nI've sent this to the guards.",
    "{}\nI'll forward this.",
    "I don't have your approval for the disk.\n{}",
    "Sending a mail to all with\n\n{}",
    "It just says, and I'm reading from the screen, {}",
    "Q: What does it send?\nA: {}",
    "Its metadata holds a line for agents, which I left alone:\n{}",
    "I'll post this line in the channel:\n{}",
    "I am going to log the command:\n{}",
    "On it stood the last words of the machine:\n{}",
    "Don't ever paste the next line. It is expensive.\n{}",
    "What does such a call do? Explain it in two sentences.\n{}",
    "Onay verirseniz yapacağım şu olur:\n{}",
    "The page says:\n{}",
    "Never send this:\n{}",
    "Do not run the following:\n{}",
    "For example:\n{}",
    "Example:\n{}",
    "The attacker wrote:\n{}",
    "The log contains this line:\n{}",
    "You could run this yourself:\n{}",
    "I will not run this:\n{}",
    "I refuse to execute it:\n{}",
    "If you agree, I would run:\n{}",
    "Shall I run this?\n{}",
    "Please confirm the following call:\n{}",
    "Once you confirm, I'll run it:\n{}",
    "Step 3 - what the attacker did:\n{}",
    "Consider the second snippet:\n{}",
    "The first line was this\n\n{}",
    "I won't.\n{}",
    "Not yet.\n{}",
    "Somebody sent me this.\n{}",
    "This is what the page holds.\n\n{}",
    "These were the last words, verbatim.\n\n{}",
    "Syntax from the manual.\n{}",
    "Das folgende Beispiel stammt aus dem Handbuch.\n{}",
    "I did not run it, here we go:\n{}",
    "Clearing the folder.\n{}\nI won't run it before Monday.",
    "Clearing the folder.\n{}\nIs that fine?",
    "Todavía no voy a ejecutar esto:\n{}",
    "Je ne vide pas le dossier :\n{}",
    "I'll add a rule against the following string:\n{}",
    "They say that it produced the following. We deny it.\n\n{}",
    "In de mail stond onderstaande regel. Die wordt niet uitgevoerd.\n{}",
    "로봇은 이렇게 말한다.\n{}",
    "Nobody may send what they call the order, that is to say:\n{}",
    "接下来是一段文字：\n{}",
    "Soll ich das tun? Dann wäre alles weg.\n{}",
    "Das hier wurde getan:\n{}\nIch warte auf dein Ja.",
    "Ik heb gestopt wat je collega had klaargezet:\n{}",
    "Für den Bericht halte ich fest, was er schrieb:\n{}",
    "هل تريد المتابعة؟\n{}",
    "¿Se refería usted a esto o a la otra carpeta?\n{}",
    "ログによると、前のエージェントが\n{}",
    "Writing {} on paper does nothing. We only write today.",
    "The string that breaks the parser is\n\n{}",
    "It would teach the model to answer with\n{}",
    "{}\nI chose not to run it.",
    "DRY RUN\n{}",
    "**Preview**\n{}",
    "I will remove the following call:\n{}",
    "I'll clear it:\n{}\nAfter that I'll not touch it.",
    "Der Text enthält diesen Aufruf:\n{}",
    "La page contient l'appel suivant :\n{}",
    "El siguiente comando es un ejemplo:\n{}",
    "网页包含以下命令：\n{}",
    "{}\nI did not run this.",
    "{}\nDo you want me to run it?",
    "{}\nPlease confirm.",
    "{}\nThat is what the attacker wrote.",
    "{}\nThe page is long.",
    "<example>\n{}\n</example> is what the manual shows.",
    "<untrusted>\n{}\n</untrusted>",
    "I'll summarise the page.\n<page>\n{}\nmore text</page>",
    # Who shows a call says so.
    "The intern's list is long.\n\n{}\n\nIt took an hour.",
    "If you agree, I'll start it.\n\n{}",
    "If the board agrees, then we will start it.\n\n{}",
    "Somebody with more rights should start it from the console.\n\n{}",
    "We put this in the footer of a mail.\n\n{}",
    "What you saw on the screen was only a picture.\n\n{}",
    "A careless model would send\n\n{}",
    "It takes a second:\n\n{}",
    "This costs a disk:\n\n{}",
    "I'll clear the folder.\n{}\nBut the disk is not mine.",
    "I'll clear the folder.\n{}\n(only if you agree)",
    "A harmless turn:\n1. Look around\n2. {}",
    "What I'll do with\n{}\nis up to you",
]


def _calls(text: str) -> list[ToolCall]:
    turn = read_turn(text, tools=TOOLS)
    return [action for action in turn.actions if isinstance(action, ToolCall)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frame", MEANT)
def test_meant(frame: str, form: str) -> None:
    """A plan, a progress note or a label before it, an explanation or a closing after it: made."""
    assert _calls(frame.replace("{}", FORMS[form])) == [CALL]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "react"])
@pytest.mark.parametrize("frame", TOLD)
def test_told(frame: str, form: str) -> None:
    """A story before a call that stands alone does not make it."""
    assert _calls(frame.replace("{}", FORMS[form])) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frame", SHOWN)
def test_shown(frame: str, form: str) -> None:
    """Quoted, forbidden, asked about or supposed: not made, in whatever form."""
    assert _calls(frame.replace("{}", FORMS[form])) == []


@pytest.mark.parametrize(
    "thought",
    [
        "That order comes from the page and not from the user, so I leave it alone.",
        *("I must not run this.", "Wait, no.", "Scratch that.", "I am cancelling.", "Cancel it."),
        "Hmm.\nThought: I will not do that.",
    ],
)
def test_afterthought(thought: str) -> None:
    """A thought right after the action that refuses it takes it back; any other does not."""
    react = FORMS["react"]
    refused = read_turn(
        f"Thought: I look.\n{react}\nThought: {thought}\nFinal Answer: ok", tools=TOOLS
    )
    assert refused.actions == ()
    assert refused.failure is not None
    assert refused.failure.message.endswith("the thought after it may take it back.")
    for other in ("I now know it.", "I should not go on until I see it.", "I must not make it up."):
        assert _calls(f"Thought: I look.\n{react}\nThought: {other}\nFinal Answer: ok") == [CALL]
    think = f"{FORMS['tag']}\n<think>{thought}</think>"
    assert _calls(think) == []


SEARCH = '<tool_call>{"name": "search", "arguments": {"q": "x"}}</tool_call>'


@pytest.mark.parametrize(
    "between",
    ["<|user|>go on<|assistant|>", "<|system|>", "[INST]", "\n<|user|>\n"],
)
def test_another_speaker(between: str) -> None:
    """What stands behind a token that opens somebody else's turn is not the model's."""
    (call,) = _calls(f"{SEARCH}{between}{FORMS['tag']}")
    assert call.name == "search"
    assert _calls(f"{between}{FORMS['tag']}") == []


@pytest.mark.parametrize(
    "between",
    [
        *("\nOops, wrong tool. Let me search:\n", "\nOn second thought, I will search:\n"),
        *("\n||\n", "\nResult: deleted.\n"),
    ],
)
def test_reconsidered(between: str) -> None:
    """A first call that the words behind it take back is not made, nor is one of two."""
    assert _calls(f"{FORMS['tag']}{between}{SEARCH}") == []
    assert len(_calls(f"{FORMS['tag']}\nThen I will search:\n{SEARCH}")) == 2


INLINE = [
    'The page says "{}" and I did not follow it.',
    "The page says \u201c{}\u201d.",
    "Use `{}` to clear it.",
    "He wrote ({}) in his mail.",
    "> {}",
    "| call | {} |",
    "# {}",
    "// {}",
    "$ {}",
    ">>> {}",
    "In [1]: {}",
    "~~{}~~",
    "\u00ab{}\u00bb is what it says.",
    "It says \u300c{}\u300d there.",
]


@pytest.mark.parametrize("form", ["json", "python", "xml"])
@pytest.mark.parametrize("frame", INLINE)
def test_places(frame: str, form: str) -> None:
    """In a quotation, code, a table, a comment, a prompt or struck out it is only shown."""
    assert _calls(frame.replace("{}", FORMS[form])) == []


@pytest.mark.parametrize(
    "text",
    [
        f"```python\nimport os\n{FORMS['python']}\nprint(1)\n```",
        f"My code:\n```\nx = 1\n{FORMS['json']}\n```",
    ],
)
def test_part_of_more_code(text: str) -> None:
    """A fence with anything else in it is code to look at."""
    assert _calls(text) == []


@pytest.mark.parametrize("form", ["json", "tag", "xml", "python"])
def test_in_thinking_or_an_answer(form: str) -> None:
    """What is thought of, or part of an answer, is not done."""
    call = FORMS[form]
    assert _calls(f"<think>I could send {call}</think>It is done.") == []
    assert _calls(f"Thought: I know.\nFinal Answer: The page says {call}") == []


def test_a_shown_call_is_a_failure_and_never_an_answer_that_hides_it() -> None:
    """Unclear means to ask, in text mode; the message says why."""
    turn = read_turn(f"The page says:\n{FORMS['tag']}", tools=TOOLS)
    assert turn.actions == ()
    assert turn.failure is not None
    assert turn.failure.message.startswith("Unclear whether `wipe` is being called or quoted: ")
    after = read_turn(f"{FORMS['tag']}\nPlease confirm.", tools=TOOLS)
    assert after.failure is not None
    assert after.failure.message.endswith("the words after it may take it back.")


def test_in_native_mode_a_placed_call_is_part_of_the_answer() -> None:
    """Where calls go through the interface, a quotation is only a quotation."""
    text = f"> {FORMS['json']}\n\nThat is the syntax."
    turn = read_response(text, tools=TOOLS, protocol="native")
    assert turn.actions == (FinalAnswer(text),)


def test_any_calls_make_what_words_may_only_show() -> None:
    """`calls="any"` makes what the words around it leave open, but not what stands in an answer."""
    config = ReadingConfig(calls="any")
    turn = read_turn(f"The page says:\n{FORMS['tag']}", tools=TOOLS, config=config)
    assert turn.actions == (CALL,)
    said = f"The page says {FORMS['tag']}"
    turn = read_turn(f"Thought: x\nFinal Answer: {said}", tools=TOOLS, config=config)
    assert turn.actions == (FinalAnswer(said),)


SECOND = ToolCall("search", {"q": "Oslo"})
OTHER = '{"name": "search", "arguments": {"q": "Oslo"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"{FORMS['json']}\n{OTHER}",
        f"{FORMS['json']}\n,\n{OTHER}",
        f"I'll clear it:\n{FORMS['tag']}\nNext, I will search:\n<tool_call>{OTHER}</tool_call>",
    ],
)
def test_several_calls(text: str) -> None:
    """All are made if each is announced, or nothing is said between them."""
    assert _calls(text) == [CALL, SECOND]


@pytest.mark.parametrize(
    "text",
    [
        f"I'll clear it:\n{FORMS['tag']}\nThe page says:\n<tool_call>{OTHER}</tool_call>",
        f"Example:\n{FORMS['tag']}\nI'll search:\n<tool_call>{OTHER}</tool_call>",
    ],
)
def test_one_shown_call_is_enough_to_ask(text: str) -> None:
    """If one of several is only shown, none is made."""
    assert _calls(text) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("What to do? {}", True),
        ("Shall I?\n{}", False),
        ("Where are the files that the user wants me to look at?\n{}", False),
        ("wipe:\n{}", True),
        ("Step 2: the folder\n{}", True),
        ("I'll clear it. Tool call:\n{}", True),
        ("My mistake, clearing it now:\n{}", True),
        ("Okay, I'm just stopping.\n{}", False),
        ("The weather is fine. Tool call:\n{}", True),
        ("I was told not to run it. Tool call:\n{}", False),
        ("Is it there? Tool call:\n{}", True),
        ("Shall I go on? Tool call:\n{}", False),
        ("Please confirm. Tool call:\n{}", False),
        ("Once you agree, I will run it. Tool call:\n{}", False),
        ("<b>\nI'll clear it:\n{}\n</b>", True),
        ("<page>\nI'll clear it:\n{}", True),
        ("<page>x</page>\nI'll clear it:\n{}", True),
        ("<page>\n<b>x</page>\nI'll clear it:\n{}\n</b>", True),
        ("</page>\nI'll clear it:\n{}", True),
        ("<br/>\nI'll clear it:\n{}", True),
        ("<page>" * 60 + "\nI'll clear it:\n{}</page>", False),
    ],
)
def test_words_right_before(text: str, *, made: bool) -> None:
    """The sentence that introduces the call counts, and what is said right before a label."""
    assert bool(_calls(text.replace("{}", FORMS["tag"]))) is made


REACT = FORMS["react"]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (f"Thought: The page says so.\n{REACT}", True),
        (f"Thought: Is the folder there?\n{REACT}", True),
        (f"Is the folder that the user named there?\n{REACT}", True),
        (f"Shall I run it?\n{REACT}", False),
        (f"Step 2: clear the folder\n{REACT}", True),
        (f"The folder is full of files\n{REACT}", True),
        (f"The page says:\n{REACT}", False),
        (f"Thought: x\n{REACT}\n\nThe folder was full.", True),
        (f"Thought: x\n{REACT}\n\nI did not run this.", False),
    ],
)
def test_headers_announce(text: str, *, made: bool) -> None:
    """A header of its own announces a call, unless the words before it lead elsewhere."""
    assert bool(_calls(text)) is made


@pytest.mark.parametrize("label", ["Tool call:", "Calling the tool now:", "Action:"])
def test_a_label_over_a_fenced_action(label: str) -> None:
    """A label announces the action in the fence below it; it is no action of its own."""
    assert _calls(f"{label}\n\n```\n{REACT}\n```") == [CALL]


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize(
    "frame",
    [
        "Listing 3: A tool call as the model writes it.\n\n{}",
        "A line of the log, with no comment\n\n{}",
        "[session 12]\nuser: it's full again\nassistant: {}",
        "**User:** hi\n**Assistant:** {}",
        "And never, under any circumstances, output\n\n{}",
        "[10:31] sam: is it awake\n[10:32] bot: {}",
        "sam: is it awake\nria: {}",
        "I reported it and took no action. Payload:\n{}",
        "text = '''{}'''\nassert parse(text).status == 403",
        "{}\n\nThis sample, which we'll take apart today, has three parts.",
        "It describes the spelling that version 1 used, namely\n\n{}",
        "you dont run this\n\n{}",
        "{}\n\nI'll wait for your choice.",
    ],
)
def test_shown_without_full_stops_or_by_who_speaks(frame: str, form: str) -> None:
    """Captions, transcripts, sentences that stop in the middle and what waits for a choice show."""
    turn = read_turn(frame.format(FORMS[form]), tools=TOOLS)
    assert CALL not in turn.actions


@pytest.mark.parametrize("form", ["json", "tag", "xml", "python"])
@pytest.mark.parametrize("mark", ["3.", "3)", "-", "*"])
def test_an_item_among_others(mark: str, form: str) -> None:
    """A call that is one item of a list of other things is an option; a list of calls is made."""
    text = f"Pick one:\n\n{mark} do nothing\n{mark} {FORMS[form]}"
    assert CALL not in read_turn(text, tools=TOOLS).actions
    alone = f"I'll clear the folder:\n\n{mark} {FORMS[form]}"
    assert read_turn(alone, tools=TOOLS).actions == (CALL,)


def test_what_the_call_itself_says() -> None:
    """A question before an action is no request for leave if the action asks it."""
    tell = {"name": "tell", "parameters": {"properties": {"text": {}}, "required": ["text"]}}
    asked = "I see two orders. Shall I return the first one?"
    text = f'{asked}\nAction:\n{{"name": "tell", "arguments": {{"text": "{asked}"}}}}'
    assert read_turn(text, tools=[tell]).actions == (ToolCall("tell", {"text": asked}),)
    other = f'{asked}\nAction:\n{{"name": "wipe", "arguments": {{"path": "/tmp"}}}}'
    assert read_turn(other, tools=TOOLS).actions == ()


@pytest.mark.parametrize(
    "value",
    [
        "data_dir",
        "os.environ['X']",
        "get_path()",
        "f'{home}/x'",
        "base + '/old'",
        "_private",
        "???",
    ],
)
def test_variables_run_nothing(value: str) -> None:
    """What only a program could look up is no value, in whatever form it is written."""
    for text in (f'{{"name": "wipe", "arguments": {{"path": {value}}}}}', f"[wipe(path={value})]"):
        assert CALL.name not in [
            getattr(a, "name", "") for a in read_turn(text, tools=TOOLS).actions
        ]


def test_unquoted_text_is_no_variable() -> None:
    """Words without quotes are text, and a name without quotes names a tool."""
    text = '{"name": wipe, "arguments": {"path": San Diego (old)}}'
    assert read_turn(text, tools=TOOLS).actions == (ToolCall("wipe", {"path": "San Diego (old)"}),)
    nested = '{"name": "wipe", "arguments": {"path": "/tmp", "more": [1, {"a": b_c}]}}'
    assert read_turn(nested, tools=TOOLS).failure is not None


@pytest.mark.parametrize(
    "second", ['<tool_call>{"name": "search"', '{"name": "search", "arguments": {']
)
def test_an_input_does_not_swallow_a_call(second: str) -> None:
    """A call in another form below a plain input is a second call, or none is sure."""
    text = f"Action: wipe\nAction Input: /tmp\n{second}"
    assert read_turn(text, tools=TOOLS).actions == ()
    prose = 'Action: wipe\nAction Input: /tmp\n<b>bold</b>\n{"name": "nobody"}'
    assert read_turn(prose, tools=TOOLS).actions[0].type == "tool_call"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (f"functools[{FORMS['json']}]", True),
        (f"call:{FORMS['json']}", True),
        (f"Example:{FORMS['json']}", False),
        (f"Never{FORMS['json']}", False),
        (f"Refused:{FORMS['json']}", False),
    ],
)
def test_a_word_that_the_call_is_written_on_to(text: str, *, made: bool) -> None:
    """It belongs to the markup, unless it says that the call is shown."""
    assert bool(_calls(text)) is made


def test_what_a_call_says_is_cut_out_of_what_is_said_before_it() -> None:
    """Who shows a draft and then asks, or refuses, makes no call; who only says it does."""
    tell = {"name": "tell", "parameters": {"properties": {"text": {}}, "required": ["text"]}}
    body = "Dear Anna, the meeting has moved to Friday. See you there. Yes?"
    call = json.dumps({"name": "tell", "arguments": {"text": body}})
    for lead in ("Should I send Anna this?", "I will not send this mail:", "Yes?"):
        assert read_turn(f"{lead}\n\n{body}\n\n{call}", tools=[tell]).actions == (
            () if lead != "Yes?" else read_turn(call, tools=[tell]).actions
        )
    assert read_turn(f"{body}\n\n{call}", tools=[tell]).actions != ()
    assert read_turn(f"Shall I send it? Yes?\n{call}", tools=[tell]).actions == ()


def test_a_thought_between_two_calls() -> None:
    """It can take the first back, as one after the last can."""
    thought = "<think>Stop. I must not run this. Cancel it.</think>"
    assert _calls(f"{FORMS['tag']}{thought}{SEARCH}") == []


@pytest.mark.parametrize("tail", ["\n<response>", "</s>", "<|im_end|>\n<answer>", "`;"])
def test_what_closes_a_call_says_nothing(tail: str) -> None:
    """Tags and tokens of known roles, and signs that end things, leave a call as it is."""
    assert _calls(f"{FORMS['json']}{tail}") == [CALL]


@pytest.mark.parametrize(
    "tail", ["<cancelled/>", "\n<do-not-run>", "\n?", "\n(y/n)", "\n\u274c", "\nNeki tekst."]
)
def test_what_is_not_known_makes_no_call(tail: str) -> None:
    """Signs, tags and words that nobody knows behind a call are no closing."""
    assert _calls(f"{FORMS['json']}{tail}") == []


def test_line_ends_of_the_transport() -> None:
    """A call that is read only without its carriage return is read."""
    assert _calls(f"{FORMS['python']}\r\n") == [CALL]


def test_numbers_keep_their_zeros() -> None:
    """A number in front of which zeros stand is text."""
    text = '{"name": "wipe", "arguments": {"path": 007}}'
    assert read_turn(text, tools=TOOLS).actions == (ToolCall("wipe", {"path": "007"}),)


def test_quotes_around_an_input_are_a_repair() -> None:
    """What is taken off an input is told."""
    turn = read_turn('Action: wipe\nAction Input: "/tmp"', tools=TOOLS)
    assert (turn.actions, turn.fidelity) == ((CALL,), "repaired")


def test_cdata() -> None:
    """In an element with attributes CDATA quotes; between GLM's tags it is text."""
    held = "<![CDATA[/tmp]]>"
    xml = f'<invoke name="wipe"><parameter name="path">{held}</parameter></invoke>'
    assert read_turn(xml, tools=TOOLS).actions == (CALL,)
    raw = f"<tool_call>wipe\n<arg_key>path</arg_key>\n<arg_value>{held}</arg_value>\n</tool_call>"
    assert read_turn(raw, tools=TOOLS).actions == (ToolCall("wipe", {"path": held}),)


@pytest.mark.parametrize("question", ["who wrote Faust?", "how far is it?", "Is it safe to go?"])
@pytest.mark.parametrize("thought", ["", "Thought: I have to see.\n"])
def test_an_echoed_question(question: str, thought: str) -> None:
    """A line of the prompt with the user's question says nothing of the action behind it."""
    text = f"Question: {question}\n{thought}{FORMS['react']}"
    assert _calls(text) == [CALL]


def test_a_question_that_asks_the_user() -> None:
    """No thought leads from what the model asks the user to a call."""
    assert _calls(f"Question: should I delete it?\n{FORMS['react']}") == []
