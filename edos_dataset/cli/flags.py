"""Options that would be ignored beside other arguments: they are refused, with the reason, before anything is read."""

import re
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from edos_dataset.cli.console import silent
from edos_dataset.commands.progress import announce

_ADDRESS = re.compile(r"[a-z][a-z0-9]+:/")

Given = Mapping[str, Any]
"""The parameters of a command, by name."""


class Unused(NamedTuple):
    """Options that have no effect.

    Attributes:
        names: the parameters.
        when: whether they have none, given all parameters of the command.
        why: what they are for, or why they are not needed, and what to do instead.
    """

    names: tuple[str, ...]
    when: Callable[[Given], bool]
    why: str


def _without(*names: str) -> Callable[[Given], bool]:
    """Return whether none of some options is given."""
    return lambda given: not any(given[name] for name in names)


def _with(*names: str) -> Callable[[Given], bool]:
    return lambda given: any(given[name] for name in names)


def _and_out(when: Callable[[Given], bool]) -> Callable[[Given], bool]:
    return lambda given: given["out"] is not None and when(given)


def _kind(source: str | None) -> str:
    """Return the kind of a source of dialogues: "file" (also standard input, and a folder of files), "ours", "saved"
    or "hub".
    """
    from edos_dataset.releases.formats.several import is_folder_of_files
    from edos_dataset.releases.formats.sources import is_saved
    from edos_dataset.runs.stores.paths import place_of

    if source is None or source == "-":
        return "file"
    place = place_of(source)
    if place.is_dir():
        return "saved" if is_saved(place) else "file" if is_folder_of_files(place) else "ours"
    return "file" if place.exists() else "hub"


def _sources(given: Given) -> list[str | None]:
    """Return the sources of `label`, or that of `respond --out`."""
    return given["sources"] if "sources" in given else (given["texts"] or [None])[:1]


def _is(*kinds: str) -> Callable[[Given], bool]:
    return lambda given: all(_kind(source) in kinds for source in _sources(given))


def _is_no_workbook(given: Given) -> bool:
    return not any(
        _kind(source) != "file" or str(source).lower().endswith((".xlsx", ".xlsm")) for source in _sources(given)
    )


def _says_its_labels(source: str) -> bool:
    return _kind(source) == "ours" or _is_known(source)


def _is_known(source: str) -> bool:
    from edos_dataset.releases.labelled_sets.readers import SOURCES
    from edos_dataset.releases.load import RAW_RELEASES

    return source in (*RAW_RELEASES, *SOURCES)


def _is_no_file(path: Any) -> bool:  # noqa: ANN401 - a path or None
    return path is None or not Path(path).is_file()


def _audits_labels(given: Given) -> bool:
    """Return whether `edos audit` writes a page of labels."""
    one = len(given["sources"]) == 1 and given["sources"][0].is_dir()
    return one and not given["dialogues"] and not given["pairs"] and (given["labels"] or _is_extension(given))


def _is_extension(given: Given) -> bool:
    """Return whether `edos audit` is given a folder of `edos extend`."""
    from edos_dataset.commands.audit import shows_labels

    return shows_labels(given["sources"][0], given["config"])


def _audits_dialogues(given: Given) -> bool:
    return given["sources"][0].is_dir() and not _audits_labels(given)


def _rates(given: Given) -> bool:
    """Return whether `edos audit` reads judgements."""
    return bool(given["sources"][0].is_file())


_OF_FILES = ("column", "id_column", "speaker_column", "time_column", "one_dialogue", "keep_system", "skip_bad", "form")
_OF_A_SOURCE = (
    Unused(("split",), _is("file", "ours"), "is for saved datasets and those on the Hub"),
    Unused(("revision",), _is("file", "ours", "saved"), "is for datasets on the Hub"),
    Unused(("config",), _is_no_workbook, "is for folders written by `edos`, datasets on the Hub and sheets of Excel"),
    Unused(("config",), _is("saved"), "is not for saved datasets, which have none"),
    Unused(("form",), _is("saved", "hub"), "is for files"),
    Unused(_OF_FILES, _is("ours"), "is for files, and the source is a folder written by `edos`"),
)

