"""The settings of a recipe: a YAML file, and what the command line changes in it."""

from collections.abc import Sequence
from pathlib import Path

from edos_dataset.runs.recipes import RecipeError
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, shown, yaml_of


def read_settings(path: Path, changes: Sequence[str] = ()) -> dict[str, object]:
    """Read the settings of a recipe.

    Args:
        path: the YAML file.
        changes: texts "KEY=VALUE", the value as YAML, that take the place of what the file says.

    Raises:
        RecipeError: the file is no recipe, or a change is not of this form.
    """
    try:
        settings = read_yaml(path) or {}
    except UntrustedInputError as error:
        raise RecipeError(f"{path}: not a readable YAML file: {error}") from error
    if not isinstance(settings, dict):
        raise RecipeError(f"{path} is no recipe: it must say `key: value`, line by line")
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise RecipeError(f"--set expects KEY=VALUE, as in epochs=3; got {shown(change)}")
        try:
            settings[key] = _number(yaml_of(text))
        except UntrustedInputError as error:
            raise RecipeError(f"--set {change}: {shown(text)} is not a YAML value ({error})") from error
    return settings


def _number(value: object) -> object:
    """Convert numbers such as 1e-3, which YAML reads as text."""
    try:
        return float(value) if isinstance(value, str) and "e" in value.lower() else value
    except ValueError:
        return value
