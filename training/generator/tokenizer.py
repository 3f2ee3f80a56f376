"""A tokenizer trained from the data: byte-level BPE with the special ids of RoBERTa."""

from collections.abc import Iterable

from tokenizers import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing
from transformers import PreTrainedTokenizerFast

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
"""Special tokens, with ids 0 to 3 as in RoBERTa."""


def train_tokenizer(
    texts: Iterable[str], vocab_size: int = 8_000, least: int = 2, lower_case: bool = False
) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer trained on texts; it encodes any text without loss but of its case.

    Args:
        texts: iterated once and not kept in memory.
        vocab_size: number of tokens, including 4 special tokens and 256 bytes.
        least: minimum number of occurrences of a pair that becomes a token.
        lower_case: whether texts are put in lower case first.

    Raises:
        ValueError: the vocabulary is too small for all bytes.
    """
    if vocab_size < len(SPECIAL) + 256:
        raise ValueError(f"vocab_size must be at least {len(SPECIAL) + 256}, for all bytes, got {vocab_size}")
    learned = ByteLevelBPETokenizer(lowercase=lower_case)
    learned.train_from_iterator(
        texts, vocab_size=vocab_size, min_frequency=least, special_tokens=list(SPECIAL), show_progress=False
    )
    start, padding, end, unknown = SPECIAL
    # A single text is encoded as a history of one turn.
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
