"""The networks of `benchmarks/rivals/neural.py`. This module imports torch."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own name

from benchmarks.rivals.neural import Batch


class Network(nn.Module):
    """Scores all labels of the images of a batch."""

    def begin_epoch(self, epoch: int) -> None:
        """Do what an epoch starts with."""

    def end_pass(self) -> None:
        """Do what a pass over the images ends with."""

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of the images."""
        raise NotImplementedError


class LabelSum(nn.Module):
    """Adds up the vectors of the labels of each image, weighted."""

    def __init__(self, labels: int, width: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(labels, width))
        nn.init.xavier_normal_(self.vectors)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, batch: Batch, weights: Tensor) -> Tensor:
        """Return one vector per image."""
        starts = torch.searchsorted(batch.rows, torch.arange(batch.size))
        return F.embedding_bag(batch.labels, self.vectors, starts, mode="sum", per_sample_weights=weights) + self.bias


def normalized(batch: Batch) -> Tensor:
    """Return the weight of each label that gives the row of its image length 1."""
    return torch.bincount(batch.rows, minlength=batch.size).clamp(min=1).float().rsqrt()[batch.rows]


def log_likelihood(logits: Tensor, batch: Batch) -> Tensor:
    """Return the multinomial log likelihood of the labels of each image, summed over the batch."""
    return F.log_softmax(logits, dim=1)[batch.rows, batch.labels].sum()


def _xavier(layer: nn.Linear) -> nn.Linear:
    nn.init.xavier_normal_(layer.weight)
    nn.init.normal_(layer.bias, std=0.001)
    return layer


class Autoencoder(Network):
    """Mult-DAE: a row of length 1, dropout, one tanh layer, softmax over all labels."""

    def __init__(self, labels: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.input, self.output = LabelSum(labels, hidden), _xavier(nn.Linear(hidden, labels))
        self.dropout = dropout

    def forward(self, batch: Batch) -> Tensor:
        """Return logits."""
        weights = F.dropout(normalized(batch), self.dropout, self.training)
        return self.output(torch.tanh(self.input(batch, weights)))

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative log likelihood."""
        return -log_likelihood(self(batch), batch) / batch.size


class VariationalAutoencoder(Network):
    """Mult-VAE; the weight of the KL term rises to ``beta`` over the first 20 epochs."""

    def __init__(self, labels: int, hidden: int, latent: int, dropout: float, beta: float) -> None:
        super().__init__()
        self.input = LabelSum(labels, hidden)
        self.code = _xavier(nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(_xavier(nn.Linear(latent, hidden)), nn.Tanh(), _xavier(nn.Linear(hidden, labels)))
        self.dropout, self.beta, self.warm = dropout, beta, 0.0

    def begin_epoch(self, epoch: int) -> None:
        """Raise the weight of the KL term."""
        self.warm = min(1.0, epoch / 20)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return mean and log variance of the code."""
        weights = F.dropout(normalized(batch), self.dropout, self.training)
        mean, log_variance = self.code(torch.tanh(self.input(batch, weights))).chunk(2, dim=1)
        return mean, log_variance

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of the mean code."""
        found: Tensor = self.decoder(self.encode(batch)[0])
        return found

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative ELBO with a weighted KL term."""
        mean, log_variance = self.encode(batch)
        logits = self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance))
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        return (-log_likelihood(logits, batch) + self.warm * self.beta * kl) / batch.size


class _Encoder(nn.Module):
    """RecVAE's encoder: layers that each add up all before them."""

    def __init__(self, labels: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.input = LabelSum(labels, hidden)
        self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(4))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden, eps=0.1) for _ in range(5))
        self.code = nn.Linear(hidden, 2 * latent)

    def forward(self, batch: Batch, dropout: float) -> tuple[Tensor, Tensor]:
        before = self.norms[0](F.silu(self.input(batch, F.dropout(normalized(batch), dropout))))
        total = before
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            before = norm(F.silu(layer(before) + total))
            total = total + before
        mean, log_variance = self.code(before).chunk(2, dim=1)
        return mean, log_variance


class RecVaeNetwork(Network):
    """RecVAE: a prior of a normal, the encoder of the pass before, and a wide normal; encoder and decoder in turn."""

    weights = (3 / 20, 15 / 20, 2 / 20)

    def __init__(self, labels: int, hidden: int, latent: int, dropout: float, gamma: float) -> None:
        super().__init__()
        self.encoder = _Encoder(labels, hidden, latent)
        self.decoder = nn.Linear(latent, labels)
        self.old = copy.deepcopy(self.encoder).requires_grad_(False)
        self.dropout, self.gamma = dropout, gamma
        self.passes = 0

    def encoder_parameters(self) -> list[Tensor]:
        """Return what the passes of the encoder change."""
        return list(self.encoder.parameters())

    def decoder_parameters(self) -> list[Tensor]:
        """Return what the pass of the decoder changes."""
        return list(self.decoder.parameters())

    def parameters(self, recurse: bool = True) -> Any:
        """Return the parameters that scores need: without the old encoder."""
        del recurse
        return iter((*self.encoder_parameters(), *self.decoder_parameters()))

    def begin_epoch(self, epoch: int) -> None:
        """Start with the encoder."""
        del epoch
        self.passes = 0

    def end_pass(self) -> None:
        """Keep the encoder as the old one after its last pass."""
        self.passes += 1
        if self.passes == 2:
            self.old.load_state_dict(self.encoder.state_dict())

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of the mean code."""
        found: Tensor = self.decoder(self.encoder(batch, 0.0)[0])
        return found

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative ELBO: of corrupted images for the encoder, of whole ones for the decoder."""
        encoding = self.passes < 2
        mean, log_variance = self.encoder(batch, self.dropout if encoding else 0.0)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        likelihood = -log_likelihood(self.decoder(code), batch) / batch.size
        if not encoding:
            return likelihood
        counts = torch.bincount(batch.rows, minlength=batch.size).float()
        kl = (_log_normal(code, mean, log_variance) - self._log_prior(code, batch)).sum(dim=1)
        return likelihood + self.gamma * (counts * kl).mean()

    def _log_prior(self, code: Tensor, batch: Batch) -> Tensor:
        with torch.no_grad():
            mean, log_variance = self.old(batch, 0.0)
        zero = torch.zeros(())
        parts = (
            _log_normal(code, zero, zero),
            _log_normal(code, mean, log_variance),
            _log_normal(code, zero, zero + 10.0),
        )
        return torch.logsumexp(
            torch.stack([part + math.log(weight) for part, weight in zip(parts, self.weights, strict=True)]), dim=0
        )


