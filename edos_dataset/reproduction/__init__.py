"""The papers, claim by claim: what each states, and what the same figure is on public data and on a run of yours."""

from edos_dataset.reproduction.results import Data, Result, reproduce
from edos_dataset.reproduction.rows import COSTS, Row, load_rows

__all__ = ["COSTS", "Data", "Result", "Row", "load_rows", "reproduce"]
