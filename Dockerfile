# Prony alone, as `cargo xtask dist` builds it: the context is the tree that it packs (bin/, share/).
#
#   podman run --rm --network host IMAGE load http://127.0.0.1:8080/
#   podman run --rm --network host -v "$PWD:/work" --user "$(id -u):$(id -g)" IMAGE load URL -o run.jsonl
#
# Nothing else is inside: authorities for https:// are Mozilla's list in the binary, unless a list of your own is mounted at
# /etc/ssl/certs/ca-certificates.crt.
FROM scratch
COPY --chmod=755 bin/prony /usr/bin/prony
COPY share/doc/prony /usr/share/doc/prony
# Where run logs go, and where a file of your own is looked for: mount a folder here.
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/bin/prony"]
CMD ["--help"]
