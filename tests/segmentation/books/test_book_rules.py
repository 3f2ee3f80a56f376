"""Rules of a language: one small file each."""

import pytest

from edos_dataset.segmentation.books.boundaries import BOUNDARIES
from edos_dataset.segmentation.books.extraction import BESIDE, LED_IN, Speech, extract
from edos_dataset.segmentation.books.rules import Rule, Table, Words, languages, load_rules, rules_of
from edos_dataset.segmentation.books.turns import ANOTHER_SPEAKER, IS_SPEECH, IS_SPEECH_BEHIND_DASH
from edos_dataset.sources.books.book import HEADING, Block

SWEDISH = """
quotes: ["” ”", "» »"]
dashes: ["—", "–"]
says: sade sa säger frågade svarade ropade viskade började fortsatte
goes_on: fortsatte
answers: svarade
thinks: tänkte
to_self: ["för sig själv"]
writes: skrev brev
pronouns: {han: m, hon: f, jag: i, de: p, den: null}
articles: en ett den det sin hans hennes
titles: {herr: m, fru: f, fröken: f}
particles: då nu sedan inte
stops: och med till i på som när
later:
  - nästa (?:dag|morgon)|samma kväll
"""


def test_seven_languages() -> None:
    """There are rules of seven languages."""
    assert languages() == ("de", "en", "es", "hu", "it", "nl", "pt")
    assert all(load_rules(language).says for language in languages())


def test_an_eighth_language_takes_twenty_lines() -> None:
    """A language is added by one small file."""
    assert len(SWEDISH.strip().splitlines()) < 20
    blocks = [
        Block(text)
        for text in [
            "— Var är hon? frågade Karl.",
            "— Ute — svarade Anna — och ensam.",
            "— Varför?",
            "Nästa dag kom han.",
            "— Är hon här?",
            "— Ja.",
        ]
        * 5
    ]
    extraction = extract(blocks, rules_of(SWEDISH + "unmarked: true\n", "sv.yaml"), Speech())
    assert [turn.text for turn in extraction.dialogues[0]] == ["Var är hon?", "Ute och ensam.", "Varför?"]
    assert [turn.speaker for turn in extraction.dialogues[0]] == ["Karl", "Anna", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", r"x\.yaml: "),
        ("- a", r"x\.yaml: expected a mapping"),
        ("quotess: []", r"x\.yaml: unknown key 'quotess'; did you mean 'quotes'\?"),
        ("says: a", r"x\.yaml: the key 'quotes' is missing"),
        ('quotes: ["“”"]', r"x\.yaml, quotes: expected two marks with a space between"),
        ("quotes: a", r"x\.yaml, quotes: expected a list of texts"),
        ("says: [a]", r"x\.yaml, says: expected words"),
        ("unmarked: 1", r"x\.yaml, unmarked: expected true or false"),
        ("pronouns: {he: x}", r"x\.yaml, pronouns: expected m, f, i"),
        ("pronouns: a", r"x\.yaml, pronouns: expected words with the person of each"),
        ('later: ["("]', r"x\.yaml, later: '\(' is no regular expression"),
    ],
)
def test_refuses_wrong_files(text: str, message: str) -> None:
    """What is wrong with a file is said with its key."""
    whole = SWEDISH if ":" in text and not text.startswith(("quotess", "says: a")) else ""
    kept = "\n".join(line for line in whole.splitlines() if not line.startswith(text.split(":")[0] + ":"))
    kept = kept.replace("  - nästa (?:dag|morgon)|samma kväll", "") if text.startswith("later") else kept
    with pytest.raises(ValueError, match=message):
        rules_of(f"{kept}\n{text}\n", "x.yaml")


def test_unknown_language_names_the_nearest() -> None:
    """A language without rules is refused, with what there is."""
    with pytest.raises(ValueError, match="did you mean 'en'"):
        load_rules("eng")


def test_words_by_their_beginning() -> None:
    """A star stands for any ending."""
    words = Words(("sag*", "rief"))
    assert "sagte" in words
    assert "riefen" not in words
    assert words.meet(["und", "sagen"])


TABLES = {
    "is speech": IS_SPEECH,
    "is speech behind a dash": IS_SPEECH_BEHIND_DASH,
    "another speaker": ANOTHER_SPEAKER,
    "beside": BESIDE,
    "led in": LED_IN,
    "boundaries": BOUNDARIES,
}
RULES = [pytest.param(table, rule, id=f"{name}: {rule.name}") for name, table in TABLES.items() for rule in table.rules]


@pytest.mark.parametrize(("table", "rule"), RULES)
def test_rule_decides_on_its_example(table: Table, rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rule that holds is the one that the sentences show; they stand in a book often enough for a habit."""
    decided = []

    def recording(each: Rule):
        def holds(case: object) -> bool:
            held = each.holds(case)
            if held:
                decided.append(each.name)
            return held

        return holds

    monkeypatch.setattr(table, "_pairs", tuple((recording(each), each.decides) for each in table.rules))
    paragraphs = [Block(text) for text in rule.example.split("\n")]
    extract([*paragraphs, Block("II", HEADING)] * 12, load_rules(rule.language), Speech())
    assert rule.name in decided


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_names_of_rules_are_different(table: Table) -> None:
    names = [rule.name for rule in table.rules]
    assert len(set(names)) == len(names)
