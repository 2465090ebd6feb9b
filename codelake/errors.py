"""The exceptions codelake raises.

The tree::

    CodelakeError
    ├── UsageError            the caller asked for something that cannot be (exit code 2)
    ├── SourceError           a repository or folder cannot be read
    ├── StoreError            the tables cannot be read or written
    │   ├── BusyError         another process writes them
    │   └── SchemaError       rows do not fit their table's contract
    ├── EmbeddingError        an embedder cannot answer at all
    │   └── BudgetError       it would cost more than may be spent
    ├── AlertError            an alert cannot be delivered
    └── ClusterError          the machines that were to help do not

A message says what was given, what was expected and what to do.
"""


class CodelakeError(Exception):
    """Base of every error a caller can act on."""


class UsageError(CodelakeError):
    """The request is wrong: an unknown name, an impossible value, a missing argument."""


class SourceError(CodelakeError):
    """A repository, folder or URL cannot be read."""


class StoreError(CodelakeError):
    """The stored tables cannot be opened, read or written."""


class BusyError(StoreError):
    """Another process writes the tables; it helps to wait."""


class SchemaError(StoreError):
    """Rows do not fit the table they are meant for."""


class ClusterError(CodelakeError):
    """The cluster of a run cannot be reached, or has lost or mixed up what it was given."""


class EmbeddingError(CodelakeError):
    """An embedder cannot answer: no key, wrong key, no server, wrong dimension."""


class BudgetError(EmbeddingError):
    """An embedder has spent what it may; it helps to raise the limit."""


class AlertError(CodelakeError):
    """An alert cannot be delivered."""
