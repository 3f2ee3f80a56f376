"""Write what `metrics.py` measured as JSON, as tables in Markdown, and as pictures.

    python -m training.turns.report --scorer rules --out report/ labelled/*.parquet

measures scorers that the package has, on documents that `data.py` labelled; `train_turn_segmenter.py` calls
`write_report` itself.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats
from edos_dataset.runs.shards import write_text
from training.turns.metrics import by_confidence, compare, measure
from training.turns.pictures import draw
from training.turns.seams import Seams, read_labelled, score_with
from training.turns.tables import Results, render


def write_report(folder: Path, results: Results) -> list[Path]:
    """Write `report.json`, `report.md` and the pictures that it shows.

    Args:
        folder: made if missing; files of the same names are replaced.
        results: what to tell.

    Returns:
        The files that were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = draw(folder, results.scorers, results.learning_curve, results.ablation)
    record, text = folder / "report.json", folder / "report.md"
    write_text(record, json.dumps(asdict(results), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_text(text, render(results, {path.name: caption for path, caption in pictures.items()}))
    return [record, text, *pictures]


def assess(
    title: str,
    table: pa.Table,
    scores: Mapping[str, Floats],
    thresholds: Mapping[str, float],
    *,
    least: float = 0.0,
    seed: int = 0,
) -> Results:
    """Measure scorers on labelled documents: on all, on those of each corpus, and the first scorer against each other
    one.

    Args:
        title: heading of the report.
        table: documents as `read_labelled` returns them.
        scores: name of a scorer → float32 [sentences].
        thresholds: name of a scorer → its threshold.
        least: confidence below which a label counts as unknown, 0 to 1.
        seed: of the intervals.
    """
    seams = Seams.of(table).at_least(least)
    corpus = np.asarray(table["corpus"].to_pylist())[seams.group]
    rows = {source: corpus == source for source in dict.fromkeys(table["corpus"].to_pylist())}
    first, *others = scores
    return Results(
        title,
        facts={
            "seed of the intervals": seed,
            "least confidence": least,
            "sentences": len(seams),
            "seams without label": int((~seams.known()).sum()),
        },
        scorers={name: measure(seams, score, thresholds[name], seed=seed) for name, score in scores.items()},
        sources={
            name: {source: measure(seams[of], score[of], thresholds[name], seed=seed) for source, of in rows.items()}
            for name, score in scores.items()
        },
        comparisons=[
            {
                "first": first,
                "second": other,
                **compare(seams, scores[first], scores[other], (thresholds[first], thresholds[other]), seed=seed),
            }
            for other in others
        ],
        confidence={name: by_confidence(seams, score, thresholds[name]) for name, score in scores.items()},
    )


def main() -> None:
    """Measure scorers of the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="+", help="Parquet files of labelled documents")
    parser.add_argument(
        "--scorer",
        action="append",
        required=True,
        help="name of a scorer in the package; give several to compare the first with the others",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="a turn begins where the score is below it (default: 0.5)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.0, help="labels that are less sure are left out (default: 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the intervals (default: 0)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the report")
    args = parser.parse_args()
    table = read_labelled(args.documents)
    results = assess(
        "Turns",
        table,
        score_with(args.scorer, table),
        dict.fromkeys(args.scorer, args.threshold),
        least=args.confidence,
        seed=args.seed,
    )
    write_report(args.out, results)


if __name__ == "__main__":
    main()
