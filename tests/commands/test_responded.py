import pytest

import edos_dataset
from edos_dataset.generation.responder import Responder
from small_responders import EMPATHETIC, save_responder


def test_respond_answers_texts_and_dialogues(tmp_path):
    save_responder(tmp_path, **EMPATHETIC)
    given = {"labeler": "fast", "beams": 2, "device": "cpu"}
    one = edos_dataset.respond("where is the dog", tmp_path, label="consoling", candidates=2, **given)
    wanted = Responder.load(tmp_path, labeler="fast").respond([["where is the dog"]], "consoling", 2, 2)
    assert one == wanted and len(one[0]) == 2
    some = edos_dataset.respond(["where is the dog", ["I am happy", "so"]], tmp_path, **given)
    assert len(some) == 2 and some[0][0].label and 0 < some[0][0].probability < 1
    drawn = [edos_dataset.respond("so", tmp_path, label=3, sample=True, seed=seed, **given) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    one_token = {"sample": True, "top_k": 1, "temperature": 2.0, "block": False, "max_tokens": 4}
    assert (
        len({edos_dataset.respond("so", tmp_path, label=3, seed=seed, **one_token, **given)[0][0] for seed in (1, 2)})
        == 1
    )
    with pytest.raises(ValueError, match="temperature=0.7 is for drawing answers: give sample=True too"):
        edos_dataset.respond("so", tmp_path, label=3, temperature=0.7, **given)
    with pytest.raises(ValueError, match="holds no response model"):
        edos_dataset.respond("so", tmp_path.parent, **given)
