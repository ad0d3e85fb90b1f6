"""Chapter 12's two plans that copy, over forty starts: ``python -m attention.course.experiments.plans --help``.

A model of two blocks can copy in two ways: the first block tells each token what came before it, which the second
block reads through its keys; or it tells a token where its symbol stood before, which the second block reads through
its queries. The models of :mod:`attention.course.experiments.induction` learn to copy from 32 starts, and from 8 of
them once more while no head of the first block can look one back. Then the first block's heads are kept from the
second block's queries, keys or values.

All runs together take about four minutes on one processor core.
"""

from functools import partial

import torch
from torch import Tensor

from attention.course.experiments import induction
from attention.course.experiments.runs import FIRST_LOSSES, command, stored
from attention.transformer import Transformer

STEPS = {"learned": 300, "barred": 600}
RUNS = [{"kind": kind, "seed": seed} for kind, starts in (("learned", 32), ("barred", 8)) for seed in range(starts)]


@torch.no_grad()
def without(model: Transformer, tokens: Tensor, role: str | None, attn_mask: Tensor | None = None) -> Tensor:
    """The logits (N, L, V) of a model whose second block sees the first block's heads in all but one of its roles.

    The role is ``"query"``, ``"key"`` or ``"value"``; None leaves the model whole. The mask is the first block's, as it
    was trained.
    """
    first, second = model.blocks
    embedded = model.embed(tokens)  # (N, L, E), which is what there would be without the first block's heads
    x, _ = first(embedded, attn_mask, is_causal=True)
    read = {"query": x, "key": x, "value": x}
    if role is not None:
        read[role] = embedded
    normed = {name: second.before_self_attention(each) for name, each in read.items()}
    added, _ = second.self_attention(**normed, is_causal=True)
    return model.unembed(x + added)


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``.

    Returns:
        the first ``losses``; the ``loss`` and the share of ``right`` answers where the next token can be known; and
        ``without``, the loss if the second block can't see the first block's heads in its queries, keys or values.
    """
    tokens, period = induction.test_texts(device)
    model, losses = induction.learn(settings, device, STEPS[settings["kind"]] if steps is None else steps)
    mask = induction.bar(induction.LENGTH).to(device) if settings["kind"] == "barred" else None

    def loss_and_share(role: str | None) -> tuple[float, float]:
        return induction.loss_and_share(without(model, tokens, role, mask), tokens, period)

    loss, right = loss_and_share(None)
    missing = {role: loss_and_share(role)[0] for role in ("query", "key", "value")}
    return {"losses": losses[:FIRST_LOSSES], "without": missing, "loss": loss, "right": right}


published = partial(stored, "plans")

if __name__ == "__main__":
    command("plans", __doc__, RUNS, examine)
