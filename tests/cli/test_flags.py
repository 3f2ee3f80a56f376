"""Every option of every command has an effect, or is refused with a reason.

A new option fails here until it stands in OPTIONS, and in REFUSED with each context in which it would do nothing.
"""

import json
from inspect import getsource, signature, unwrap

import pytest
import typer.main

from command_line import edos
from edos_dataset.cli.app import app
from edos_dataset.cli.flags import UNUSED

OPTIONS = """
curate: api_key_env base_url concurrency history multi_label price_in price_out timeout
    address as_json by dry_run engine files_from force keep_rejects label_map label_set labels language
    limit max_bad model out pseudonymize recipe settings shard split_seed splits top trust_remote_code
    weak_model workers
books: api_key_env base_url concurrency history multi_label price_in price_out timeout
    address as_json engine files_from force keep_rejects label_map label_set labels language limit max_bad
    model out recipe settings shard split_seed splits trust_remote_code workers
segment: address engine files_from force language max_bad out pseudonymize scorer threshold workers
label: priors api_key_env base_url concurrency history multi_label price_in price_out timeout dry_run
    address batch_tokens column config device engine force form id_column keep_system language label_map label_set
    model one_dialogue out out_encoding out_format pseudonymize revision skip_bad speaker_column split time_column top
    trust_remote_code workers
inspect: as_json config dialogues label max_certainty max_confidence min_certainty min_confidence revision
    seed tables
rejects: as_json limit reason stage
report: against as_json column config data force id_column label_column label_map label_set language
    one_dialogue out
    pictures revision skip_bad workers
recipe: books labels
plan: as_json files files_from films labels language machines recipe sample seed sentences settings
    simulations
sample:
download: changed language limit mirror out yes
extend: address as_json column config device encoder engine every_turn force history id_column learner memory
    out recipe settings skip_bad workers
audit: around as_json blind books by config dialogues force labels out pairs per_label seed
respond: block guidance max_tokens rerank temperature top_k top_p
    address as_json beams candidates chat column config device engine force form id_column keep_system
    label labeler model model_revision one_dialogue out out_encoding out_format revision sample seed skip_bad
    speaker_column split time_column trust_remote_code workers
reproduce: as_json check cost data listed out results run
evaluate: as_json bertscore bertscore_model contexts encoder label_map label_set labels model reference_rows
    references sacrebleu seed ses train train_targets vectors vocabulary
publish: as_json branch dry_run private repo token version views
export: as_json config emotion force mark min_certainty out out_encoding revision source split system to voice
labels-only: as_json config force out recipe
hydrate: address as_json engine force max_missing out workers
merge: as_json engine force rest trust_remote_code workers
crowd select: alpha as_json confidence config floor force history out papers per_label weight
crowd hits: bonus checks force guideline kind label_map label_set language openings out quiz reward rows seed
    size workers
crowd invite: number url
crowd serve: answers consent host language most_hits mturk open_to_all password patience port
crowd answers: force log out unfinished
crowd export: out tool
crowd workers: as_json batch columns force kept label_map label_set rules
crowd agreement: as_json columns label_map label_set outside seed
crowd judgements: as_json batch rules seed
crowd seed: columns encoder force label_map label_set least_votes method near out repeats seed shares ties
crowd import: batch force out tool
crowd mturk create: as_json live rules url yes
crowd mturk status: as_json live
crowd mturk fetch: as_json live rules
crowd mturk bonus: as_json live rules yes
crowd mturk files: out url
labels list: as_json
labels show: as_json as_yaml
labels map: as_json
"""
"""Command: its options, each by the name of its parameter."""

DECLARED = dict(line.split(":", 1) for line in OPTIONS.replace("\n    ", " ").strip().splitlines())

WITHOUT_EFFECT = {("plan", "simulations")}
"""Options that old scripts may pass; help does not show them."""


def commands(command=None, words=()):
    command = command or typer.main.get_command(app)
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*words, name))
    if not hasattr(command, "commands"):
        yield " ".join(words), command


COMMANDS = dict(commands())


def options_of(command):
    return {each.name for each in command.params if each.param_type_name == "option"}


