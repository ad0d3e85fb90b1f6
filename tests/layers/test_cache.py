"""A cache, shared heads, windows and masks of keys: whatever is kept or shared, the answer is the full pass's."""

import copy

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from attention import (
    AdditiveAttention,
    Block,
    DecoderBlock,
    KeyValueCache,
    MultiHeadAttention,
    Transformer,
    alibi_bias,
    attention_weights,
    causal_mask,
    rotate_heads,
    scaled_dot_product_attention,
    window_mask,
)
from refusals import refuses

B, L = 3, 9
MODELS = {
    "learned": {"max_length": 20},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "none": {"positions": None},
    "window": {"positions": "rotary", "window": 4},
    "groups": {"positions": "alibi", "num_key_value_heads": 2},
    "all": {"positions": "rotary", "num_key_value_heads": 1, "head_dim": 6, "window": 3, "norm": "post"},
}
each_model = pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
both_paths = pytest.mark.parametrize("need_weights", [False, True])


def model_of(options):
    return Transformer(11, 16, 4, 2, embed_std=0.5, **options).double()


def rows(*shape):
    return torch.randn(*shape, dtype=torch.float64)


# The cache


@each_model
@pytest.mark.parametrize("parts", [(1, 8), (8, 1), (4, 5), (3, 1, 1, 4), (1,) * 9])
def test_a_text_read_in_parts_is_read_as_a_whole(options, parts):
    model, tokens = model_of(options), torch.randint(11, (B, L))
    caches = model.make_caches()
    found = torch.cat([model(part, caches) for part in tokens.split(parts, dim=1)], dim=1)
    assert_close(found, model(tokens))
    assert [len(cache) for cache in caches] == [L, L]


@each_model
def test_gradients_go_through_a_cache(options):
    model, tokens = model_of(options), torch.randint(11, (B, L))
    upstream = rows(B, L, 11)
    caches = model.make_caches()
    found = torch.cat([model(part, caches) for part in tokens.split(3, dim=1)], dim=1)
    parameters = [*model.parameters()]
    wanted = torch.autograd.grad(model(tokens), parameters, upstream)
    assert_close(torch.autograd.grad(found, parameters, upstream), wanted)


@each_model
def test_writing_with_a_cache_is_writing_without(options):
    model, tokens = model_of(options), torch.randint(11, (B, 4))
    assert model.generate(tokens, 12).tolist() == model.generate(tokens, 12, cache=False).tolist()
    drawn = []
    for cache in (True, False):
        torch.manual_seed(1)
        drawn.append(model.generate(tokens, 12, temperature=2.0, top_p=0.9, cache=cache).tolist())
    assert drawn[0] == drawn[1]


def test_with_a_cache_each_token_is_read_once(monkeypatch):
    model, read = model_of(MODELS["rotary"]), []
    embed = model.token_embedding.forward
    monkeypatch.setattr(model.token_embedding, "forward", lambda ids: read.append(ids.size(1)) or embed(ids))
    model.generate(torch.randint(11, (1, 5)), 4)
    assert read == [5, 1, 1, 1]
    read.clear()
    model.generate(torch.randint(11, (1, 5)), 4, cache=False)
    assert read == [5, 6, 7, 8]


@both_paths
def test_is_causal_shows_all_kept_keys_and_the_new_ones_up_to_ones_own(need_weights):
    layer, x = MultiHeadAttention(12, 3).double(), rows(B, L, 12)
    cache = KeyValueCache()
    layer(*[x[:, :4]] * 3, cache=cache)
    new = x[:, 4:]
    output, weights = layer(new, new, new, is_causal=True, need_weights=need_weights, cache=cache)
    expected, all_weights = layer(new, x, x, causal_mask(5, L, offset=4), need_weights=True)
    assert_close(output, expected)
    if need_weights:
        assert_close(weights, all_weights)
    one, _ = layer(new[:, :1], new[:, :2], new[:, :2], is_causal=True, cache=copy.copy(cache))  # and two new keys
    seen = torch.cat([x, new[:, :1]], dim=1)
    assert_close(one, layer(new[:, :1], seen, seen)[0])
    expected, _ = layer(new[:, :2], torch.cat([x, x[:, :2]], dim=1), torch.cat([x, x[:, :2]], dim=1))
    assert_close(layer(x[:, 4:6], x[:, :2], x[:, :2], cache=cache)[0], expected)


