"""What a finished folder was made of, and what would be lost by making it of something else.

A command brings its folder up to date without being asked twice where nothing is lost by it: more input than before,
or the same by a newer version of this package. Other parameters, and input that is gone or has changed, replace what
somebody may have waited for a week, so they need `--force`. A run that has not finished has nothing to lose.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.pipeline import Output, Pipeline, Stage, parameter_names
from edos_dataset.runs.shards import digest, read_checked, write_checked

_RECORD = "made_of{}.json"
_CONTENT = "content of"
_MOST = 5  # differences that a message tells


@dataclass(frozen=True)
class MadeOf:
    """What decides what a command writes into its folder.

    Attributes:
        parameters: name, as the user knows it, → value, as plain data.
        inputs: kind of thing, `films`, → name → digest of its content. Where it lies does not count, nor its dates.
        code: hash of the code; a change of it alone is told, and needs no leave.
        part: of a folder that several runs fill, the one that this is about.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    code: str = ""
    part: str = ""

    @property
    def _record(self) -> str:
        return _RECORD.format(self.part and f"_{self.part}")

    def check(self, folder: OutputFolder) -> None:
        """Refuse to replace what a finished command made of something else, unless the user has agreed.

        Args:
            folder: held by the caller.

        Raises:
            FolderError: something would be lost; the message says what.
        """
        path = folder.run / self._record
        if (
            not folder.leads
            or folder.force
            or not path.exists()
            or {entry.name for entry in folder.path.iterdir()} == {folder.run.name}
        ):
            return
        try:
            record = read_checked(path)
            holds = ", ".join(f"{number:,} {unit}" for unit, number in record["holds"].items())
            before = MadeOf(record["parameters"], record["inputs"], record["code"])
        except (KeyError, TypeError, AttributeError) as error:
            raise FolderError(
                f"{path} is damaged, so nobody can tell whether this command would replace a finished run by another "
                "one: give another --out, or --force to replace it"
            ) from error
        now = json.loads(json.dumps(self.parameters))  # as it comes back from the record: tuples are lists
        told = [*_changed_parameters(before.parameters, now), *_lost_inputs(before.inputs, self.inputs)]
        if told:
            more = [f"and {len(told) - _MOST:,} more differences"] if len(told) > _MOST else []
            raise FolderError(
                f"{folder.path} holds a finished run of {holds}, which this command would replace by another one: "
                f"{'; '.join([*told[:_MOST], *more])}. Give another --out, or --force to replace it"
            )
        if before.code != self.code:
            logging.getLogger(__name__).warning(
                "%s was made by another version of this package: it is made anew", folder.path
            )

    def write(self, folder: OutputFolder, holds: Mapping[str, int]) -> None:
        """Write the record, to be committed with what it is about.

        Args:
            folder: with all that is prepared.
            holds: unit, such as `dialogues` → how many there are.
        """
        write_checked(folder.prepared / folder.run.name / self._record, {**vars(self), "holds": dict(holds)})


def inputs_of(run: Path, otherwise: Iterable[Path]) -> Mapping[str, Mapping[str, str]]:
    """Return what a folder of ours was made of, for one that is made of it; where it has no record of that, the digests
    of the files `otherwise`.
    """
    recorded: Mapping[str, Mapping[str, str]] | None = read_checked(run / ".run" / MadeOf()._record).get("inputs")
    return recorded or {"files": digests_of(otherwise)}


def parameters_of(pipeline: Pipeline, contents: bool = True) -> dict[str, Any]:
    """Return the parameters of a pipeline by their names, `dialogues.gap`, and what its stages are.

    Args:
        pipeline: the pipeline.
        contents: also what else the stages depend on, such as the weights of a model, which must be there then.
    """
    found: dict[str, Any] = {"stages": []}
    for item in pipeline:
        if isinstance(item, Output):
            found["stages"].append(f"output {item.config}")
            continue
        name = item.name
        while name in found["stages"]:  # a stage may come twice
            name += "'"
        found["stages"].append(name)
        given = asdict(item)
        found |= {f"{name}.{parameter}": given[parameter] for parameter in parameter_names(item)}
        if contents and isinstance(item, Stage):
            found |= {f"{_CONTENT} {name}.{given}": content for given, content in item.inputs().items()}
    return found


def digests_of(sources: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files, and of the data files of folders of ours, by their names."""
    found: dict[str, str] = {}
    for source in sources:
        for path in [source] if source.is_file() else sorted(source.glob("*/*.parquet")):
            name = path.relative_to(source.parent).as_posix()
            while name in found:  # folders of one name
                name += "'"
            found[name] = digest(path)
    return found


def _changed_parameters(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    told = []
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old, list) and isinstance(new, list):
            differ = (
                ("without", [each for each in old if each not in new]),
                ("with", [each for each in new if each not in old]),
            )
            parts = [f"{word} {', '.join(map(str, those))}" for word, those in differ if those]
            told.append(f"{name} {' and '.join(parts) or 'in another order'}")
        elif name.startswith(_CONTENT) and name in before and name in now:
            told.append(f"{name} is another")
        elif name in before and name in now:
            told.append(f"{name} {old} → {new}")
    return told


def _lost_inputs(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    told = []
    for kind in dict.fromkeys([*before, *now]):
        old, new = before.get(kind, {}), now.get(kind, {})
        fewer = sorted(old.keys() - new.keys())
        other = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        for names, what in ((fewer, "fewer"), (other, "changed")):
            if names:
                told.append(f"{len(names):,} {kind} {what}, such as {names[0]!r}")
        if fewer or other:
            told += [f"{len(new.keys() - old.keys()):,} {kind} more"] * bool(new.keys() - old.keys())
    return told
