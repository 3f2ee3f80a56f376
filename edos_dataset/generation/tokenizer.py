"""A tokenizer trained from the data: byte-level BPE with the special ids of RoBERTa."""

from collections.abc import Iterable

from tokenizers import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing
from transformers import PreTrainedTokenizerFast

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
"""Special tokens, whose ids are 0 to 3 as in RoBERTa."""


def train_tokenizer(texts: Iterable[str], vocab_size: int = 8_000, least: int = 2) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer learned from texts; any text can be read by it, and comes back as it was.

    Args:
        texts: what to learn from; they are read once, and not kept.
        vocab_size: tokens, the 4 special ones and 256 bytes included.
        least: how often a pair must occur to become a token.

    Raises:
        ValueError: the vocabulary is too small for all bytes.
    """
    if vocab_size < len(SPECIAL) + 256:
        raise ValueError(f"vocab_size must be at least {len(SPECIAL) + 256}, for all bytes, got {vocab_size}")
    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator(
        texts, vocab_size=vocab_size, min_frequency=least, special_tokens=list(SPECIAL), show_progress=False
    )
    start, padding, end, unknown = SPECIAL
    # A text by itself is read as a history of one turn.
    frame = RobertaProcessing((end, 2), (start, 0), trim_offsets=False, add_prefix_space=False)
    learned._tokenizer.post_processor = frame
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=learned._tokenizer,
        bos_token=start,
        pad_token=padding,
        eos_token=end,
        unk_token=unknown,
        cls_token=start,
        sep_token=end,
        clean_up_tokenization_spaces=False,
    )