@both_paths
def test_masks_and_bias_beside_a_cache_are_for_all_keys(need_weights):
    layer, x = MultiHeadAttention(12, 3, process_heads=rotate_heads).double(), rows(B, L, 12)
    mask, keys = torch.rand(B, L, L) < 0.7, torch.arange(L) < torch.tensor([[9], [7], [5]])
    bias = alibi_bias(3, L, dtype=torch.float64).unsqueeze(0)
    expected, _ = layer(x, x, x, mask, is_causal=True, attn_bias=bias, key_mask=keys)
    cache = KeyValueCache()
    for start, stop in ((0, 5), (5, 6), (6, L)):
        found, _ = layer(
            *[x[:, start:stop]] * 3,
            mask[:, start:stop, :stop],
            is_causal=True,
            need_weights=need_weights,
            attn_bias=bias[..., start:stop, :stop],
            key_mask=keys[:, :stop],
            cache=cache,
        )
        assert_close(found, expected[:, start:stop])


def test_blocks_hand_it_on():
    x, memory = rows(B, L, 12), rows(B, 5, 12)
    heads = {"num_key_value_heads": 1, "process_heads": rotate_heads}
    block, decoder_block = Block(12, 3, **heads).double(), DecoderBlock(12, 3, **heads).double()
    assert decoder_block.cross_attention.k_proj.out_features == 4
    with_modules = DecoderBlock(12, 3, attend=torch.nn.Identity())
    assert with_modules.self_attention.attend is not with_modules.cross_attention.attend
    for read in (block, lambda x, **options: decoder_block(x, memory, **options)):
        cache = KeyValueCache()
        parts = [read(part, is_causal=True, cache=cache)[0] for part in x.split(4, dim=1)]
        assert_close(torch.cat(parts, dim=1), read(x, is_causal=True)[0])


def test_a_cache_is_for_one_batch_one_dtype_one_device_and_one_value_a_key():
    changed = [rows(2, *shape) for shape in ((B + 1, 2, 1, 4), (B, 1, 1, 4), (B, 2, 1, 5))]
    elsewhere = torch.empty(2, B, 2, 1, 4, dtype=torch.float64, device="meta")
    for new in (*changed, (rows(B, 2, 1, 4), rows(B, 2, 1, 5)), rows(2, B, 2, 1, 4).float(), elsewhere):
        for context in (torch.no_grad, torch.enable_grad):
            with context():
                cache = KeyValueCache()
                cache.update(*rows(2, B, 2, 3, 4))
                refuses(cache.update, dict(zip(("key", "value"), new, strict=True)), ValueError, "cache")
                assert len(cache) == 3
    refuses(KeyValueCache().update, {"key": rows(B, 2, 3, 4), "value": rows(B, 2, 2, 4)}, ValueError, "value")


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_cache_owns_its_rows_and_a_copy_goes_on_by_itself(is_recorded):
    """A prompt's cache, continued in four ways."""
    model = model_of(MODELS["learned"])
    prompt, ways = torch.randint(11, (1, 5)), torch.randint(11, (4, 3))
    with torch.set_grad_enabled(is_recorded):
        caches = model.make_caches()
        model(prompt, caches)
        forks = [[copy.copy(cache) for cache in caches] for _ in ways]
        for token in range(3):
            found = [model(way[None, token : token + 1], fork)[0, 0] for way, fork in zip(ways, forks, strict=True)]
        whole = model(torch.cat([prompt.expand(4, -1), ways], dim=1))
        assert_close(torch.stack(found), whole[:, -1])
        key, value = rows(2, B, 2, 3, 4)
        cache = KeyValueCache()
        first = [part.clone() for part in cache.update(key, value)]
        key.zero_()  # what a caller does with its own tensors later
        again = cache.update(*rows(2, B, 2, 1, 4))
        kept = [part.clone() for part in again]
        for _ in range(9):
            cache.update(*rows(2, B, 2, 1, 4))
        assert_close(list(again), kept)
        assert_close([part[:, :, :3] for part in again], first)
    assert len(caches[0]) == 5


