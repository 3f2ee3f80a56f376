"""Fingerprints of the stages: they cover what decides rows, and no prose."""

import pytest

from covered_code import covered
from edos_dataset.commands.built_in import KNOWN
from edos_dataset.publishing.attach import AttachLabels


@pytest.mark.parametrize("stage", [*KNOWN.values(), AttachLabels], ids=lambda stage: stage.__name__)
def test_a_stage_covers_itself_and_no_card_command_or_version(stage):
    modules = covered(stage.__module__)
    assert stage.__module__.removeprefix("edos_dataset.") in modules
    assert {name.partition(".")[0] for name in modules}.isdisjoint({"cli", "commands", "hub", "releases", "version"})
    assert not [name for name in modules if name.startswith("publishing.cards")]
    assert modules.isdisjoint({"runs.run", "runs.manifest", "runs.recipes"})


@pytest.mark.parametrize("stage", KNOWN.values(), ids=lambda stage: stage.__name__)
def test_a_config_more_makes_no_stage_stale(stage):
    assert "schema.configs" not in covered(stage.__module__)
