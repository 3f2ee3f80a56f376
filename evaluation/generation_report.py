"""The report of `generation.py` as Markdown, and its figures as JSON, made from the records alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edos_dataset.labels import LABELS
from edos_dataset.metrics.responses.dialog_eval import OLD_BLEU
from edos_dataset.publishing.cards.markdown import code, interval, percent, plain, table
from edos_dataset.runs.shards import replacing, write_text
from evaluation.charts import COLOURS, GREY, as_png, new_figure, plain_axes
from evaluation.generation_sets import INVENTED, REFERENCES, as_json, read_records
from evaluation.generation_tables import (
    BY_SETTING,
    NOTHING,
    PREDICTED,
    REACHED,
    SHORT,
    SIDE_BY_SIDE,
    chance_predictions,
    labels_reached,
    measures_of,
    render_by_setting,
    render_predictors,
    render_reached,
    render_side_by_side,
    render_trained_tested,
    with_interval,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SETTINGS = {
    "held-out": (COLOURS[0], "o", "trained on the same source"),
    "fine-tuned": (COLOURS[2], "D", "fine-tuned on the same source"),
    "pre-trained": (COLOURS[4], "s", "trained on it before another one"),
    "zero-shot": (COLOURS[1], "^", "zero-shot"),
}
"""Relation of a model to a set → colour, mark, meaning."""


def draw(sets: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> bytes:
    """Draw a panel for each test set: one model per row, its perplexity with interval on a logarithmic scale, and the
    perplexity of the unigram model as a line.

    Args:
        sets: names of the test sets.
        cells: the cells; those without a perplexity are skipped.

    Returns:
        A PNG.
    """
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    there = [cell for cell in cells if cell.get("perplexity")]
    rows = list(dict.fromkeys(cell["row"] for cell in there))
    figure = new_figure(2.2 + 3.2 * max(1, len(sets)), 1.7 + 0.32 * max(2, len(rows)))
    panels = figure.subplots(1, max(1, len(sets)), squeeze=False, sharey=True)[0]
    used: dict[str, Any] = {}
    for axes, name in zip(panels, sets, strict=False):
        used |= _draw_cells(axes, [cell for cell in there if cell["set"] == name], rows)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("perplexity of a word")
        plain_axes(axes)
    if rows:
        panels[0].set_yticks(range(len(rows)), rows)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
    if used:
        figure.legend(used.values(), used.keys(), loc="outside lower center", ncols=min(5, len(used)), frameon=False)
    return as_png(figure)


def _draw_cells(axes: "Axes", cells: Sequence[Mapping[str, Any]], rows: Sequence[str]) -> dict[str, Any]:
    """Draw the cells of a test set, and return the entries of the legend."""
    used = {}
    for cell in cells:
        colour, mark, meaning = _SETTINGS[cell["setting"]]
        word, place = cell["perplexity"]["word"], rows.index(cell["row"])
        if None not in word["interval"]:
            axes.plot(word["interval"], [place, place], color=colour, linewidth=2)
        used[meaning] = axes.plot([word["value"]], [place], mark, color=colour, markersize=7)[0]
    alone = [cell["perplexity"]["unigram"] for cell in cells]
    if known := [each["word"] for each in alone if each]:
        used["single tokens"] = axes.axvline(min(known), color=GREY, linestyle="--", linewidth=1)
    return used


Figures = Mapping[str, Any]

PICTURE = "perplexity.png"
_TEXTS = ("answers", "under", "labels", "key")
_FEW = 20  # documents

HOW = """**Bold**: the model was trained on the training part of that source (last); in *italics*: zero-shot. What is
measured:

- **PPL**: perplexity of a token of the true answers, under the label of the true answer where the model takes one, as
  in the papers. Tokens differ between tokenizers, so only models with one tokenizer can be compared by it; **PPL a
  word** shares the same nats among the words, and can be compared between all of them.
- **D1**, **D2**: different ones among the words, and pairs of words, of all answers; marks are words. They fall as
  answers grow in number.
