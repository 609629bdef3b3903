"""What Prometheus is told; one registry an application, no globals."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

# Seconds. A single suggestion takes one or two milliseconds, a search seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("vse_requests", "Requests answered.", ("route", "status"), registry=registry)
        self.seconds = Histogram(
            "vse_request_seconds", "Seconds from request to answer.", ("route",), buckets=_BUCKETS, registry=registry
        )
        self.in_flight = Gauge("vse_requests_in_flight", "Requests not yet answered.", registry=registry)
        self.suggestions = Counter("vse_suggestions", "Suggestions made.", registry=registry)
        self.feedback = Counter("vse_feedback_events", "Events of feedback kept.", ("verdict",), registry=registry)
        self.swaps = Counter("vse_model_swaps", "Models swapped in for another.", registry=registry)
        self.loading_failures = Counter(
            "vse_model_loading_failures", "Models that could not be loaded.", registry=registry
        )
        self._model = Gauge("vse_model_info", "The model that is served.", ("fingerprint",), registry=registry)

    def serving(self, fingerprint: str) -> None:
        """From now on it is this model."""
        self._model.clear()
        self._model.labels(fingerprint).set(1)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
