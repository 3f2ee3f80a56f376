"""Schemas of configs with the labels of a label set.

Stages do not import this module, so that a change of a config does not invalidate their fingerprints.
"""

import pyarrow as pa

from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.label_sets.schemas import label_set_of, with_label_set
from edos_dataset.schema import REGISTRY, Labels, arrow_schema
from edos_dataset.schema.tables import SEVERAL


def schema_of_set(config: str, labels: LabelSet, labelled: bool | None = None, several: bool = False) -> pa.Schema:
    """Return the Arrow schema of a config with the labels of a label set.

    Args:
        config: name of the config.
        labels: the label set.
        labelled: as for `schema.features`.
        several: whether a turn can have several labels.
    """
    return with_label_set(arrow_schema(config, labelled, Labels(labels.labels, several)), labels)


def schema_like(config: str, schema: pa.Schema) -> pa.Schema:
    """Return the Arrow schema of a config with the labels of a file, given the file's schema."""
    turns = schema.field("turns").type if "turns" in schema.names else None
    fields = getattr(getattr(turns, "value_type", None), "names", [])
    labelled = None if REGISTRY[config].labelled == "last turn" else "label" in fields
    return schema_of_set(config, label_set_of(schema), labelled, SEVERAL in fields)
