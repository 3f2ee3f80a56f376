"""`edos evaluate`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import call, emit, explained, note, styled
from edos_dataset.cli.options import MODELS, AsJson, LabelMapOption

if TYPE_CHECKING:
    from rich.console import RenderableType

_ALIGNED = "aligned line by line"


@explained()
def evaluate(
    responses: Annotated[
        list[Path],
        typer.Argument(help="Files of responses, one per line; all with the same number of lines.", show_default=False),
    ],
    contexts: Annotated[
        Path | None,
        typer.Option(help=f"Turns that the responses answer, {_ALIGNED}; for coherence.", show_default=False),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            help=f"True responses, {_ALIGNED}; for divergence, embedding metrics and BLEU.", show_default=False
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            help="Contexts of the training set, from which word probabilities are estimated.", show_default=False
        ),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors: a word and its numbers on each line.", show_default=False)
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Additional known words, one per line.", show_default="the words of --train"),
    ] = None,
    train_targets: Annotated[
        Path | None,
        typer.Option(
            help="Responses of the training set; for the fraction of responses that are among its 100 most frequent, "
            "and for the row RT.",
            show_default=False,
        ),
    ] = None,
    reference_rows: Annotated[
        bool,
        typer.Option(
            "--reference-rows",
            help="Also measure the true responses (row GT) and random responses from --train-targets (row RT).",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the row RT.")] = 0,
    sacrebleu: Annotated[bool, typer.Option("--sacrebleu", help="Measure sacreBLEU and chrF.")] = False,
    ses: Annotated[
        bool, typer.Option("--ses", help="Measure the sentence embedding similarity (SES) of response and reference.")
    ] = False,
    encoder: Annotated[str, typer.Option(help="Encoder for --ses: a folder or Hub id.")] = "all-MiniLM-L6-v2",
    bertscore: Annotated[bool, typer.Option("--bertscore", help="Measure BERTScore.")] = False,
    bertscore_model: Annotated[
        str | None,
        typer.Option(
            help="Model for --bertscore: a folder or Hub id.",
            show_default="roberta-large; offline all-MiniLM-L6-v2",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help=f"Names of the intended labels, {_ALIGNED}; an empty line for none; for label accuracy.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str, typer.Option(help=f"Model that labels the responses for --labels: {MODELS}.")] = "general",
    label_set: Annotated[
        str | None,
        typer.Option(
            "--label-set",
            help="Label set of --labels, into which the labels of --model are translated: a name or a YAML file.",
            show_default="that of the model",
        ),
    ] = None,
    label_map: LabelMapOption = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate responses with the 17 metrics of dialog-eval, with 95 % confidence intervals; on request also with
    sacreBLEU, chrF, BERTScore, SES and label accuracy.

    Words are separated by whitespace. sacreBLEU, chrF and BERTScore need `pip install "edos-dataset[evaluation]"`.
    Metrics whose files are not given are left out, with a note.
    """
    from edos_dataset.commands.evaluate import evaluate as run

    result = call(run, locals())
    for why, names in _by_reason(result["left_out"]).items():
        note(styled(("left out", "yellow"), f" {', '.join(names)}: {why}"))
    emit(dict(result), as_json, _tables(result, responses[0]))


def _by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, why in left_out.items():
        reasons.setdefault(why, []).append(name)
    return reasons


def _tables(result: Mapping[str, Any], only: Path) -> "Iterator[RenderableType]":
    from edos_dataset.cli.data_table import Table

    columns = result.get("files", {str(only): result}) | result.get("reference_rows", {})
    names = [Path(name).name for name in columns]
    table = Table("metric", *names if len(set(names)) == len(names) else columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for metric in next(iter(columns.values()))["metrics"]:
        table.add_row(metric, *(_cell(column["metrics"][metric]) for column in columns.values()))
    yield table
    yield "mean ± half of the 95 % interval (number of responses measured)"
    yield from (f"{metric}: {how}" for metric, how in result["made_by"].items())


def _cell(figure: Mapping[str, Any]) -> str:
    if not figure["n"]:
        return "–"
    around = f" ± {figure['confidence']:.4f} ({figure['n']:,})" if figure["n"] > 1 else ""
    return f"{figure['mean']:.4f}{around}"
