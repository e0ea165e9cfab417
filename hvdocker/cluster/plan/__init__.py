"""What has to be done to a cluster. Pure."""
