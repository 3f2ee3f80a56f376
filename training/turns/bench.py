"""Fits scorers of turn boundaries to some documents and scores others with them; scores are cached."""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Floats, unnest
from edos_dataset.runs.fingerprints import code_hash
from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.svm import FeatureSettings, SvmScorer
from training.caches import kept
from training.turns.data import count_labels, episode_key, load_corpora
from training.turns.net_fit import NetSettings, fit_net
from training.turns.report import Results
from training.turns.svm_fit import FitSettings, fit_svm

Scorer = SvmScorer | NetScorer


def learn_svm(table: pa.Table, settings: Mapping[str, Any]) -> SvmScorer:
    """Fit the SVM to all labelled boundaries of some documents."""
    given: dict[str, Any] = settings.get("features", {})
    own: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return fit_svm(table, _all_boundaries(table), FitSettings(**{**settings, "features": FeatureSettings(**own)}))


def learn_net(table: pa.Table, settings: Mapping[str, Any]) -> NetScorer:
    """Fit the network to all labelled boundaries of some documents."""
    return fit_net(table, _all_boundaries(table), NetSettings(**settings))


LEARNERS: dict[str, tuple[Callable[[pa.Table, Mapping[str, Any]], Scorer], str]] = {
    "svm": (learn_svm, "edos_dataset.segmentation.turns.svm"),
    "net": (learn_net, "edos_dataset.segmentation.turns.net"),
}
"""Name → the function that fits a scorer, and the module whose code affects its scores."""


def _all_boundaries(table: pa.Table) -> Bools:
    return np.ones(len(unnest(table, "sentences")[0]), bool)


@cache
def _code(*modules: str) -> tuple[str, ...]:
    """Return the hashes of modules as they were when the process first used them, since later edits do not change the
    running code.
    """
    return tuple(map(code_hash, modules))


@dataclass(frozen=True)
class Corpus:
    """The labelled documents, and the keys that a split must keep together.

    Attributes:
        table: the documents.
        keys: the episode of each.
        shows: the show of each; documents that are not episodes have their corpus as show.
    """

    table: pa.Table
    keys: npt.NDArray[np.str_]
    shows: npt.NDArray[np.str_]

    @classmethod
    def load(cls, data_dir: Path, cache: Path, names: list[str]) -> "Corpus":
        """Load the named corpora."""
        table = load_corpora(data_dir, names, cache / "documents")
        corpora = table["corpus"].to_pylist()
        keys = [episode_key(corpus, film) for corpus, film in zip(corpora, table["film"].to_pylist(), strict=True)]
        episode = re.compile(r"(.+) S\d+E\d+$")
        shows = [
            match[1] if (match := episode.match(key)) else corpus for key, corpus in zip(keys, corpora, strict=True)
        ]
        return cls(table, np.array(keys), np.array(shows))

    @cached_property
    def digest(self) -> str:
        """Digest of all documents with their labels."""
        digest = hashlib.sha256()
        for batch in self.table.combine_chunks().to_batches():
            digest.update(json.dumps(batch.to_pylist(), sort_keys=True).encode())
        return digest.hexdigest()

    def documents(self, rows: Bools) -> pa.Table:
        """Return the documents selected by a mask."""
        return self.table.filter(pa.array(rows))


@dataclass(frozen=True)
class Bench:
    """Fits models and scores test documents, each combination once.

    Attributes:
        corpus: the documents.
        folder: where scores are cached.
        learners: name of LEARNERS → its settings.
        report: called with a line of text at each step.
    """

    corpus: Corpus
    folder: Path
    learners: Mapping[str, Mapping[str, Any]]
    report: Callable[[str], None]

    def scores(
        self, name: str, learner: str, train: Bools, test: Bools, settings: Mapping[str, Any] | None = None
    ) -> Floats:
        """Return the scores of the test documents, [sentences], from a model fitted to the training documents."""
        settings = self.learners[learner] if settings is None else settings
        fit, module = LEARNERS[learner]
        parts = (
            learner,
            json.dumps(settings, sort_keys=True),
            *_code(module, f"training.turns.{learner}_fit"),
            self.corpus.digest,
        )
        key = hashlib.sha256("\0".join(parts).encode() + train.tobytes() + test.tobytes()).hexdigest()[:16]
        path = self.folder / f"{name.replace(' ', '_')}.{learner}.{key}.npy"
        tested = self.corpus.documents(test)
        scores = kept(
            path, len(_all_boundaries(tested)), lambda: fit(self.corpus.documents(train), settings).same_turn(tested)
        )
        self.report(f"{name}, {learner}: {int(train.sum())} documents learned from, {int(test.sum())} scored")
        return scores


LICENCES = {
    "friends, the_big_bang_theory": "MIT (seinfeld_laugh_corpus); the text is under its studios' copyright",
    "frasier": "none stated; the text is under its studio's copyright",
    "friends_srt, weak": "none stated; the text is under its studios' copyright",
    "friends_lines": "names: none stated (SeinfeldScripts); times: MIT (seinfeld_laugh_corpus); the text is under its "
    "studio's copyright",
    "film_scripts": "none stated (Movie-Scripts); the text is under its studios' copyright",
    "meld": "GPL v3",
    "dailydialog": "CC BY-NC-SA 4.0",
    "empathetic_dialogues": "CC BY-NC 4.0",
}
"""Licences of the data; the weights contain only numbers and hashes of words."""


def facts_of(
    table: pa.Table, corpora: Iterable[str], seed: int, command: str, packages: Sequence[str]
) -> dict[str, Any]:
    """Return the facts that all records state: data with their labels and licences, seed, command, date and versions.

    Args:
        table: the training documents.
        corpora: names of their corpora.
        seed: seed of all randomness.
        command: the command that reproduces the result.
        packages: packages that affect the result, in addition to Python.
    """
    names = list(corpora)
    used = {name.removesuffix("_dashes").removesuffix("_plain") for name in names}
    return {
        "data": {name: count_labels(table.filter(pc.equal(table["corpus"], name))) for name in names},
        "licences": {sources: text for sources, text in LICENCES.items() if used & set(sources.split(", "))},
        "seed": seed,
        "command": command,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }


def brief(results: Results, scorer: str) -> dict[str, Any]:
    """Return the metrics of a scorer for its record: on all test documents, and by source."""
    names = ("seams", "documents", "accuracy", "accuracy_interval", "precision", "recall", "f1", "ece")
    rows = {"all": results.scorers[scorer], **results.sources[scorer]}
    return {source: {name: row[name] for name in names} for source, row in rows.items()}
