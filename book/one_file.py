"""The whole course in one file: attention, from a dictionary to a Transformer.

B batch, H heads, G heads of keys, L queries, N new keys, S all keys, E width, D
of a head, V ids. Masks: True = may attend, (L, S) or of texts (B, 1 or L, S).
"""

import torch
from torch import nn
from torch.nn import functional as F


def softmax(scores, mask=None):  # ch. 4, 5: exp(scores) / exp(scores).sum(-1)
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is not None:
        wide = wide.masked_fill(~mask, -torch.inf)  # hidden: exp(-inf) is 0
    largest = wide.amax(-1, keepdim=True).detach()  # less it no exp overflows
    largest = largest.clamp(min=torch.finfo(wide.dtype).min)  # inf - inf is NaN
    exps = (wide - largest).exp()  # (…, L, S), of at most 1
    return (exps / exps.sum(-1, keepdim=True).clamp(min=1.0)).to(scores.dtype)


def causal_mask(L, S=None, offset=0, device=None):  # ch. 5: later is hidden
    return torch.ones(L, L if S is None else S, device=device).tril(offset) > 0


def window_mask(L, window, S=None, offset=0, device=None):  # ch. 5: last few
    return causal_mask(L, S, offset, device).triu(1 + offset - window)  # (L, S)


def padding_mask(lengths, S):  # ch. 5: padding is hidden; (B, 1, S)
    return torch.arange(S, device=lengths.device) < lengths[:, None, None]


def one_mask(query, key, mask, is_causal, offset):  # ch. 5, 13: both together
    if mask is not None and 2 < mask.dim() < query.dim():
        raise ValueError("beside heads a mask of texts is mask.unsqueeze(1)")
    if not is_causal or key.shape[-2] <= offset + 1:  # one new key: none later
        return mask
    earlier = causal_mask(query.shape[-2], key.shape[-2], offset, query.device)
    return earlier if mask is None else mask & earlier


def attention_weights(query, key, mask=None, is_causal=False, offset=0):
    mask = one_mask(query, key, mask, is_causal, offset)  # ch. 2, 3
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(wide) @ key.to(wide).mT / query.shape[-1] ** 0.5
    return softmax(scores, mask).to(query.dtype)  # (…, L, S), rows of sum 1


def attention(query, key, value, mask=None, is_causal=False, offset=0):  # ch. 1
    return attention_weights(query, key, mask, is_causal, offset) @ value


def fused(query, key, value, mask=None, is_causal=False, offset=0):  # ch. 7
    sdpa = F.scaled_dot_product_attention  # the same, and no (L, S) in memory
    is_plain = is_causal and mask is None and offset == 0  # it needs no mask
    mask = None if is_plain else one_mask(query, key, mask, is_causal, offset)
    if mask is None:
        return sdpa(query, key, value, is_causal=is_plain)
    blind = ~mask.any(-1, keepdim=True)  # (…, L, 1), queries that see nothing
    return sdpa(query, key, value, mask | blind).masked_fill(blind, 0.0)


def angles(start, length, width, device):  # ch. 8: how far places turn pairs
    if width % 2:
        raise ValueError(f"the width must be even, found {width}")
    dtype = torch.float32 if device.type == "mps" else torch.float64
    places = torch.arange(start, start + length, dtype=dtype, device=device)
    pairs = torch.arange(0, width, 2, dtype=dtype, device=device)
    return places[:, None] * 10000 ** (-pairs / width)  # (L, width / 2)


def sinusoidal_positions(length, embed_dim, device="cpu"):  # ch. 8: to be added
    turns = angles(0, length, embed_dim, torch.device(device))  # (L, E / 2)
    return torch.stack([turns.sin(), turns.cos()], -1).flatten(-2).float()


def rotate(x, start=0):  # ch. 8: turned, keys and queries tell their distance
    turns = angles(start, *x.shape[-2:], x.device)  # (L, D / 2)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = turns.cos().to(wide), turns.sin().to(wide)
    a, b = x.chunk(2, -1)  # each (…, L, D / 2)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)


class Cache:  # ch. 13: one layer's keys and values of the tokens that were read
    def __init__(self, max_length):
        self.length, self.max_length = 0, max_length

    def update(self, key, value):  # each (B, G, N, D); it writes, so in no_grad
        start, stop = self.length, self.length + key.shape[2]
        if stop > self.max_length:
            raise ValueError(f"max_length={self.max_length}, found {stop}")
        if start and len(key) != len(self.key):  # one would be spread over all
            raise ValueError(f"kept {len(self.key)} texts, found {len(key)}")
        if start == 0:  # room for all, so that no step copies what is kept
            room = key.new_zeros(*key.shape[:2], self.max_length, key.shape[3])
            self.key, self.value = room, room.clone()
        self.key[:, :, start:stop], self.value[:, :, start:stop] = key, value
        self.length = stop
        return self.key[:, :, :stop], self.value[:, :, :stop]  # (B, G, S, D)


