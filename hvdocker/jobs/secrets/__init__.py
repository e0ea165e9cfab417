"""A job's secrets in containers: put there, forgotten, emptied."""