UNUSED: Mapping[str, tuple[Unused, ...]] = {
    "curate": (Unused(("shard",), _with("dry_run"), "is for a run, and --dry-run makes none: give one of the two"),),
    "label": (
        *_OF_A_SOURCE,
        Unused(("out_format", "out_encoding"), _is("ours"), "is for a file, and a folder gives a folder"),
    ),
    "inspect": (
        Unused(
            ("label", "min_confidence", "max_confidence", "min_certainty", "max_certainty", "seed"),
            lambda given: given["dialogues"] == 0,
            "chooses dialogues, and --dialogues 0 shows none",
        ),
    ),
    "report": (
        Unused(
            ("label_set",),
            lambda given: all(map(_says_its_labels, (given["source"], *(given["against"] or [])))),
            "is for files and datasets on the Hub: folders written by `edos` and datasets known by name say theirs",
        ),
        Unused(
            ("label_map",),
            lambda given: any(map(_is_known, (given["source"], *(given["against"] or [])))),
            "is not for datasets known by name, whose labels have a map of their own",
        ),
        Unused(
            ("column", "id_column", "label_column", "one_dialogue", "skip_bad"),
            lambda given: all(map(_says_its_labels, (given["source"], *(given["against"] or [])))),
            "is for files",
        ),
        Unused(
            ("data",),
            lambda given: all(_kind(each) != "hub" for each in (given["source"], *(given["against"] or []))),
            "is for datasets that are known by name, and none is given",
        ),
    ),
    "audit": (
        Unused(("per_label",), _audits_dialogues, "is for labels: give --labels with it"),
        Unused(("books",), _audits_labels, "is for pages of dialogues: give --dialogues or --pairs with it"),
        Unused(
            ("out",),
            lambda given: _audits_labels(given) and _is_extension(given),
            "is not for folders of `edos extend`, whose page is in them: give --dialogues or --pairs with it",
        ),
        Unused(("by",), lambda given: not _rates(given), "is for judgements"),
        Unused(
            ("config", "dialogues", "pairs", "labels", "books", "around", "blind", "per_label", "seed", "out", "force"),
            _rates,
            "is for a page, and judgements give rates",
        ),
    ),
    "respond": (
        Unused(
            (*_OF_FILES, "workers", "engine", "address", "config", "split", "out_format", "out_encoding", "force"),
            _without("out"),
            "is for a source of dialogues: give --out with it",
        ),
        Unused(("as_json",), _with("out"), "is for answers that are printed, and --out writes them"),
        Unused(("seed",), _without("sample"), "is the seed of --sample: give both"),
        Unused(("temperature", "top_p", "top_k"), _without("sample"), "is for drawing answers: give --sample too"),
        Unused(("beams",), _with("sample"), "is for beam search, which --sample replaces: give one of the two"),
        *(rule._replace(when=_and_out(rule.when)) for rule in _OF_A_SOURCE),
    ),
    "evaluate": (
        Unused(("encoder",), _without("ses"), "is for --ses: give both"),
        Unused(("bertscore_model",), _without("bertscore"), "is for --bertscore: give both"),
        Unused(("model", "label_set", "label_map"), _without("labels"), "is for --labels: give both"),
        Unused(("seed",), _without("reference_rows"), "is for --reference-rows: give both"),
    ),
    "extend": (
        Unused(
            ("column", "id_column", "skip_bad"),
            lambda given: all(map(_is_no_file, given["pool"])),
            "is for files, and the pool has only folders",
        ),
        Unused(
            ("config",),
            lambda given: all(Path(each).is_file() for each in given["pool"]),
            "is for folders, and the pool has only files",
        ),
    ),
    "download": (
        Unused(
            ("out", "yes", "changed", "language", "limit", "mirror"),
            _without("name"),
            "is for a download, and no source is named",
        ),
        Unused(
            ("language", "limit", "mirror"),
            lambda given: given["name"] not in (None, "gutenberg"),
            "is for the source `gutenberg`",
        ),
    ),
    "crowd select": (
        Unused(
            ("floor", "history"),
            _with("papers"),
            "is replaced by --papers (nothing below --confidence, and the whole history): give one of the two",
        ),
    ),
    "crowd seed": (Unused(("least_votes",), lambda given: given["method"] != "majority", "is for --method majority"),),
}
"""Command → its options that may have no effect."""


