"""Learners from labelled dialogues, behind one small interface: a linear head, fastText, or another program."""

import hashlib
import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from safetensors import SafetensorError

from edos_dataset.arrays import Floats
from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.fasttext_learner import FastTextLearner
from edos_dataset.augmentation.labelled import EDOS, Labelled, write_labelled
from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.linear import (
    DECAY,
    LinearHead,
    LinearLabeler,
    calibrate,
    dialogue_features,
    fit_dialogue,
)
from edos_dataset.runs.shards import digest, write_text
from edos_dataset.wording import counted

LAST_LINES = 15
"""Number of lines of a failed command's output that the error shows."""

_PATIENCE = 10.0  # seconds for a program to end after it is asked to


@dataclass(frozen=True)
class CommandLearner:
    """Runs `COMMAND --labelled FOLDER --out MODEL`, and loads MODEL, which may be anything that `load_labeler` accepts.

    FOLDER is a data set in the columns of the config "extended" with the splits train and validation
    (`write_labelled`). The program selects and calibrates its model on the validation split. A model that the same
    command finished from the same dialogues is loaded again; if the program did not finish, MODEL is left for it to
    resume from.

    Attributes:
        command: the program and its arguments; it runs in the current folder.
        folder: gets a folder for each command and training set, with `labelled`, `model`, the program's output as
            `command.log`, and `finished` once it has finished.
    """

    command: Sequence[str]
    folder: Path

    @cached_property
    def identity(self) -> str:
        """Digest of the command line and of the files and folders that it names."""
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
            ValueError: the program cannot be started, fails, or leaves no model that can be loaded.
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
        process = None
        with log.open("wb") as output:
            try:
                with _interrupted_afterwards():
                    process = self._start(command, output)
                code = process.wait()
            finally:
                if process is not None and process.poll() is None:
                    _end(process)
        if code:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            said = "\n".join(["", *lines[-LAST_LINES:]]) if lines else " nothing"
            raise ValueError(
                f"{shlex.join(self.command)} failed with code {code}; the end of what it said ({log}):{said}"
            )

    def _start(self, command: list[str], output: BinaryIO) -> "subprocess.Popen[bytes]":
        try:
            # A session of its own, so that its child processes can be ended with it even if Ctrl-C misses them.
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise ValueError(
                f"{shlex.join(self.command)} cannot be started: {error.strerror or error}; give a program that is there"
            ) from error


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    """Keep Ctrl-C until the block is done: while a program is started, nobody would know which one to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: kept.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if kept:
            signal.raise_signal(signal.SIGINT)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and its child processes: first ask, then kill."""
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
            os.killpg(process.pid, number)  # the leader's process id is the group's id
        else:
            process.terminate()


LEARNERS = ("linear", "fasttext")
"""Names that `learner_of` accepts."""

_PIECE = 2048  # texts per shard of embeddings
_VERSION = 1  # of the arithmetic below, for the identity


