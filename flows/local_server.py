"""The child process of an embedded model: one llama.cpp server on loopback until standard input ends.

Started by `flows.local_model`, as a file and not as a module, so that it needs nothing of this project. The protocol:

1. standard input brings one line of JSON: ``path, model, api_key, slots, context, threads``;
2. when the server listens, standard output gets one line of JSON: ``{"address": "http://127.0.0.1:PORT"}``;
3. when standard input ends, the process ends. The operating system closes the pipe when the parent goes, however it
   goes, so a parent that is killed takes the child with it.

The API key comes by standard input because a command line is visible to every user of the machine. All that the server
itself prints, on either stream, goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

_ENDED_WHILE_LOADING = 3
_STOP_TIMEOUT_S = 3.0


def main() -> int:
    """Serve until standard input ends; 0 after a stop in good order, 1 when the weights do not load."""
    # Ctrl-C reaches every process of the terminal. When to stop is the parent's decision, told by the end of input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The server's C++ code may write to descriptor 1: keep that for the one line of the protocol and send the rest to 2.
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.readline())
    listening, ended, stopped = threading.Event(), threading.Event(), threading.Event()

    def watch() -> None:
        sys.stdin.read()
        ended.set()
        if not listening.is_set():
            os._exit(_ENDED_WHILE_LOADING)
        # Requests under way may hold the server; nobody is left to read their answers.
        if not stopped.wait(_STOP_TIMEOUT_S):
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    try:
        server = _server(order)
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    listening.set()
    protocol.write(json.dumps({"address": server.listening_address}) + "\n")
    protocol.close()
    ended.wait()
    del server  # Stops the HTTP threads and frees the port.
    stopped.set()
    return 0


def _server(order: dict[str, Any]) -> Any:
    """A listening server; raises RuntimeError when the weights do not load."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["path"]
    parameters.model_alias = {order["model"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # The system chooses a free one.
    parameters.api_keys = [order["api_key"]]
    parameters.n_parallel = order["slots"]
    parameters.n_ctx = order["context"] * order["slots"]
    parameters.cpuparams.n_threads = order["threads"]
    parameters.cpuparams_batch.n_threads = order["threads"]
    parameters.n_gpu_layers = 0  # One arithmetic on every machine.
    parameters.cache_ram_mib = 0  # The prompt is a few dozen tokens: a cache beyond the slots would only hold memory.
    parameters.fit_params = False  # Serve the context that was ordered, or fail; never a smaller one in silence.
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.offline = True
    parameters.verbosity = 2
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    sys.exit(main())
