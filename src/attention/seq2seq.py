"""From one sequence to another: an encoder that keeps all its states, and a decoder that attends to them at every step.

Dimensions: B batch, S source tokens, L target tokens, E width of a state, V size of the target's vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention.arguments import check_counts, check_ids, check_integers, check_matrix, check_probability, shapes
from attention.contexts import Attention
from attention.masks import check_mask, padding_mask
from attention.modules import MultiHeadAttention
from attention.sampling import without_dropout

PAD, BOS, EOS = range(3)  # the ids of padding, of the token before every target, and of the token that ends it


class Encoder(nn.Module):
    """Read the source and keep the state after every token, not only the last one.

    The state ``hᵢ = GRU(embed(sourceᵢ), hᵢ₋₁)`` depends on the tokens up to i. With both directions, half of its
    numbers come from a second GRU that reads from the end, and ``hᵢ`` depends on the whole source.

    Args:
        vocab_size: number of ids a source can hold, ``PAD``, ``BOS`` and ``EOS`` among them.
        hidden_dim: width E of an embedding and of a state.
        num_layers: number of recurrent layers.
        dropout: probability of dropping a number of an embedding in training.
        bidirectional: whether to read in both directions; E must then be even.

    Raises:
        TypeError, ValueError: a count is no integer or too small, E is odd although two directions share it, or
            ``dropout`` is not in 0 … 1.

    Source: Bahdanau et al. (2015), section 3.2.

    >>> states, hidden = Encoder(vocab_size=10, hidden_dim=5)(torch.tensor([[3, 7, 4, 9]]))
    >>> states.shape, hidden.shape
    (torch.Size([1, 4, 5]), torch.Size([1, 1, 5]))
    """

    def __init__(
        self, vocab_size: int, hidden_dim: int, num_layers: int = 1, dropout: float = 0.0, bidirectional: bool = False
    ) -> None:
        super().__init__()
        _check_sizes(vocab_size, hidden_dim, num_layers, dropout)
        directions = 2 if bidirectional else 1
        if hidden_dim % directions:
            raise ValueError(f"hidden_dim must be even to be shared by two directions, found {hidden_dim}")
        self.embedding = nn.Embedding(vocab_size, hidden_dim)
        self.dropout = nn.Dropout(dropout)
        width = hidden_dim // directions
        self.gru = nn.GRU(hidden_dim, width, num_layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read a batch of sources; the padding after a source's length has no effect.

        Args:
            source: ids (B, S), at least one a row.
            lengths: integers (B,), from 1 to S, best kept on the CPU, where PyTorch packs sequences. When they are not
                given each source has length S, and none may hold ``PAD``.

        Returns:
            states (B, S, E) of the last layer, zeros after each length; and for every layer the state in which it has
            read the whole source, (num_layers, B, E).

        Raises:
            TypeError, ValueError: ids or lengths do not fit, or there is padding without lengths.
        """
        least = check_ids("source", source, self.embedding.num_embeddings)
        if lengths is None and least == PAD:
            raise ValueError(f"source has padding (id {PAD}): lengths must be given, found None")
        embedded = self.dropout(self.embedding(source))  # (B, S, E)
        if lengths is None:
            states, hidden = self.gru(embedded)  # (B, S, E), (num_layers, B, E)
        else:
            lengths = lengths_on_cpu(lengths, source)
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            packed, hidden = self.gru(packed)
            states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.size(1))  # (B, S, E)
        if self.gru.bidirectional:  # one layer's two directions follow each other in hidden
            hidden = hidden.unflatten(0, (-1, 2))  # (2 · num_layers, B, E / 2) → (num_layers, 2, B, E / 2)
            hidden = hidden.transpose(1, 2).flatten(2)  # (num_layers, B, E)
        return states, hidden


