"""What the key of a step covers: the code that chooses labels, and nothing beside."""

from pathlib import Path

import pytest

from covered_code import covered
from edos_dataset.augmentation import extension
from edos_dataset.augmentation.extension import Extension
from edos_dataset.runs import fingerprints

CHOOSING = ("spreading", "self_labeling", "similarity", "guards", "pool", "embeddings", "labelled", "rows")


def test_the_key_covers_what_chooses_labels_and_no_card_command_or_version():
    modules = covered(extension.__name__)
    assert {f"augmentation.{name}" for name in CHOOSING} <= modules
    packages = {name.partition(".")[0] for name in modules}
    assert packages.isdisjoint({"cli", "commands", "hub", "releases", "publishing", "crowd", "version"})
    prose = {"augmentation.audit", "augmentation.extended"}
    assert modules.isdisjoint({*prose, "runs.run", "runs.manifest", "runs.engines.local"})


@pytest.mark.parametrize("module", ["edos_dataset.publishing.cards.single", "edos_dataset.version"])
def test_an_edit_elsewhere_keeps_finished_steps(module, monkeypatch):
    """The key of the first step is that of code whose card or version has other bytes."""

    class Store:
        encoder = type("Encoder", (), {"identity": "e"})

    pool = type("Pool", (), {"identity": "p"})
    begin = lambda: Extension(Path(), None, {}, pool, Store, None, 0, print).key  # noqa: E731
    before, real = begin(), Path.read_bytes
    edited = fingerprints._source_file(module)
    fingerprints.code_hash.cache_clear()
    monkeypatch.setattr(Path, "read_bytes", lambda path: real(path) + b"\nx = 1\n" * (path == edited))
    assert begin() == before
    edited = fingerprints._source_file("edos_dataset.augmentation.spreading")
    fingerprints.code_hash.cache_clear()
    assert begin() != before
    fingerprints.code_hash.cache_clear()
