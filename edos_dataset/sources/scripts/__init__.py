"""Screenplays and transcripts as sources: speeches in order, each with its speaker, its scene and the writer's note."""

from edos_dataset.sources.scripts.reading import NotAScriptError as NotAScriptError
from edos_dataset.sources.scripts.reading import may_be_script as may_be_script
from edos_dataset.sources.scripts.reading import read_fdx as read_fdx
from edos_dataset.sources.scripts.reading import read_fountain as read_fountain
from edos_dataset.sources.scripts.reading import read_script as read_script