- **SES**: cosine of the sentence embeddings of answer and truth.
- **label reached**: share of the answers that the labeler, which sees the history, gives the label under which they
  were written; of models without labels, and of RT and GT, that of the true answer: what is reached by chance, and what
  the labeler itself attains on true answers.
- **generic**: share of the answers that are given to at least 3 contexts and 0.1 % of them. **different**: share of the
  answers that are given once.
- **sacreBLEU**, **chrF** (0 to 100, of the set) and **BERTScore** (F1, by the packaged encoder), of the answers as they
  are, where their libraries are installed; the records say how they were called.

Answers are those of beam search that repeats no four tokens. Intervals are 95 %: 1,000 resamples of documents (films,
pairs of people; seed 0), of D1, D2, sacreBLEU and chrF the normal interval by the jackknife. RT: answers of the
training part drawn at random; GT: the true answers; single tokens: a model that knows only how often each token comes
in the answers of the training part of the same source (of the tokenizers, the one with the lowest perplexity a
word)."""


def write_report(records: Path, out: Path, examples: int = 0) -> None:
    """Write `generation.json`, `report.md` and the chart into a folder, from the records alone.

    Args:
        records: folder of the cells.
        out: folder, created if needed.
        examples: number of contexts of each test set that the report shows with all answers; ours are always shown.

    Raises:
        ValueError: there are no records.
    """
    content, cells = read_records(records)
    figures = [{name: value for name, value in cell.items() if name not in _TEXTS} for cell in cells]
    sets = {
        name: {key: value for key, value in held.items() if key != "contexts"} | {"contexts": len(held["contexts"])}
        for name, held in content["sets"].items()
    }
    text = {**content, "sets": sets, "cells": figures, "labels_reached": labels_reached(_contexts(content), cells)}
    text["chance_predictions"] = _chances(content)
    write_text(out / "generation.json", as_json(text))
    with replacing(out / PICTURE) as temporary:
        temporary.write_bytes(draw(_tested(content), cells))
    write_text(out / "report.md", render(content, cells, examples))


def _tested(content: Figures) -> list[str]:
    return [name for name in content["sets"] if name != INVENTED]


def _contexts(content: Figures) -> dict[str, list[Figures]]:
    return {name: content["sets"][name]["contexts"] for name in _tested(content)}


def _chances(content: Figures) -> dict[str, Figures]:
    named = _contexts(content).items()
    return {name: chance_predictions([each["label"] for each in contexts]) for name, contexts in named}


def render(content: Figures, cells: Sequence[Figures], examples: int) -> str:
    """Return the report."""
    sets, contexts = _tested(content), _contexts(content)
    tested = [cell for cell in cells if cell["set"] in sets]
    sections = [
        "# Response models: trained × tested",
        _models(content, cells),
        HOW,
        f"## All together\n\n{render_trained_tested(sets, tested)}",
        f"![Perplexity of a word of each model on each test set]({PICTURE})",
        f"## Plain and empathetic, side by side\n\n{SIDE_BY_SIDE}\n\n{render_side_by_side(sets, tested)}",
        f"## Zero-shot and fine-tuned\n\n{BY_SETTING}\n\n{render_by_setting(sets, tested)}",
        f"## Conditioned label reached\n\n{REACHED}\n\n{render_reached(labels_reached(contexts, cells))}",
        f"## The predicted label\n\n{PREDICTED}\n\n{render_predictors(_chances(content), cells)}",
        *(_set(name, content["sets"][name], [cell for cell in cells if cell["set"] == name]) for name in sets),
        *(
            _examples(name, held["contexts"][: None if name == INVENTED else examples], cells)
            for name, held in sorted(content["sets"].items(), key=lambda each: each[0] != INVENTED)
            if name == INVENTED or examples
        ),
    ]
    return "\n\n".join(sections) + "\n"


def _models(content: Figures, cells: Sequence[Figures]) -> str:
    rows = {cell["model"]: cell for cell in cells if "model" in cell}
    text = table(
        ["model", "kind", "trained on", "parameters"],
        [
            [
                code(name),
                plain(cell["kind"]),
                plain(cell["path"]),
                f"{cell['parameters']:,}" if cell["parameters"] else "",
            ]
            for name, cell in rows.items()
        ],
    )
    vectors = content["vectors"]
    by = (
        f"Word vectors: {code(vectors)}."
        if vectors
        else "No word vectors: the four measures that need them are left out."
    )
    return (
        f"{text}\n\nLabels of answers by {code(content['labeler'])}; {content['beams']} beams; dialogues and contexts "
        f"drawn by seed {content['seed']}. {by}"
    )


def _set(name: str, held: Figures, cells: Sequence[Figures]) -> str:
    text = (
        f"{held['test_dialogues']:,} test dialogues ({held['division']}; labels: {plain(held['labels'])}), of which "
        f"{len(held['contexts']):,} contexts in {held['documents']:,} documents are answered; "
        f"{held['train_dialogues']:,} dialogues in the training part."
    )
    if held["documents"] < _FEW:
        text += " So few documents say little of others: the intervals are too narrow."
    for other, count in held["in_training_of"].items():
        text += (
            f" {count:,} of the contexts are of documents in the training part of {plain(other)}: of models "
            "of that, the zero-shot figures here are not of unknown documents."
        )
    head = ["model", "", "PPL", "PPL a word", "D1", "D2", "SES", "label reached", "generic", "different", "words"]
    rows = [[code(cell["row"]), cell["setting"], *_long(cell)] for cell in cells]
    if alone := [cell["perplexity"]["unigram"] for cell in cells if (cell.get("perplexity") or {}).get("unigram")]:
        best = min(alone, key=lambda each: each["word"])
        rows.append(["single tokens", "", f"{best['token']:,.1f}", f"{best['word']:,.1f}", *[NOTHING] * 7])
    measures = [*measures_of(cells), *(each for each in OLD_BLEU if any(each in cell["figures"] for cell in cells))]
    full = table(
        ["measure", *(code(cell["row"]) for cell in cells)],
        [[each, *(with_interval(cell["figures"].get(each), 3) for cell in cells)] for each in measures],
    )
    details = f"<details><summary>The measures of dialog-eval, and those of libraries</summary>\n\n{full}\n\n</details>"
    return "\n\n".join([f"## {plain(name)}", text, table(head, rows), details])


def _long(cell: Figures) -> list[str]:
    perplexity, figures = cell.get("perplexity"), cell["figures"]
    text = [with_interval(perplexity[each], 1) if perplexity else NOTHING for each in ("token", "word")]
    text += [with_interval(figures[name], 3) for name in SHORT]
    for name in ("label_reached", "generic", "different"):
        ends = figures[name]["interval"]
        text.append(percent(figures[name]["value"]) + ("" if None in ends else f" {interval(ends)}"))
    return [*text, with_interval(figures["length"], 1)]


def _examples(name: str, contexts: Sequence[Figures], cells: Sequence[Figures]) -> str:
    """Return contexts with the true answer and the answers of all models: intended label → label of the answer."""
    own = [cell for cell in cells if cell["set"] == name and cell["row"] not in REFERENCES]
    truth = next((cell for cell in cells if cell["set"] == name and cell["row"] == "GT"), None)
    parts = [f"## Answers: {'contexts that we wrote' if name == INVENTED else plain(name)}"]
    for number, context in enumerate(contexts):
        turns = zip(context["labels"], context["turns"], strict=True)
        parts.append("\n".join(f"> ({LABELS[label]}) {plain(text)}  " for label, text in turns))
        said = "" if truth is None else LABELS[truth["labels"][number]]
        rows = [["truth", LABELS[context["label"]], plain(context["truth"]), said]]
        for cell in own:
            under, label = cell["under"][number], LABELS[cell["labels"][number]]
            rows.append(
                [code(cell["row"]), "" if under is None else LABELS[under], plain(cell["answers"][number]), label]
            )
        parts.append(table(["", "label wanted", "answer", "label found"], rows))
    return "\n\n".join(parts)
