"""The parts of the chat: what has been said, what the model is asked, and how that is drawn."""

import html
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from edos_dataset.generation.responder import Candidate, Responder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.version import __version__
from edos_dataset.web.spaces import MAX_CHARACTERS, MAX_TURNS
from small_responders import EMPATHETIC, save_responder

sys.path.insert(0, str(Path(__file__).parents[2] / "spaces" / "chat"))
import chat_page
from conversation import Answerer, Answers, Dialogue, Reading, answers_as_json, other_language

SPACE = Path(chat_page.__file__).parent
TURNS = ("the dog ran home", "where is the dog", "I am happy")


def answerer(folder, **settings):
    save_responder(folder, **settings)
    return Answerer(Responder.load(folder, labeler="fast"), str(folder), beams=6)


@pytest.fixture(scope="module")
def empathetic(tmp_path_factory):
    return answerer(tmp_path_factory.mktemp("empathetic"), **EMPATHETIC)


def test_a_dialogue_grows_by_turns_and_answers():
    first, warnings = Dialogue().said("B: How are you?\n\nA: I lost my job.")
    assert first == Dialogue(("How are you?", "I lost my job.")) and warnings == ()
    assert [first.is_visitor(number) for number in range(2)] == [False, True]
    assert first.said(" ") == (first, ())  # asked again
    assert first.said("Today.")[0].turns == ("How are you?", "I lost my job. Today.")  # nobody has answered yet
    answered = first.answered_by("Oh\nno.")
    assert answered == Dialogue((*first.turns, "Oh no."), True)
    assert [answered.is_visitor(number) for number in range(3)] == [False, True, False]
    then = answered.said("Yes.")[0]
    assert then.turns == (*answered.turns, "Yes.") and not then.answered
    assert Dialogue.from_json(answered.as_json()) == answered
    assert "rather like" in first.said("Das ist nicht gut, ich habe es dir gesagt.")[1][0]


def test_turns_are_taken_back_one_by_one():
    dialogue = Dialogue(("A.", "B.", "C."))
    given = []
    while dialogue.turns:
        dialogue, text = dialogue.without_last()
        given.append((dialogue.turns, dialogue.answered, text))
    assert given == [(("A.", "B."), True, "C."), (("A.",), False, ""), ((), False, "A.")]
    assert dialogue.without_last() == (Dialogue(), "")


@pytest.mark.parametrize(
    "sent",
    [{"turns": "Hi."}, {"turns": [1]}, {"turns": [" "]}, {"turns": ["a"] * 51}, {"turns": ["a" * 1001]}],
)
def test_what_a_browser_sends_may_be_anything(sent):
    with pytest.raises(ValueError, match=r"Start over\.$"):
        Dialogue.from_json(sent)
    assert Dialogue.from_json(None) == Dialogue.from_json({"answered": True}) == Dialogue()


def test_what_cannot_be_said_is_explained():
    full = Dialogue(("a",) * MAX_TURNS)
    long = Dialogue(("a" * MAX_CHARACTERS,))
    for act, message in (
        (lambda: Dialogue().said(""), "nothing to read yet"),
        (lambda: Dialogue(("a", "b"), True).said(""), "It is your turn"),
        (lambda: Dialogue(full.turns, True).said("b"), "would have 51 turns"),
        (lambda: long.said("b"), "longer than 1,000"),
        (lambda: full.answered_by("b"), "would have 51 turns"),
        (lambda: Dialogue().answered_by("b"), "no turn that this could answer"),
        (lambda: Dialogue(("a", "b"), True).answered_by("c"), "no turn that this could answer"),
    ):
        with pytest.raises(ValueError, match=message):
            act()
    assert len(long.answered_by("b" * 2000).turns[1]) == MAX_CHARACTERS


