"""The networks of the rivals against slow twins on dense rows, and LightGBM's inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.peers.base import ones_matrix
from benchmarks.rivals.neural import Batch, batch_of

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes

NEEDS = 'needs "vse-ens[rivals]"'


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(80, 50)


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch", reason=NEEDS)
    found.manual_seed(0)
    found.set_num_threads(1)
    return found


@pytest.fixture
def networks(torch: Any) -> Any:
    from benchmarks.rivals import networks as found

    del torch
    return found


@pytest.fixture
def batch(data: Annotations, torch: Any) -> Batch:
    del torch
    return batch_of(data, np.array([3, 7, 0, 41]))


@pytest.fixture
def rows(data: Annotations, torch: Any) -> Any:
    return torch.from_numpy(ones_matrix(data)[[3, 7, 0, 41]].toarray())


def test_autoencoder_is_a_tanh_layer_on_rows_of_length_one(networks: Any, torch: Any, batch: Batch, rows: Any) -> None:
    network = networks.Autoencoder(rows.shape[1], 8, 0.0)
    unit = rows / rows.norm(dim=1, keepdim=True)
    logits = torch.tanh(unit @ network.input.vectors + network.input.bias) @ network.output.weight.T
    logits = logits + network.output.bias
    torch.testing.assert_close(network(batch), logits)
    expected = -(torch.log_softmax(logits, dim=1) * rows).sum(dim=1).mean()
    torch.testing.assert_close(network.loss(batch), expected)


def test_variational_autoencoder_adds_the_divergence_of_its_code(
    networks: Any, torch: Any, batch: Batch, data: Annotations
) -> None:
    network = networks.VariationalAutoencoder(len(data.labels), 8, 4, 0.0, beta=0.5)
    network.begin_epoch(10)  # half way up
    torch.manual_seed(5)
    found = network.loss(batch)
    mean, log_variance = network.encode(batch)
    torch.manual_seed(5)
    code = mean + torch.randn_like(mean) * (log_variance / 2).exp()
    normal = torch.distributions.Normal(mean, (log_variance / 2).exp())
    divergence = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum()
    likelihood = networks.log_likelihood(network.decoder(code), batch)
    torch.testing.assert_close(found, (0.25 * divergence - likelihood) / 4)


def test_recvae_prior_is_a_mixture_of_three_normals(networks: Any, torch: Any, batch: Batch, data: Annotations) -> None:
    network = networks.RecVaeNetwork(len(data.labels), 8, 4, 0.5, 0.005)
    code = torch.randn(4, 4)
    mean, log_variance = network.old(batch, 0.0)
    normal = torch.distributions.Normal
    densities = (
        0.15 * normal(0.0, 1.0).log_prob(code).exp()
        + 0.75 * normal(mean, (log_variance / 2).exp()).log_prob(code).exp()
        + 0.10 * normal(0.0, math.exp(5.0)).log_prob(code).exp()
    )
    torch.testing.assert_close(network._log_prior(code, batch), densities.log())


def test_recvae_trains_encoder_and_decoder_in_turn(networks: Any, batch: Batch, data: Annotations) -> None:
    network = networks.RecVaeNetwork(len(data.labels), 8, 4, 0.5, 0.005)
    network.begin_epoch(1)
    network.loss(batch).backward()
    assert all(one.grad is not None for one in network.encoder_parameters())
    assert all(one.grad is None for one in network.old.parameters())
    before = network.old.input.vectors.clone()
    network.encoder.input.vectors.data += 1.0
    network.end_pass()
    assert (network.old.input.vectors == before).all()
    network.end_pass()
    assert (network.old.input.vectors == network.encoder.input.vectors).all()


def test_hidden_labels_leave_one_and_take_one(networks: Any, torch: Any, data: Annotations) -> None:
    images = np.flatnonzero(data.labels_per_image >= 2)
    batch = batch_of(data, images)
    for share in (0.0, 0.4, 1.0):
        hidden = networks.hidden_labels(batch, share)
        counts = torch.bincount(batch.rows[hidden], minlength=batch.size)
        assert (counts >= 1).all()
        assert (counts < torch.bincount(batch.rows)).all()
    # Every label of an image is equally likely to be the one that is hidden.
    one = batch_of(data, images[:1])
    drawn = sum(networks.hidden_labels(one, 0.0).int() for _ in range(600))
    expected = 600 / len(one.labels)
    assert ((drawn - expected).abs() < 5 * expected**0.5).all()


def test_masked_network_predicts_hidden_among_unseen_labels(
    networks: Any, torch: Any, batch: Batch, data: Annotations, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = networks.MaskedNetwork(data.images_per_label, 8, 0.0, 0.5).eval()
    hidden = networks.hidden_labels(batch, 0.5)
    monkeypatch.setattr(networks, "hidden_labels", lambda *_: hidden)
    expected = 0.0
    for row in range(batch.size):
        own = batch.rows == row
        seen, asked = batch.labels[own & ~hidden], batch.labels[own & hidden]
        logits = network(Batch(seen, torch.zeros_like(seen), 1))[0]
        unseen = [label for label in range(len(data.labels)) if label not in seen.tolist()]
        expected -= sum(logits[label] - torch.logsumexp(logits[unseen], 0) for label in asked)
    torch.testing.assert_close(network.loss(batch), expected / hidden.sum())


def test_attention_does_not_depend_on_order_or_company(networks: Any, torch: Any, data: Annotations) -> None:
    network = networks.AttentionNetwork(data.images_per_label, 16, 2, 0.3, 0.3).eval()
    longest = int(np.argmax(data.labels_per_image))
    shortest = int(np.argmin(data.labels_per_image))
    both = network(batch_of(data, np.array([shortest, longest])))
    alone = batch_of(data, np.array([longest]))
    torch.testing.assert_close(both[1:], network(alone))
    torch.testing.assert_close(both[:1], network(batch_of(data, np.array([shortest]))))
    turned = Batch(alone.labels.flip(0), alone.rows, 1)
    torch.testing.assert_close(network(turned), network(alone), atol=1e-5, rtol=1e-4)
    nothing = Batch(alone.labels[:0], alone.rows[:0], 1)
    assert torch.isfinite(network(nothing)).all()


def test_logistic_network_leaves_out_the_label_itself(networks: Any, torch: Any, data: Annotations) -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    network = networks.LogisticNetwork(data.images_per_label, len(data.images))
    batch = batch_of(data, np.arange(len(data.images)))
    strength = 0.02
    optimizer = torch.optim.LBFGS(
        network.parameters(), max_iter=500, line_search_fn="strong_wolfe", tolerance_grad=1e-7
    )

    def closure() -> Any:
        optimizer.zero_grad()
        loss = network.loss(batch) + strength / 2 * (network.weight**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    rows = ones_matrix(data).toarray()
    for label in np.argsort(-data.images_per_label)[:3]:
        others = np.delete(rows, label, axis=1)
        twin = sklearn.LogisticRegression(C=1 / (strength * len(rows)), tol=1e-8, max_iter=5_000)
        odds = twin.fit(others, rows[:, label]).decision_function(others)
        np.testing.assert_allclose(network(batch)[:, label].detach().numpy(), odds, atol=0.02)


def test_no_tree_reads_the_label_that_it_predicts(data: Annotations) -> None:
    pytest.importorskip("lightgbm", reason=NEEDS)
    from benchmarks.rivals.trees import boost

    labels = np.argsort(-data.images_per_label)[:5]
    matrix = ones_matrix(data).astype(np.float64)
    used = 0
    for label, booster in zip(labels, boost(matrix, labels, {"rate": 0.2, "leaves": 7}, 5, seed=0), strict=True):
        splits = booster.feature_importance("split")
        assert splits[label] == 0
        used += splits.sum()
        target = matrix[:, label].toarray().ravel()
        assert booster.predict(matrix).mean() == pytest.approx(target.mean(), abs=0.05)
    assert used > 0
