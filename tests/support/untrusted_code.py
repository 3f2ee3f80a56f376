"""Code that comes with a model and leaves a trace when it is run."""

import json

EVIL = """
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
pathlib.Path({ran!r}).touch()
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
class Config(BertConfig):
    model_type = "evil"
class Model(BertForSequenceClassification):
    config_class = Config
class Token(PreTrainedTokenizerFast):
    pass
"""


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
