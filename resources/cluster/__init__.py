"""The heavy stages on a Ray cluster; Ray itself is imported when it is used."""

from resources.cluster.connecting import Connection, check_cluster
from resources.cluster.engine import ClusterEngine

__all__ = ["ClusterEngine", "Connection", "check_cluster"]
