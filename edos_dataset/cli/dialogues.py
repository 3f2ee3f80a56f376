"""`edos label` and `edos respond`: label dialogues, and answer them, also in a chat at the terminal."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import (
    call,
    emit,
    error_line,
    explained,
    message_of,
    note,
    nothing,
    say,
    say_growing,
    silent,
    styled,
)
from edos_dataset.cli.options import (
    MODELS,
    Address,
    ApiKeyEnv,
    AsJson,
    BaseUrl,
    Column,
    Concurrency,
    Config,
    Device,
    DeviceWorkers,
    Engine,
    Force,
    Form,
    History,
    IdColumn,
    KeepSystem,
    LabelMapOption,
    LabelSetOption,
    MultiLabel,
    OneDialogue,
    OutEncoding,
    OutFormat,
    PriceIn,
    PriceOut,
    Priors,
    Pseudonymize,
    Revision,
    SkipBad,
    SpeakerColumn,
    Split,
    TimeColumn,
    Timeout,
    TrustRemoteCode,
    check_out,
    known_language,
    remarks_of,
    reused,
)
from edos_dataset.commands.progress import steps
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.text import Text

    from edos_dataset.generation.responder import Candidate, Conversation, Responder
    from edos_dataset.generation.stages import AnswerDialogues

_HINT = (
    "You are writing to a program that makes up its answers; it cannot help people in distress. Nothing is stored. "
    "/new starts over, /label NAME forces a label, /label predicts it again, Ctrl-D ends."
)


@explained()
def label(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Files of JSON lines, JSON, CSV, TSV, Excel, Parquet, Arrow, plain text, chats or subtitles, also "
            "gzipped, and folders of them; `-` for standard input; a folder written by `edos` or `save_to_disk`; or a "
            "dataset on the Hub, `namespace/name`.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file, whose suffix decides its format (.jsonl, .json, .csv, .tsv, .xlsx, .parquet, .arrow), "
            "or `-` for standard output; if the source is a folder of `edos curate`, the output folder.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"Model that labels: {MODELS}.", show_default="general, or one for the language")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            callback=known_language,
            help="Language code of the dialogues, by which the model is chosen.",
            show_default="judged by the first ones",
        ),
    ] = None,
    device: Device = None,
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    top: Annotated[int, typer.Option(min=1, max=41, help="Number of most probable labels to list with each turn.")] = 3,
    batch_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens in a batch.", show_default="1,024; on a GPU 32,768"),
    ] = None,
    column: Column = None,
    id_column: IdColumn = None,
    speaker_column: SpeakerColumn = None,
    time_column: TimeColumn = None,
    one_dialogue: OneDialogue = False,
    keep_system: KeepSystem = False,
    skip_bad: SkipBad = False,
    form: Form = None,
    out_format: OutFormat = None,
    out_encoding: OutEncoding = None,
    config: Config = None,
    split: Split = None,
    revision: Revision = None,
    label_set: LabelSetOption = None,
    label_map: LabelMapOption = None,
    history: History = None,
    priors: Priors = None,
    multi_label: MultiLabel = False,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Count the requests to an endpoint, estimate tokens and cost; send none."),
    ] = False,
    pseudonymize: Pseudonymize = False,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Label every turn of your dialogues in its context.

    Input: a record is a dialogue, `{"dialogue_id", "turns": [...]}`, whose turns are texts, `{"speaker", "text"}` or
    chat messages; or a single turn, `dialogue_id, text`. In plain text each line is a turn, and an empty line ends the
    dialogue.

    Output: a table of turns is written with its own columns and `label`, `confidence`, `label_2`, ... In JSON lines
    each line is `{"dialogue_id", "turns": [{"text", "label", "confidence", "top": [{"label", "probability"}]}]}`, in
    the order of the input and with all of its other keys. For a folder of `edos curate`, a new folder with the same
    dialogues, relabelled, is written.

    For several GPUs or hosts use `accelerate launch -m edos_dataset label` with the same arguments. Exit codes: 0 done;
    1 failed, with a message; 2 wrong usage; 5 nothing came out; 130 stopped.
    """
    from edos_dataset.commands.endpoints import line_of_usage, lines_of_need
    from edos_dataset.commands.label import label as run

    check_out(out, dry_run)
    done: Any = call(run, locals(), dialogues=sources[0] if len(sources) == 1 else list(map(Path, sources)))
    if not done:  # another process prints
        return
    if dry_run:
        say(lines_of_need(done))
        return
    counts = f"{counted(done['turns'], 'turns')} of {counted(done['dialogues'], 'dialogues')}"
    lines = [f"{counts} labelled by {done['model']}{reused(done)}", *remarks_of(done)]
    if "endpoint" in done:
        lines.append(line_of_usage(done["endpoint"]))
    say(lines, stderr=done.folder is None)
    if "endpoint" in done and done["endpoint"]["unanswered"] == done["turns"]:
        raise nothing(
            f"no turn has a label, as {done['model']} gave no usable answer; look at what it answers, or give another "
            "--model, or a smaller --label-set"
        )


