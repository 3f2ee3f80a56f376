"""What a user does with a saved model and transformers alone: a program whose argument is the folder."""

PIPELINE = """
import json, sys
from transformers import pipeline
from transformers.pipelines.pt_utils import KeyDataset
classify = pipeline("text-classification", model=sys.argv[1], trust_remote_code=True)
assert not any(name.startswith("edos_dataset") for name in sys.modules)
texts = ["i am so sad", "what ?", "you are happy ."]
spoken = [{"speaker": "a", "text": texts[0]}, {"speaker": "b", "text": texts[1]}, {"speaker": "a", "text": texts[2]}]
chat = [{"role": "user", "content": text} for text in texts]
rows = [{"said": text, "turns": texts[: end + 1]} for end, text in enumerate(texts)]
batches = []
forward = classify.forward
classify.forward = lambda inputs, **kwargs: (batches.append(len(inputs["input_ids"])), forward(inputs, **kwargs))[1]
answers = {
    "text": classify(texts[2]),
    "everything": classify(texts[2], top_k=None),
    "texts": classify(texts),
    "texts_top_2": classify(tuple(texts), top_k=2, batch_size=3),
    "spoken": classify(spoken),
    "chat": classify(chat),
    "turns": classify({"turns": texts}),
    "turns_top_2": classify({"turns": spoken}, top_k=2),
    "dialogues": classify([{"turns": texts}, spoken, texts, {"messages": chat}], batch_size=2),
    "keys": list(classify(KeyDataset(rows, "turns"), batch_size=2)),
    "keys_of_texts": list(classify(KeyDataset(rows, "said"), batch_size=2)),
    "rows": list(classify(KeyDataset([{"chat": chat}], "chat"))),
    "generator": list(classify((row["turns"] for row in rows), batch_size=2)),
    "iterator": list(classify(iter(rows), top_k=1)),
}
errors = []
bad = [[], "", 7, b"x", None, [[]], [1], [texts, 1], {}, {"turns": []}, {"turns": "a"}, {"turns": [1]}, {"said": "a"}]
for given in [*bad, chat[0], [texts[0], chat[0]], [{"role": "user", "content": [1]}], iter([[]])]:
    try:
        list(classify(given))
        errors.append("")
    except ValueError as error:
        errors.append(str(error))
for top_k in (0, -1, True, "three", 1.5):
    try:
        classify("what ?", top_k=top_k)
        errors.append("")
    except ValueError as error:
        errors.append(str(error))
print(json.dumps([answers, errors, batches]))
"""
