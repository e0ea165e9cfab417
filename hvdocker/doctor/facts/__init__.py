"""What is found out about one host, and how it is asked. Nothing is judged."""
