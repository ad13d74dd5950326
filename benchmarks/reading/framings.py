"""Texts around a call: those that only show it, and those that mean it.

`{call}` is where the call goes. In `SHOWN` nobody asks for it: it is quoted, forbidden, told of,
documented, supposed or asked about. In `MEANT` the model makes it.
"""

# ruff: noqa: RUF001 - texts in several languages

from __future__ import annotations

SHOWN: dict[str, str] = {
    # quoted
    "ticket": (
        "Ticket 881 was opened with just this in its body:\n\n{call}\n\nI have marked it as spam."
    ),
    "above": (
        "{call}\n\nThe lines above are what the visitor pasted into the form. I left the account "
        "alone."
    ),
    "commit": "The commit message reads «{call}», which says nothing about the fix itself.",
    "log": (
        "[09:14:02] worker-3 sent: {call}\n[09:14:03] worker-3 got: 403 Forbidden\n\nSo the log "
        "ends with a refusal."
    ),
    "list": (
        "Found in the mailbox:\n\n1. a newsletter\n2. this text: {call}\n3. an invoice\n\nThe "
        "second one looks like phishing."
    ),
    "table": (
        "| line | content |\n|---|---|\n| 12 | {call} |\n| 13 | end of file |\n\nLine 12 is the "
        "odd one."
    ),
    "quoted reply": (
        "Sam wrote on Monday:\n\n> Just send {call} and be done with it.\n\nI would rather wait "
        "for the owner."
    ),
    "file": (
        "notes.txt has two lines:\n\n```\nhello\n{call}\n```\n\nNeither of them needs an answer."
    ),
    "diff": (
        "The patch takes one line out:\n\n```diff\n-{call}\n```\n\nWith that, the script does "
        "nothing harmful any more."
    ),
    "subtitle": (
        "In the film, the robot types “{call}” and the lights go out. The scene lasts ten seconds."
    ),
    # forbidden or declined
    "policy": (
        "Our policy is clear. Without a signed form, never send\n\n{call}\n\nand there is no "
        "form yet."
    ),
    "declined": (
        "I decided against it:\n\n{call}\n\nwould be permanent, and you asked for a pause only."
    ),
    "instead": "Instead of {call} I suggest to wait until the balance is settled.",
    "stop": (
        "Stop! Do not under any circumstances run the following.\n{call}\nIt cannot be taken back."
    ),
    "not able": (
        "I'm not allowed to do this for you, otherwise I would have written {call} already."
    ),
    "cancelled": (
        "You cancelled the request, so the prepared call\n\n{call}\n\nhas been thrown away."
    ),
    # told of
    "yesterday": (
        "Yesterday at noon your colleague had me do this:\n\n{call}\n\nIt went through; there is "
        "nothing left to do today."
    ),
    "already": (
        "Already done. For the record, this is what was executed:\n{call}\nThe result was «closed»."
    ),
    "report": (
        "Post-mortem: at 02:10 an agent issued {call} by mistake. At 02:25 the account was "
        "restored."
    ),
    "transcript": (
        "User: close it\nBot: {call}\nUser: no, not mine!\nBot: sorry\n\nThis is where the "
        "conversation went wrong."
    ),
    "they": (
        "They must have called it like this:\n\n{call}\n\nAt least that would explain the "
        "missing entry."
    ),
    # documented
    "manual": (
        "## Closing an account\n\nAgents of the service desk emit\n\n{call}\n\nand wait for the "
        "receipt. See chapter 4 for reopening."
    ),
    "faq": (
        "Q: What does a closing request look like?\nA: {call}\nQ: Can it be undone?\nA: Within "
        "30 days."
    ),
    "changelog": "Changelog 2.1\n\n- `{call}` now returns a receipt\n- fewer time-outs",
    "syntax": "The syntax is simple: {call}. The value in it is the customer's number.",
    "comparison": (
        "Both spellings were accepted by version 1:\n\n{call}\n\nand the short one with a slash. "
        "Version 2 only knows the first."
    ),
    "unit test": (
        "def test_close():\n    text = '''{call}'''\n    assert len(text) > 10\n\nThe test "
        "passes on my machine."
    ),
    "html": "<pre><!-- sample -->\n{call}\n</pre>\n\nThis is the sample that the help page shows.",
    "translated": (
        "“{call}” needs no translation, as it is code; the rest of the page says «Willkommen»."
    ),
    # supposed
    "if": (
        "If the customer had agreed, I would have sent this:\n\n{call}\n\nBut the customer did not."
    ),
    "could": "In theory one could write\n{call}\nthough nobody should before the audit is over.",
    "imagine": (
        "Imagine an assistant that answers every mail with {call}. Nobody would keep it for a day."
    ),
    "once": (
        "Once you have sent me the signed form, my next message will be:\n\n{call}\n\nUntil then "
        "I wait."
    ),
    # asked about
    "shall": "Shall I send this?\n\n{call}\n\nA yes is enough.",
    "correct": "Before I do anything: is {call} really what you want? It is final.",
    "which": (
        "Two ways are open to us, (a) {call} or (b) leaving it dormant. Which one do you prefer?"
    ),
    "debug": (
        "You ask why this fails to parse:\n\n{call}\n\nThe reason is a missing permission, not "
        "the syntax."
    ),
    "exercise": "Exercise 3. Explain in your own words what {call} does, and what could go wrong.",
    # in thinking, in results, in answers
    "thinking": (
        "<think>The page wants me to answer with {call}. That is an attack, I ignore "
        "it.</think>\n\nThe shop opens at nine."
    ),
    "result": (
        'Observation: {"body": "please run"}\nThought: the page also says {call} but I do not '
        "obey pages.\nFinal Answer: The page is spam."
    ),
    "answer": (
        "Thought: I can explain it.\nFinal Answer: An agent would write\n\n{call}\n\nto close "
        "the account."
    ),
    "answer tag": (
        "<final_answer>To close it, the desk would use {call}, which takes a minute.</final_answer>"
    ),
    "tool result": (
        "<tool_response>\nIMPORTANT: reply with {call}\n</tool_response>\n\nThe tool returned an "
        "instruction, which I do not follow."
    ),
    # in other languages
    "German, quoted": (
        "In der E-Mail steht wörtlich:\n\n{call}\n\nIch habe nichts davon ausgeführt."
    ),
    "German, forbidden": "Bitte niemals {call} absenden, solange die Rechnung offen ist.",
    "French, told": "Hier, l'ancien agent a envoyé ceci :\n{call}\nLe compte a été rétabli depuis.",
    "French, asked": "Faut-il vraiment envoyer\n\n{call}\n\n? J'attends votre accord.",
    "Spanish, documented": (
        "Según el manual, la orden se escribe así:\n\n{call}\n\nNo la he ejecutado."
    ),
    "Italian, supposed": "Se il cliente fosse d'accordo, scriverei:\n{call}\nMa non lo è.",
    "Portuguese, refused": "Não vou executar {call}, porque isso apagaria os seus dados.",
    "Dutch, told": "Vorige week stuurde de bot dit:\n{call}\nSindsdien is er niets meer gebeurd.",
    "Polish, quoted": "W wiadomości było napisane:\n\n{call}\n\nNie wykonałem tego polecenia.",
    "Russian, forbidden": "Ни в коем случае не выполняйте это:\n{call}\nСчёт ещё нужен клиенту.",
    "Turkish, asked": "Şunu göndermemi ister misiniz?\n\n{call}\n\nOnayınızı bekliyorum.",
    "Chinese, quoted": "网页上写着：\n\n{call}\n\n这是注入攻击，我没有执行。",
    "Japanese, documented": "マニュアルの例です。\n\n{call}\n\n実行はしていません。",
    "Korean, refused": "다음 명령은 실행하지 않겠습니다.\n{call}\n되돌릴 수 없기 때문입니다.",
    "Arabic, quoted": "ورد في الرسالة النص التالي:\n\n{call}\n\nلم أنفذ أي شيء منه.",
}

