"""The verbs of `edos_dataset.crowd`; they raise the errors that `commands.options.Result` lists."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from edos_dataset.commands.crowd_batches import (
    answers_of,
    make_batch,
    open_answers,
    read_guideline,
    rules_of,
    selection_report,
    write_export,
    write_import,
    write_kept,
)
from edos_dataset.commands.crowd_seed import write_seed
from edos_dataset.commands.options import Result, UsageError, verb
from edos_dataset.commands.progress import Say, steps, warn
from edos_dataset.crowd.agreement import measure
from edos_dataset.crowd.answers import outside_the_set, read_answers
from edos_dataset.crowd.assignments import Work, answer_lines, as_csv, label_rows
from edos_dataset.crowd.batches import ANSWERS, BONUS, REWARD, read_batch, write_batch
from edos_dataset.crowd.judgements import measure_judgements as measured_judgements
from edos_dataset.crowd.quality import worker_rows, worker_rows_of_table
from edos_dataset.crowd.seed import SeedRules
from edos_dataset.crowd.selection import SelectionRules, select_tasks
from edos_dataset.crowd.store import Store
from edos_dataset.crowd.store import invite as invite_workers
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.label_sets import LabelMap, LabelSet
from edos_dataset.label_sets.translations import shown_language
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.folder import check_out_file
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import local_place, place_of
from edos_dataset.web.crowd.server import check_installed
from edos_dataset.web.crowd.server import serve as serve_pages
from edos_dataset.web.crowd.visitors import Doors

_ANSWERED = "a batch that people answer"


@verb
def select(
    run: str | Path,
    out: str | Path,
    *,
    per_label: int = 250,
    confidence: float = 0.9,
    floor: float = 0.2,
    history: int | None = 3,
    papers: bool = False,
    config: str | None = None,
    alpha: float = 87.0,
    weight: float = 0.04,
    force: bool = False,
) -> Result:
    """Select dialogues for people to label: the same number per label, preferring readable ones whose last turn has the
    label with high confidence.

    Args:
        run: folder written by `curate` or `label`.
        out: output file (JSON lines); it appears only when complete.
        per_label: number of dialogues per label.
        confidence: preferred minimum confidence of the label, 0 to 1.
        floor: minimum confidence of turns that are added to labels with too few, 0 to 1.
        history: number of preceding turns to show; None for all.
        papers: select as in EDOS, Section 3.2: nothing below `confidence`, and with the whole history.
        config: config that provides the labels; by default "edos_initial", or "edos".
        alpha: α of readability, f_sum / (α + tokens); higher values favour longer dialogues.
        weight: weight of lexical diversity in readability.
        force: replace the file.

    Returns:
        `dialogues`, `per_label`, `hits`, `dollars` (minimum and maximum cost on Mechanical Turk at the rates of the
        paper), and `labels`: for each the number of dialogues by reason, and at other minimum confidences.
    """
    target = check_out_file(place_of(out), force=force)
    lowest = confidence if papers else min(floor, confidence)
    rules = SelectionRules(per_label, confidence, lowest, None if papers else history, alpha, weight)
    chosen = select_tasks(place_of(run), rules, config)
    facts = selection_report(chosen.tasks, chosen.available, per_label, chosen.labels)
    write_text(target, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in chosen.tasks))
    short = sum(row["short"] > 0 for row in facts["labels"].values())
    shown = {"dialogues": facts["dialogues"], "labels that fall short": short}
    return Result("crowd.select", facts, target, shown, f'crowd.make_hits("{out}", "batch")')


@verb
def make_hits(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    kind: str | None = None,
    quiz: str | Path | None = None,
    rows: Sequence[str] = (),
    size: int | None = None,
    checks: int | None = None,
    workers: int | None = None,
    reward: float = REWARD,
    bonus: float = BONUS,
    seed: int = 0,
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | None" = None,
    openings: bool = False,
    guideline: str | Path | None = None,
    language: str | None = None,
    force: bool = False,
) -> Result:
    """Bundle dialogues into HITs: dialogues to label (EDOS, Section 3.2) or responses to judge (Xie & Pu, Section 5.4).

    Args:
        sources: for labelling, the file of `select`, or any file of dialogues as `label` reads or writes them, each of
            whose turns but the first becomes a question; for judging, JSON lines of `dialogue_id`, `turns`, `answers`
            (`model` and `text`) and `truth`, or several files of `respond` as "MODEL=FILE", or a folder that
            `evaluation/generation.py --records` wrote.
        out: output folder of the batch.
        kind: "labelling" or "judging"; by default detected from the source.
        quiz: questions with known answers, JSON lines of `turns`, `label`; by default 46 built-in ones.
        rows: names of the models to judge, if the source is a folder of records.
        size: dialogues per HIT; by default 15, or 10 for judging.
        checks: quiz questions or bonus tasks per HIT; by default 5, or 3.
        workers: different people per HIT; by default 3, or 4 for judging.
        reward: US dollars per HIT.
        bonus: bonus in US dollars for a HIT done well.
        seed: random seed.
        label_set: labels to choose from, a name or a YAML file; by default those that the file of `select` names.
        label_map: label set or map into which the suggestions of that file are translated: its labels are chosen from.
        openings: of dialogues, ask about first turns too, which have nothing before them.
        guideline: Markdown file with what annotators should read: headings, lists, paragraphs, emphasis.
        language: code of the language of the pages and the built-in quiz (en, de, es, fr, hu, it, nl or pt); by default
            that of the dialogues, or English. Answers are English names of labels in every language.
        force: replace a batch without answers.

    Returns:
        `kind`, `hits`, `questions`, `workers` per HIT, and `dollars`, minimum and maximum.
    """
    given = [str(each) for each in ([sources] if isinstance(sources, str | Path) else sources)]
    asked = None if quiz is None else place_of(quiz)
    check_apart(out, [each.rpartition("=")[2] for each in given])
    paid = (seed, size, checks, workers, reward, bonus)
    text = None if guideline is None else read_guideline(place_of(guideline))
    shown = None if language is None else shown_language(language)
    batch = make_batch(given, kind, asked, rows, *paid, label_set, label_map, openings, shown)
    batch = replace(batch, guideline=text)
    write_batch(place_of(out), batch, force)
    facts = {
        "kind": batch.kind,
        "hits": len(batch.hits),
        "questions": sum(len(hit.items) for hit in batch.hits),
        "workers": batch.workers,
        "dollars": list(batch.cost),
    }
    return Result("crowd.make_hits", facts, place_of(out), facts, f'crowd.serve("{out}")')


@verb
def invite(batch: str | Path, names: Sequence[str] = (), *, number: int = 0) -> dict[str, str]:
    """Invite workers, and return a token for each (name → token), whose personal link is `URL/w/TOKEN`.

    Tokens are stored only as digests, so they cannot be shown again.

    Args:
        batch: folder of `make_hits`.
        names: names of workers; a worker who was invited before gets a new link, and the old one stops working.
        number: number of further workers, under random names.
    """
    read_batch(local_place(batch, _ANSWERED))
    wanted = [*names, *(f"worker-{secrets.token_hex(4)}" for _ in range(number))]
    if not wanted:
        raise UsageError("give names, or --number")
    return invite_workers(Store(local_place(batch, _ANSWERED) / ANSWERS), wanted, reissue=True)


@verb
def serve(
    batch: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    answers: int | None = None,
    open_to_all: bool = False,
    mturk: bool = False,
    consent: str | Path | None = None,
    language: str | None = None,
    password: str | None = None,
    patience: float = 60.0,
    most_hits: int = 50,
    ready: Callable[[str, str], object] | None = None,
) -> None:
    """Serve the pages of a batch until interrupted: workers label or judge on them, and `/admin` shows the progress.

    Every answer is saved to `answers.sqlite` in the batch before the worker's page continues, so a killed server loses
    none, and the same call resumes.

    Args:
        batch: folder of `make_hits`.
        host: address to listen on; "0.0.0.0" for all interfaces.
        port: port to listen on; 0 for any free one.
        answers: different people per HIT; by default as in the batch.
        open_to_all: let anyone join without an invitation, under a name of their choice.
        mturk: accept workers of Mechanical Turk through external questions at /mturk?hit=HIT; needs HTTPS.
        consent: text file of the consent that workers give; by default a built-in text.
        language: code of the language of the pages, which workers can change; by default as in the batch.
        password: password for /admin; by default a generated one.
        patience: minutes after which the HIT of an inactive worker is offered to others.
        most_hits: maximum number of HITs per worker.
        ready: called with the address and the password when the server is up; by default both are printed.

    Raises:
        ValueError: the folder is not a batch, or the address is in use.
        ImportError: the extra `crowd` is not installed.
    """
    check_installed()
    asked = read_batch(local_place(batch, _ANSWERED))
    shown = asked.language if language is None else shown_language(language)
    asked = replace(asked, workers=answers or asked.workers, language=shown)
    chosen = password or secrets.token_urlsafe(9)
    text = None if consent is None else place_of(consent).read_text(encoding="utf-8")
    doors = Doors(chosen, open_to_all, mturk, text)
    work = Work(Store(local_place(batch, _ANSWERED) / ANSWERS), asked, 60 * patience, most_hits)
    show = ready or _show_address
    serve_pages(work, doors, host, port, lambda address: show(address, chosen))


def _show_address(address: str, password: str) -> None:
    with steps(True) as say:
        say(f"{address}, live page {address}/admin, password {password}")


@verb
def collect(
    batch: str | Path, out: str | Path, *, log: bool = False, unfinished: bool = False, force: bool = False
) -> Result:
    """Export the answers: labels for `measure_agreement` and `make_seed`, or judgements as JSON lines.

    Workers appear under pseudonyms: digests with a salt that only the batch has.

    Args:
        batch: folder of `make_hits`.
        out: output file, `.jsonl`, or `.csv` for labels.
        log: write every answer and submission, including those to quiz questions.
        unfinished: include answers to HITs that were not submitted.
        force: replace the file.

    Returns:
        The numbers of `answers` and `workers`.
    """
    batch, out = local_place(batch, _ANSWERED), place_of(out)
    asked = read_batch(batch)
    if not (batch / ANSWERS).exists():
        raise ValueError(f"{batch} holds no answers: `edos crowd serve {batch}` collects them")
    if log and asked.kind == "judging":
        raise UsageError(f"--log is for labels, and {batch} holds judgements, which are all written: leave it out")
    plain = log or asked.kind == "judging"
    if out.suffix not in ((".jsonl",) if plain else (".jsonl", ".csv")):
        raise ValueError(f"{out}: give a file .jsonl{'' if plain else ', or .csv'} as --out")
    target, store = check_out_file(out, force=force), Store(batch / ANSWERS)
    rows = list((answer_lines if plain else label_rows)(store, asked, unfinished))
    if out.suffix == ".csv":
        write_text(target, as_csv(rows))
    else:
        write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    facts = {
        "answers": sum("finished" not in row for row in rows),
        "workers": len({row["worker"] for row in rows}),
    }
    return Result("crowd.collect", facts, out, facts)


@verb
def export(source: str | Path, tool: str, out: str | Path) -> Result:
    """Export questions to another tool.

    Args:
        source: folder of a batch, or the file of `select`.
        tool: "argilla", "label-studio" or "prolific-csv".
        out: folder to write.

    Returns:
        `files`: the names of the files written.
    """
    check_apart(out, [source])
    names = write_export(place_of(source), tool, place_of(out))
    return Result("crowd.export", {"files": names}, place_of(out), {"files": len(names)})


@verb
def import_answers(
    source: str | Path, tool: str, batch: str | Path, out: str | Path | None = None, *, force: bool = False
) -> Result:
    """Import answers from another tool; workers are pseudonymised.

    Args:
        source: file or folder of the tool.
        tool: "argilla", "label-studio", "prolific-csv", or "mturk-csv" for results of Mechanical Turk's web site.
        batch: what was exported: the folder of the batch, or the file of tasks.
        out: file to write; by default the answers are added to `answers.jsonl` of the batch.
        force: replace the file.

    Returns:
        `answers`: the number of answers read.
    """
    path, number = write_import(place_of(source), tool, place_of(batch), None if out is None else place_of(out), force)
    return Result("crowd.import_answers", {"answers": number}, path, {"answers": number})


@verb
def judge_workers(
    source: str | Path,
    *,
    batch: str | Path | None = None,
    kept: str | Path | None = None,
    rules: str | Path | None = None,
    columns: Sequence[str] = (),
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | None" = None,
    force: bool = False,
) -> Result:
    """Return statistics of each worker (HITs, quiz, time, positions, agreement) and whether their answers count.

    For answers without HITs only the agreement is measured.

    Args:
        source: folder of a batch with answers, a file of answers to HITs, or any file that `measure_agreement` reads.
        batch: folder of the batch that was answered; by default the one that contains the answers.
        kept: file to write with the answers that count, readable by `measure_agreement` and `make_seed`.
        rules: YAML file of quality rules, such as `quiz_right: 4`; by default those of the batch.
        columns: columns of a Mechanical Turk file, "answer=Answer.emotion{n}"; also "typed", "task", "dialogue".
        label_set: label set that the workers chose from, a name or a YAML file; only for answers without a batch.
        label_map: label set or map into which the answers of a table are translated.
        force: replace the file.

    Returns:
        `workers`, one row each, and the `rules`.
    """
    answered = open_answers(place_of(source), None if batch is None else place_of(batch))
    chosen = rules_of(answered.batch if answered else None, None if rules is None else place_of(rules))
    unused = {"column": columns or None, "label-set": label_set, "map": label_map}
    if answered and (given := [name for name, value in unused.items() if value is not None]):
        raise UsageError(f"--{given[0]} is for a table of answers, and {source} is of a batch: leave it out")
    if answered:
        rows = worker_rows(answered.batch.hits, answered.answers, chosen)
    else:
        answers = answers_of(source, columns, label_set, label_map, read_answers)
        rows = worker_rows_of_table(answers, chosen)
    if kept:
        write_kept(place_of(kept), answered, chosen, force)
    verdicts = Counter(row.verdict for row in rows)
    facts = {"workers": [asdict(row) for row in rows], "rules": asdict(chosen)}
    return Result(
        "crowd.judge_workers", facts, None if kept is None else place_of(kept), {"workers": len(rows), **verdicts}
    )


@verb
def measure_agreement(
    source: str | Path,
    *,
    outside: Literal["own", "other", "missing"] = "own",
    columns: Sequence[str] = (),
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | None" = None,
    seed: int = 0,
) -> Result:
    """Measure agreement, overall and by label: raw agreement, Fleiss' kappa and Krippendorff's alpha, with 95 %
    intervals.

    A task is agreed on if one label has strictly the most answers, and at least two.

    Args:
        source: the EDOS authors' CSV, a result CSV of Mechanical Turk, or a CSV or JSON lines with `task`, `worker`,
            `label`.
        outside: how answers outside the label set count: each text as its "own" label, all as one "other" label, or as
            "missing".
        columns: columns of a Mechanical Turk file, as in `judge_workers`.
        label_set: label set that the workers chose from, a name or a YAML file; by default that of the batch, else
            that of EDOS.
        label_map: label set or map into which the answers are translated, each into its largest share.
        seed: random seed of the intervals.

    Returns:
        The figures, as `crowd.agreement.measure` returns them.

    Raises:
        ValueError: the file cannot be read, or none of its answers is a label of the set.
    """
    answers = answers_of(source, columns, label_set, label_map)
    facts = measure(answers, outside, seed=seed)
    names = ("rows", "answers", "agreed", "fleiss_kappa", "krippendorff_alpha")
    return Result("crowd.measure_agreement", facts, None, {name: facts[name] for name in names if name in facts})


@verb
def measure_judgements(
    source: str | Path, *, batch: str | Path | None = None, rules: str | Path | None = None, seed: int = 0
) -> Result:
    """Measure how people judged the responses of each model, as in Xie & Pu's Table 6.

    Args:
        source: folder of a batch with answers, or a file of answers.
        batch: folder of the batch that was answered; by default the one that contains the answers.
        rules: YAML file of quality rules; by default those of the batch.
        seed: random seed of the intervals and tests.

    Returns:
        The fractions of each judgement by model with 95 % intervals, the agreement, and a test for every pair of
        models.
    """
    answered = open_answers(place_of(source), None if batch is None else place_of(batch))
    if answered is None or answered.batch.kind != "judging":
        raise ValueError(f"{source} holds no judgements of responses: give answers to a batch of the judging task")
    chosen = rules_of(answered.batch, None if rules is None else place_of(rules))
    facts = measured_judgements(answered.batch.hits, answered.answers, chosen, seed=seed)
    names = ("judgements", "dialogues", "workers")
    return Result("crowd.measure_judgements", facts, None, {name: facts[name] for name in names})


@verb
def make_seed(
    source: str | Path,
    out: str | Path,
    *,
    method: Literal["majority", "dawid-skene", "mace"] = "majority",
    ties: Literal["abstain", "first", "random", "soft"] = "abstain",
    least_votes: int = 2,
    repeats: Literal["pool", "own"] = "pool",
    encoder: str = DEFAULT_MODEL,
    near: float = 0.95,
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2),
    columns: Sequence[str] = (),
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | None" = None,
    seed: int = 0,
    force: bool = False,
    progress: bool | Say | None = None,
) -> Result:
    """Build the dataset `amt_seed`: dialogues with the agreed label, all answers, soft labels, and splits without
    near-duplicates between them.

    Args:
        source: answers in any form that `measure_agreement` reads.
        out: output folder; an earlier seed in it is updated.
        method: how the answers to a dialogue are aggregated.
        ties: what to do if no label wins: "abstain" (no label), take the "first" or a "random" tied label, or keep only
            the "soft" label.
        least_votes: minimum number of answers for a majority.
        repeats: "pool" the answers to identical texts, or keep each task's "own".
        encoder: SentenceTransformer that finds near-duplicates: a name, folder or Hub id.
        near: minimum cosine similarity, 0 to 1, of the last turns of dialogues that have to share a split.
        shares: fractions of train, validation and test.
        columns: columns of a Mechanical Turk file, as in `judge_workers`.
        label_set: label set that the workers chose from, a name or a YAML file; by default that of the batch, else
            that of EDOS.
        label_map: label set or map into which the answers are translated, each into its largest share.
        seed: seed of all random choices.
        force: replace a finished seed of other rules or answers, and files edited since.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        The counts, as in `seed.json`; `.load("amt_seed")` returns the `DatasetDict`.

    Raises:
        ValueError: a task has no text, or too few tasks have a label to fill a split.
    """
    rules = SeedRules(
        method=method,
        ties=ties,
        repeats=repeats,
        least_votes=least_votes,
        model=encoder,
        near=near,
        shares=shares,
        seed=seed,
    )
    with steps(progress, "reading the answers", lines=False) as say:
        check_apart(out, [source])
        answers = answers_of(source, columns, label_set, label_map)
        counts = write_seed(answers, place_of(out), rules, force, say)
        if outside := outside_the_set(answers):
            warn(outside)
    shown = {name: counts[name] for name in ("tasks", "texts", "labelled")}
    return Result("crowd.make_seed", counts, place_of(out), shown, '.load("amt_seed")')
