"""`edos evaluate`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, note, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import MODELS, AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

_LIKE = "a line for each of theirs"


@explained()
def evaluate(
    responses: Annotated[
        list[Path], typer.Argument(help="Files of responses, one a line; as many lines in each.", show_default=False)
    ],
    contexts: Annotated[
        Path | None, typer.Option(help=f"What the responses answer, {_LIKE}: coherence.", show_default=False)
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(help=f"The true responses, {_LIKE}: divergence, embeddings, BLEU.", show_default=False),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(help="Contexts of the training set, whose words have the probabilities.", show_default=False),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors: a word and its numbers a line.", show_default=False)
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="More words that are known, one a line.", show_default="the words of --train"),
    ] = None,
    train_targets: Annotated[
        Path | None,
        typer.Option(
            help="Responses of the training set: how many answers are among its 100 most frequent; row RT.",
            show_default=False,
        ),
    ] = None,
    reference_rows: Annotated[
        bool,
        typer.Option("--reference-rows", help="Measure the truth (GT) and random --train-targets (RT), too."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of RT.")] = 0,
    sacrebleu: Annotated[bool, typer.Option("--sacrebleu", help="Measure sacreBLEU and chrF.")] = False,
    ses: Annotated[
        bool, typer.Option("--ses", help="Measure the similarity of the sentence embeddings of response and truth.")
    ] = False,
    encoder: Annotated[str, typer.Option(help="Encoder of --ses: a folder or Hub id.")] = "all-MiniLM-L6-v2",
    bertscore: Annotated[bool, typer.Option("--bertscore", help="Measure BERTScore.")] = False,
    bertscore_model: Annotated[
        str | None,
        typer.Option(
            help="Model of --bertscore: a folder or Hub id.",
            show_default="roberta-large; offline all-MiniLM-L6-v2",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help=f"Names of the labels that the responses should have, {_LIKE}, empty for none: how many do.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str, typer.Option(help=f"What labels them: {MODELS}.")] = "general",
    as_json: AsJson = False,
) -> None:
    """Judge the responses of a model: the 17 metrics of dialog-eval with 95 % intervals, and what stands beside them
    today.

    Words are what white space parts. sacreBLEU, chrF and BERTScore need `pip install "edos-dataset[evaluation]"`. What
    cannot be measured, since a file is not given, is left out and said so.
    """
    from edos_dataset.commands.evaluate import Files, evaluate_responses
    from edos_dataset.commands.judges import Judges

    files = Files(contexts, references, labels, train, train_targets, vectors, vocabulary)
    judges = Judges(sacrebleu, ses, encoder, bertscore, bertscore_model, model)
    with status(lines=False) as say:
        result = evaluate_responses(responses, files, judges, reference_rows, seed, say)
    for why, names in _by_reason(result["left_out"]).items():
        note(f"[yellow]left out[/yellow] {escape(', '.join(names))}: {escape(why)}")
    emit(result, as_json, _tables(result, responses[0]))


def _by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, why in left_out.items():
        reasons.setdefault(why, []).append(name)
    return reasons


def _tables(result: Mapping[str, Any], only: Path) -> "Iterator[RenderableType]":
    """Yield the figures, a metric a row, and by what they were made."""
    from rich.table import Table

    columns = result.get("files", {str(only): result}) | result.get("reference_rows", {})
    names = [Path(name).name for name in columns]
    table = Table("metric", *map(escape, names if len(set(names)) == len(names) else columns))
    for column in table.columns[1:]:
        column.justify = "right"
    for metric in next(iter(columns.values()))["metrics"]:
        table.add_row(metric, *(_cell(column["metrics"][metric]) for column in columns.values()))
    yield table
    yield "mean ± half of the 95 % interval (number of responses that could be measured)"
    yield from (f"{escape(metric)}: {escape(how)}" for metric, how in result["made_by"].items())


def _cell(figure: Mapping[str, Any]) -> str:
    if not figure["n"]:
        return "–"
    around = f" ± {figure['confidence']:.4f} ({figure['n']:,})" if figure["n"] > 1 else ""
    return f"{figure['mean']:.4f}{around}"
