"""Fit scorers of turn borders to some documents and score others with them; what was scored once is kept."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, unnest
from edos_dataset.runs.fingerprints import code_hash
from edos_dataset.segmentation.turns.features import FeatureSettings
from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.svm import SvmScorer
from training.caches import kept
from training.turns.data import episode_key, load_corpora
from training.turns.net_fit import fit_net
from training.turns.net_module import NetSettings
from training.turns.svm_fit import FitSettings, fit_svm

Scorer = SvmScorer | NetScorer


def learn_svm(table: pa.Table, settings: Mapping[str, Any]) -> SvmScorer:
    """Fit the SVM to all labelled seams of some documents."""
    given: dict[str, Any] = settings.get("features", {})
    own: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return fit_svm(table, _all_seams(table), FitSettings(**{**settings, "features": FeatureSettings(**own)}))


def learn_net(table: pa.Table, settings: Mapping[str, Any]) -> NetScorer:
    """Fit the network to all labelled seams of some documents."""
    return fit_net(table, _all_seams(table), NetSettings(**settings))


LEARNERS: dict[str, tuple[Callable[[pa.Table, Mapping[str, Any]], Scorer], str]] = {
    "svm": (learn_svm, "edos_dataset.segmentation.turns.svm"),
    "net": (learn_net, "edos_dataset.segmentation.turns.net"),
}
"""What fits a scorer, and the module whose code decides its scores."""


def _all_seams(table: pa.Table) -> Bools:
    return np.ones(len(unnest(table, "sentences")[0]), bool)


@cache
def _code(*modules: str) -> tuple[str, ...]:
    """Return the hashes of modules as they were when the process began to use them: an edit in between changes no code
    that runs.
    """
    return tuple(map(code_hash, modules))


@dataclass(frozen=True)
class Corpus:
    """The labelled documents, and what a split must keep together.

    Attributes:
        table: documents.
        keys: the episode of each.
        shows: the show of each; what is no episode is a show of its own corpus.
    """

    table: pa.Table
    keys: npt.NDArray[np.str_]
    shows: npt.NDArray[np.str_]

    @classmethod
    def load(cls, data_dir: Path, cache: Path, names: list[str]) -> "Corpus":
        """Load the corpora of these names."""
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
        """Hash of all documents with their labels."""
        digest = hashlib.sha256()
        for batch in self.table.combine_chunks().to_batches():
            digest.update(json.dumps(batch.to_pylist(), sort_keys=True).encode())
        return digest.hexdigest()

    def documents(self, rows: Bools) -> pa.Table:
        """Return some of the documents."""
        return self.table.filter(pa.array(rows))


@dataclass(frozen=True)
class Bench:
    """Fits models and scores test documents with them, each once.

    Attributes:
        corpus: the documents.
        folder: keeps the scores.
        learners: name of LEARNERS → its settings.
        report: is told what was done.
    """

    corpus: Corpus
    folder: Path
    learners: Mapping[str, Mapping[str, Any]]
    report: Callable[[str], None]

    def scores(
        self, name: str, learner: str, train: Bools, test: Bools, settings: Mapping[str, Any] | None = None
    ) -> Floats:
        """Return the scores of the test documents, [sentences], by a model that is fitted to the training documents."""
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
            path, len(_all_seams(tested)), lambda: fit(self.corpus.documents(train), settings).same_turn(tested)
        )
        self.report(f"{name}, {learner}: {int(train.sum())} documents learned from, {int(test.sum())} scored")
        return scores
