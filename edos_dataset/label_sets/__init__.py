"""Label sets as data: their labels, the meanings of these, and the maps that translate between sets.

A label set is built in (`BUILT_IN`), read from a YAML file, or made of the names that a model predicts. `edos labels`
shows them.
"""

from edos_dataset.label_sets.label_map import LabelMap as LabelMap
from edos_dataset.label_sets.label_map import load_label_map as load_label_map
from edos_dataset.label_sets.label_map import map_between as map_between
from edos_dataset.label_sets.label_set import LabelSet as LabelSet
from edos_dataset.label_sets.label_set import LabelSetError as LabelSetError
from edos_dataset.label_sets.reading import BUILT_IN as BUILT_IN
from edos_dataset.label_sets.reading import DEFAULT as DEFAULT
from edos_dataset.label_sets.reading import known_set as known_set
from edos_dataset.label_sets.reading import load_label_set as load_label_set
from edos_dataset.label_sets.reading import set_of_names as set_of_names
from edos_dataset.label_sets.schemas import label_set_of as label_set_of
from edos_dataset.label_sets.schemas import with_label_set as with_label_set