class MultiHeadAttention(nn.Module):  # ch. 6, 7, 13: heads look side by side
    def __init__(self, embed_dim, num_heads, groups=None, rotary=False):
        super().__init__()
        if num_heads < 1 or embed_dim % num_heads or num_heads % (groups or 1):
            raise ValueError(f"{embed_dim=}, {num_heads=}, {groups=} must fit")
        self.num_heads, self.groups = num_heads, groups or num_heads
        self.head_dim, self.rotary = embed_dim // num_heads, rotary
        self.lookup = fused  # attention answers the same, and can be read
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, self.groups * self.head_dim)
        self.v_proj = nn.Linear(embed_dim, self.groups * self.head_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, query, key, value, mask=None, is_causal=False, cache=None
    ):
        H, G = self.num_heads, self.groups
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        q = q.unflatten(2, (H, -1)).transpose(1, 2)  # (B, H, L, D)
        k, v = (x.unflatten(2, (G, -1)).transpose(1, 2) for x in (k, v))
        offset = 0 if cache is None else cache.length  # how many came before
        if self.rotary:
            q, k = rotate(q, offset), rotate(k, offset)
        if cache is not None:
            k, v = cache.update(k, v)  # (B, G, S, D), with those kept before
        if G < H:  # some share a key: (B, G, S, D) → (B, H, S, D)
            k, v = (x.repeat_interleave(H // G, 1) for x in (k, v))
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # (B, 1, 1 or L, S), one for all heads
        heads = self.lookup(q, k, v, mask, is_causal, offset)  # (B, H, L, D)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, L, E)


class FeedForward(nn.Module):  # ch. 11: each token by itself
    def __init__(self, embed_dim, activation=F.gelu):  # GPT-2's is gelu by tanh
        super().__init__()
        self.up = nn.Linear(embed_dim, 4 * embed_dim)
        self.down = nn.Linear(4 * embed_dim, embed_dim)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))  # (B, L, E)


class Block(nn.Module):  # ch. 11: look at others, then by oneself; add both
    def __init__(self, embed_dim, num_heads, activation=F.gelu, **heads):
        super().__init__()
        self.self_attention = MultiHeadAttention(embed_dim, num_heads, **heads)
        self.feed_forward = FeedForward(embed_dim, activation)
        self.before_self_attention = nn.LayerNorm(embed_dim)
        self.before_feed_forward = nn.LayerNorm(embed_dim)

    def forward(self, x, mask=None, is_causal=False, cache=None):
        own = self.before_self_attention(x)  # (B, L, E)
        x = x + self.self_attention(own, own, own, mask, is_causal, cache)
        return x + self.feed_forward(self.before_feed_forward(x))  # (B, L, E)


class Transformer(nn.Module):  # ch. 11: for each token, scores of the next
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, max_length, **block
    ):
        super().__init__()
        self.max_length, self.rotary = max_length, block.get("rotary", False)
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        if not self.rotary:  # else each layer turns its queries and keys
            self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            Block(embed_dim, num_heads, **block) for _ in range(num_layers)
        )
        self.final_norm = nn.LayerNorm(embed_dim)
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens, mask=None, caches=None):  # (B, L), (B, 1, S)
        caches = caches or [None] * len(self.blocks)
        start = caches[0].length if caches[0] else 0
        stop = start + tokens.shape[1]
        if stop > self.max_length:
            raise ValueError(f"max_length={self.max_length}, found {stop}")
        x = self.token_embedding(tokens)  # (B, L, E)
        if not self.rotary:
            x = x + self.position_embedding.weight[start:stop]  # (B, L, E)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, mask, is_causal=True, cache=cache)  # (B, L, E)
        return self.output(self.final_norm(x))  # (B, L, V)

    @torch.no_grad()
    def generate(self, tokens, length, temperature=0.0):  # → (B, L + length)
        caches, unread = [Cache(self.max_length) for _ in self.blocks], tokens
        for _ in range(length):
            logits = self(unread, caches=caches)[:, -1]  # (B, V)
            if temperature > 1e-6:
                unread = (logits / temperature).softmax(-1).multinomial(1)
            else:  # the likeliest
                unread = logits.argmax(-1, keepdim=True)  # (B, 1)
            tokens = torch.cat([tokens, unread], 1)
        return tokens


if __name__ == "__main__":  # ch. 12: it learns to copy loops of symbols
    torch.manual_seed(0)
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    model = Transformer(32, 64, num_heads=2, num_layers=2, max_length=32)
    optimizer = torch.optim.Adam(model.parameters(), 0.003, betas=(0.9, 0.99))
    for step in range(301):
        period = torch.randint(8, 17, (32, 1))  # (B, 1)
        symbols = torch.rand(32, 32).argsort(-1)  # (B, V), each row in an order
        tokens = symbols.gather(1, torch.arange(33) % period)  # (B, L + 1)
        logits, targets = model(tokens[:, :-1]), tokens[:, 1:]
        loss = F.cross_entropy(logits.mT, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:  # symbols repeat from the second period on
            right = (logits.argmax(-1) == targets)[torch.arange(32) >= period]
            print(f"{step}: loss {loss:.2f}, right {right.float().mean():.2f}")
    print(model.generate(torch.tensor([[3, 1, 4, 15, 9, 2, 6, 5] * 2]), 16))
