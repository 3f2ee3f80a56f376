"""Small models with random weights, saved as trained ones are."""

import copy

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

from edos_dataset.labeling.models.classifier import DialogueClassifier, DialogueClassifierConfig
from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labels import LABELS

WORDS = [
    "i",
    "you",
    "we",
    "they",
    "am",
    "are",
    "is",
    "was",
    "the",
    "a",
    "my",
    "your",
    "dog",
    "train",
    "home",
    "today",
    "not",
    "so",
    "very",
    "happy",
    "sad",
    "angry",
    "sorry",
    "thank",
    "where",
    "what",
    "why",
    "yes",
    "no",
    "oh",
    "great",
    ".",
    ",",
    "?",
    "!",
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *WORDS]
ENCODER = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
CONVENTIONS = ["crowd", "meld"]
ANSWERS = {
    "dialogue": {"sees": "history", "conventions": {"crowd": 1.0, "meld": 2.0}, "temperature": 1.5},
    "weak": {"sees": "turn", "conventions": {"crowd": 3.0, "meld": 1.0}, "temperature": 0.8},
}
NAMES = {"id2label": dict(enumerate(LABELS)), "label2id": {name: label for label, name in enumerate(LABELS)}}


def small_tokenizer(words=WORDS) -> PreTrainedTokenizerFast:
    """A tokenizer of words, with BERT's special tokens."""
    vocabulary = {word: row for row, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


def spread(model: torch.nn.Module) -> None:
    """Give all weights random values that make the labels differ."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.normal_(0, 0.4, generator=generator)


def save_dialogue_classifier(folder, seed=0, **settings) -> DialogueClassifier:
    """Save a DialogueClassifier and its tokenizer; return the model."""
    torch.manual_seed(seed)
    config = DialogueClassifierConfig(
        encoder={"model_type": "bert", **ENCODER},
        separator_id=3,
        max_tokens=24,
        num_labels=len(LABELS),
        **NAMES,
        **settings,
    )
    model = DialogueClassifier(config).eval()
    spread(model)
    model.save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return model


def small_context_classifier(kind="bert", **settings) -> ContextClassifier:
    """A ContextClassifier around a small encoder of a kind of transformers, in which turns, their order and the
    conventions count; its answers are `dialogue` and `weak`.
    """
    usual = {"context_heads": 4, "window": 3, "turn_tokens": 12, "separator_id": 3, "start_id": 2}
    usual |= {"conventions": CONVENTIONS, "answers": copy.deepcopy(ANSWERS)}
    encoder = {"model_type": kind, "pad_token_id": 0, **ENCODER}
    config = ContextClassifierConfig(encoder=encoder, **(usual | settings), **NAMES)
    model = ContextClassifier(config).eval()
    spread(model)
    return model


def save_context_classifier(folder, kind="bert", **settings) -> ContextClassifier:
    """Save such a model and its tokenizer; return the model."""
    model = small_context_classifier(kind, **settings)
    model.save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return model


def save_backbone(folder, words=WORDS, seed=0) -> str:
    """Save a BERT that nobody has trained, and its tokenizer; return the folder's name."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(BertConfig(**(ENCODER | {"vocab_size": len(SPECIAL) + len(words)})))
    model.save_pretrained(folder)
    small_tokenizer(words).save_pretrained(folder)
    return str(folder)


def save_plain_classifier(folder, names=None) -> BertForSequenceClassification:
    """Save a sequence classifier of transformers, with the labels in another order, or other labels."""
    order = names or list(reversed(LABELS))
    model = BertForSequenceClassification(
        BertConfig(**ENCODER, id2label=dict(enumerate(order)), label2id={name: row for row, name in enumerate(order)})
    ).eval()
    spread(model)
    model.save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return model
