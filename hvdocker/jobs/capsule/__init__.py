"""The run capsule: what a job was made of, kept, found again and compared."""
