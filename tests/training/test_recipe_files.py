"""Every recipe of the repository is understood by the script that it is for, so that no key of it is wrong."""

from pathlib import Path

import pytest
import yaml

from training.classifier.recipe import read_recipe as read_classifier_recipe
from training.generator.recipe import read_recipe as read_generator_recipe

RECIPES = Path(__file__).parents[2] / "training" / "recipes"
READERS = {"task": read_classifier_recipe, "kind": read_generator_recipe}
FOUND = [
    (path, READERS[key])
    for path in sorted(RECIPES.rglob("*.yaml"))
    for key in READERS.keys() & (yaml.safe_load(path.read_text("utf-8")) or {}).keys()
]


@pytest.mark.parametrize(("path", "read"), FOUND, ids=lambda it: it.stem if isinstance(it, Path) else "")
def test_every_key_is_known(path, read):
    assert read(path)


def test_those_of_the_papers_are_among_them():
    names = {path.stem for path, _ in FOUND}
    assert {"weak", "dialogue", "gutenberg_gpt2", "gutenberg_transformer", "plain_os", "predictor_ed"} <= names


def test_the_papers_settings_are_in_the_recipes():
    weak, dialogue = (read_classifier_recipe(RECIPES / "papers" / f"{name}.yaml") for name in ("weak", "dialogue"))
    assert (weak.batch, weak.warmup, weak.epsilon) == (32, 0.1, 1e-6)
    assert (dialogue.batch, dialogue.shares, dialogue.epsilon) == (256, (0.6, 0.2, 0.2), 1e-6)
    os, edos, transformer, gpt2 = (
        read_generator_recipe(RECIPES / "papers" / "responses" / f"{name}.yaml")
        for name in ("empathetic_os", "empathetic_edos", "gutenberg_transformer", "gutenberg_gpt2")
    )
    assert (os.without, os.labeler, edos.labeler, edos.relabel) == ("edos", "weak", "weak", True)
    assert transformer.lower_case and transformer.drop_overlap and not gpt2.drop_overlap and gpt2.max_tokens == 500
