"""How kernel regression learns: the training loss and its gradient in closed form, a block of pairs at a time."""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

BLOCK = 2**20  # pairs of a query and a key held at a time: few enough to stay in a processor's cache


@torch.no_grad()
def loss_and_gradient(x: Tensor, y: Tensor, w: Tensor, *, leave_one_out: bool = False) -> tuple[Tensor, Tensor]:
    """The mean squared error of answering each point from all, and its gradient by w.

    ``L = Σ rᵢ² / n`` with ``rᵢ = fᵢ − yᵢ``, ``fᵢ = Σ pᵢⱼ yⱼ``, ``pᵢ = softmax(sᵢ)``, ``sᵢⱼ = −½ (xᵢ − xⱼ)² wⱼ²``. Then

    - ``∂L/∂fᵢ = 2 rᵢ / n``, ``∂fᵢ/∂sᵢⱼ = pᵢⱼ (yⱼ − fᵢ)`` and ``∂sᵢⱼ/∂wⱼ = −wⱼ (xᵢ − xⱼ)²``,
    - so that ``∂L/∂wⱼ = −(2/n) wⱼ Σᵢ rᵢ pᵢⱼ (yⱼ − fᵢ) (xᵢ − xⱼ)²``; by one w for all it is the sum over j.

    It passes over the keys that all together weigh less than a rounding of the row's sum; they are many where points
    that follow each other lie close: sort them.

    Args:
        x: n points on a line, (n,), best sorted; queries and keys at once.
        y: their values, (n,).
        w: one over the kernel's width, (n,) for one a key or () for one for all.
        leave_one_out: whether each point is left out of its own answer.

    Returns:
        loss (), and gradient of w's shape.

    >>> x, y, w = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 0.0]), torch.ones(3, requires_grad=True)
    >>> loss, w.grad = loss_and_gradient(x, y, w, leave_one_out=True)
    >>> loss, w.grad
    (tensor(2.0099), tensor([ 0.9269, -0.3824, -0.2660]))
    """
    n = len(x)
    curvature = -0.5 * w.square().expand(n)
    floor = _beside(x, curvature) if leave_one_out else torch.zeros_like(x)  # no query's best score is below it
    negligible = math.log(torch.finfo(x.dtype).eps / n)
    loss, gradient = x.new_zeros(()), torch.zeros_like(x)
    for own in torch.arange(n, device=x.device).split(max(BLOCK // n, 1)):
        nearest, farthest = x[own].aminmax()
        gap = (nearest - x).clamp(min=0) + (x - farthest).clamp(min=0)  # from the block to each key
        is_far = curvature * gap.square() < floor[own].min() + negligible
        near = (~is_far).nonzero().squeeze(-1)
        square = (x[own, None] - x[near]).square_()
        scores = square * curvature[near]
        if leave_one_out:
            scores[own - own[0], torch.searchsorted(near, own)] = -math.inf
        weights = scores.softmax(-1)
        answer = weights @ y[near]
        residual = answer - y[own]
        loss += residual @ residual
        sums = torch.stack([residual, residual * answer]) @ square.mul_(weights)
        gradient[near] += y[near] * sums[0] - sums[1]
    gradient *= -2 / n * w
    return loss / n, gradient if w.dim() else gradient.sum()


def _beside(x: Tensor, curvature: Tensor) -> Tensor:
    """For each query the better score of the two keys beside it: its best of all is no worse."""
    square = x.diff().square()
    before = pad(curvature[:-1] * square, (1, 0), value=-math.inf)
    after = pad(curvature[1:] * square, (0, 1), value=-math.inf)
    return torch.maximum(before, after)
