"""Every pair of hosts, each way: asked from inside the training image, and judged."""
