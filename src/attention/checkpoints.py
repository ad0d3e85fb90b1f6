"""GPT-2's published weights in the places of our own layers.

Dimensions: E width.
"""

import json
from functools import partial
from os import PathLike
from pathlib import Path

from torch import Tensor, nn

from attention.blocks import FeedForward

# What a GPT-2 is when its config.json says nothing; what it may not be otherwise here.
GPT2_DEFAULTS = {"layer_norm_epsilon": 1e-5, "n_inner": None}
GPT2_FIXED = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
GPT2_NAMES = {  # theirs, ours
    "wte.": "token_embedding.",
    "wpe.": "position_embedding.",
    "ln_f.": "final_norm.",
    "h.": "blocks.",
    "ln_1.": "before_self_attention.",
    "ln_2.": "before_feed_forward.",
    "attn.c_proj.": "self_attention.out_proj.",
    "attn.c_attn.": "self_attention.c_attn.",
    "mlp.c_fc.": "feed_forward.up.",
    "mlp.c_proj.": "feed_forward.down.",
}
GPT2_NOT_WEIGHTS = (".attn.bias", ".attn.masked_bias", "lm_head.weight")  # causal masks, and the embedding once more


def read_gpt2(path: str | PathLike) -> tuple[dict, dict[str, Tensor]]:
    """Read a GPT-2 from a folder for :meth:`attention.Transformer.from_gpt2`.

    Returns:
        the arguments with which our model is made, and the weights by the names and in the shapes that it has.
    """
    from safetensors.torch import load_file  # optional: nothing else in the package needs it

    path = Path(path)
    config = GPT2_DEFAULTS | GPT2_FIXED | json.loads((path / "config.json").read_text(encoding="utf-8"))
    for name, wanted in GPT2_FIXED.items():
        if config[name] != wanted:
            raise ValueError(f"config.json must have {name} {wanted!r}, found {config[name]!r}")
    gelu = partial(nn.functional.gelu, approximate="tanh")  # "gelu_new"
    options = {
        "vocab_size": config["vocab_size"],
        "embed_dim": config["n_embd"],
        "num_heads": config["n_head"],
        "num_layers": config["n_layer"],
        "max_length": config["n_positions"],
        "feed_forward": partial(FeedForward, hidden_dim=config["n_inner"], activation=gelu),
        "norm_layer": partial(nn.LayerNorm, eps=config["layer_norm_epsilon"]),
    }
    state = {}
    for name, weight in load_file(path / "model.safetensors").items():
        name = name.removeprefix("transformer.")
        if name.endswith(GPT2_NOT_WEIGHTS):
            continue
        if ".c_" in name and weight.dim() == 2:
            weight = weight.mT  # (in, out) → (out, in), as nn.Linear has it
        for theirs, ours in GPT2_NAMES.items():
            name = name.replace(theirs, ours)
        if "c_attn" in name:
            for each, part in zip("qkv", weight.chunk(3), strict=False):  # (3E, …) → three times (E, …)
                state[name.replace("c_attn", f"{each}_proj")] = part
        else:
            state[name] = weight
    if "token_embedding.weight" in state:
        state["output.weight"] = state["token_embedding.weight"]
    return options, state
