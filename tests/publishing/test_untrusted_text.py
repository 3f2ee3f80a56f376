"""Untrusted texts in cards: shown, without effect, and never part of the YAML's structure."""

import copy
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from edos_dataset.hub.versions import ConfigChange, Version, _schema_changes, changelog
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.dataset import Origin, dataset_card
from edos_dataset.publishing.cards.markdown import code, fenced, plain, prose, table
from edos_dataset.publishing.cards.single import extended_card, labels_only_card, seed_card
from edos_dataset.publishing.front_matter import join_card, split_card
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import SPLITS
from model_cards.classifiers import render_model_card
from model_cards.responders import render_response_card

NASTY = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "![a](https://evil.example/x.png)",
    "<javascript:alert(1)>",
    "https://evil.example www.evil.example me@evil.example",
    "a\n\n# heading\n\n[b]: javascript:x\n\n[b]",
    "[b]: javascript:x",
    "x\n---\nlicense: mit\n---\n",
    "foo---",
    "---",
    "a | b \\| c `` ` | <b>",
    "\\<b>\\[a](b)\\",
    "```\n</code>\n~~~",
    "&lt;b&gt; &#60;b&#62;",
    "\u202eevil\u2028x\x00\x85",
    "\ud800",
    "'\": {a: [b, *c]} # &d !!e %f @g `h",
    "1. one",
    "x" * 10_000,
)
UNTRUSTED = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=40),
    st.text(st.sampled_from("<>[]()`|*_\\!#-~:&;/@ \n\tjavascript"), max_size=40),
    st.lists(st.sampled_from(NASTY), min_size=2, max_size=3).map(" ".join),
)
FIGURES = {"accuracy": 0.5, "macro_f1": 0.4, "top_3_accuracy": 0.7, "ece": 0.02, "examples": 3}
PARSER = MarkdownIt("commonmark").enable("table")


def record_of(text):
    return {
        "name": text,
        "task": "weak",
        "metrics": {"test": {**FIGURES, "by_label": {text: {"f1": 0.5, "support": 3}}}},
        "licence_of_the_data": text,
        "base_model": text,
        "data": [{"file": text, "licence": text, "sha256": text}],
        "date": text,
        "command": text,
        "limitations": [text],
        "shipped_as": "weak",
        "hardware": text,
        "architecture": text,
        "versions": {text: text},
        "split": {text: 3},
        "near_duplicates_removed": {text: 3},
        "recipe": {text: text},
        "seed": text,
    }


def cards(text):
    """Return every card that holds a text of others, with it in all places where one may stand."""
    rows = dict.fromkeys(SPLITS, 3)
    written = ConfigFiles(
        "edos",
        rows=rows,
        turns=rows,
        labels={0: 3},
        label_sources={text: 3},
        languages={text: 3},
        kinds={text: 3},
        genres={text: 3},
        decades={text: 3},
        confidence=[3] * 10,
    )
    scorer = {
        "metrics": {text: {"all": {"accuracy": 0.5, "seams": 3, "f1": 0.5, "ece": 0.1}}},
        "licences": {text: text},
    }
    stages = [{"stage": text, "unit": "turns", "read": 3, "kept": 2, "rejected": {text: 1}}]
    origin = Origin(text, text, {text: text}, text, {"files": 3})
    counts = {"fleiss_kappa": 0.4, "fleiss_kappa_interval": [0.3, 0.5]}
    rules = {"repeats": "pool", "method": text, "ties": text, "least_votes": 2, "near": 0.9, "model": text}
    seed = {"splits": rows, "rules": rules, "agreement": counts, "by_label": {LABELS[0]: rows}}
    seed |= dict.fromkeys(("answers", "tasks", "texts", "labelled", "unlabelled", "groups", "largest_group"), 3)
    step = {"step": 1, "method": text, "round": 1, "read": 3, "labelled": 2, "papers": 3, "by_label": {}}
    step |= {"parameters": {text: text}, "rejected": {text: 1}}
    extended = {"seed": rows, "steps": [step], "rows": 3, "pool": {text: text}, "command": text}
    labels = {"config": "edos", "dialogues": rows, "turns": rows, "labels": {0: 3}, "languages": {text: 3}}
    labels |= {"versions": {text: text}, "fingerprint": text}
    yield dataset_card(
        [written], text, {text: record_of(text)}, stages, {text: scorer | record_of(text) | scorer}, origin
    )
    yield seed_card(seed)
    yield extended_card(extended)
    yield labels_only_card(labels, {text: record_of(text)}, "labels_only/recipe.yaml")
    data = [{"source": text, "dialogues": 3, "licence": text, "labels": text, "sha256": text}]
    response = record_of(text) | {"task": "plain", "data": data, "start": text, "recipe": {"base_model": text}}
    yield render_response_card(response, {"test": {"perplexity": 2.0, "pairs": 3}})
    yield render_model_card(record_of(text), {**FIGURES, "by_label": {text: {"f1": 0.5, "support": 3}}})


