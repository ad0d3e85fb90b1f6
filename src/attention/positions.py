"""What tells attention where a token stands: waves added to it, a turn of queries and keys, a bias on the scores.

Dimensions: … leading (batch, heads), H heads, L queries, S keys, E width, D width of a head.
"""

import math

import torch
from torch import Tensor

from attention.arguments import broadcasts, check_choice, check_counts, check_matrix, check_positive, shapes, type_of
from attention.devices import LACKING


def sinusoidal_positions(length: int, dim: int, *, base: float = 10000.0, device=None, dtype=None) -> Tensor:
    """One vector for each position, made of sines and cosines of dim / 2 wavelengths, to be added to the tokens.

    ``positions[p, 2i] = sin(p / base^(2i / dim))`` and ``positions[p, 2i + 1] = cos(p / base^(2i / dim))``: (L, E),
    computed in float64 and then rounded.

    Args:
        length: number of positions L, from 0 on.
        dim: width E, even.
        base: the wavelengths, in tokens, run from 2π up to 2π · ``base`` ^ (1 − 2 / width).
        device: where to make them.
        dtype: a floating-point type; PyTorch's default when not given.

    Raises:
        TypeError, ValueError: a count is no integer of at least 0, ``dim`` is not even, ``base`` not positive, or
            ``dtype`` not floating-point.

    Source: Vaswani et al. (2017), section 3.5.

    >>> sinusoidal_positions(2, 2)
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """
    check_counts(length=length, dim=dim)
    check_positive("base", base)
    _check_dtype(dtype)
    if dim % 2:
        raise ValueError(f"dim must be even, a sine and a cosine for each wavelength, found {dim}")
    angles = _angles(torch.arange(length, device=device), dim, base)  # (L, E / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype or torch.get_default_dtype())


def rotate(x: Tensor, positions: Tensor | None = None, *, base: float = 10000.0, layout: str = "halves") -> Tensor:
    """Turn each pair of numbers of each row by an angle that grows with the row's position (rotary positions).

    Pair i of a row at position p, ``(a, b)``, becomes ``(a cos φ − b sin φ, a sin φ + b cos φ)`` with
    ``φ = p / base^(2i / D)``. If queries and keys are both turned, their dot products depend on the distance of their
    positions alone. Values are not turned. The angles are computed in float64 (on MPS, which lacks it, in float32), the
    products in float32 or better.

    Args:
        x: queries or keys, (…, L, D), with D even; of heads (B, H, L, D). In the order (B, L, H, D) each row would
            be turned by the number of its head.
        positions: whole numbers or fractions, (L,), or with all dimensions of x but the last, each of x's size or 1;
            0, 1, 2, … when not given. New queries that meet S − L kept keys stand at S − L, S − L + 1, ….
        base: the wavelengths, in tokens, run from 2π up to 2π · ``base`` ^ (1 − 2 / width).
        layout: which numbers form a pair: ``"halves"``, i and i + D / 2, or ``"interleaved"``, 2i and 2i + 1. Weights
            trained with one of them mean nothing to the other.

    Returns:
        (…, L, D), of x's dtype; each row is as long as before.

    Raises:
        TypeError, ValueError: x is not floating-point, D is not even, the positions are no numbers or do not fit x,
            ``base`` is not positive, or there is no such layout.

    Source: Su et al. (2021), section 3.2, which has the pairs interleaved.

    >>> query, key = torch.randn(2, 7, 8, dtype=torch.float64)
    >>> scores = rotate(query) @ rotate(key).mT
    >>> later = torch.arange(7) + 100
    >>> torch.allclose(rotate(query, later) @ rotate(key, later).mT, scores)
    True
    """
    return _turned(x, positions, base, layout)[0]


def rotate_heads(
    query: Tensor,
    key: Tensor,
    query_positions: Tensor | None = None,
    key_positions: Tensor | None = None,
    *,
    base: float = 10000.0,
    layout: str = "halves",
) -> tuple[Tensor, Tensor]:
    """Turn queries (…, L, D) and keys (…, S, D) by their positions: :func:`rotate` as the ``process_heads`` of a layer.

    Positions, base, layout and errors are those of :func:`rotate`. With another base it is ``partial(rotate_heads,
    base=500_000.0)``.

    >>> from attention import MultiHeadAttention
    >>> layer, tokens = MultiHeadAttention(8, 2, process_heads=rotate_heads), torch.randn(1, 5, 8)
    >>> later = torch.arange(5) + 100
    >>> shifted, _ = layer(tokens, tokens, tokens, query_positions=later, key_positions=later)
    >>> torch.allclose(shifted, layer(tokens, tokens, tokens)[0], atol=1e-5)
    True
    """
    query, turns = _turned(query, query_positions, base, layout)
    is_same = key_positions is query_positions is not None
    return query, _turned(key, key_positions, base, layout, turns if is_same else None)[0]