class Learner(Protocol):
    """Trains a labeler on labelled dialogues.

    Attributes:
        identity: name and digest of everything except the dialogues that affects the result, for fingerprints.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102 - said above

    def fit(self, train: Labelled, validation: Labelled) -> Labeler:
        """Return a labeler trained on the dialogues.

        Args:
            train: dialogues to learn from.
            validation: dialogues that select the settings and the temperature, so that labels with a probability of 0.9
                are right for about 90 % of such dialogues.

        Raises:
            ValueError: training on these dialogues is impossible, or failed.
        """
        ...


@dataclass(frozen=True)
class LinearLearner:
    """Fits a linear head on `dialogue_features`, like the shipped `linear-dialogue`.

    The l2 with the lowest cross-entropy on the validation split is chosen. The head builds on a weak head, which was
    trained on single turns of EmpatheticDialogues and never saw the crowd's dialogues.

    Attributes:
        store: keeps the embeddings; its encoder must be the one of the weak head and of `LinearLabeler`.
        l2: values to choose from.
        decay: weight of a turn in the context relative to the turn after it.
        weak: the weak head: `linear-weak`, or a folder.
        context_scale: as for `fit_dialogue`; the defaults of this and the next were chosen on validation data for the
            shipped head.
        weak_scale: as for `fit_dialogue`.
    """

    store: VectorStore
    l2: Sequence[float] = (1e-4, 2e-4, 4e-4)
    decay: float = DECAY
    weak: str = "linear-weak"
    context_scale: float = 0.25
    weak_scale: float = 0.05

    @cached_property
    def identity(self) -> str:
        """Digest of the settings, the weak head and the encoder."""
        facts = [
            list(self.l2),
            self.decay,
            self.context_scale,
            self.weak_scale,
            self._weak_head.identity,
            self.store.encoder.identity,
            _VERSION,
        ]
        return f"linear@{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}"

    @cached_property
    def _weak_head(self) -> LinearHead:
        head, encoder = LinearHead.load(self.weak), Encoder().identity
        for name, other in (
            ("the store's encoder", self.store.encoder.identity),
            ("that of the weak head", head.record.get("encoder", encoder)),
        ):
            if other != encoder:
                raise ValueError(
                    f"linear heads stand on {encoder}, but {name} is {other}: use the default encoder, or another "
                    "learner"
                )
        return head

    def fit(self, train: Labelled, validation: Labelled) -> LinearLabeler:
        """Return the labeler, calibrated on the validation part; see `Learner`."""
        counting = int((train.weights > 0).sum())
        if not counting or not len(validation):
            raise ValueError(
                f"the linear head has {counted(counting, 'dialogues')} to learn from and {len(validation)} to be "
                "calibrated on: "
                "give some of both"
            )
        features, held = self._features(train), self._features(validation)
        # The loss is linear in the targets, so doubling a row's weight is doubling its targets.
        targets = (train.targets * (train.weights / train.weights.mean())[:, None]).astype(np.float32)
        named = {} if train.label_set == EDOS else {"labels": list(train.label_set.labels)}
        tried = []
        with limit_threads(1):
            for l2 in self.l2:
                choice = {"l2": l2, "context_scale": self.context_scale, "weak_scale": self.weak_scale}
                head, loss = calibrate(
                    *fit_dialogue(features, targets, self._weak_head, choice),
                    held,
                    validation.labels,
                    self.decay,
                    named,
                )
                tried.append((loss, choice, head))
        loss, choice, head = min(tried, key=lambda each: each[0])
        record = {
            "name": "linear",
            "chosen": choice,
            "temperature": head.temperature,
            "encoder": self.store.encoder.identity,
            "split": {"train": counting, "validation": len(validation)},
            "validation_cross_entropy": loss,
            **named,
        }
        return LinearLabeler(replace(head, record=record), self.store.encoder.device, self.store.encoder.token_budget)

    def _features(self, part: Labelled) -> Floats:
        """Return the features of the last turns.

        Each text is embedded once, in pieces that depend only on earlier texts, so most pieces already exist when a
        later round appends dialogues.
        """
        texts, offsets = list(chain.from_iterable(part.turns)), np.cumsum([0, *map(len, part.turns)])
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        unique = list(rows)
        embeddings = np.concatenate(
            [self.store.turns(unique[start : start + _PIECE]) for start in range(0, len(unique), _PIECE)]
        ).astype(np.float32)
        features: Floats = dialogue_features(embeddings[[rows[text] for text in texts]], offsets, self.decay)[
            offsets[1:] - 1
        ]
        return features


def learner_of(name: str, folder: Path, device: str = "cpu") -> Learner:
    """Return a learner by its name.

    Args:
        name: "linear", "fasttext", or a command line for `CommandLearner` (any name that contains a blank).
        folder: where it may keep embeddings or models for reuse.
        device: torch device of the encoder, for "linear".

    Raises:
        ValueError: the name is none of these, or the quotation marks of the command line do not match.
    """
    check_learner(name)
    if name == "linear":
        return LinearLearner(VectorStore(folder / "embeddings", Encoder(device=device)))
    if name == "fasttext":
        return FastTextLearner()
    return CommandLearner(tuple(shlex.split(name)), folder / "commands")


def check_learner(name: str) -> None:
    """Check the name of a learner before any data is read.

    Raises:
        ValueError: there is no such learner, or the quotation marks of the command line do not match.
    """
    if name in LEARNERS:
        return
    if not name.strip() or " " not in name.strip():
        raise ValueError(
            f"no learner {name!r}: expected {', '.join(LEARNERS)}, or a command line that takes --labelled FOLDER "
            "--out MODEL, such as 'python train.py'"
        )
    try:
        shlex.split(name)
    except ValueError as error:
        raise ValueError(f"the command line {name!r} cannot be read: {error}") from error