def schema_changes(text):
    before = {text: "int32", f"{text}2": text, "label": f"one of a, {text}"}
    return tuple(_schema_changes(before, {f"{text}2": f"{text}3", "label": "one of a", f"{text}4": "int32"}))


def bones(markdown):
    """Return what a text makes of a page: its tags, links and pictures, and how many of each other block."""
    found = []
    for token in PARSER.parse(markdown):
        for inner in [token, *(token.children or [])]:
            if inner.type in ("html_block", "html_inline", "link_open", "image", "heading_open", "hr"):
                where = inner.attrGet("href") or inner.attrGet("src")
                found.append((inner.type, inner.tag, where or (inner.content if "html" in inner.type else "")))
    return found


BASE = [bones(split_card(card)[1]) for card in cards("harmless")]


_CODE = re.compile(r"(?ms)^(`{3,}).*?^\1$|(?<!\\)`[^`\n]*`")  # a mark behind a backslash begins none


def assert_shown(text):
    """Check that a text of others is shown in every card, and changes nothing else of it."""
    for place, card in enumerate(cards(text)):
        card.encode()
        body = card.split("\n---\n", 1)[1]
        assert bones(body) == BASE[place], text
        assert not re.search(r"(?<!\\):(?=//evil)|www\.evil|me@evil", _CODE.sub("", body))
        if place in (0, 4):  # the heads that hold texts of others
            assert split_card(card)[1] == body
            assert split_card(card)[0]["license"] in ("other", "cc-by-nc-4.0")


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text)[:30])
def test_a_nasty_text_is_shown_in_every_card(text):
    assert_shown(text)


@settings(max_examples=6, deadline=None)
@given(UNTRUSTED.filter(str.strip))
def test_any_text_is_shown_in_every_card(text):
    assert_shown(text)


@settings(max_examples=50, deadline=None)
@given(UNTRUSTED)
@example("a`b")
def test_the_changelog_shows_names_of_columns_and_configs(text):
    change = ConfigChange(text, 1, 2, schema=schema_changes(text))
    log = changelog("", Version(2, 0, 0), Version(1, 0, 0), [change])
    kinds = [kind for kind, _, _ in bones(log)]
    assert kinds == ["heading_open", "heading_open"]


def shown(markdown):
    """Return the text that somebody reads on the page."""
    inline = next((token for token in PARSER.parse(markdown) if token.type == "inline"), None)
    return "".join(child.content for child in (inline.children if inline else []))


@settings(max_examples=100, deadline=None)
@given(UNTRUSTED)
def test_what_is_written_is_what_is_read(text):
    """On one line, without what cannot be seen."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    if len(line) <= 300 and line == " ".join(text.split()) and line:
        assert shown(plain(text)) == line
        assert shown(code(text)) == line
        [row] = [token for token in PARSER.parse(table(["a"], [[plain(text)]])) if token.type == "inline"][1:]
        assert "".join(child.content for child in row.children) == line
    assert [token.type for token in PARSER.parse(fenced(text))] == ["fence"]
    assert not [kind for kind, _, _ in bones(f"- {prose(text)}")]


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["title", "tags", "a"]), UNTRUSTED | st.lists(UNTRUSTED, max_size=2)), st.text())
def test_a_head_of_any_texts_comes_back(values, body):
    values = {
        key: [one for one in value if one.isprintable()] if isinstance(value, list) else value
        for key, value in values.items()
        if isinstance(value, list) or value.isprintable()
    }
    assert split_card(join_card(values, body)) == (values, body)


@pytest.mark.parametrize("card", ["---\ntitle: foo---\n---\n# x\n", "\ufeff---\r\ntitle: foo---\r\n---\r\n# x\n"])
def test_a_head_ends_at_a_line_of_dashes(card):
    assert split_card(card) == ({"title": "foo---"}, "# x\n")


@pytest.mark.parametrize(
    "head",
    ["a: &x [1]\nb: *x\n", "a: 1\na: 2\n", "[" * 5000 + "\n", "a: !!python/name:os.system x\n", "a: \0\n", "- a\n"],
)
def test_a_head_that_is_not_plain_is_refused(head):
    with pytest.raises(ValueError, match="no YAML between two lines of dashes"):
        split_card(f"---\n{head}---\n")


def test_a_list_that_comes_twice_is_written_twice():
    tags = ["a"]
    assert split_card(join_card({"x": tags, "y": tags}))[0] == copy.deepcopy({"x": tags, "y": tags})
