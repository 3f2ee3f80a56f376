"""The verb `respond`: answers dialogues, with `out` in a resumable run, otherwise in memory."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.line_runs import announced, found_in, run_to_lines, target_file
from edos_dataset.commands.options import Result, run_options, verb
from edos_dataset.commands.startup import import_transformers
from edos_dataset.encoders.encoder import default_device
from edos_dataset.generation.responder import Candidate, Wanted, kept_responder
from edos_dataset.generation.shipped import chosen_model
from edos_dataset.generation.stages import AnswerDialogues
from edos_dataset.labels import LABELS
from edos_dataset.releases.dialogues import read_dialogues, tables_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.writers import check_writable, form_of
from edos_dataset.releases.labelled_tables import write_dialogues
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.engines import check_printing
from edos_dataset.runs.pipeline import check_pipeline
from edos_dataset.runs.shards import read_shard
from edos_dataset.runs.stores.paths import place_of

if TYPE_CHECKING:
    from edos_dataset.runs.run import Progress

CPU_SHARD_TURNS, GPU_SHARD_TURNS = 60, 3_000
"""Turns per shard, the unit of work and resuming: some tens of seconds on a core, or on a GPU."""

_ANSWERS = "answers"


@overload
def respond(
    dialogues: str | Sequence[str | Sequence[str]],
    model: str | Path | None = None,
    *,
    out: None = None,
    **settings: Any,  # noqa: ANN401
) -> list[list[Candidate]]: ...
@overload
def respond(dialogues: str | Path, model: str | Path | None = None, *, out: str | Path, **settings: Any) -> Result: ...  # noqa: ANN401
@verb  # type: ignore[misc] # the overloads abbreviate the settings
def respond(
    dialogues: Any,
    model: str | Path | None = None,
    *,
    out: str | Path | None = None,
    label: Wanted = None,
    candidates: int = 1,
    beams: int | None = None,
    sample: bool = False,
    seed: int = 0,
    labeler: str | None = None,
    model_revision: str | None = None,
    device: str | None = None,
    column: str | None = None,
    form: str | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    force: bool = False,
    progress: "bool | Progress | None" = None,
    trust_remote_code: bool = False,
    id_column: str | None = None,
    speaker_column: str | None = None,
    time_column: str | None = None,
    one_dialogue: bool = False,
    keep_system: bool = False,
    skip_bad: bool = False,
    out_format: str | None = None,
    out_encoding: str | None = None,
    temperature: float = 1.0,
    top_p: float = 0.9,
    top_k: int = 0,
    block: bool = True,
    max_tokens: int = 100,
    rerank: int = 1,
    guidance: float | None = None,
) -> Any:
    """Answer the last turn of some dialogues, as `edos respond` does; each answer is conditioned on a predicted or a
    given label.

        edos_dataset.respond("I lost my job.", label="consoling")[0][0].text
        edos_dataset.respond("dialogues.jsonl", out="answered.jsonl", workers=2)

    The model is loaded by the first call and kept in memory for later ones. Texts are neither logged nor stored, except
    in `out`.

    Args:
        dialogues: one text, or a list of dialogues: each a text, or the list of its turns, oldest first. With `out` a
            source in any form that `label` reads.
        model: name, folder or Hub id of a response model; by default `chat`, which ships with this package.
        out: output file, which appears or is replaced only when complete; until then finished shards are kept in
            `OUT.parts`. The suffix decides its format, as for `label`. A table gets one row per dialogue: its last turn
            as `text`, then `answer`, `label`, `probability`, `answer_2`, ... "-" is standard output.
        label: label of the answers, by name or id; without `out` also a list with one for each dialogue; by default
            predicted.
        candidates: number of answers to each dialogue: all with the given label, or each with another predicted one.
        beams: number of beams of the search; by default the model's own number: 32, for a language model 4.
        sample: draw answers, token by token from the most probable ones, instead of searching with beams.
        seed: random seed for sampling.
        labeler: model that labels the turns of the history; see `load_labeler`. By default the one whose labels the
            response model was trained with.
        model_revision: revision of a model on the Hub: a tag such as "v1.0.0", a branch or a commit; by default the
            newest.
        device: torch device; by default a GPU if available.
        column: column or key of the texts or dialogues; by default the first known one.
        form: format of a file; by default detected from name and content.
        config: config of a folder of this package or of a dataset on the Hub; by default its first.
        split: split of a saved dataset or one on the Hub; by default all.
        revision: revision of a dataset on the Hub.
        workers: number of processes, with `out`; None means one per core, or two per GPU.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        force: replace the file `out`.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        trust_remote_code: run custom code that comes with a model.
        id_column: column of the dialogue ids; by default found by name.
        speaker_column: column of the speakers; by default found by name.
        time_column: column of the times by which the turns of a dialogue are ordered; by default found by name.
        one_dialogue: treat all rows as one dialogue.
        keep_system: treat system prompts of chats as turns.
        skip_bad: leave out and count records that are neither dialogues nor turns, instead of raising an error.
        out_format: format of `out`; by default according to its suffix.
        out_encoding: encoding of a CSV file, as for `label`.
        temperature: divisor of the logits before drawing, above 0: below 1 answers are safer, above 1 wilder.
        top_p: probability of the tokens to draw from, above 0 to 1.
        top_k: largest number of tokens to draw from; 0 for no limit.
        block: whether no four tokens in a row may be repeated in an answer.
        max_tokens: maximum number of tokens of an answer.
        rerank: number of answers written under each label, of which the labeler keeps the one that has it most surely.
        guidance: strength with which answers keep to their label, 0 (none) to 10; takes twice the time. By default the
            model's own.

    Returns:
        For each dialogue its candidates, the one with the most probable label or the best answer first. With `out` a
        `Result`: the numbers of answered `dialogues`, of `shards`, and of those `reused` from an earlier call.

    Raises:
        ValueError: something is not a dialogue or a label, or the model cannot answer.
        FolderError: `out` already exists, or another process is writing it.
    """
    check_apart(out, [dialogues])
    import_transformers()
    device = device or default_device()
    decoding: dict[str, Any] = {"temperature": temperature, "top_p": top_p, "top_k": top_k}
    decoding |= {"block": block, "max_tokens": max_tokens, "rerank": rerank, "guidance": guidance}
    if out is None:
        given = [dialogues] if isinstance(dialogues, str) else dialogues
        turns = [[dialogue] if isinstance(dialogue, str) else dialogue for dialogue in given]
        responder = kept_responder(chosen_model(model), trust_remote_code, device, labeler, model_revision)
        return responder.respond(turns, label, candidates, beams, sample, seed, **decoding)
    if label is not None and not isinstance(label, str | int):
        raise ValueError("--label: with a file one label is for all answers, got a list")
    name = LABELS[label] if isinstance(label, int) else label
    stage = AnswerDialogues(
        chosen_model(model),
        name,
        candidates,
        beams,
        sample,
        seed,
        labeler=labeler,
        device=device,
        revision=model_revision,
        trust_remote_code=trust_remote_code,
        **decoding,
    )
    with run_options(workers, engine, address=address, device=device, progress=progress, force=force) as options:
        if str(out) == "-":
            check_printing(options.engine)
        check_pipeline([stage])  # fails before anything is read or written
        kind = form_of(out, out_format)
        check_writable(kind, out_encoding)
        meant = Selection(
            *(config, split, revision, column, form, id_column, speaker_column, time_column),
            one_dialogue=one_dialogue,
            skip_bad=skip_bad,
            keep_system=keep_system,
        )
        findings = Findings()
        shard_turns = CPU_SHARD_TURNS if device == "cpu" else GPU_SHARD_TURNS
        tables = announced(tables_of(read_dialogues(dialogues, meant, findings), shard_turns), findings)

        def write(file: BinaryIO, shards: Sequence[Path]) -> None:
            answered = partial(map, read_shard, shards)
            write_dialogues(file, kind, answered, answered_lines, _table_rows, findings, out_encoding)

        with target_file(out) as target:
            done = run_to_lines(tables, target, stage, write, options, command="respond", device=device)
    if done is None:
        return Result("respond", {})
    done |= found_in(findings) | {"model": stage.model}
    where = None if str(out) == "-" else place_of(out)
    return Result("respond", done, where, {name: done[name] for name in ("dialogues", "model")})


def _table_rows(line: bytes) -> Iterator[dict[str, Any]]:
    """Yield the row of a table for an answered dialogue: its last turn and the answers."""
    dialogue = json.loads(line)
    row = {"dialogue_id": dialogue["dialogue_id"], "text": dialogue["turns"][-1]["text"] if dialogue["turns"] else None}
    for rank, answer in enumerate(dialogue[_ANSWERS], 1):
        suffix = "" if rank == 1 else f"_{rank}"
        row |= {f"{'answer' if name == 'text' else name}{suffix}": value for name, value in answer.items()}
    yield row | {name: value for name, value in dialogue.items() if name not in (*row, "turns", _ANSWERS)}


def answered_lines(table: pa.Table) -> Iterator[bytes]:
    """Yield answered dialogues as JSON lines: `dialogue_id`, `turns` with `text`, `answers`, and the other keys."""
    turns, offsets = unnest(table, "turns")
    texts = turns.field("text").to_pylist()
    columns = [table[name].to_pylist() for name in ("dialogue_id", _ANSWERS, "extra", "turn_extras")]
    for name, answers, extra, extras, start, end in zip(*columns, offsets[:-1], offsets[1:], strict=True):
        shown = [
            {"text": text} | (json.loads(more) if more else {})
            for text, more in zip(texts[start:end], extras or [None] * (end - start), strict=True)
        ]
        row = {"dialogue_id": name, "turns": shown, _ANSWERS: answers}
        for key, value in json.loads(extra or "{}").items():
            row["given_answers" if key == _ANSWERS else key] = value
        yield json.dumps(row, ensure_ascii=False).encode() + b"\n"
