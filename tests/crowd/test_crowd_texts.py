"""What people read who label or judge: each language says the same, and no page says anything else."""

import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from crowd_people import judging, labelling
from edos_dataset.crowd.mturk.publishing import Offer
from edos_dataset.crowd.mturk.questions import form_page, layout_page
from edos_dataset.crowd.texts import texts_of
from edos_dataset.label_sets.translations import LANGUAGES

ENGLISH, OTHERS = texts_of("en"), [code for code in LANGUAGES if code != "en"]
ASSETS = files("edos_dataset.web.crowd") / "assets"
FOR_ADMINISTRATORS = ("admin.html", "login.html", "admin.js")
SAME_WORD = {
    "de": {"neutral"},
    "es": {"tutorial", "key_tutorial"},
    "fr": {"minutes_one", "minutes_other", "dialogue", "conversation", "form_title"},
    "nl": {"labels"},
    "pt": {"tutorial", "key_tutorial", "quoted"},
}


def marks(text):
    """The placeholders and bold marks of a text, which its translations have too."""
    return sorted(re.findall(r"\{\w*\}|\*\*", text))


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_texts_with_the_same_placeholders(language):
    texts = texts_of(language)
    assert list(texts.texts) == list(ENGLISH.texts) and list(texts.examples) == list(ENGLISH.examples)
    assert {name: marks(text) for name, text in texts.texts.items()} == {
        name: marks(text) for name, text in ENGLISH.texts.items()
    }
    same = {name for name, text in texts.texts.items() if text == ENGLISH.texts[name]}
    assert same == SAME_WORD.get(language, set())
    assert not {text for name, text in texts.examples.items() if text == ENGLISH.examples[name]}
    assert [question["label"] for question in texts.quiz] == [question["label"] for question in ENGLISH.quiz]
    assert [len(question["turns"]) for question in texts.quiz] == [len(each["turns"]) for each in ENGLISH.quiz]
    paragraphs = [text.texts["consent"].count("\n\n") for text in (texts, ENGLISH)]
    assert paragraphs[0] == paragraphs[1] == 3 and "18" in texts.texts["consent"]


def test_texts_are_filled_in_and_amounts_are_written_as_in_the_language():
    german = texts_of("de")
    assert german("dialogue_of", number=2, of=5) == "Dialog 2 von 5"
    assert [german.counted("minutes", number) for number in (1, 4)] == ["1 Minute", "4 Minuten"]
    assert [texts_of(code).amount(0.4) for code in ("en", "de")] == ["0.40", "0,40"]
    assert "<b>Gut</b>" in german.html["how_text"] and "<b>" not in german.html["good"]
    with pytest.raises(ValueError, match="no pages in 'fi': give one of en, de"):
        texts_of("fi")


class Words(HTMLParser):
    """The words of a page's HTML that stand in it as they are, outside of keys."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside.append(tag)
        spoken = [value for name, value in attributes if name in ("aria-label", "placeholder", "title", "alt")]
        self.found += re.findall(r"[^\W\d_]{2,}", re.sub(r"\$\w+", "", " ".join(spoken)))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"kbd", "script", "style"} & set(self.inside):
            self.found += re.findall(r"[^\W\d_]{2,}", re.sub(r"\$\w+", "", data))


def test_no_worker_reads_words_that_are_not_translated():
    names = [path.name for path in ASSETS.iterdir() if path.name not in FOR_ADMINISTRATORS]
    for name in names:
        text = (ASSETS / name).read_text(encoding="utf-8")
        if name.endswith(".html"):
            assert Words(text).found == [], name
        else:
            sentences = r'"[^"\w\n]*[A-Z][a-z]+ [^"\n]*"|"[^"\n]*\w[.?!…]"|\bcontent: "[^"]+"'
            assert re.findall(sentences, text) == [], name
    form = (files("edos_dataset.crowd.mturk") / "form.html").read_text(encoding="utf-8")
    assert Words(form).found == []


def test_every_text_is_used():
    package = files("edos_dataset")
    places = [package / "crowd", package / "crowd/mturk", package / "web/crowd", ASSETS]
    sources = [path for place in places for path in place.iterdir() if path.name.endswith((".py", ".html", ".js"))]
    source = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    counted = re.compile(r"_(one|other|labelling|judging|labelling_more|judging_more)$")
    used = {name for name in ENGLISH.texts if re.search(rf"\b{name}\b", source)}
    rest = {counted.sub("_", name) for name in ENGLISH.texts.keys() - used}
    assert {name for name in rest if not re.search(rf"\b{name}", source) and name.rstrip("_") not in source} == set()


@pytest.mark.parametrize("made", [labelling(15), judging(10)], ids=["labelling", "judging"])
def test_forms_of_mechanical_turk_are_in_the_language_and_keep_english_values(made):
    german, hit = texts_of("de"), made.hits[0]
    page = form_page(hit, made.labels, german)
    assert '<html lang="de">' in page and "<legend>Dialog 1</legend>" in page and ">Absenden</button>" in page
    for name, text in ENGLISH.html.items():
        if text != german.html[name] and len(text) > 8 and "{" not in text:
            assert text not in page, name
    if made.kind == "judging":
        assert 'value="good" required> Gut</label>' in page
    else:
        name = hit.items[0].choices[0]
        assert f'value="{name}" required> {german.labels(made.labels)[name].name}</label>' in page
        assert '<option value="wütend" data-label="angry">' in page
        layout = layout_page(made.hits, made.labels, german)
        assert 'value="${label_choice1_1}" required> <span class="choice">${label_choice1_1}</span>' in layout
    offer = Offer.of(type(made)(made.kind, made.hits, language="de"))
    assert "Dialog" in offer.title and "0,10 $" in offer.description and "Umfrage" in offer.keywords
