"""What has to be done to start a job. Pure."""
