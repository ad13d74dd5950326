"""Plain messages that must stand as they are: nothing in them is told instead of done."""

# ruff: noqa: RUF001 - texts in several languages

from __future__ import annotations

GOOD: tuple[str, ...] = (
    # answers
    "It is 12 °C in Tromsø, with light rain until the evening.",
    "Yes.",
    "42",
    "The invoice over 49.90 EUR went out to O'Hara Ltd. this morning.",
    "I searched your notes and found two entries about the roof, both from March.",
    "I called the harbour office's page: berth B-9 is free, B-7 is not.",
    "I don't know who won; none of the pages that I opened said so.",
    "I could not open the page: the server answered with 404. The address may be out of date.",
    "According to the search, rhubarb is a vegetable, although it is mostly used like a fruit.",
    "Thought is cheap, action is not: that is the moral of the story.",
    "A good search starts with a good question. Note that 'search_notes' only looks at titles.",
    "The tool lookup_weather takes a city and, if you like, a unit.",
    "Your message was sent. Let me know if there is anything else.",
    "All three photos carry the labels harbour and dusk now. Have a nice evening!",
    "I will never share your password with anyone.",
    "You should run the back-up first, then call the office and let them use the new form.",
    "You're welcome!",
    "I'm an assistant for the harbour office. I can look up the weather, notes and berths.",
    "Final score: 3 to 1. The home team will use the new stadium from next season on.",
    # questions and confirmations
    "Which city do you mean, Paris in France or Paris in Texas?",
    "Should I send the invoice to the old address or to the new one?",
    "Do you want me to close the account K-2041? This cannot be undone.",
    "Just to be sure: 1,200 USD to ACME, Inc., due on Friday. Is that correct?",
    "What would you like me to search for?",
    "Before I add the event, could you tell me how long it lasts?",
    # promises that depend on the user
    "Send me the number of the booking and I'll look it up.",
    "Once you have uploaded the photo, I will resize it to 640 by 480.",
    "If you agree, I'll send the invoice today. Otherwise nothing happens.",
    "I can add it to the calendar as soon as I know the date.",
    "Whenever you are ready, say so and I'll start the export.",
    "To go on I need the name of the customer. Then I'll open the account.",
    "If the result looks wrong to you, tell me and I'll search again with other words.",
    # code and data
    "```python\ndef area(r: float) -> float:\n    return 3.14159 * r * r\n```",
    "Here is the query:\n\n```sql\nSELECT berth, count(*) FROM boats GROUP BY berth;\n```",
    "Use a loop:\n\n```js\nfor (const x of xs) { console.log(x); }\n```\n\nIt prints each item.",
    'The settings are:\n\n```json\n{"theme": "dark", "fontSize": 14, "plugins": []}\n```',
    "Run `pip install requests` first, then `python main.py`.",
    "The function fails because `open()` needs a path; write `open('a.txt')` instead.",
    # lists and longer texts
    "Your options:\n\n1. Wait until Monday.\n2. Take the ferry.\n3. Ask Ravi for a lift.",
    "## Summary\n\n- The roof leaks.\n- Ravi repairs it in April.\n- It costs about 900 EUR.",
    "| berth | free |\n|---|---|\n| B-7 | no |\n| B-9 | yes |",
    "Steps to bake it:\n\n1. Wash the rhubarb.\n2. Cut it.\n3. Bake it for 40 minutes.\n\nEnjoy!",
    (
        "Dear Ms Hara,\n\nthank you for your letter. We will check the meter next week and write "
        "to you again.\n\nKind regards\nThe harbour office"
    ),
    "“I'll find him,” said the captain, and let the boat drift into the fog. The end.",
    "Let me explain: the tide turns at six, so boats leave before that and come back after noon.",
    "Let's say the boat is 12 m long. Then the fee is 12 times 3.50 EUR, which is 42 EUR.",
    "I'll keep it short: no, the berth is taken.",
    # other languages
    "Die Fähre fährt um 9:30 Uhr ab und kommt gegen Mittag an.",
    "Soll ich den Termin auf Freitag verschieben?",
    "Wenn Sie mir die Kundennummer nennen, sehe ich sofort nach.",
    "Ich habe in Ihren Notizen gesucht, aber nichts über das Dach gefunden.",
    "Le port est ouvert jusqu'à vingt et une heures.",
    "Dites-moi la date et je l'ajouterai à l'agenda.",
    "El vuelo sale a las 8:15 de la puerta B4. ¡Buen viaje!",
    "¿Quiere que envíe la factura ahora?",
    "La fattura è stata inviata ieri.",
    "A foto já foi redimensionada; o ficheiro tem agora 640 por 480 píxeis.",
    "De boot ligt op ligplaats B-9.",
    "Zdjęcie zostało zmniejszone. Czy coś jeszcze?",
    "Рейс CA1831 вылетает в 8:15.",
    "Hava bugün güneşli, en yüksek 21 derece.",
    "航班 CA1831 准点起飞，预计十点到达。",
    "请告诉我日期，我再帮您添加到日历。",
    "会議は金曜日の十時からです。",
    "예약 번호를 알려 주시면 바로 확인해 드리겠습니다.",
    "الرحلة في موعدها، وتقلع عند الثامنة والربع.",
)
