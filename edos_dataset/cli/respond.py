"""`edos respond`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.chat import answer_lines, chat_on, plain_answers
from edos_dataset.cli.console import emit, note, progress_bars, say, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import (
    MODELS,
    Address,
    AsJson,
    Column,
    Config,
    Device,
    DeviceWorkers,
    Engine,
    Force,
    Form,
    Revision,
    Split,
    TrustRemoteCode,
)
from edos_dataset.cli.output import shards_from_before, target_file

if TYPE_CHECKING:
    from edos_dataset.generation.stages import AnswerDialogues
    from edos_dataset.releases.given.sources import Selection


@explained(stopped="With --out the same command goes on where it was; of what was typed nothing is kept.")
def respond(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="The turns of a dialogue, oldest first: the last one is answered. With --out one source of dialogues "
            "in any form that `edos label` reads, `-` for standard input.",
            show_default=False,
        ),
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Answer line after line of standard input.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="File of JSON lines to write, `-` for standard output.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="What answers: name, folder or Hub id of a response model.", show_default="chat"),
    ] = None,
    model_revision: Annotated[
        str | None, typer.Option(help="Revision of the Hub's model: tag, branch or commit.", show_default="main")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label that the answer is to have.", show_default="predicted")
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=1, max=1_000, help="Answers: under --label, or each under another predicted one.")
    ] = 1,
    beams: Annotated[int, typer.Option(min=1, max=1_000, help="Answers that the search follows at a time.")] = 32,
    sample: Annotated[bool, typer.Option("--sample", help="Draw from the nucleus of 0.9 instead.")] = False,
    seed: Annotated[int, typer.Option(help="Of --sample.")] = 0,
    labeler: Annotated[str, typer.Option(help=f"What labels the turns before: {MODELS}.")] = "general",
    device: Device = None,
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    column: Column = None,
    form: Form = None,
    config: Config = None,
    split: Split = None,
    revision: Revision = None,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Answer a text, a dialogue, a file of dialogues, or a person who types.

    `edos respond "I lost my job."` prints the label that the model chose for its answer, how
    probable that is, and the answer. A file becomes lines `{"dialogue_id", "turns": [{"text"}], "answers": [{"text",
    "label", "probability", "score"}]}`, in the same order, with all that stood beside. A chat ends at the end of
    the input (Ctrl-D); `/new` begins anew, `/label consoling` forces a label, `/label` has it predicted again.

    Such models know no facts and no duty of care: they are for study, and no help for people in distress. No text is
    logged, and none is kept but in --out.
    """
    from edos_dataset.generation.chosen import chosen_model
    from edos_dataset.generation.stages import AnswerDialogues
    from edos_dataset.labeling.models.labelers import default_device
    from edos_dataset.releases.given.sources import Selection
    from edos_dataset.runs.engines.by_name import take_engine

    _check_usage(texts or [], chat, out)
    if out is None and revision is not None:
        raise typer.BadParameter("--revision is of a source of dialogues; that of the model is --model-revision")
    device = device or default_device()
    settings: dict[str, Any] = {"candidates": candidates, "beams": beams, "sample": sample, "seed": seed}
    stage = AnswerDialogues(
        chosen_model(model),
        label,
        **settings,
        labeler=labeler,
        device=device,
        revision=model_revision,
        trust_remote_code=trust_remote_code,
    )
    if out is not None and texts:
        where = take_engine(engine, workers, device, address)
        _answer_file(texts[0], out, stage, Selection(config, split, revision, column, form), force, *where)
    elif chat:
        with status("loading the model", lines=False):
            stage.check()
        chat_on(stage.responder, label, settings, as_json)
    else:
        _answer_texts(texts or [], stage, settings, as_json)


def _check_usage(texts: list[str], chat: bool, out: Path | None) -> None:
    """Refuse what is not one of the three ways to ask, before anything is loaded."""
    if chat and (texts or out is not None):
        raise typer.BadParameter("--chat reads standard input: give neither texts nor --out with it")
    if not chat and not texts:
        raise typer.BadParameter('give a text to answer, as in edos respond "I lost my job.", or --chat')
    if out is not None and len(texts) != 1:
        raise typer.BadParameter(f"--out takes one source of dialogues, got {len(texts)} arguments")
    if out is None and len(texts) == 1 and (texts[0] == "-" or os.path.exists(texts[0])):
        raise typer.BadParameter(
            f"{texts[0]} is no text but a source of dialogues: give --out FILE, or --out - for standard output"
        )


def _answer_texts(texts: list[str], stage: "AnswerDialogues", settings: dict[str, Any], as_json: bool) -> None:
    """Print the answers to the turns of one dialogue."""
    from edos_dataset.generation.conversation import Conversation, remarks_on
    from edos_dataset.releases.given.dialogue import checked_text

    turns = [checked_text(text, f"turn {number}") for number, text in enumerate(texts, 1)]
    with status("answering", lines=False):
        stage.check()
        conversation = Conversation(stage.responder, settings)
        labels = [conversation.say(turn) for turn in turns]
        answers = conversation.answer(stage.label)
    for remark in remarks_on(turns, stage.responder, stage.model):
        note(remark)
    told = [{"text": text, "label": label} for text, label in zip(turns, labels, strict=True)]
    emit({"turns": told, "answers": plain_answers(answers)}, as_json, answer_lines(answers))


def _answer_file(
    source: str,
    out: Path,
    stage: "AnswerDialogues",
    meant: "Selection",
    force: bool,
    engine: str,
    workers: int,
) -> None:
    """Answer the dialogues of a source and tell how many they were."""
    from edos_dataset.commands.respond import respond as respond_to_dialogues
    from edos_dataset.runs.engines.by_name import check_printing

    printed = str(out) == "-"
    if printed:
        check_printing(engine)
    with target_file(out) as target, progress_bars() as progress:
        done = respond_to_dialogues(
            source,
            target,
            stage,
            meant=meant,
            force=force,
            workers=workers,
            engine=engine,
            progress=progress,
        )
    if done is None:  # another process tells
        return
    say(
        [escape(f"{done['dialogues']:,} dialogues answered by {stage.model}{shards_from_before(done)}")], stderr=printed
    )
