"""Lists of hosts in the formats of other tools: hostfiles of MPI and DeepSpeed, and Ansible's inventories.

`init --from` writes their hosts into an inventory. If such a file is given to a verb as its inventory, the error names
the format."""

from hvdocker.inventory.other_formats.other_format import OtherFormat, other_format

__all__ = ["OtherFormat", "other_format"]