def _log_normal(code: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    return -0.5 * (math.log(2 * math.pi) + log_variance + (code - mean) ** 2 / log_variance.exp())


def hidden_labels(batch: Batch, share: float) -> Tensor:
    """Return a mask of the labels to predict: each with a chance of ``share``, at least one, never all of an image."""
    drawn = torch.rand(len(batch.labels), dtype=torch.float64)  # single precision would mix neighboring rows
    counts = torch.bincount(batch.rows, minlength=batch.size)
    order = torch.argsort(batch.rows + drawn)  # of each image, by the number drawn
    rank = torch.empty_like(batch.rows)
    rank[order] = torch.arange(len(order)) - (torch.cumsum(counts, 0) - counts)[batch.rows]
    return ((drawn < share) | (rank == 0)) & (rank < counts[batch.rows] - 1)


class MaskedNetwork(Network):
    """Sees some labels of an image and predicts the hidden ones among all that it does not see."""

    def __init__(self, counts: Any, hidden: int, dropout: float, hide: float) -> None:
        super().__init__()
        labels, self.hide = len(counts), hide
        self.input = LabelSum(labels, hidden)
        self.body = nn.Sequential(
            nn.LayerNorm(hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
        )
        self.output = _output(hidden, counts)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits."""
        found: Tensor = self.output(self.represent(batch))
        return found

    def represent(self, batch: Batch) -> Tensor:
        """Return one vector per image."""
        found: Tensor = self.body(self.input(batch, normalized(batch)))
        return found

    def loss(self, batch: Batch) -> Tensor:
        """Return the negative log likelihood of the hidden labels."""
        hidden = hidden_labels(batch, self.hide)
        seen = Batch(batch.labels[~hidden], batch.rows[~hidden], batch.size)
        asked = Batch(batch.labels[hidden], batch.rows[hidden], batch.size)
        logits = self(seen).index_put((seen.rows, seen.labels), torch.tensor(-1e9))
        return -log_likelihood(logits, asked) / len(asked.labels)


def _output(width: int, counts: Any) -> nn.Linear:
    layer = nn.Linear(width, len(counts))
    nn.init.normal_(layer.weight, std=0.02)
    layer.bias.data = (torch.from_numpy(counts).clamp(min=0.5) / counts.mean()).log().float()
    return layer


class AttentionNetwork(MaskedNetwork):
    """A set transformer (Lee et al. 2019): self-attention among the seen labels, then a query that reads them."""

    def __init__(self, counts: Any, width: int, layers: int, dropout: float, hide: float) -> None:
        Network.__init__(self)
        self.labels, self.hide = len(counts), hide
        self.vectors = nn.Parameter(torch.randn(self.labels + 1, width) * 0.05)  # the last fills short rows
        layer = nn.TransformerEncoderLayer(width, 4, width, dropout, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.query = nn.Parameter(torch.randn(1, 1, width) * 0.05)
        self.pool = nn.MultiheadAttention(width, 4, dropout, batch_first=True)
        self.body = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 2 * width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * width, width),
        )
        self.output = _output(width, counts)

    def represent(self, batch: Batch) -> Tensor:
        """Return the query's vector after it has read the labels; a filler is read too, so that no row is empty."""
        counts = torch.bincount(batch.rows, minlength=batch.size)
        longest = int(counts.max()) + 1
        place = torch.arange(len(batch.rows)) - (torch.cumsum(counts, 0) - counts)[batch.rows]
        tokens = torch.full((batch.size, longest), self.labels)
        tokens[batch.rows, place + 1] = batch.labels
        absent = torch.arange(longest)[None] > counts[:, None]
        read = self.encoder(self.vectors[tokens], src_key_padding_mask=absent)
        pooled, _ = self.pool(self.query.expand(batch.size, 1, -1), read, read, key_padding_mask=absent)
        found: Tensor = pooled[:, 0] + self.body(pooled[:, 0])
        return found


class LogisticNetwork(Network):
    """The log odds of each label are a sum over the other labels of the image."""

    def __init__(self, counts: Any, images: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(len(counts), len(counts)))
        share = (torch.from_numpy(counts) + 0.5) / (images + 1)
        self.bias = nn.Parameter(torch.logit(share).float())

    def forward(self, batch: Batch) -> Tensor:
        """Return log odds."""
        weight = self.weight - torch.diag(torch.diagonal(self.weight))
        starts = torch.searchsorted(batch.rows, torch.arange(batch.size))
        return F.embedding_bag(batch.labels, weight, starts, mode="sum") + self.bias

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross entropy of all labels."""
        odds = self(batch)
        target = torch.zeros_like(odds)
        target[batch.rows, batch.labels] = 1.0
        return F.binary_cross_entropy_with_logits(odds, target, reduction="sum") / batch.size
