"""hvdocker: distributed training on a handful of Docker hosts, over SSH, without Kubernetes."""

__version__ = "0.1.0"
