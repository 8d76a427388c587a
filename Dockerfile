# The playground (docs/how-to/playground.md).  Publish its port to this machine only:
#
#   docker build -t vtir .
#   docker run --rm --read-only --tmpfs /tmp --memory 5g --pids-limit 256 -p 127.0.0.1:8765:8765 vtir
FROM python:3.12-slim

COPY pyproject.toml PACKAGE.md LICENSE /source/
COPY verified_tir /source/verified_tir
RUN pip install --no-cache-dir "/source[serve]" && rm -r /source && useradd --create-home vtir

USER vtir
WORKDIR /home/vtir
EXPOSE 8765
ENV PYTHONDONTWRITEBYTECODE=1
CMD ["vtir", "serve", "--port", "8765", "--in-container"]
