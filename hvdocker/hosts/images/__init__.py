"""Images from here to the hosts: kept by layer, sent as parts, passed on from host to host."""
