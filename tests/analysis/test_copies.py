import pyarrow as pa

from edos_dataset.analysis.batch import batch_of
from edos_dataset.analysis.duplicates import Keys, copies

LONG = "this is one long turn of nine words here"


def keys(**splits):
    found = Keys()
    for split, dialogues in splits.items():
        rows = [[{"text": text} for text in turns] for turns in dialogues]
        found.add(batch_of(pa.table({"dialogue_id": [str(place) for place in range(len(rows))], "turns": rows}), split))
    return found


def test_copies_within_and_between_splits_and_against_others():
    own = keys(
        train=[["Hello!", "Who's there?"], ["hello", "who s  THERE"], ["one", LONG], ["...", "?!"]],
        test=[["hello", "who's there"], [f"{LONG.upper()}!", "other"], ["-", "."]],
    )
    found = copies(own, {"theirs": keys(all=[["x", LONG]]), "nothing": keys()})
    assert found["within"]["train"] == {"dialogues": 4, "copies": 1, "shared_turn": 0, "alike": 1}
    assert list(found["within"]) == ["train", "test"] and found["between"][0]["of"] == "train"
    between = {(one["of"], one["in"]): (one["copies"], one["shared_turn"]) for one in found["between"]}
    assert between == {("test", "train"): (1, 2), ("train", "test"): (2, 3)}
    assert found["against"]["theirs"] == {"dialogues": 7, "copies": 0, "shared_turn": 2, "alike": 0}
    assert found["against"]["nothing"] == {"dialogues": 7, "copies": 0, "shared_turn": 0, "alike": 0}
