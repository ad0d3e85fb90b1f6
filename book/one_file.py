"""The whole course in one file: attention, from a dictionary to a Transformer.

Plain PyTorch, to read, copy and change; as a script it trains. B batch, H
heads, G heads of keys and values, L queries, N new keys, S all keys, E width, D
of a head, Dv of a value. Masks are boolean, True = may attend: (L, S), (B, 1 or
L, S) for each text, and in layers (B, H, L, S) for each head. ch. is a chapter.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def softmax(scores, mask=None):  # ch. 4, 5: scores become shares of one
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is not None:
        wide = wide.masked_fill(~mask, -math.inf)  # (…, L, S), hidden: share 0
    largest = wide.amax(-1, keepdim=True).detach()  # (…, L, 1)
    largest = largest.clamp(min=torch.finfo(wide.dtype).min)  # all hidden: 0
    exps = (wide - largest).exp()  # (…, L, S), at most 1, so none overflows
    return (exps / exps.sum(-1, keepdim=True).clamp(min=1.0)).to(scores.dtype)


def attention_weights(query, key, mask=None):  # ch. 2, 3: how well keys fit
    if mask is not None and 2 < mask.dim() < query.dim():
        raise ValueError("beside heads a mask of texts is mask.unsqueeze(1)")
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(wide) @ key.to(wide).mT / math.sqrt(query.shape[-1])
    return softmax(scores, mask).to(query.dtype)  # (…, L, S), rows of sum 1


def attention(query, key, value, mask=None):  # ch. 1: the soft lookup
    return attention_weights(query, key, mask) @ value  # (…, L, Dv), an average


def fused(query, key, value, mask=None, is_causal=False):  # ch. 7: the same
    sdpa = F.scaled_dot_product_attention  # in blocks: no (L, S) in memory
    if mask is None or is_causal:  # both: new versions join them
        return sdpa(query, key, value, mask, is_causal=is_causal)
    blind = ~mask.any(-1, keepdim=True)  # (…, L, 1), queries that see nothing
    return sdpa(query, key, value, mask | blind).masked_fill(blind, 0.0)


def causal_mask(L, S=None, offset=0, device=None):  # ch. 5: later is hidden
    return torch.ones(L, L if S is None else S, device=device).tril(offset) > 0


def window_mask(L, window, S=None, offset=0, device=None):  # ch. 5: last few
    return causal_mask(L, S, offset, device).triu(1 + offset - window)  # (L, S)


def padding_mask(lengths, S):  # ch. 5: padding is hidden; (B, 1, S)
    return torch.arange(S, device=lengths.device) < lengths[:, None, None]


def angles(start, L, D, device):  # ch. 8: how far a place turns each pair
    if D % 2:
        raise ValueError(f"the width must be even, found {D}")
    dtype = torch.float32 if device.type == "mps" else torch.float64
    positions = torch.arange(start, start + L, dtype=dtype, device=device)
    waves = 10000 ** (-torch.arange(0, D, 2, dtype=dtype, device=device) / D)
    return positions[:, None] * waves  # (L, D / 2)


def sinusoidal_positions(L, E, device="cpu"):  # ch. 8: to add to each token
    turns = angles(0, L, E, torch.device(device))  # (L, E / 2)
    return torch.stack([turns.sin(), turns.cos()], -1).flatten(-2).float()


def rotate(x, start=0):  # ch. 8: turned, keys and queries tell their distance
    turns = angles(start, *x.shape[-2:], x.device)  # (L, D / 2)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = turns.cos().to(wide), turns.sin().to(wide)
    a, b = x.chunk(2, -1)  # each (…, L, D / 2)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)


class Cache:  # ch. 13: one layer's keys and values of the tokens that were read
    def __init__(self, max_length):
        self.length, self.max_length, self.kept = 0, max_length, None

    def update(self, *new):  # a key and a value (B, G, N, D); use it in no_grad
        start, stop = self.length, self.length + new[0].shape[2]
        if stop > self.max_length:
            raise ValueError(f"max_length={self.max_length}, found {stop}")
        if self.kept is None:
            size = *new[0].shape[:2], self.max_length, new[0].shape[3]
            self.kept = [x.new_zeros(size) for x in new]
        for kept, rows in zip(self.kept, new, strict=True):
            kept[:, :, start:stop].view_as(rows)[:] = rows  # the same texts
        self.length = stop
        return [kept[:, :, :stop] for kept in self.kept]  # each (B, G, S, D)


class MultiHeadAttention(nn.Module):  # ch. 6, 7, 13: H heads look side by side
    def __init__(self, E, H, groups=None, rotary=False):
        super().__init__()
        if H < 1 or E % H or H % (groups or H):
            raise ValueError(f"E={E}, H={H}, groups={groups} must divide")
        self.H, self.G, self.D, self.rotary = H, groups or H, E // H, rotary
        self.q_proj, self.out_proj = nn.Linear(E, E), nn.Linear(E, E)
        self.k_proj, self.v_proj = (nn.Linear(E, self.G * self.D) for _ in "kv")

    def split(self, x, heads):  # (B, L, heads · D) → (B, heads, L, D)
        return x.view(x.shape[0], x.shape[1], heads, self.D).transpose(1, 2)

    def forward(self, query, key, value, mask=None, causal=False, cache=None):
        start = 0 if cache is None else cache.length
        q = self.split(self.q_proj(query), self.H)  # (B, H, L, D)
        k = self.split(self.k_proj(key), self.G)  # (B, G, N, D)
        v = self.split(self.v_proj(value), self.G)  # (B, G, N, D)
        if self.rotary:
            q, k = rotate(q, start), rotate(k, start)
        if cache is not None:
            k, v = cache.update(k, v)  # (B, G, S, D), with those kept before
        if self.G < self.H:  # some share a key: (B, G, S, D) → (B, H, S, D)
            k, v = (x.repeat_interleave(self.H // self.G, 1) for x in (k, v))
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # (B, 1, 1 or L, S)
        L, S = q.shape[2], k.shape[2]
        causal = causal and start + 1 < S  # a last query alone sees all
        if causal and (start or mask is not None):
            later = causal_mask(L, S, start, q.device)
            mask = later if mask is None else later & mask
        heads = fused(q, k, v, mask, causal and mask is None)  # (B, H, L, D)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, L, E)


class FeedForward(nn.Module):  # ch. 11: each token by itself
    def __init__(self, E, activation=F.gelu):  # GPT-2's is gelu by tanh
        super().__init__()
        self.up, self.down = nn.Linear(E, 4 * E), nn.Linear(4 * E, E)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))  # (B, L, E)


class Block(nn.Module):  # ch. 11: look at others, then by oneself; add both
    def __init__(self, E, H, activation=F.gelu, **options):
        super().__init__()
        self.attend = MultiHeadAttention(E, H, **options)
        self.feed_forward = FeedForward(E, activation)
        self.before_attend = nn.LayerNorm(E)
        self.before_feed_forward = nn.LayerNorm(E)

    def forward(self, x, mask=None, causal=False, cache=None):
        n = self.before_attend(x)  # (B, L, E)
        x = x + self.attend(n, n, n, mask, causal, cache)  # (B, L, E)
        return x + self.feed_forward(self.before_feed_forward(x))


class Transformer(nn.Module):  # ch. 11: for each token, scores of the next
    def __init__(self, V, E, H, num_layers, max_length, rotary=False, **more):
        super().__init__()
        self.token_embedding, self.max_length = nn.Embedding(V, E), max_length
        if not rotary:
            self.position_embedding = nn.Embedding(max_length, E)
        blocks = [Block(E, H, rotary=rotary, **more) for _ in range(num_layers)]
        self.blocks, self.rotary = nn.ModuleList(blocks), rotary
        self.final_norm = nn.LayerNorm(E)
        self.output = nn.Linear(E, V, bias=False)

    def forward(self, ids, mask=None, caches=None):  # (B, L); mask: of padding
        caches = caches or [None] * len(self.blocks)
        start = caches[0].length if caches[0] else 0
        stop = start + ids.shape[1]
        if stop > self.max_length:
            raise ValueError(f"max_length={self.max_length}, found {stop}")
        x = self.token_embedding(ids)  # (B, L, E)
        if not self.rotary:
            x = x + self.position_embedding.weight[start:stop]  # (B, L, E)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, mask, True, cache)  # (B, L, E)
        return self.output(self.final_norm(x))  # (B, L, V)

    @torch.no_grad()
    def generate(self, ids, length, temperature=0.0):  # → (B, L + length)
        if ids.shape[1] + length - 1 > self.max_length:
            raise ValueError(f"{length} more pass max_length={self.max_length}")
        caches, unread = [Cache(self.max_length) for _ in self.blocks], ids
        for _ in range(length):
            logits = self(unread, caches=caches)[:, -1]  # (B, V)
            unread = logits.argmax(-1, keepdim=True)  # (B, 1)
            if temperature:
                unread = (logits / temperature).softmax(-1).multinomial(1)
            ids = torch.cat([ids, unread], 1)
        return ids


def loops(count, V=32, L=32, device=None):  # ch. 12: symbols come again
    period = torch.randint(8, 17, (count, 1))
    symbols = torch.rand(count, V).argsort(-1)  # (B, V), all different
    ids = symbols.gather(1, torch.arange(L + 1) % period)  # (B, L + 1)
    parts = ids[:, :-1], ids[:, 1:], torch.arange(L) >= period  # third: bool
    return [part.to(device) for part in parts]


def train(steps=300, device=None):
    model = Transformer(V=32, E=64, H=2, num_layers=2, max_length=32).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 0.003, betas=(0.9, 0.99))
    for _ in range(steps):
        ids, targets, _ = loops(32, device=device)
        loss = F.cross_entropy(model(ids).mT, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, (ids, targets, known) = train(300, device), loops(256, device=device)
    right = (model(ids).argmax(-1) == targets)[known].float().mean()
    print(f"copied places that are right: {right:.2f}")
    twice = torch.tensor([[3, 1, 4, 15, 9, 2, 6, 5] * 2]).to(device)
    print(model.generate(twice, 16).tolist())