SLOW = frozenset(
    ("curate", "books", "segment", "label", "extend", "merge", "inspect", "report", "audit", "plan", "respond")
    + ("evaluate", "export", "publish", "hydrate", "rejects", "labels-only")
)
"""Commands that import and load for seconds before they show anything else."""


def path_of(context: Any) -> str:  # noqa: ANN401 - typer brings a click of its own
    """Return the words of a command after `edos`: "crowd seed"."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    return " ".join(words)


class Command(TyperCommand):
    """A command that refuses options that it would ignore."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write the help in two columns."""
        TyperCommand.format_help(_in_two_columns(self, ctx), ctx, formatter)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Check the options, and run the command."""
        ctx.params.update({name: _with_addresses(value) for name, value in ctx.params.items()})
        path = path_of(ctx)
        if path in SLOW and not silent():
            announce(None, f"edos {path}: starting")
        rules = UNUSED.get(path, ())
        given = [name for name in ctx.params if _is_given(ctx, name)] if rules else []
        for rule in rules:
            named = [name for name in given if name in rule.names]
            if named and rule.when(ctx.params):
                option = next(each for each in self.params if each.name == named[0])
                raise typer.BadParameter(f"{_shown(option, ctx.params[named[0]])} {rule.why}, or leave it out")
        return super().invoke(ctx)


class Group(TyperGroup):
    """A group of commands with help in two columns."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write the help in two columns."""
        TyperGroup.format_help(_in_two_columns(self, ctx), ctx, formatter)


_C = TypeVar("_C", TyperCommand, TyperGroup)


def _in_two_columns(command: _C, ctx: Any) -> _C:  # noqa: ANN401 - as above
    """Return a command whose help has names and texts: typer's six columns leave the texts a quarter of a terminal."""
    shown, options = copy(command), [_in_one_column(each) for each in command.get_params(ctx)]
    vars(shown)["get_params"] = lambda ctx: options
    return shown


def _with_addresses(value: Any) -> Any:  # noqa: ANN401 - any parameter
    """Return a path that is the address of a store, of which `Path` makes `s3:/bucket`, as a path in that store."""
    if isinstance(value, list):
        return [_with_addresses(each) for each in value]
    if not isinstance(value, Path) or not _ADDRESS.match(str(value)):
        return value
    from edos_dataset.runs.stores.paths import place_of
    from edos_dataset.runs.stores.store import StoreError

    try:
        return place_of(value)
    except StoreError:  # the command says what is wrong with it
        return value


def _in_one_column(param: Any) -> Any:  # noqa: ANN401 - as above
    """Return a parameter for the help: all its names in one, without its type, and its range in its text."""
    shown = copy(param)
    names = [", ".join(each) for each in (param.opts, param.secondary_opts) if each]
    limits = param._get_number_range_help_str() if hasattr(param, "_get_number_range_help_str") else None
    if param.secondary_opts and isinstance(param.default, bool):  # else typer writes "True"
        vars(shown)["show_default"] = (param.opts if param.default else param.secondary_opts)[0]
    vars(shown).update(
        opts=[" / ".join(names)] if isinstance(param, TyperOption) else param.opts,
        secondary_opts=[],
        help=f"{param.help} ({limits})" if limits and param.help else param.help,
        display_type_rich=lambda ctx: None,
        _get_number_range_help_str=lambda: None,
    )
    return shown


def _is_given(context: Any, name: str) -> bool:  # noqa: ANN401 - as above
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _shown(option: Any, value: object) -> str:  # noqa: ANN401 - as above
    """Return an option by its first long name, or that of its negation if that was given."""
    off = isinstance(option, TyperOption) and value is False and option.secondary_opts
    return str((option.secondary_opts if off else [name for name in option.opts if name.startswith("--")])[0])
