"""Prometheus metrics, one registry per application."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

# Seconds. Suggestions for one image take one or two milliseconds, a search takes up to seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class ServiceMetrics:
    """Counters, gauges and histograms of one service."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("vse_requests", "Requests answered.", ("route", "status"), registry=registry)
        self.seconds = Histogram(
            "vse_request_seconds", "Response time in seconds.", ("route",), buckets=_BUCKETS, registry=registry
        )
        self.in_flight = Gauge("vse_requests_in_flight", "Requests in progress.", registry=registry)
        self.suggestions = Counter("vse_suggestions", "Suggestions made.", registry=registry)
        self.feedback = Counter("vse_feedback_events", "Feedback events stored.", ("verdict",), registry=registry)
        self.swaps = Counter("vse_model_swaps", "Models replaced by another.", registry=registry)
        self.loading_failures = Counter(
            "vse_model_loading_failures", "Models that could not be loaded.", registry=registry
        )
        self._model = Gauge("vse_model_info", "The model being served.", ("fingerprint",), registry=registry)

    def set_model(self, fingerprint: str) -> None:
        """Record the fingerprint of the served model."""
        self._model.clear()
        self._model.labels(fingerprint).set(1)

    def text(self) -> bytes:
        """Return all metrics in Prometheus text format."""
        return generate_latest(self._registry)