def test_every_option_is_declared():
    found = {name: options_of(command) for name, command in COMMANDS.items()}
    assert found == {name: set(line.split()) for name, line in DECLARED.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_reaches_what_the_command_calls(name):
    """`call` leaves out what is no parameter of the function: such an option would be ignored."""
    function = unwrap(COMMANDS[name].callback)
    source = getsource(function).partition('"""')[2].partition('"""')[2]
    lost = {each for each in options_of(COMMANDS[name]) if each not in source}
    for words in DELEGATES.get(name, ()):
        lost -= set(signature(words).parameters)
    if "call(" in source and name not in DELEGATES:
        lost -= set(signature(called_by(function, source)).parameters)
    assert {(name, each) for each in lost} <= WITHOUT_EFFECT


DELEGATES = {}


def called_by(function, source):
    """Return the function of `commands` that a command calls with its options: the one that it imports for that."""
    scope = {}
    for line in source.splitlines():
        if line.strip().startswith("from edos_dataset.commands."):
            exec(line.strip(), scope)
    wanted = source.partition("call(")[2].partition(",")[0].strip()
    return scope[wanted]


FOLDER = ("label", "run", "--out", "out.jsonl")
FILE = ("label", "turns.csv", "--out", "out.jsonl")
SAVED = ("label", "saved", "--out", "out.jsonl")
HUB = ("label", "somebody/dialogues", "--out", "out.jsonl")
RESPOND = ("respond", "turns.csv", "--out", "out.jsonl")
EVALUATE = ("evaluate", "turns.csv")
OF_FILES = (("--column", "x"), ("--id-column", "x"), ("--speaker-column", "x"), ("--time-column", "x"))
OF_FILES += (("--one-dialogue",), ("--keep-system",), ("--skip-bad",), ("--format", "csv"))

REFUSED = [
    *((("curate", "films", "--out", "out", "--dry-run", "--shard", "1/2"), "--shard is for a run"),),
    *((("curate", "films", "--out", "out", "--recipe", "mine.yaml", "--no-labels"), "remove its stage 'weak_label'"),),
    *((("books", "films", "--out", "out", "--recipe", "books.yaml", "--labels"), "has no stage that labels"),),
    *(((*FILE, option, "x"), f"{option} is for") for option in ("--split", "--revision", "--config")),
    *(((*FOLDER, option, "x"), f"{option} is for") for option in ("--split", "--revision")),
    *(((*FOLDER, *option), "the source is a folder written by `edos`") for option in OF_FILES),
    *(((*FOLDER, option, "csv"), "a folder gives a folder") for option in ("--out-format", "--out-encoding")),
    *(((*SAVED, *option), f"{option[0]} is") for option in (("--config", "x"), ("--revision", "x"), OF_FILES[-1])),
    *(((*HUB, *OF_FILES[-1]), "--format is for files"),),
    *(((*RESPOND, option, "x"), f"{option} is for") for option in ("--split", "--revision", "--config")),
    *((("respond", "run", "--out", "out.jsonl", *option), f"{option[0]} is for files") for option in OF_FILES),
    *((("respond", "saved", "--out", "out.jsonl", *OF_FILES[-1]), "--format is for files"),),
    *((("respond", "Hi!", *option), "give --out with it") for option in OF_FILES),
    *((("respond", "Hi!", "--workers", "2"), "--workers is for a source"),),
    *((("respond", "Hi!", "--engine", "local"), "--engine is for a source"),),
    *((("respond", "Hi!", "--address", "auto"), "--address is for a source"),),
    *((("respond", "Hi!", "--config", "os"), "--config is for a source"),),
    *((("respond", "Hi!", "--split", "test"), "--split is for a source"),),
    *((("respond", "Hi!", "--out-format", "csv"), "--out-format is for a source"),),
    *((("respond", "Hi!", "--out-encoding", "utf-8"), "--out-encoding is for a source"),),
    *((("respond", "Hi!", "--force"), "--force is for a source"),),
    *((("respond", "Hi!", "--seed", "0"), "--seed is the seed of --sample"),),
    *((("respond", "Hi!", *option), f"{option[0]} is for drawing answers") for option in (
        ("--temperature", "1.0"), ("--top-p", "0.9"), ("--top-k", "0"))),
    *((("respond", "Hi!", "--sample", "--beams", "32"), "--beams is for beam search"),),
    *(((*RESPOND, "--json"), "--json is for answers that are printed"),),
    *((("inspect", "run", "--dialogues", "0", "--seed", "1"), "--dialogues 0 shows none"),),
    *((("inspect", "run", "--dialogues", "0", "--label", "sad"), "--dialogues 0 shows none"),),
    *(
        (("inspect", "run", "--dialogues", "0", f"--{end}-{what}", "0.5"), "--dialogues 0 shows none")
        for end in ("min", "max")
        for what in ("confidence", "certainty")
    ),
    *((("report", "run", "--label-set", "ekman7"), "--label-set is for files"),),
    *(
        (("report", "run", *option), f"{option[0]} is for files")
        for option in (OF_FILES[0], OF_FILES[1], ("--label-column", "x"), ("--one-dialogue",), ("--skip-bad",))
    ),
    *((("report", "meld", "--map", "ekman7"), "--map is not for datasets known by name"),),
    *(((*EVALUATE, "--map", "ekman7"), "--map is for --labels"),),
    *((("report", "run", "--data", "."), "--data is for datasets that are known by name"),),
    *((("audit", "run", "--per-label", "3"), "--per-label is for labels: give --labels"),),
    *((("audit", *words, "--books", "films"), "--books is for pages of dialogues") for words in (
        ("extended",), ("run", "--labels"))),
    *((("audit", "extended", *option, "--out", "x.html"), "--out is not for folders of `edos extend`") for option in (
        (), ("--labels",))),
    *((("audit", "run", "--by", "split"), "--by is for judgements"),),
    *((("audit", "turns.csv", *option), "judgements give rates") for option in (
        ("--config", "os"), ("--dialogues", "3"), ("--pairs", "3"), ("--labels",), ("--books", "films"),
        ("--around", "3"), ("--blind",), ("--per-label", "3"), ("--seed", "1"), ("--out", "page.html"), ("--force",))),
    *(((*EVALUATE, "--encoder", "x"), "--encoder is for --ses"),),
    *(((*EVALUATE, "--bertscore-model", "x"), "--bertscore-model is for --bertscore"),),
    *(((*EVALUATE, "--model", "fast"), "--model is for --labels"),),
    *(((*EVALUATE, "--label-set", "ekman7"), "--label-set is for --labels"),),
    *(((*EVALUATE, "--seed", "1"), "--seed is for --reference-rows"),),
    *((("extend", "run", "run", "--out", "out", *option), "the pool has only folders") for option in (
        ("--column", "x"), ("--id-column", "x"), ("--skip-bad",))),
    *((("extend", "run", "turns.csv", "--out", "out", "--config", "os"), "the pool has only files"),),
    *((("download", *option), "no source is named") for option in (
        ("--out", "x"), ("--yes",), ("--changed",), ("--language", "hu"), ("--limit", "3"), ("--mirror", "x"))),
    *((("download", "meld", *option), "is for the source `gutenberg`") for option in (
        ("--language", "hu"), ("--limit", "3"), ("--mirror", "x"))),
    *((("crowd", "select", "run", "--out", "x.jsonl", "--papers", *option), "is replaced by --papers") for option in (
        ("--floor", "0.2"), ("--history", "3"))),
    *((("crowd", "seed", "turns.csv", "--out", "x", "--method", "mace", "--least-votes", "2"), "--method majority"),),
    *((("crowd", "agreement", "answers.csv", "--column", "answer=x"), "is for results of Mechanical Turk"),),
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with sources of all kinds; nothing in them is read."""
    folder = tmp_path_factory.mktemp("flags")
    for name in ("run/os", "extended/extended", "saved", "films"):
        (folder / name).mkdir(parents=True)
    (folder / "run" / "os" / "train-00000-of-00001.parquet").touch()
    (folder / "extended" / "extended" / "train-00000-of-00001.parquet").touch()
    (folder / "saved" / "dataset_info.json").write_text("{}")
    (folder / "turns.csv").write_text("id,text\n1,Hi\n")
    (folder / "answers.csv").write_text("task,worker,label\n1,1,sad\n")
    (folder / "mine.yaml").write_text(edos("recipe").stdout)
    (folder / "books.yaml").write_text(edos("recipe", "--books", "--no-labels").stdout)
    return folder


@pytest.mark.parametrize(
    ("words", "message"), REFUSED, ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
def test_an_option_that_would_do_nothing_is_refused(place, monkeypatch, words, message):
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "1000")
    refused = edos(*words)
    assert refused.exit_code in (1, 2) and message in refused.stderr.replace("\n", " "), refused.output
    assert sorted(path.name for path in place.iterdir()) == SOURCES


SOURCES = sorted(["run", "extended", "saved", "films", "turns.csv", "answers.csv", "mine.yaml", "books.yaml"])


def test_every_rule_is_tried():
    tried = set()
    for words, _ in REFUSED:
        command = next(name for name in COMMANDS if " ".join(words).startswith(f"{name} "))
        names = {
            option: each.name for each in COMMANDS[command].params for option in (*each.opts, *each.secondary_opts)
        }
        tried |= {(command, names[word]) for word in words if word in names}
    assert {(command, name) for command, rules in UNUSED.items() for rule in rules for name in rule.names} <= tried


def test_a_page_to_judge_is_said_as_json_too(tmp_path, monkeypatch):
    from edos_dataset.commands import audit
    from edos_dataset.commands.options import Result

    monkeypatch.setattr(audit, "audit", lambda *_, **__: Result("audit", {"page": "page.html", "labels": False}))
    (tmp_path / "os").mkdir()
    assert json.loads(edos("audit", tmp_path, "--json").stdout) == {"page": "page.html", "labels": False}
