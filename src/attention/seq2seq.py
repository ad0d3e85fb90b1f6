"""From one sequence to another: an encoder with many states, and a decoder that looks at them at every step.

Dimensions: B batch, S source tokens, T target tokens, H hidden width, V size of the target's vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention.arguments import check_count, check_ids, check_input, check_lengths, check_probability, shapes
from attention.masks import padding_mask
from attention.modules import AdditiveAttention

PAD, BOS, EOS = range(3)  # the ids of padding, and of what stands before and behind every target


class Encoder(nn.Module):
    """Read the source and keep the state after every token: one encoder, many states.

    ``hᵢ = GRU(embed(sourceᵢ), hᵢ₋₁)`` knows the source up to token i. In both directions, half of the numbers come from
    a second GRU that reads from the end, and ``hᵢ`` knows what stands before and behind.

    Args:
        vocabulary_size: number of ids a source can hold, ``PAD``, ``BOS`` and ``EOS`` among them.
        hidden_dim: width H of an embedding and of a state.
        num_layers: number of recurrent layers.
        dropout: probability of dropping a number of an embedding in training.
        bidirectional: whether to read in both directions; H is then even.

    Raises:
        TypeError: a count is no integer.
        ValueError: a count is too small, H is odd where it is halved, or ``dropout`` lies outside 0 … 1.

    Source: Bahdanau et al. (2015), section 3.2.

    >>> states, hidden = Encoder(vocabulary_size=10, hidden_dim=5)(torch.tensor([[3, 7, 4, 9]]))
    >>> states.shape, hidden.shape
    (torch.Size([1, 4, 5]), torch.Size([1, 1, 5]))
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        _check_sizes(vocabulary_size, hidden_dim, num_layers, dropout)
        directions = 2 if bidirectional else 1
        if hidden_dim % directions:
            raise ValueError(f"hidden_dim must be even to be shared by two directions, found {hidden_dim}")
        self.embedding = nn.Embedding(vocabulary_size, hidden_dim)
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(
            hidden_dim, hidden_dim // directions, num_layers, batch_first=True, bidirectional=bidirectional
        )

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read a batch; what stands behind a source's length changes nothing.

        Args:
            source: ids (B, S), at least one a row.
            lengths: integers (B,), from 1 to S; S for each when not given, and then no id may be ``PAD``.

        Returns:
            states (B, S, H) of the last layer, zeros behind each length, and for all layers the state in which each
            source has been read to its end, (num_layers, B, H).

        Raises:
            TypeError: ids or lengths that are no integers.
            ValueError: shapes, devices or numbers that do not fit, or padding without lengths.
        """
        check_ids("source", source, self.embedding.weight)
        lengths = _full_lengths(source) if lengths is None else lengths
        check_lengths(lengths, source)
        embedded = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, hidden = self.gru(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.size(1))
        if self.gru.bidirectional:  # (num_layers · 2, B, H / 2)
            hidden = hidden.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)
        return states, hidden


class Decoder(nn.Module):
    """Write the target token by token, each with a look at the source.

    At step t, from the token before (``BOS`` at first) and the state sₜ₋₁ of the last layer:
    ``contextₜ = attention(query=sₜ₋₁, key=states, value=states)``, ``sₜ = GRU([embed(tokenₜ₋₁); contextₜ], sₜ₋₁)``,
    ``logitsₜ = output(sₜ)``.

    Args:
        vocabulary_size: number V of ids a target can hold, ``PAD``, ``BOS`` and ``EOS`` among them.
        hidden_dim: width H of an embedding, of a state, and of the encoder's states.
        attention: a module whose ``forward(query, key, value, attn_mask)`` returns a context and weights, such as
            :class:`AdditiveAttention`, :class:`DotProductAttention` or :class:`LastState`.
        num_layers: number of recurrent layers, as many as the encoder's.
        dropout: probability of dropping a number of an embedding in training.

    Raises:
        TypeError: a count is no integer.
        ValueError: a count is too small, or ``dropout`` lies outside 0 … 1.

    Source: Bahdanau et al. (2015), section 3.1, with the output read from the state alone.

    >>> from attention import AdditiveAttention
    >>> decoder = Decoder(vocabulary_size=10, hidden_dim=5, attention=AdditiveAttention(5, 5, 5))
    >>> states, hidden = torch.randn(1, 4, 5), torch.randn(1, 1, 5)
    >>> logits, hidden, weights = decoder(torch.tensor([[3, 9, 4, 4, 8, 6, 2]]), hidden, states)
    >>> logits.shape, hidden.shape, weights.shape
    (torch.Size([1, 7, 10]), torch.Size([1, 1, 5]), torch.Size([1, 7, 4]))
    """

    def __init__(
        self, vocabulary_size: int, hidden_dim: int, attention: nn.Module, num_layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        _check_sizes(vocabulary_size, hidden_dim, num_layers, dropout)
        self.embedding = nn.Embedding(vocabulary_size, hidden_dim)
        self.dropout = nn.Dropout(dropout)
        self.attention = attention
        self.gru = nn.GRU(2 * hidden_dim, hidden_dim, num_layers, batch_first=True)
        self.output = nn.Linear(hidden_dim, vocabulary_size)

    def step(
        self, token: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From the token before (B,) to logits (B, V), the next hidden state and weights (B, S)."""
        logits, hidden, weights = self._steps(token.unsqueeze(1), hidden, states, attn_mask, {})
        return logits.squeeze(1), hidden, weights.squeeze(1)

    def forward(
        self, target: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Teacher forcing: predict each token of the target from the true tokens before it.

        Args:
            target: ids (B, T); the decoder puts ``BOS`` before them itself, and never reads the last.
            hidden: (num_layers, B, H), the encoder's last.
            states: the encoder's (B, S, H).
            attn_mask: bool, True = may attend, (B, 1, S).

        Returns:
            logits (B, T, V) for each token of the target, the last hidden state (num_layers, B, H), and weights
            (B, T, S) of all steps.

        Raises:
            TypeError: ids that are no integers.
            ValueError: shapes, devices or ids that do not fit.
        """
        check_ids("target", target, self.embedding.weight)
        self._check_source(target.size(0), hidden, states)
        before = torch.cat([target.new_full((len(target), 1), BOS), target[:, :-1]], 1)
        return self._steps(before, hidden, states, attn_mask, self._known(states))

    @torch.no_grad()
    def greedy(
        self, hidden: Tensor, states: Tensor, attn_mask: Tensor | None = None, *, max_steps: int
    ) -> tuple[Tensor, Tensor]:
        """Write on its own: each step reads the likeliest token of the step before, until every row has its ``EOS``.

        Args:
            hidden: (num_layers, B, H), the encoder's last.
            states: the encoder's (B, S, H).
            attn_mask: bool, True = may attend, (B, 1, S).
            max_steps: number of tokens after which to stop all the same.

        Returns:
            ids (B, T) with ``PAD`` behind each row's ``EOS``, and weights (B, T, S), zeros there.

        Raises:
            TypeError, ValueError: as :meth:`forward`; also a ``max_steps`` that is no positive integer.
        """
        check_count("max_steps", max_steps, least=1)
        self._check_source(states.size(0), hidden, states)
        known = self._known(states)
        token = torch.full((len(states), 1), BOS, device=states.device)
        is_done = torch.zeros_like(token, dtype=torch.bool)
        tokens, looks = [], []
        while len(tokens) < max_steps and not is_done.all():
            logits, hidden, weights = self._steps(token, hidden, states, attn_mask, known)
            token = logits.argmax(-1).masked_fill(is_done, PAD)
            tokens.append(token)
            looks.append(weights.masked_fill(is_done.unsqueeze(-1), 0.0))
            is_done = is_done | (token == EOS)
        return torch.cat(tokens, 1), torch.cat(looks, 1)

    def _steps(
        self, tokens: Tensor, hidden: Tensor, states: Tensor, attn_mask: Tensor | None, known: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From tokens (B, T) to the logits (B, T, V) behind each, the last hidden state, and weights (B, T, S)."""
        outputs, looks = [], []
        for embedded in self.dropout(self.embedding(tokens)).split(1, dim=1):
            context, weights = self.attention(hidden[-1].unsqueeze(1), states, states, attn_mask, **known)
            output, hidden = self.gru(torch.cat([embedded, context], -1), hidden)
            outputs.append(output)
            looks.append(weights)
        return self.output(torch.cat(outputs, 1)), hidden, torch.cat(looks, 1)

    def _known(self, states: Tensor) -> dict[str, Tensor]:
        """What the attention can know of the states before it is asked, so that it is computed once for all steps."""
        if type(self.attention) is not AdditiveAttention:
            return {}
        check_input("key", states, self.attention.W_k.weight)
        return {"projected_key": self.attention.W_k(states)}

    def _check_source(self, rows: int, hidden: Tensor, states: Tensor) -> None:
        check_input("hidden", hidden, self.output.weight)
        check_input("states", states, self.output.weight)
        layers, width = self.gru.num_layers, self.gru.hidden_size
        if hidden.shape != (layers, rows, width) or states.shape != (rows, states.size(-2), width):
            wanted = f"hidden {(layers, rows, width)} and states ({rows}, S, {width})"
            raise ValueError(f"{rows} targets need {wanted}, found {shapes(hidden=hidden, states=states)}")


class Translator(nn.Module):
    """An encoder and a decoder that are trained as one.

    Args:
        encoder: reads the source.
        decoder: writes the target, with as many layers, as wide.

    Raises:
        ValueError: the two differ in layers or width.

    >>> from attention import AdditiveAttention
    >>> attend = AdditiveAttention(query_dim=5, key_dim=5, hidden_dim=5)
    >>> model = Translator(Encoder(10, hidden_dim=5), Decoder(10, hidden_dim=5, attention=attend))
    >>> ids, weights = model.translate(torch.tensor([[3, 7, 4, 9], [8, 3, 0, 0]]), torch.tensor([4, 2]), max_steps=7)
    >>> weights.shape == (*ids.shape, 4), weights[1, :, 2:].any().item()
    (True, False)
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        found = [(part.gru.num_layers, part.embedding.embedding_dim) for part in (encoder, decoder)]
        if found[0] != found[1]:
            raise ValueError(
                "encoder and decoder must have the same number of layers and hidden_dim, "
                f"found {found[0]} and {found[1]}"
            )
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Teacher forcing: predict each token of the target from the source and the true tokens before it.

        Args:
            source: ids (B, S).
            target: ids (B, T), as they are to come out.
            lengths: of the sources, integers (B,), from 1 to S; S for each when not given.

        Returns:
            logits (B, T, V), and weights (B, T, S), zeros behind each length.

        Raises:
            TypeError, ValueError: as :class:`Encoder` and :class:`Decoder`.
        """
        logits, _, weights = self.decoder(target, *self._read(source, lengths))
        return logits, weights

    @torch.no_grad()
    def translate(self, source: Tensor, lengths: Tensor | None = None, *, max_steps: int) -> tuple[Tensor, Tensor]:
        """Greedy decoding: ids (B, T) and weights (B, T, S), as :meth:`Decoder.greedy` returns them."""
        return self.decoder.greedy(*self._read(source, lengths), max_steps=max_steps)

    def _read(self, source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        states, hidden = self.encoder(source, lengths)
        return hidden, states, None if lengths is None else padding_mask(lengths, source.size(1)).to(states.device)


def _full_lengths(source: Tensor) -> Tensor:
    padded = (source == PAD).any(-1).nonzero().flatten().tolist()
    if padded:
        raise ValueError(f"source has padding (id {PAD}) in row {padded[0]}: its lengths must be given")
    return torch.full((len(source),), source.size(1), device=source.device)


def _check_sizes(vocabulary_size: int, hidden_dim: int, num_layers: int, dropout: float) -> None:
    check_count("vocabulary_size", vocabulary_size, least=EOS + 1)
    check_count("hidden_dim", hidden_dim, least=1)
    check_count("num_layers", num_layers, least=1)
    check_probability("dropout", dropout)
