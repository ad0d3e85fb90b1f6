"""The whole course in one file: attention, from a dictionary to a Transformer.

Plain PyTorch without checks, to read, copy and change; as a script it trains.
B batch, H heads, L queries, S keys, E width, D width of a head, Dv of a value.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def softmax(scores, mask=None):  # chapters 4 and 5; True = may attend
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)  # (…, L, S)
    low = torch.finfo(scores.dtype)
    largest = scores.amax(-1, keepdim=True).clamp(min=low.min)  # (…, L, 1)
    exps = (scores - largest).exp()  # (…, L, S)
    return exps / exps.sum(-1, keepdim=True).clamp(min=low.tiny)


def attention_weights(query, key, mask=None):  # chapters 2 and 3
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (…, L, S)
    return softmax(scores, mask)  # (…, L, S)


def attention(query, key, value, mask=None):  # chapter 1
    return attention_weights(query, key, mask) @ value  # (…, L, Dv)


def causal_mask(L):  # chapter 5
    return torch.ones(L, L, dtype=torch.bool).tril()  # (L, L)


def window_mask(L, window):  # chapter 5
    return causal_mask(L).triu(1 - window)  # (L, L)


def padding_mask(lengths, S):  # chapter 5
    return torch.arange(S) < lengths[:, None, None]  # (B, 1, S)


class MultiHeadAttention(nn.Module):  # chapters 6 and 7
    def __init__(self, E, H):
        super().__init__()
        self.H = H
        self.q_proj, self.k_proj = nn.Linear(E, E), nn.Linear(E, E)
        self.v_proj, self.out_proj = nn.Linear(E, E), nn.Linear(E, E)

    def split(self, x):  # (B, L, E) → (B, H, L, D)
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))  # (B, H, L, D)
        k = self.split(self.k_proj(key))  # (B, H, S, D)
        v = self.split(self.v_proj(value))  # (B, H, S, D)
        heads = attention(q, k, v, mask)  # (B, H, L, D)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, L, E)


def sinusoidal_positions(L, E):  # chapter 8
    waves = 10000 ** (-torch.arange(0, E, 2) / E)  # (E / 2,)
    angles = torch.arange(L)[:, None] * waves  # (L, E / 2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)  # (L, E)


def rotate(x):  # chapter 8
    L, D = x.shape[-2:]
    angles = torch.arange(L)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
    cos, sin = angles.cos(), angles.sin()  # (L, D / 2)
    a, b = x.chunk(2, -1)  # each (…, L, D / 2)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)  # (…, L, D)


class FeedForward(nn.Module):  # chapter 11
    def __init__(self, E, activation=F.gelu):
        super().__init__()
        self.up, self.down = nn.Linear(E, 4 * E), nn.Linear(4 * E, E)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))  # (B, L, E)


class Block(nn.Module):  # chapter 11
    def __init__(self, E, H, activation=F.gelu):
        super().__init__()
        self.attend = MultiHeadAttention(E, H)
        self.before_attend = nn.LayerNorm(E)
        self.feed_forward = FeedForward(E, activation)
        self.before_feed_forward = nn.LayerNorm(E)

    def forward(self, x, mask=None):
        normed = self.before_attend(x)  # (B, L, E)
        x = x + self.attend(normed, normed, normed, mask)  # (B, L, E)
        return x + self.feed_forward(self.before_feed_forward(x))


class Transformer(nn.Module):  # chapter 11; GPT-2's gelu is that by tanh
    def __init__(self, V, E, H, num_layers, max_length, activation=F.gelu):
        super().__init__()
        self.token_embedding = nn.Embedding(V, E)
        self.position_embedding = nn.Embedding(max_length, E)
        blocks = [Block(E, H, activation) for _ in range(num_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = nn.LayerNorm(E)
        self.output = nn.Linear(E, V, bias=False)

    def forward(self, ids):  # (B, L)
        L = ids.shape[1]
        positions = self.position_embedding.weight[:L]  # (L, E)
        x = self.token_embedding(ids) + positions  # (B, L, E)
        for block in self.blocks:
            x = block(x, causal_mask(L))  # (B, L, E)
        return self.output(self.final_norm(x))  # (B, L, V)

    @torch.no_grad()
    def generate(self, ids, length):  # (B, L) → (B, L + length)
        for _ in range(length):
            next_id = self(ids)[:, -1].argmax(-1, keepdim=True)  # (B, 1)
            ids = torch.cat([ids, next_id], 1)
        return ids


def loops(count, V=32, L=32):  # chapter 11: symbols that come round again
    period = torch.randint(8, 17, (count, 1))
    symbols = torch.rand(count, V).argsort(-1)  # (B, V), all different
    ids = symbols.gather(1, torch.arange(L + 1) % period)  # (B, L + 1)
    return ids[:, :-1], ids[:, 1:], torch.arange(L) >= period  # to copy: bool


def train(steps=300):
    model = Transformer(V=32, E=64, H=2, num_layers=2, max_length=32)
    optimizer = torch.optim.Adam(model.parameters(), 0.003, betas=(0.9, 0.99))
    for _ in range(steps):
        ids, targets, _ = loops(32)
        loss = F.cross_entropy(model(ids).mT, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    model, (ids, targets, to_copy) = train(), loops(256)
    right = (model(ids).argmax(-1) == targets)[to_copy].float().mean()
    print(f"copied places that are right: {right:.2f}")
    print(model.generate(torch.tensor([[3, 1, 4, 15, 9, 2, 6, 5] * 2]), 16))