def test_what_a_gradient_needs_is_not_written_over():
    """Keys and values that are not trained: no record of theirs tells the cache that the queries' is kept."""
    layer, x = MultiHeadAttention(8, 2).double(), rows(2, 5, 8)
    for frozen in (layer.k_proj, layer.v_proj):
        frozen.requires_grad_(False)
    cache = KeyValueCache()
    parts = [layer(*[part] * 3, is_causal=True, cache=cache)[0] for part in x.split(1, 1)]
    whole, _ = layer(x, x, x, is_causal=True)
    wanted = torch.autograd.grad(whole.square().sum(), layer.q_proj.weight)
    assert_close(torch.autograd.grad(torch.cat(parts, 1).square().sum(), layer.q_proj.weight), wanted)


def test_a_refused_call_leaves_the_caches_as_they_were():
    model, tokens = model_of(MODELS["rotary"]), torch.randint(11, (1, 5))
    for wrong in (
        {"attn_masks": torch.ones(2, 2) > 0},
        {"attn_masks": {1: torch.ones(2, 2) > 0}},
        {"attn_masks": {1: torch.ones(5, 5)}},
        {"attn_masks": [torch.ones(5, 5) > 0]},
        {"key_mask": torch.ones(2, 5) > 0},
        {"positions": torch.arange(4)},
    ):
        caches = model.make_caches()
        with pytest.raises((ValueError, TypeError)):
            model(tokens, caches, **wrong)
        assert [len(cache) for cache in caches] == [0, 0]
    cache = KeyValueCache()
    refuses(model, {"tokens": tokens, "caches": [cache, cache]}, ValueError, "caches must be one for each of 2 blocks")
    caches = model.make_caches()
    model.blocks[0](rows(1, 3, 16), cache=caches[0])
    refuses(model, {"tokens": tokens, "caches": caches}, ValueError, "caches must keep the same tokens")


