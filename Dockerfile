# The service, or any other command of vse: docs/deploy.md.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/vse
WORKDIR /src
# Packages first: they change less often than the source, and so stay in the cache of the builder.
COPY locks/service.txt ./
RUN /opt/vse/bin/pip install --require-hashes --only-binary :all: --requirement service.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/vse/bin/pip install --no-deps . && /opt/vse/bin/python -m compileall -q /opt/vse/lib

FROM python:${PYTHON}-slim
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin vse \
    && install --directory --owner vse --group vse /data /cache
COPY --from=build /opt/vse /opt/vse
# All that is written goes to /data and /cache, so that the rest can be read-only.
ENV PATH=/opt/vse/bin:$PATH \
    HOME=/data \
    NUMBA_CACHE_DIR=/cache/numba \
    XDG_CACHE_HOME=/cache \
    XDG_STATE_HOME=/data/state \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME ["/data", "/cache"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/ready', timeout=4)"]
ENTRYPOINT ["vse"]
CMD ["serve", "/data/model", "--host", "0.0.0.0"]
