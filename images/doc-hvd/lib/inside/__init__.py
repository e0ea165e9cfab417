"""What runs inside the containers of a cluster. Python standard library only, and no Docker."""
