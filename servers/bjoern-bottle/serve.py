"""bjoern on the Bottle application; with several workers, one event loop each on a shared socket."""

import os
import signal
import sys

import bjoern

from app import app


def main(host, port, workers):
    bjoern.listen(app, host, int(port))
    if workers == "1":
        bjoern.run()
        return
    children = []

    def stop(*_):
        for child in children:
            os.kill(child, signal.SIGTERM)
        os._exit(0)

    # Held back until every child is known, and given to the children as it was.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    for _ in range(int(workers)):
        child = os.fork()
        if child == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            bjoern.run()
            os._exit(1)
        children.append(child)
    signal.signal(signal.SIGTERM, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    # A lost worker would bend the figures in silence: end the whole server instead.
    lost, _ = os.wait()
    children.remove(lost)
    stop()


main(*sys.argv[1:])