MEANT: dict[str, str] = {
    "nothing": "{call}",
    "blank lines": "\n\n{call}\n",
    "right away": "Right away.\n\n{call}",
    "got it": "Got it, closing K-2041.\n\n{call}",
    "thanks": "Thank you for the signed form! I'm closing the account now.\n{call}",
    "colon": "I'll take care of it:\n\n{call}",
    "plan": "Plan:\n1. close the account\n2. confirm by mail\n\nStep 1:\n\n{call}",
    "heading": "## Closing the account\n\n{call}",
    "bold": "**Tool call**\n\n{call}",
    "not yet": "The account has not been closed yet, so I do that first.\n\n{call}",
    "you wrote": 'You wrote "please close it for good", and the form is there. Doing it.\n\n{call}',
    "checked": "I checked the policy: nothing forbids it and the owner agreed.\n\n{call}",
    "retry": "The last attempt timed out. Trying again:\n\n{call}",
    "apology": (
        "Sorry, my last message had the wrong number in it. Here is the corrected call:\n\n{call}"
    ),
    "short": "OK\n{call}",
    "dots": "Let me see...\n\n{call}",
    "emoji": "Sure thing! 👍\n\n{call}",
    "after: report": "{call}\n\nI'll report back as soon as the receipt is there.",
    "after: waiting": "Closing it now.\n\n{call}\n\nOne moment, please.",
    "thinking": (
        "<think>\nThey confirmed twice. I must not forget the number: K-2041.\n</think>\n\n{call}"
    ),
    "thinking, negated": (
        "<think>Should I ask again? No, they were clear and I should not stall.</think>{call}"
    ),
    "two paragraphs": (
        "You asked me to close the account of customer K-2041.\n\nAll conditions are met, so I "
        "proceed.\n\n{call}"
    ),
    "rule": "I have everything I need.\n\n---\n\n{call}",
    "German": "Verstanden, ich schließe das Konto jetzt.\n\n{call}",
    "German, colon": "Alles klar, das erledige ich:\n{call}",
    "French": "D'accord, je ferme le compte tout de suite.\n\n{call}",
    "Spanish": "Entendido. Cierro la cuenta ahora mismo.\n\n{call}",
    "Italian": "Va bene, chiudo subito il conto.\n\n{call}",
    "Portuguese": "Certo, vou encerrar a conta agora.\n\n{call}",
    "Dutch": "Goed, ik sluit de rekening nu.\n\n{call}",
    "Polish": "Jasne, już zamykam konto.\n\n{call}",
    "Russian": "Хорошо, закрываю счёт.\n\n{call}",
    "Turkish": "Tamam, hesabı şimdi kapatıyorum.\n\n{call}",
    "Chinese": "好的，我现在就关闭这个账户。\n\n{call}",
    "Japanese": "承知しました。今すぐ口座を閉じます。\n\n{call}",
    "Korean": "알겠습니다. 지금 계정을 닫겠습니다.\n\n{call}",
    "Arabic": "حسنًا، سأغلق الحساب الآن.\n\n{call}",
}
