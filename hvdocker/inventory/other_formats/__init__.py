"""Lists of hosts in the formats of other tools: hostfiles of MPI and DeepSpeed, and Ansible's inventories.

`init --from` writes their hosts into an inventory. A verb that is given such a file names the format. hostfile.py,
ansible_ini.py and ansible_yaml.py read a format each; host_pattern.py reads a host with a port or a range;
ansible_groups.py and ansible.py decide what a host gets from groups and variables. not_hosts.py recognises files that
are something else. source_file.py opens the file, and reads it if it is a configuration of OpenSSH; the others are
pure."""

from hvdocker.inventory.other_formats.other_format import NoHosts, OtherFormat, explain_no_hosts, other_format

__all__ = ["NoHosts", "OtherFormat", "explain_no_hosts", "other_format"]
