"""The provenance of a finished folder, and what would be lost by replacing it with a result of different provenance.

A command updates its folder without asking if nothing is lost: with additional input, or with the same input and a
newer version of this package. Different parameters, and missing or changed input, would replace a result that may have
taken a week, so they need `--force`. An unfinished run has nothing to lose.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.pipeline import Output, Stage, Steps, parameter_names
from edos_dataset.runs.shards import digest, read_checked, write_checked
from edos_dataset.wording import counted

_RECORD = "made_of{}.json"
_CONTENT = "content of"
_MOST = 5  # differences in a message


@dataclass(frozen=True)
class Provenance:
    """Everything that determines what a command writes into its folder.

    Attributes:
        parameters: name, as the user knows it, → value, as plain data.
        inputs: kind of input, such as `films`, → name → digest of its content; paths and dates do not count.
        code: hash of the code; if only this changes, the command reports it and needs no `--force`.
        part: the run that this describes, if several runs fill the folder.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    code: str = ""
    part: str = ""

    @property
    def _record(self) -> str:
        return _RECORD.format(self.part and f"_{self.part}")

    def check(self, folder: OutputFolder) -> None:
        """Refuse to replace a finished result of different provenance without `--force`.

        Args:
            folder: the folder, locked by the caller.

        Raises:
            FolderError: something would be lost; the message says what.
        """
        path = folder.run / self._record
        if (
            not folder.is_main
            or folder.force
            or not path.exists()
            or {entry.name for entry in folder.path.iterdir()} == {folder.run.name}
        ):
            return
        try:
            record = read_checked(path)
            holds = ", ".join(counted(number, unit) for unit, number in record["holds"].items())
            before = Provenance(record["parameters"], record["inputs"], record["code"])
        except (KeyError, TypeError, AttributeError) as error:
            raise FolderError(
                f"{path} is damaged, so nobody can tell whether this command would replace a finished run by another "
                "one: give another --out, or --force to replace it"
            ) from error
        now = json.loads(json.dumps(self.parameters))  # as in the record, where tuples are lists
        changes = [*_changed_parameters(before.parameters, now), *_lost_inputs(before.inputs, self.inputs)]
        if changes:
            more = [f"and {counted(len(changes) - _MOST, 'more differences')}"] if len(changes) > _MOST else []
            raise FolderError(
                f"{folder.path} holds a finished run of {holds}, which this command would replace by another one: "
                f"{'; '.join([*changes[:_MOST], *more])}. Give another --out, or --force to replace it"
            )
        if before.code != self.code:
            logging.getLogger(__name__).warning(
                "%s was made by another version of this package: it is made anew", folder.path
            )

    def write(self, folder: OutputFolder, holds: Mapping[str, int]) -> None:
        """Write the record, to be committed with the result.

        Args:
            folder: the folder with the prepared result.
            holds: unit, such as `dialogues`, → its number in the result.
        """
        write_checked(folder.prepared / folder.run.name / self._record, {**vars(self), "holds": dict(holds)})


def inputs_of(run: Path, otherwise: Iterable[Path]) -> Mapping[str, Mapping[str, str]]:
    """Return the inputs of one of our folders, for a folder made from it; without a record of them, the digests of the
    files `otherwise`.
    """
    recorded: Mapping[str, Mapping[str, str]] | None = read_checked(run / ".run" / Provenance()._record).get("inputs")
    return recorded or {"files": digests_of(otherwise)}


def parameters_of(pipeline: Steps, contents: bool = True) -> dict[str, Any]:
    """Return the parameters of a pipeline by name, such as `dialogues.gap`, and the list of its stages.

    Args:
        pipeline: the pipeline.
        contents: also include other dependencies of the stages, such as the weights of a model, which must then exist.
    """
    found: dict[str, Any] = {"stages": []}
    for item in pipeline:
        if isinstance(item, Output):
            found["stages"].append(f"output {item.config}")
            continue
        name = item.name
        while name in found["stages"]:  # a stage may occur twice
            name += "'"
        found["stages"].append(name)
        given = asdict(item)
        found |= {f"{name}.{parameter}": given[parameter] for parameter in parameter_names(item)}
        if contents and isinstance(item, Stage):
            found |= {f"{_CONTENT} {name}.{given}": content for given, content in item.inputs().items()}
    return found


def digests_of(sources: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files, and of the data files of our folders, by name."""
    found: dict[str, str] = {}
    for source in sources:
        for path in [source] if source.is_file() else sorted(source.glob("*/*.parquet")):
            name = path.relative_to(source.parent).as_posix()
            while name in found:  # two folders may have the same name
                name += "'"
            found[name] = digest(path)
    return found


def _changed_parameters(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    changes = []
    for name in now:
        old, new = before.get(name), now[name]
        if isinstance(old, list) and isinstance(new, list) and old != new:
            changes.append(f"{name} {_changed_list(old, new)}")
        elif name in before and old != new:
            changes.append(f"{name} is another" if name.startswith(_CONTENT) else f"{name} {old} → {new}")
    return changes


def _changed_list(old: list[Any], new: list[Any]) -> str:
    gone, added = ([str(each) for each in one if each not in other] for one, other in ((old, new), (new, old)))
    parts = [f"{word} {', '.join(names)}" for word, names in (("without", gone), ("with", added)) if names]
    return " and ".join(parts) or "in another order"


def _lost_inputs(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    changes = []
    for kind in dict.fromkeys([*before, *now]):
        old, new = before.get(kind, {}), now.get(kind, {})
        fewer = sorted(old.keys() - new.keys())
        other = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        for names, what in ((fewer, "fewer"), (other, "changed")):
            if names:
                changes.append(f"{counted(len(names), kind)} {what}, such as {names[0]!r}")
        if (fewer or other) and (more := new.keys() - old.keys()):
            changes.append(f"{counted(len(more), kind)} more")
    return changes