@pytest.mark.parametrize("context", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_tokens_are_taken_back(context):
    """As in speculative decoding, where a draft is read at once and refused in part; a fork goes on untouched."""
    model, tokens, draft = model_of(MODELS["rotary"]), torch.randint(11, (B, L)), torch.randint(11, (B, 4))
    with context():
        caches = model.make_caches()
        model(tokens[:, :5], caches)
        forks = [copy.copy(cache) for cache in caches]
        for kept in (5, 4, 0):
            model(draft, caches)
            for cache in caches:
                cache.truncate(kept)
            assert_close(model(tokens[:, kept:7], caches), model(tokens[:, :7])[:, kept:])
        assert_close(model(tokens[:, 5:], forks), model(tokens)[:, 5:])
        for cache in caches:
            cache.truncate(0)
        model(tokens[:1], caches)  # another batch
    for wrong in (-1, L + 1):
        refuses(caches[0].truncate, {"length": wrong}, ValueError, "length")


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients_what_is_kept_moves_seldom(context):
    cache, token = KeyValueCache(), rows(1, 1, 1, 2)
    with context():
        kept = [cache.update(token, token)[0] for _ in range(32)]
    assert len({each.data_ptr() for each in kept}) <= 6


@pytest.mark.parametrize("context", [torch.no_grad, torch.enable_grad])
def test_after_an_error_in_the_last_block_and_after_inference_mode_the_caches_go_on(context):
    model, tokens = model_of(MODELS["rotary"]), torch.randint(11, (B, L))
    caches, layer = model.make_caches(), model.blocks[1].self_attention
    for wrong, part, mode in ((tokens[:1], tokens[:, :4], torch.inference_mode), (tokens, tokens[:, 4:6], context)):
        with mode():
            layer.attend = lambda query, key, value, mask, bias: (value[..., :1], None)
            refuses(model, {"tokens": wrong, "caches": caches}, ValueError, "attend must return")
            layer.attend = None
            found = model(part, caches)
    assert_close(found, model(tokens[:, :6])[:, 4:])


def test_left_padding_with_positions_and_a_mask_of_keys():
    """Two texts of different length, the shorter one behind padding, are read as each is alone."""
    for kind in ("learned", "rotary", "alibi"):
        model = model_of(MODELS[kind])
        long, short = torch.randint(11, (1, 7)), torch.randint(11, (1, 4))
        both = torch.cat([long, torch.cat([torch.zeros(1, 3, dtype=torch.long), short], dim=1)])
        keys = torch.arange(7) >= torch.tensor([[0], [3]])
        places = {} if kind == "alibi" else {"positions": (torch.arange(7) - torch.tensor([[0], [3]])).clamp(min=0)}
        found = model(both, key_mask=keys, **places)
        assert_close(found[:1], model(long))
        assert_close(found[1:, 3:], model(short))
        caches = model.make_caches()
        for start, stop in ((0, 5), (5, 7)):
            cut = {name: value[:, start:stop] for name, value in places.items()}
            part = model(both[:, start:stop], caches, key_mask=keys[:, :stop], **cut)
            assert_close(part, found[:, start:stop])


# Heads that share keys and values


@both_paths
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_shared_heads_are_heads_with_equal_keys_and_values(groups, need_weights):
    """Head h has the keys of head h · groups // H."""
    shared, full = (MultiHeadAttention(12, 6, **o).double() for o in ({"num_key_value_heads": groups}, {}))
    assert shared.k_proj.weight.shape == shared.v_proj.weight.shape == (2 * groups, 12)
    state = shared.state_dict()
    chosen = torch.tensor([2 * (head * groups // 6) + column for head in range(6) for column in range(2)])
    for name in ("k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias"):
        state[name] = state[name][chosen]
    full.load_state_dict(state)
    x, mask, bias = rows(B, L, 12), torch.rand(B, 6, L, L) < 0.7, rows(6, 1, L)
    for query, options in (
        (x, {"attn_mask": mask, "is_causal": True}),
        (x[:, :1], {"attn_mask": mask[:, :, :1], "attn_bias": bias, "key_mask": torch.rand(B, L) < 0.8}),
        (x[:, :1], {"is_causal": True}),
    ):
        options["need_weights"] = need_weights
        assert_close(shared(query, x, x, **options), full(query, x, x, **options))


def test_a_cache_keeps_the_shared_heads_alone_and_one_more_token_copies_none(monkeypatch):
    layer, cache, kept = MultiHeadAttention(12, 6, num_key_value_heads=2), KeyValueCache(), []
    update = cache.update
    cache.update = lambda key, value: kept.append((key.shape, value.shape)) or update(key, value)
    layer(*[torch.randn(B, L, 12)] * 3, cache=cache)
    assert kept == [((B, 2, L, 2), (B, 2, L, 2))]
    asked, kernel = [], functional.scaled_dot_product_attention
    monkeypatch.setattr(
        functional, "scaled_dot_product_attention", lambda q, k, *rest: asked.append(k.shape) or kernel(q, k, *rest)
    )
    layer(*[torch.randn(B, 1, 12)] * 3, cache=cache)
    assert asked == [(B, 2, L + 1, 2)]


# Windows


@pytest.mark.parametrize("window", [1, 2, 5, 9, 20])
@pytest.mark.parametrize("positions", ["rotary", "alibi", None])
def test_a_window_is_its_mask_in_every_block(window, positions):
    options = {"positions": positions}
    model, plain, tokens = model_of(options | {"window": window}), model_of(options), torch.randint(11, (B, L))
    plain.load_state_dict(model.state_dict())
    mask = window_mask(L, window)
    assert_close(model(tokens), plain(tokens, attn_masks=mask))
    assert_close(model.attention_maps(tokens), plain.attention_maps(tokens, attn_masks=mask))
    head = torch.rand(1, 4, L, L) < 0.6
    both = {0: mask, 1: head & mask}
    assert_close(model(tokens, attn_masks={1: head}), plain(tokens, attn_masks=both))


# Masks of keys


KEYS = torch.arange(7) < torch.tensor([[7], [4], [0]])


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [None, (5, 7), (B, 1, 7), (B, 3, 5, 7)])
def test_a_mask_of_keys_hides_padding_beside_any_mask(shape, is_causal, need_weights):
    layer, query, key = MultiHeadAttention(12, 3).double(), rows(B, 5, 12), rows(B, 7, 12)
    mask = torch.ones(1, 7, dtype=torch.bool) if shape is None else torch.rand(shape) < 0.7
    whole = (mask.unsqueeze(1) if mask.dim() == 3 else mask) & KEYS[:, None, None]
    options = {"is_causal": is_causal, "need_weights": need_weights}
    found = layer(query, key, key, None if shape is None else mask, key_mask=KEYS, **options)
    assert_close(found, layer(query, key, key, whole.expand(B, 3, 5, 7), **options))


@pytest.mark.parametrize("leading", [(B,), (B, 2), (B, 2, 4)])
def test_a_mask_of_keys_in_the_functions(leading):
    query, key, value = rows(*leading, 5, 6), rows(*leading, 7, 6), rows(*leading, 7, 4)
    mask = KEYS.view(B, *[1] * (len(leading) - 1), 1, 7)
    assert_close(attention_weights(query, key, key_mask=KEYS), attention_weights(query, key, mask))
    own = torch.rand(5, 7) < 0.8
    for beside, whole, is_causal in ((None, mask, True), (own, mask & own, False), (own, mask & own, True)):
        found = scaled_dot_product_attention(query, key, value, beside, is_causal=is_causal, key_mask=KEYS)
        assert_close(found, scaled_dot_product_attention(query, key, value, whole, is_causal=is_causal))


def test_a_mask_of_keys_in_the_other_layers():
    x, additive = rows(B, 7, 12), AdditiveAttention(12, 12, 4).double()
    mask = KEYS.unsqueeze(1)
    assert_close(additive(x, x, x, key_mask=KEYS), additive(x, x, x, mask))
    own, decoder = rows(B, 5, 12), DecoderBlock(12, 3).double()
    assert_close(decoder(own, x, memory_key_mask=KEYS)[0], decoder(own, x, mask)[0])
    assert_close(decoder(x, own, key_mask=KEYS)[0], decoder(x, own, None, mask)[0])
    model, tokens = model_of(MODELS["rotary"]), torch.randint(11, (B, 7))
    assert_close(model(tokens, key_mask=KEYS), model(tokens, attn_masks=mask))


@pytest.mark.parametrize("wrong", [KEYS[:, None], KEYS[:1], KEYS[0], KEYS[:, :6], torch.ones(7, B) > 0])
def test_a_mask_of_keys_has_one_number_a_key_of_each_sequence(wrong):
    x = rows(B, 7, 12)
    given = {"query": x, "key": x, "key_mask": wrong}
    refuses(MultiHeadAttention(12, 3).double(), given | {"value": x}, ValueError, "key_mask")
    refuses(attention_weights, given, ValueError, "key_mask")
    refuses(attention_weights, {"query": x, "key": x, "key_mask": KEYS.double()}, TypeError, "key_mask")
    refuses(attention_weights, {"query": x[0], "key": x[0], "key_mask": KEYS[:1]}, ValueError, "key_mask")
