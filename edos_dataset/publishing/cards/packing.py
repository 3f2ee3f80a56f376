"""What a card says of weights that were rounded to ship."""

from edos_dataset.publishing.cards.markdown import percent
from edos_dataset.publishing.cards.model_header import Row


def packing_section(record: Row) -> str:
    """Return what rounding the weights to 8 bits changed, after these figures were taken."""
    told = record.get("packing")
    if not told:
        return ""
    lines = [
        f"Its weights were then rounded to 8 bits: perplexity a token {told['perplexity_before']:,.2f} before and "
        f"{told['perplexity_after']:,.2f} after, on {told['test_pairs']:,} test pairs."
    ]
    if "predictor_accuracy_after" in told:
        before, after = (percent(told[f"predictor_accuracy_{when}"]) for when in ("before", "after"))
        lines.append(f"Its predictor names {before} of {told['predictor_pairs']:,} labels before and {after} after.")
    lines.append(
        f"Of {told['answers']:,} greedy answers {percent(told['equal_answers'])} stayed the same word by word, and "
        f"{percent(told['equal_labels'])} of their labels."
    )
    return "\n\n" + " ".join(lines)