class Decoder(nn.Module):
    """Write the target token by token, attending to the source's states before each.

    Step t starts from the previous token (``BOS`` at first) and from the last layer's state sₜ₋₁:
    ``contextₜ = attention(query=sₜ₋₁, key=states, value=states)``, ``sₜ = GRU([embed(tokenₜ₋₁); contextₜ], sₜ₋₁)``,
    ``logitsₜ = output(sₜ)``.

    Args:
        vocab_size: number V of ids a target can hold, ``PAD``, ``BOS`` and ``EOS`` among them.
        hidden_dim: width E of an embedding, of a state, and of the encoder's states.
        attention: called as ``attention(query, key, value, attn_mask)``, it returns a context and weights:
            :class:`AdditiveAttention`, :class:`DotProductAttention`, :class:`LastState`, or a module of your own.
        num_layers: number of recurrent layers, as many as the encoder's.
        dropout: probability of dropping a number of an embedding in training.

    Raises:
        TypeError, ValueError: as :class:`Encoder`; also if the attention is none that can be called like that.

    Source: Bahdanau et al. (2015), section 3.1, with the output read from the state alone.

    >>> from attention import AdditiveAttention
    >>> decoder = Decoder(vocab_size=10, hidden_dim=5, attention=AdditiveAttention(5, 5, 5))
    >>> states, hidden = torch.randn(1, 4, 5), torch.randn(1, 1, 5)
    >>> logits, hidden, weights = decoder(torch.tensor([[3, 9, 4, 4, 8, 6, 2]]), hidden, states)
    >>> logits.shape, hidden.shape, weights.shape
    (torch.Size([1, 7, 10]), torch.Size([1, 1, 5]), torch.Size([1, 7, 4]))
    """

    def __init__(
        self, vocab_size: int, hidden_dim: int, attention: Attention, num_layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        _check_sizes(vocab_size, hidden_dim, num_layers, dropout)
        if not callable(attention) or isinstance(attention, type | MultiHeadAttention):  # whose weights are of heads
            raise TypeError(f"attention must be a layer that returns a context and its weights, found {attention!r}")
        self.embedding = nn.Embedding(vocab_size, hidden_dim)
        self.dropout = nn.Dropout(dropout)
        self.attention = attention
        self.gru = nn.GRU(2 * hidden_dim, hidden_dim, num_layers, batch_first=True)
        self.output = nn.Linear(hidden_dim, vocab_size)

    def forward(
        self, target: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Teacher forcing: predict each token of the target from the true tokens before it.

        Args:
            target: ids (B, L); the decoder puts ``BOS`` before them itself, and never reads the last.
            hidden: the encoder's last state for each layer, (num_layers, B, E).
            states: the encoder's states (B, S, E).
            attn_mask: bool, True = may attend, broadcastable to (B, 1, S).

        Returns:
            logits (B, L, V) for each token of the target, the last hidden state (num_layers, B, E), and the weights
            of all steps (B, L, S).

        Raises:
            TypeError, ValueError: an id, a shape or a dtype does not fit.
        """
        check_ids("target", target, self.embedding.num_embeddings)
        self._check_source(hidden, states, attn_mask, len(target))
        start = target.new_full((len(target), 1), BOS)
        previous = torch.cat([start, target[:, :-1]], dim=1)  # (B, L)
        return self._decode(previous, hidden, states, attn_mask)

    def step(
        self, token: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Predict one token from the token before it. In training mode dropout applies, as in :meth:`forward`.

        Args:
            token: the previous ids (B,).
            hidden: the state after the step before, for each layer, (num_layers, B, E).
            states: the encoder's states (B, S, E).
            attn_mask: bool, True = may attend, broadcastable to (B, 1, S).

        Returns:
            logits (B, V), the next hidden state (num_layers, B, E), and weights (B, S).
        """
        check_ids("token", token, self.embedding.num_embeddings, dims=1)
        self._check_source(hidden, states, attn_mask, len(token))
        logits, hidden, weights = self._decode(token.unsqueeze(1), hidden, states, attn_mask)
        return logits.squeeze(1), hidden, weights.squeeze(1)

    @torch.no_grad()
    def greedy(
        self, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None, *, max_steps: int
    ) -> tuple[Tensor, Tensor]:
        """Write without a target: each step reads the likeliest token of the step before, until every row has ``EOS``.

        There is no dropout; afterwards the decoder and its parts are in the mode they were in.

        Args:
            hidden: the encoder's last state for each layer, (num_layers, B, E).
            states: the encoder's states (B, S, E).
            attn_mask: bool, True = may attend, broadcastable to (B, 1, S).
            max_steps: number of tokens after which to stop in any case.

        Returns:
            ids (B, L) with ``PAD`` after each row's ``EOS``, and weights (B, L, S), zeros there.

        Raises:
            TypeError, ValueError: as :meth:`forward`, and if ``max_steps`` is not a positive integer.
        """
        check_counts(least=1, max_steps=max_steps)
        self._check_source(hidden, states, attn_mask)
        tokens, all_weights = [], []
        with without_dropout(self):
            token = torch.full((len(states), 1), BOS, device=states.device)  # (B, 1)
            is_done = torch.zeros_like(token, dtype=torch.bool)  # (B, 1)
            for _ in range(max_steps):
                logits, hidden, weights = self._decode(token, hidden, states, attn_mask)
                token = logits.argmax(dim=-1).masked_fill(is_done, PAD)  # (B, 1)
                tokens.append(token)
                all_weights.append(weights.masked_fill(is_done.unsqueeze(-1), 0.0))  # (B, 1, S)
                is_done = is_done | (token == EOS)
                if is_done.all():
                    break
        return torch.cat(tokens, dim=1), torch.cat(all_weights, dim=1)

    def _decode(
        self, tokens: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read tokens (B, L) one after the other; the arguments have been checked."""
        embedded = self.dropout(self.embedding(tokens))  # (B, L, E)
        outputs, all_weights = [], []
        for embedded_token in embedded.split(1, dim=1):  # (B, 1, E)
            query = hidden[-1].unsqueeze(1)  # (B, 1, E)
            context, weights = self.attention(query, states, states, attn_mask)  # (B, 1, E), (B, 1, S)
            gru_input = torch.cat([embedded_token, context], dim=-1)  # (B, 1, 2E)
            output, hidden = self.gru(gru_input, hidden)  # (B, 1, E), (num_layers, B, E)
            outputs.append(output)
            all_weights.append(weights)
        logits = self.output(torch.cat(outputs, dim=1))  # (B, L, V)
        return logits, hidden, torch.cat(all_weights, dim=1)  # (B, L, S)

    def _check_source(self, hidden: Tensor, states: Tensor, attn_mask: Tensor | None, B: int | None = None) -> None:
        check_matrix("hidden", hidden)
        check_matrix("states", states)
        B = len(states) if B is None else B
        layers, S, E = self.gru.num_layers, states.size(-2), self.gru.hidden_size
        if hidden.shape != (layers, B, E) or states.shape != (B, S, E):
            wanted = f"hidden ({layers}, {B}, {E}) and states ({B}, S, {E})"
            raise ValueError(f"{B} rows need {wanted}, found {shapes(hidden=hidden, states=states)}")
        check_mask("attn_mask", attn_mask, (B, 1, S))


class Translator(nn.Module):
    """An encoder and a decoder that are trained together.

    Args:
        encoder: reads the source.
        decoder: writes the target; it has as many layers as the encoder, and the same width.

    Raises:
        ValueError: the two differ in the number of layers or in width.

    >>> from attention import AdditiveAttention
    >>> attention = AdditiveAttention(query_dim=5, key_dim=5, hidden_dim=5)
    >>> model = Translator(Encoder(10, hidden_dim=5), Decoder(10, hidden_dim=5, attention=attention))
    >>> ids, weights = model.translate(torch.tensor([[3, 7, 4, 9], [8, 3, 0, 0]]), torch.tensor([4, 2]), max_steps=7)
    >>> weights.shape == (*ids.shape, 4), weights[1, :, 2:].any().item()
    (True, False)
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        found = [(part.gru.num_layers, part.embedding.embedding_dim) for part in (encoder, decoder)]
        if found[0] != found[1]:
            raise ValueError(f"encoder and decoder must have the same number of layers and hidden_dim, found {found}")
        self.encoder, self.decoder = encoder, decoder

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Teacher forcing: predict each token of the target from the source and the true tokens before it.

        Args:
            source: ids (B, S).
            target: the ids to predict, (B, L).
            lengths: of the sources, integers (B,), from 1 to S; S for each when not given.

        Returns:
            logits (B, L, V), and weights (B, L, S), zeros after each source's length.

        Raises:
            TypeError, ValueError: as :class:`Encoder` and :class:`Decoder`.
        """
        hidden, states, attn_mask = self._encode(source, lengths)
        logits, _, weights = self.decoder(target, hidden, states, attn_mask)
        return logits, weights

    @torch.no_grad()
    def translate(self, source: Tensor, lengths: Tensor | None = None, *, max_steps: int) -> tuple[Tensor, Tensor]:
        """Greedy decoding without dropout: ids (B, L) and weights (B, L, S), as :meth:`Decoder.greedy` returns them."""
        with without_dropout(self):
            hidden, states, attn_mask = self._encode(source, lengths)
            return self.decoder.greedy(hidden, states, attn_mask, max_steps=max_steps)

    def _encode(self, source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the decoder needs of the source: the last hidden state, all states, and a mask if there is padding."""
        states, hidden = self.encoder(source, lengths)
        if lengths is None:
            return hidden, states, None
        return hidden, states, padding_mask(lengths, source.size(1)).to(states.device)  # (B, 1, S)


def lengths_on_cpu(lengths: Tensor, source: Tensor) -> Tensor:
    """The lengths on the CPU, where PyTorch packs; raise unless each source (B, S) has one, from 1 to S."""
    check_integers("lengths", lengths)
    if lengths.shape != source.shape[:1]:
        raise ValueError(f"lengths must have one number a source, found {shapes(lengths=lengths, source=source)}")
    lengths = lengths.cpu()
    shortest, longest = lengths.aminmax()
    if shortest < 1 or longest > source.size(1):
        found = f"{int(shortest)} to {int(longest)}"
        raise ValueError(f"lengths must lie between 1 and the source's length {source.size(1)}, found {found}")
    return lengths


def _check_sizes(vocab_size: int, hidden_dim: int, num_layers: int, dropout: float) -> None:
    check_counts(least=EOS + 1, vocab_size=vocab_size)
    check_counts(least=1, hidden_dim=hidden_dim, num_layers=num_layers)
    check_probability("dropout", dropout)