@explained(stopped="With --out, run the same command to resume; nothing that was typed is stored.")
def respond(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="Turns of a dialogue, oldest first; the last is answered. With --out, one source of dialogues "
            "in any form that `edos label` reads, or `-` for standard input.",
            show_default=False,
        ),
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Answer each line of standard input in turn.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file, whose suffix decides its format (.jsonl, .csv, .xlsx, ...), or `-` for standard output.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Response model: a name, folder or Hub id.", show_default="chat"),
    ] = None,
    model_revision: Annotated[
        str | None, typer.Option(help="Revision of the model on the Hub: tag, branch or commit.", show_default="main")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label of the answer.", show_default="predicted")] = None,
    candidates: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000,
            help="Number of answers: all with the label --label, or each with a different predicted label.",
        ),
    ] = 1,
    beams: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Beam width of the search.", show_default="32; for a language model 4"),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw answers token by token (nucleus sampling) instead of beam search.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed for --sample.")] = 0,
    temperature: Annotated[
        float, typer.Option(help="For --sample: below 1 answers are safer, above 1 wilder; the papers' code has 0.7.")
    ] = 1.0,
    top_p: Annotated[float, typer.Option(help="For --sample: probability of the tokens to draw from.")] = 0.9,
    top_k: Annotated[int, typer.Option(help="For --sample: most tokens to draw from; 0 for no limit.")] = 0,
    block: Annotated[
        bool, typer.Option("--block/--no-block", help="Never repeat four tokens in a row within an answer.")
    ] = True,
    max_tokens: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of tokens of an answer.")] = 100,
    rerank: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000,
            help="Answers written under each label; the labeler keeps the one that has it most surely.",
        ),
    ] = 1,
    guidance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=10,
            help="Strength with which answers keep to their label; takes twice the time.",
            show_default="the model's own",
        ),
    ] = None,
    labeler: Annotated[
        str | None,
        typer.Option(help=f"Model that labels the turns to be answered: {MODELS}.", show_default="the model's own"),
    ] = None,
    device: Device = None,
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    column: Column = None,
    id_column: IdColumn = None,
    speaker_column: SpeakerColumn = None,
    time_column: TimeColumn = None,
    one_dialogue: OneDialogue = False,
    keep_system: KeepSystem = False,
    skip_bad: SkipBad = False,
    form: Form = None,
    out_format: OutFormat = None,
    out_encoding: OutEncoding = None,
    config: Config = None,
    split: Split = None,
    revision: Revision = None,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Answer a text, a dialogue, a file of dialogues, or a person in a chat.

    `edos respond "I lost my job."` prints the predicted label of the answer, the label's probability, and the answer.
    For a file, each output line is `{"dialogue_id", "turns": [{"text"}], "answers": [{"text", "label", "probability",
    "score"}]}`, in the order of the input and with all of its other keys. In a chat, `/new` starts over, `/label
    consoling` forces a label, `/label` predicts it again, and Ctrl-D ends.

    The models know no facts and have no duty of care: they are for research, and cannot help people in distress. What
    sounds like self-harm or an emergency gets a sentence on where to find help instead of an answer, except in files;
    a list of words decides, which misses much. Texts are neither logged nor stored, except in --out.
    """
    from edos_dataset.commands.respond import respond as run
    from edos_dataset.encoders.encoder import default_device
    from edos_dataset.generation.shipped import chosen_model
    from edos_dataset.generation.stages import AnswerDialogues

    _check_usage(texts or [], chat, out, revision)
    if out is not None and texts:
        done: Any = call(run, locals(), dialogues=texts[0])
        if done:  # else another process prints
            answered = f"{counted(done['dialogues'], 'dialogues')} answered by {done['model']}{reused(done)}"
            say([answered, *remarks_of(done)], stderr=done.folder is None)
        return
    stage = AnswerDialogues(
        chosen_model(model),
        label,
        candidates,
        beams,
        sample,
        seed,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        block=block,
        max_tokens=max_tokens,
        rerank=rerank,
        guidance=guidance,
        labeler=labeler,
        device=device or default_device(),
        revision=model_revision,
        trust_remote_code=trust_remote_code,
    )
    settings = {"candidates": candidates, **stage.settings}
    if chat:
        with steps(not silent(), "loading the model", lines=False):
            stage.check()
        _chat(stage.responder, label, settings, as_json)
    else:
        _answer_texts(texts or [], stage, settings, as_json)


def _check_usage(texts: list[str], chat: bool, out: Path | None, revision: str | None) -> None:
    """Raise BadParameter for contradictory arguments, before anything is loaded."""
    if chat and (texts or out is not None):
        raise typer.BadParameter("--chat reads standard input: give neither texts nor --out with it")
    if not chat and not texts:
        raise typer.BadParameter('give a text to answer, as in edos respond "I lost my job.", or --chat')
    if out is not None and len(texts) != 1:
        raise typer.BadParameter(f"--out takes one source of dialogues, got {counted(len(texts), 'arguments')}")
    if out is None and len(texts) == 1 and (texts[0] == "-" or os.path.exists(texts[0])):
        raise typer.BadParameter(
            f"{texts[0]} is a source of dialogues, not a text: give --out FILE, or --out - for standard output"
        )
    if out is None and revision is not None:
        raise typer.BadParameter("--revision is for a source of dialogues; for the model use --model-revision")


def _answer_texts(texts: list[str], stage: "AnswerDialogues", settings: dict[str, Any], as_json: bool) -> None:
    """Print the answers to the turns of one dialogue, with the labels of the turns."""
    from edos_dataset.generation.responder import Conversation, remarks_on
    from edos_dataset.generation.safety import help_for
    from edos_dataset.releases.formats.records import checked_text

    turns = [checked_text(text, f"turn {number}") for number, text in enumerate(texts, 1)]
    if found := help_for(turns):
        emit(
            {"turns": [{"text": text, "label": None} for text in turns], "answers": [], "help": found}, as_json, [found]
        )
        return
    with steps(not silent(), "answering", lines=False):
        stage.check()
        conversation = Conversation(stage.responder, settings)
        labels = [conversation.say(turn) for turn in turns]
        answers = conversation.answer(stage.label)
    for remark in remarks_on(turns, stage.responder, stage.model):
        note(remark)
    rows = [{"text": text, "label": label} for text, label in zip(turns, labels, strict=True)]
    emit({"turns": rows, "answers": [each.as_row() for each in answers]}, as_json, _answer_lines(answers))


def _chat(responder: "Responder", label: str | None, settings: dict[str, Any], as_json: bool) -> None:
    """Answer each line of standard input until it ends; answers get the given label or, if None, a predicted one."""
    from edos_dataset.generation.responder import Conversation

    note(_HINT)
    conversation = Conversation(responder, settings)
    for line in _typed_lines():
        try:
            if line.startswith("/"):
                label = _obey(line, conversation, label)
            elif line:
                _answer(line, conversation, label, as_json)
        except ValueError as error:  # the conversation continues
            say([error_line(message_of(str(error)))], stderr=True)


def _typed_lines() -> Iterator[str]:
    from edos_dataset.runs.untrusted import standard_input

    typed = standard_input()
    while True:
        if typed.isatty():
            typer.echo("> ", err=True, nl=False)
        line = typed.readline()
        if not line:
            return
        yield line.strip()


def _obey(line: str, conversation: "Conversation", label: str | None) -> str | None:
    """Carry out a line that begins with a slash; return the label that is forced from then on, or None."""
    from edos_dataset.labels import LABELS, parse_label

    command, _, name = line.partition(" ")
    if command == "/new":
        conversation.forget()
        return label
    if command != "/label":
        raise ValueError(f"{command} is not a command: use /new or /label; a turn cannot begin with a slash")
    forced = LABELS[parse_label(name)] if name.strip() else None
    conversation.responder.check(forced is not None)
    return forced


def _answer(text: str, conversation: "Conversation", label: str | None, as_json: bool) -> None:
    from edos_dataset.generation.safety import help_for
    from edos_dataset.releases.formats.records import checked_text

    found = help_for([checked_text(text, "your turn")])
    own = None if found else conversation.say(text)
    if conversation.streams and not found and not as_json:
        say_growing(line for each in conversation.stream(label) for line in _answer_lines([each]))
        return
    answers = [] if found else conversation.answer(label)
    if as_json:
        row = {"text": text, "label": own, "answers": [each.as_row() for each in answers]}
        typer.echo(json.dumps(row | ({"help": found} if found else {})))  # escaped, so that nothing controls a terminal
    else:
        say([found] if found else _answer_lines(answers))


def _answer_lines(answers: "Sequence[Candidate]") -> "Iterator[Text]":
    """Yield a line per answer: its label, the label's probability if it was predicted, the text."""
    for each in answers:
        chance = "" if each.probability is None else f" {each.probability:.0%}"
        head = styled((each.label, "bold"), f"{chance}  ") if each.label else ""
        yield styled(head, each.text)
