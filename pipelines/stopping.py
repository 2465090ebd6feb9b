"""How what runs until it is ended is ended."""

import signal


def end_on_signals() -> None:
    """Let Ctrl-C and a service manager's SIGTERM raise KeyboardInterrupt, wherever it was started.

    What a script starts with ``&`` ignores Ctrl-C, the first process of a container SIGTERM, and
    Dagster lets SIGTERM do what Ctrl-C does.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
