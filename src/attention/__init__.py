"""Attention, from a dictionary to the Transformer: the package behind the Soft Lookup course.

To read it, begin with functional, the formulas, and masks; then modules, a layer from its forward down to the formulas;
cache, positions, blocks, transformer and sampling. Beside them stand regression, contexts with seq2seq, and efficient.
"""

from importlib import import_module

from attention.blocks import Block, DecoderBlock, FeedForward
from attention.cache import KeyValueCache
from attention.contexts import AdditiveAttention, DotProductAttention, LastState
from attention.devices import default_device
from attention.efficient import linear_attention, streaming_attention
from attention.functional import attention_weights, masked_softmax, scaled_dot_product_attention
from attention.masks import causal_mask, padding_mask, window_mask
from attention.modules import MultiHeadAttention
from attention.positions import alibi_bias, alibi_slopes, rotate, rotate_heads, sinusoidal_positions
from attention.regression import NadarayaWatson, nadaraya_watson
from attention.sampling import next_probabilities
from attention.seq2seq import BOS, EOS, PAD, Decoder, Encoder, Translator
from attention.transformer import Transformer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "AdditiveAttention",
    "Block",
    "Decoder",
    "DecoderBlock",
    "DotProductAttention",
    "Encoder",
    "FeedForward",
    "KeyValueCache",
    "LastState",
    "MultiHeadAttention",
    "NadarayaWatson",
    "Transformer",
    "Translator",
    "Vocabulary",
    "alibi_bias",
    "alibi_slopes",
    "attention_weights",
    "causal_mask",
    "default_device",
    "draw_dates",
    "draw_dictionary",
    "exact_matches",
    "linear_attention",
    "masked_softmax",
    "nadaraya_watson",
    "next_probabilities",
    "padding_mask",
    "rotate",
    "rotate_heads",
    "scaled_dot_product_attention",
    "sinusoidal_positions",
    "streaming_attention",
    "train",
    "ways_to_write",
    "window_mask",
]

IN_COURSE = dict.fromkeys(("Vocabulary", "draw_dates", "draw_dictionary", "ways_to_write"), "data")
IN_COURSE |= dict.fromkeys(("exact_matches", "train"), "training")


def __getattr__(name: str) -> object:
    """Hand on the names of the course that stand in ``__all__``, when they are asked for."""
    if name in IN_COURSE:
        return getattr(import_module(f"attention.course.{IN_COURSE[name]}"), name)
    raise AttributeError(f"module 'attention' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *IN_COURSE})
