"""The README of labels without text: rendered from what was counted, never typed."""

from collections.abc import Mapping
from typing import Any

from edos_dataset.publishing.cards.headers import front_matter, loading
from edos_dataset.publishing.cards.markdown import code, plain
from edos_dataset.publishing.cards.tables import label_table, model_table
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import LABELS_ONLY, SPLITS, features

_FLAWS = """\
- **There is no text in it.** The text of subtitles is under its owners' copyright, so here are ids, hashes and \
labels; `edos hydrate` rebuilds the text from
  your own copy of the subtitles, and lists what your copy lacks.
- **The same subtitle files are needed,** not other ones of the same films: sentences are named by their number in the \
file.
- **A hash is a check, not a secret.** Whoever has a list of common sentences finds the short turns again by their \
hashes.
- **The labels are a machine's.** Each turn names the model in `label_source`. Use `confidence` and `top`, not the \
label alone.
- **Nobody marked the speakers.** Turns are inferred; a turn may hold two speakers, or a speaker two turns, and a \
dialogue the end of a scene and the beginning of the next.
- **Licence.** This folder carries none of its own; the labels are under what the data allow that their models learned \
from."""


def labels_only_card(manifest: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]], recipe: str) -> str:
    """Return the README of a folder of labels without text.

    Args:
        manifest: as `labels_only.write_labels_only` returns it.
        models: name of each model that gave labels to the record of its making.
        recipe: name of the file in the folder that has the pipeline as YAML.
    """
    splits = [split for split in SPLITS if manifest["dialogues"][split]]
    dialogues, turns = sum(manifest["dialogues"].values()), sum(manifest["turns"].values())
    parts = ", ".join(f"{split} {count:,}" for split, count in manifest["dialogues"].items())
    labels = ConfigFiles(LABELS_ONLY, labels=manifest["labels"])
    versions = (
        ", ".join(plain(f"{name} {number}") for name, number in (manifest["versions"] or {}).items()) or "not stated"
    )
    sections = [
        front_matter(
            LABELS_ONLY,
            features(LABELS_ONLY),
            "EDOS, labels without text",
            ["weak-supervision"],
            splits,
            licence="labels-without-text",
            rows=dialogues,
            languages=sorted(manifest["languages"]),
        ),
        "# EDOS: the labels of dialogues from subtitles, without their text",
        "## Know its flaws first\n\n" + _FLAWS,
        loading(LABELS_ONLY),
        "## Get the text back\n\n```\nedos hydrate FOLDER YOUR_SUBTITLES --out edos\n```\n\n"
        f"runs the stages of `{recipe}` on your files, compares every turn with its hash, and writes the config "
        f"`{manifest['config']}`, byte for byte the one "
        "that these labels are from where nothing is missing. What is missing is counted by its reason and listed in "
        "`missing.jsonl`.",
        f"## What is in it\n\n{dialogues:,} dialogues ({parts}) with {turns:,} turns, the config "
        f"`{manifest['config']}` of a run with the fingerprint "
        f"{code(manifest['fingerprint'])}, made by {versions}.",
        "## Labels\n\n" + label_table(labels),
        "## The labelling models\n\n" + model_table(models),
        closing(opus=True),
    ]
    return "\n\n".join(sections) + "\n"