def test_answers_are_the_models_and_read_by_the_labeler(empathetic):
    dialogue = Dialogue(TURNS)
    found = empathetic.answer(dialogue, candidates=3)
    labeler = load_labeler("fast")
    known = labeler.predict_proba([list(TURNS)])
    assert [reading.label for reading in found.readings] == known.argmax(1).tolist()
    responder, history = empathetic.responder, [known.argmax(1).tolist()]
    assert found.predicted == pytest.approx(responder.predict([TURNS], history)[0], abs=1e-6)
    assert list(found.candidates) == responder.respond([TURNS], None, 3, 6, history_labels=history)[0]
    for candidate, reading in zip(found.candidates, found.read, strict=True):
        row = labeler.predict_proba([[*TURNS, candidate.text]])[-1]
        assert (reading.label, reading.confidence) == (int(row.argmax()), pytest.approx(row.max(), abs=1e-6))
    forced = empathetic.answer(dialogue, LABELS.index("consoling"), 2)
    assert {one.label for one in forced.candidates} == {"consoling"} and forced.predicted == found.predicted
    drawn = [empathetic.answer(dialogue, 3, 2, draw=seed).candidates for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    answered = answers_as_json(dialogue, found)
    assert [one["label"] for one in answered["predicted"]] == [
        LABELS[one] for one in np.argsort(found.predicted)[:-11:-1]
    ]
    assert [one["text"] for one in answered["turns"]] == list(TURNS)
    assert [one["label"] for one in answered["candidates"]] == [one["label"] for one in answered["predicted"][:3]]
    for wrong in (0, 7, "3", True):
        with pytest.raises(ValueError, match="Ask for 1 to 6 answers"):
            empathetic.answer(dialogue, candidates=wrong)


def test_models_without_labels_or_predictor_say_so(tmp_path):
    plain = answerer(tmp_path / "plain", predictor=False)
    found = plain.answer(Dialogue(TURNS), candidates=2)
    assert found.predicted is None and [one.label for one in found.candidates] == [None, None]
    assert "trained without labels" in chat_page.prediction(found, False)
    assert "written as" not in chat_page.answer(found.candidates[0], found.read[0], 1)
    with pytest.raises(ValueError, match="trained without labels, so none can be forced"):
        plain.answer(Dialogue(TURNS), 3)
    alone = answerer(tmp_path / "alone", predictor=False, **EMPATHETIC)
    with pytest.raises(ValueError, match="Choose a label in the menu"):
        alone.answer(Dialogue(TURNS))
    forced = alone.answer(Dialogue(TURNS), 3)
    assert forced.candidates[0].label == LABELS[3] and "no predictor" in chat_page.prediction(forced, True)


def test_ten_bars_are_shown_the_likeliest_first():
    chances = np.arange(1, 42) / np.arange(1, 42).sum()
    drawn = chat_page.prediction(Answers((), tuple(chances.tolist()), 5, (), ()), True)
    shown, rest = drawn.split("<details")
    assert re.findall(r"</span> (\w+)</th>", shown) == [LABELS[label] for label in range(40, 30, -1)]
    assert re.findall(r"</span> (\w+)</th>", rest) == [LABELS[label] for label in range(30, -1, -1)]
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", drawn)]
    assert widths == pytest.approx(100 * chances[::-1], abs=0.01)
    assert "You chose" in shown and LABELS[5] in shown


def test_what_comes_from_outside_is_escaped(tmp_path):
    evil = '<img src=x onerror="alert(1)">'
    drawn = (
        chat_page.said(Dialogue((evil,)), [Reading(3, 0.5)], [evil])
        + chat_page.answer(Candidate(evil, "sad", -1.0, 0.25), Reading(40, 0.5), 1)
        + chat_page.about(evil)
    )
    assert "<img" not in drawn and html.unescape(drawn).count(evil) == 5  # the last as link and name
    (tmp_path / "mine").mkdir()
    about = chat_page.about(str(tmp_path / "mine"))
    assert "mine</code>" in about and str(tmp_path) not in about, "where it lies is private"


def test_the_hub_finds_what_it_needs():
    head = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert head["sdk"] == "gradio" and (SPACE / head["app_file"]).is_file() and len(head["short_description"]) <= 60
    assert all((SPACE / name).is_file() for name in head["files"])
    assert (SPACE / "requirements.txt").read_text(encoding="utf-8") == f"edos-dataset[offline]>={__version__}\n"


def test_who_may_be_in_danger_gets_help_and_no_answer(empathetic):
    for text in ("I want to die.", "i’m going to kill myself", "I don't want to live anymore", "thinking of suicide"):
        with pytest.raises(ValueError, match="will not answer.*988"):
            empathetic.answer(Dialogue((text,)))
    with pytest.raises(ValueError, match="needs help at once.*112"):
        empathetic.answer(Dialogue(("He was stabbed! Call an ambulance!",)))


def test_an_answer_that_was_given_is_not_given_again(empathetic):
    first = empathetic.answer(Dialogue(TURNS), candidates=1).candidates[0].text
    then = empathetic.answer(Dialogue((*TURNS[:2], first, *TURNS[2:])), candidates=2)
    assert first not in [one.text for one in then.candidates]


def test_drawn_answers_are_shown_while_they_grow(empathetic):
    dialogue = Dialogue(TURNS)
    *growing, last = empathetic.stream(dialogue, candidates=2, draw=1)
    assert [one.label for one in last.candidates] == [one.label for one in growing[-1].candidates]
    assert list(last.candidates) == list(empathetic.answer(dialogue, None, 2, draw=1).candidates)
    assert len(last.read) == 2 and last.read == empathetic.answer(dialogue, None, 2, draw=1).read
    firsts = [each.candidates[0].text for each in growing if len(each.candidates) == 1]
    assert len(set(firsts)) > 2 and not any(each.read for each in growing)
    assert all(later.startswith(earlier) for earlier, later in zip(firsts, firsts[1:], strict=False))
    forced = [*empathetic.stream(dialogue, 0, 2, draw=1)][-1]
    assert {one.label for one in forced.candidates} == {LABELS[0]} and len({one.text for one in forced.candidates}) == 2
    with pytest.raises(ValueError, match="will not answer"):
        next(empathetic.stream(Dialogue(("I want to die.",))))
    busy = chat_page.answer(growing[0].candidates[0], None, 1)
    assert 'aria-busy="true"' in busy and "reads as" not in busy


def test_an_answer_that_reads_as_asked_is_marked():
    asked = Candidate("Oh no.", "sad", -1.25, 0.5)
    sad, other = (chat_page.answer(asked, Reading(label, 0.5), 1) for label in (LABELS.index("sad"), 40))
    assert "✓" in sad and "✓" not in other and "reads as" in other.partition("<details>")[0]


def test_short_messages_in_other_languages_are_noticed():
    for text in ("Ich bin traurig.", "Estoy muy triste hoy.", "Je suis triste", "Ho perso il lavoro"):
        assert "does not look like English" in other_language(text)[0]
    for text in ("I lost my job.", "Hi", "My cat died", "Mia got into Juilliard!", "the dog ran home"):
        assert other_language(text) == ()


def test_the_cards_own_figures_are_on_the_page():
    assert re.search(r"a reader found [\d.]+ % of \d+ answers wrong", chat_page.warning("chat"))
    assert "not its first choice" in chat_page.about("chat")
    assert "a reader" not in chat_page.warning("someone/model")


def test_scores_stand_under_details():
    drawn = chat_page.answer(Candidate("Oh no.", "sad", -1.25, 0.5), Reading(3, 0.5), 1)
    shown, _, details = drawn.partition("<details>")
    assert "Oh no." in shown and "-1.25" not in shown and "-1.25" in details