def alibi_slopes(num_heads: int, *, device=None, dtype=None) -> Tensor:
    """By how much one token of distance lowers a score in each head, for :func:`alibi_bias`.

    For a power of two they are ``2^(−8h/H)``, h = 1 … H. For other numbers they are those of the power of two below,
    followed by every other one of twice that power's. They are (H,).

    Args:
        num_heads: number of heads H, at least 1.
        device: where to make them.
        dtype: a floating-point type; PyTorch's default when not given.

    Source: Press et al. (2022), section 3; for other numbers their published code.

    >>> alibi_slopes(3).tolist()
    [0.0625, 0.00390625, 0.25]
    """
    check_counts(least=1, num_heads=num_heads)
    _check_dtype(dtype)
    power = 2 ** int(math.log2(num_heads))  # the power of two at or below it
    exponents = [8 * head / power for head in range(1, power + 1)]
    exponents += [4 * head / power for head in range(1, 2 * (num_heads - power), 2)]
    return torch.tensor([2.0**-exponent for exponent in exponents], device=device, dtype=dtype)


def alibi_bias(
    num_heads: int, length: int, key_length: int | None = None, *, offset: int = 0, device=None, dtype=None
) -> Tensor:
    """Lower each score in proportion to the distance of query and key: a bias to be added to the scaled scores.

    ``bias[h, i, j] = −slope_h · |i + offset − j|``, with the slopes of :func:`alibi_slopes`.

    Args:
        num_heads: number of heads H.
        length: number of queries L.
        key_length: number of keys S; L when not given.
        offset: number of keys that stand before the first query's own, as in :func:`attention.causal_mask`.
        device: where to make it.
        dtype: as in :func:`alibi_slopes`.

    Returns:
        (H, L, S), the ``attn_bias`` of :class:`attention.MultiHeadAttention`. It hides nothing: a decoder needs the
        causal mask as well.

    Source: Press et al. (2022), section 3.

    >>> alibi_bias(2, 2)[0]
    tensor([[ 0.0000, -0.0625],
            [-0.0625,  0.0000]])
    """
    key_length = length if key_length is None else key_length
    check_counts(length=length, key_length=key_length)
    check_counts(least=None, offset=offset)
    slopes = alibi_slopes(num_heads, device=device, dtype=dtype)
    query, key = torch.arange(length, device=device), torch.arange(key_length, device=device)
    distance = (query[:, None] + offset - key).abs()  # (L, S)
    return slopes[:, None, None] * -distance


def check_positions(name: str, positions: Tensor, rows: tuple[int, ...]) -> None:
    """Raise unless the positions are numbers for rows (…, L): one for each of the L, or with all dimensions."""
    if not isinstance(positions, Tensor) or positions.dtype == torch.bool:
        raise TypeError(f"{name} must be a tensor of numbers, found {type_of(positions)}")
    if positions.shape != rows[-1:] and (positions.dim() != len(rows) or not broadcasts(positions, rows)):
        wanted = f"{tuple(rows[-1:])}, or all dimensions of {tuple(rows)}"
        raise ValueError(f"{name} must have shape {wanted}, found {tuple(positions.shape)}")


def _check_dtype(dtype: torch.dtype | None) -> None:
    if not (dtype is None or dtype.is_floating_point):
        raise TypeError(f"dtype must be a floating-point type, found {dtype}")


def _turned(x: Tensor, positions: Tensor | None, base: float, layout: str, turns=None) -> tuple[Tensor, tuple]:
    """:func:`rotate`, and the cosines and sines (…, L, D / 2) that it took; who knows them already may give them."""
    check_matrix("x", x)
    check_positive("base", base)
    check_choice("layout", layout, ("halves", "interleaved"))
    if x.size(-1) % 2:
        raise ValueError(f"x must have an even width, to be turned in pairs, found {shapes(x=x)}")
    if positions is None:
        positions = torch.arange(x.size(-2), device=x.device)
    else:
        check_positions("positions", positions, x.shape[:-1])
    if turns is None or 2 * turns[0].size(-1) != x.size(-1):
        angles = _angles(positions, x.size(-1), base)  # (…, L, D / 2)
        turns = angles.cos(), angles.sin()
    cos, sin = (each.to(torch.promote_types(x.dtype, torch.float32)) for each in turns)
    if layout == "halves":
        a, b = x.chunk(2, dim=-1)  # each (…, L, D / 2)
        turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    else:
        a, b = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return turned.to(x.dtype), turns


def _angles(positions: Tensor, dim: int, base: float) -> Tensor:
    """``position / base^(2i / dim)``, (…, dim / 2): exact enough at any position, so not in a model's own dtype."""
    dtype = torch.float32 if torch.float64 in LACKING.get(positions.device.type, ()) else torch.float64
    pairs = torch.arange(0, dim, 2, device=positions.device, dtype=dtype)
    return positions.to(dtype).unsqueeze(-1) * base ** (-pairs / dim)
