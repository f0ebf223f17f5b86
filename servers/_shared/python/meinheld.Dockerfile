# meinheld does not build for newer ones.
FROM python:3.9-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
# The pins of server.toml, written there by `prony servers install`.
COPY requirements.prony.txt /tmp/
RUN python3 -m venv /venv \
 && grep -E '^(setuptools|wheel)==' /tmp/requirements.prony.txt >/tmp/builders.txt \
 && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /tmp/builders.txt \
 && /venv/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r /tmp/requirements.prony.txt
COPY . /app
