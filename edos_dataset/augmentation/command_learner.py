"""Learning by another program, such as a fine-tuning that takes a machine of its own."""

import hashlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from safetensors import SafetensorError

from edos_dataset.augmentation.labelled import Labelled, write_labelled
from edos_dataset.labeling.models.labelers import Labeler, load_labeler
from edos_dataset.runs.shards import digest, write_text

LAST_LINES = 15
"""Lines of a failed command's output that the error shows."""

_PATIENCE = 10.0  # seconds that a program has to end when it is asked to


@dataclass(frozen=True)
class CommandLearner:
    """Runs `COMMAND --labelled FOLDER --out MODEL`, and loads MODEL, which may be anything that `load_labeler` knows.

    FOLDER is a data set in the columns of the config "extended" with the splits train and validation
    (`write_labelled`). The program chooses by the validation part and calibrates on it. A model that was finished from
    the same dialogues by the same command is loaded again; where the program did not finish, MODEL is left for it to go
    on with.

    Attributes:
        command: the program and its arguments; it runs in the current folder.
        folder: gets a folder for each command and training set, with `labelled`, `model`, what the program said as
            `command.log`, and `finished` when it is.
    """

    command: Sequence[str]
    folder: Path

    @cached_property
    def identity(self) -> str:
        """Digest of the command line and of the files and the files of the folders that it names."""
        sha256 = hashlib.sha256()
        for word in self.command:
            path = Path(word)
            inside = (
                [path]
                if path.is_file()
                else sorted(each for each in path.iterdir() if each.is_file())
                if path.is_dir()
                else []
            )
            sha256.update(
                "\0".join([word, *(f"{each.name} {digest(each)}" for each in inside), ""]).encode(
                    "utf-8", "surrogatepass"
                )
            )
        return f"command@{sha256.hexdigest()[:16]}"

    def fit(self, train: Labelled, validation: Labelled) -> Labeler:
        """Return the program's model; see `Learner`.

        Raises:
            ValueError: the program cannot be started, failed, or left no model that can be loaded.
        """
        key = hashlib.sha256(f"{self.identity} {train.identity} {validation.identity}".encode()).hexdigest()[:16]
        folder = self.folder / key
        model, finished = folder / "model", folder / "finished"
        if not (finished.is_file() and model.is_dir()):
            write_labelled(folder / "labelled", {"train": train, "validation": validation})
            self._run(
                [*self.command, "--labelled", str(folder / "labelled"), "--out", str(model)], folder / "command.log"
            )
            if not model.is_dir():
                raise ValueError(
                    f"{shlex.join(self.command)} ended without an error, but wrote no folder {model}: it must take "
                    "--out MODEL"
                )
        try:
            labeler = load_labeler(str(model))
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise ValueError(
                f"{model}, which {shlex.join(self.command)} wrote, is no model that labels: {error}"
            ) from error
        write_text(finished, f"{self.identity}\n")
        return labeler

    def _run(self, command: list[str], log: Path) -> None:
        with log.open("wb") as output:
            try:
                # A session of its own: what the program starts can be ended with it, also where Ctrl-C does not reach
                # it.
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
            except OSError as error:
                raise ValueError(
                    f"{shlex.join(self.command)} cannot be started: {error.strerror or error}; give a program that is "
                    "there"
                ) from error
            try:
                code = process.wait()
            finally:
                if process.poll() is None:
                    _end(process)
        if code:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            said = "\n".join(["", *lines[-LAST_LINES:]]) if lines else " nothing"
            raise ValueError(
                f"{shlex.join(self.command)} failed with code {code}; the end of what it said ({log}):{said}"
            )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it started: first ask, then kill."""
    try:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
    finally:
        _signal(process, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, number)  # its number is that of its group
        else:
            process.terminate()
