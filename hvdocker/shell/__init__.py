"""Words for a POSIX shell: commands as tuples of words, and the folders of ours on a host. Pure."""
