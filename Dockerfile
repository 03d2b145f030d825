# Both stages are pinned to one Debian release, so that the binary finds the C library it was built with.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
# The dependencies alone, on an empty program: this layer is reused until Cargo.toml or Cargo.lock change.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src benches && echo 'fn main() {}' >src/main.rs && touch src/lib.rs benches/count.rs \
    && cargo build --locked --profile image --bin nqueens \
    && rm -r src
COPY src src
# The files may be older than the empty program's build, and cargo goes by time.
RUN touch src/lib.rs src/main.rs && cargo build --locked --profile image --bin nqueens
# For a volume: a fresh one takes over the owner of the folder it is mounted on.
RUN mkdir data

FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="nqueens" \
      org.opencontainers.image.description="An HTTP JSON microservice that solves, counts, lists, checks and explains N-queens boards" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /src/target/image/nqueens /usr/local/bin/nqueens
# Where jobs can be kept: docker run -v nqueens:/data -e NQUEENS_DATA_DIR=/data …
COPY --from=build --chown=65532:65532 /src/data /data
# On all addresses: inside a container, loopback is reached by nobody.
ENV NQUEENS_LISTEN=0.0.0.0:8080
EXPOSE 8080
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/usr/local/bin/nqueens", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/nqueens"]
