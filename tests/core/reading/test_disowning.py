"""Values in sentences that say they are not the answer, and in sentences that give it."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from loopmend import read_json

WRITTEN = '{"name": "Ann", "total": 99.5}'


class Order(BaseModel):
    """An order."""

    name: str
    total: float


GIVEN = [
    "Here is the JSON: {}",
    "Sure! {}",
    "The answer is {}",
    "The answer is {}.",
    "Sure, here you go: {}",
    "Sure, the order is {}.",
    "I found {} for you.",
    "The result is {}, as requested.",
    "Based on the text, the order is {}.",
    "My answer is {} and I am confident.",
    "According to the receipt it is {}.",
    "The extracted data is {}",
    "I extracted {} from the email.",
    "Extracted: {}",
    "Output: {}",
    "Final answer: {}",
    "Certainly! The order is {}. Let me know if you need anything else.",
    "Here you are, {}",
    "So it is {}.",
    "Therefore the order is {}.",
    "This gives {}.",
    "That makes {}.",
    "I get {}.",
    "It should be {}.",
    "It would be {}.",
    "The order would be {} based on the page.",
    "The correct JSON is {}.",
    "The valid JSON is {}, which follows the schema.",
    "Your order is {}!",
    "After checking the table, I conclude {}.",
    "Given the schema, the object is {}.",
    "In JSON this is {}.",
    "As JSON: {}",
    "As JSON it is {}.",
    "I believe it is {}.",
    "I think the order is {}, but do tell me if it is not right.",
    "The order matching your question is {}.",
    "Of course. {}",
    "OK {}",
    "Okay, {}.",
    "Yes, {}.",
    "Done! {}",
    "Thanks for waiting. The order is {}.",
    "Looking at the document, Ann paid 99.50, so {}.",
    "Ann ordered goods for 99.50, which is {}.",
    "The customer is Ann and the total 99.5, hence {}.",
    "We have {}.",
    "We get {} as the result.",
    "You can use {}.",
    "Use {}.",
    "Please find {} below.",
    "Please use {} as the order.",
    "The only order is {}.",
    "There is one order, {}.",
    "There was one order that was not cancelled: {}.",
    "The order that was not cancelled is {}.",
    "Nothing else was ordered, so the answer is {}.",
    "No other orders exist. The order is {}.",
    "I could not find a note, so the order is {}.",
    "I did not find a date. The order is {}",
    "Although the note is missing, the order is {}.",
    "The tool returned {}.",
    "The search says {}.",
    "From the tool result, the order is {}.",
    "Die Antwort ist {}.",
    "La réponse est {}.",
    "La respuesta es {}.",
    "答えは {} です。",
    "答案是 {}。",
    "Ответ: {}",
    "Ответ — {}.",
    "Hier ist das JSON {}",
    "{}oici le JSON V",
    "Aquí está {}",
    "La risposta è {}.",
    "A resposta é {}.",
    "Het antwoord is {}.",
    "Odpowiedź to {}.",
    "Let me give you {}",
    "I will return {}",
    "I return {}.",
    "Returning {}",
    "Result = {}",
    "result: {}",
    "JSON {}",
    "Answer {}",
    "In summary, {}.",
    "To summarise, the structured order is {}.",
    "Structured output {}",
    "The final structured output is {}. It has a name and a total.",
    "The final JSON is {} and all fields are filled in.",
    "Below is {}.",
    "I've filled in the fields: {}",
    "I've filled in the fields, giving {}.",
    "This is what I found: {}",
    "This is what I found {}",
    "Per the invoice, {}.",
    "From the invoice I read {}.",
    "After correction it is {}.",
    "The updated order is {}.",
    "The corrected order is {}, not the one before.",
    "Sorry, the right order is {}.",
    "Apologies for the confusion. The order is {}.",
    "Apologies, I made a mistake before. It is {}.",
    "Note that the total is in dollars. The order is {}.",
    "The order is {}. Note that the total is in dollars.",
    "The order is {}. I did not include a note because there was none.",
    "The order is {}. No other data was available.",
    "The order is {} (no note was given).",
    "The order is {}; the note is not known.",
    "I will not guess the note. The order is {}.",
    "I'm not sure about the note, but the order is {}.",
    "It is nothing but {}.",
    "I cannot find anything other than {}.",
    "There is no doubt that it is {}.",
    "Why not {}?",
    "If not, then {}.",
    "I do not have a note, only {}.",
    "I do not have more than {}.",
    "I did not get more than {}.",
    "I won't add anything but {}.",
    "There is not much: {}",
    "It is not only {} but a full order.",
    "I don't know the date but I know {}.",
    "Not sure, {}",
    "I am not sure, but {}.",
    "The order looks like {}.",
    "It looks like {}.",
    "It looks like the order is {}.",
    "The result looks like this {}",
    "The JSON looks as follows {}",
    "The answer looks like {}.",
    "Your data in JSON looks like {}.",
    "Here is what it looks like {}.",
    "I would like to return {}.",
    "I'd like to answer {}.",
    "Sounds like {}.",
    "For Ann I would say {}.",
    "Something is not right with the page, but it says {}.",
    "No problem! {}",
    "No, {}.",
    "Not found in the first table. In the second: {}",
    "I could not verify it, yet {}.",
    "There isn't a second order. {}",
    "Don't worry, it is {}.",
    "I haven't changed anything {}",
    "I have not changed {}.",
    "I didn't round the total in {}.",
    "I did not add fields to {}.",
    "Do not forget that the total of {} is in dollars.",
    "You do not need {} to be nested.",
    "I never saw such data before: {}",
    "The note is not given. {}",
]

DISOWNED = [
    "Do not use {}, that order was cancelled.",
    "Please do not use {}.",
    "Don't use {}.",
    "Never return {}.",
    "I found nothing. An answer would look like {}.",
    "I could not find it. A complete answer would look like {}.",
    "Do not use {}, that is from the outdated page.",
    "It is not {}.",
    "The order is not {}.",
    "The schema asks for something like {}.",
    "For example, {} would be an answer.",
    "An answer such as {} would be wrong.",
    "Something like {} would do, but I have no data.",
]


@pytest.mark.parametrize("sentence", GIVEN)
def test_a_sentence_that_gives_the_answer(sentence: str) -> None:
    """Whatever leads to the answer, and whatever it denies of something else, it is taken."""
    assert read_json(sentence.replace("{}", WRITTEN), Order).ok


@pytest.mark.parametrize("sentence", DISOWNED)
def test_a_sentence_that_disowns_a_value(sentence: str) -> None:
    """What the sentence around it denies, or only likens to an answer, is no answer."""
    reading = read_json(sentence.replace("{}", WRITTEN), Order)
    assert reading.failure is not None
    assert "not the answer" in reading.failure.message


def test_the_other_value_is_the_answer() -> None:
    """A value that is disowned is passed over for the one that is given."""
    other = '{"name": "Bob", "total": 1.5}'
    reading = read_json(f"Do not use {WRITTEN}. The order is {other}.", Order)
    assert reading.value == Order(name="Bob", total=1.5)


def test_a_value_that_stands_apart_is_given() -> None:
    """In a fence or on a line of its own, a value is the answer whatever was said before."""
    for around in ("Do not use\n```json\n{}\n```", "An answer would look like\n{}"):
        assert read_json(around.replace("{}", WRITTEN), Order).ok
