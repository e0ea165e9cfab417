"""What is known of each launcher: its words, its lines, its failures."""
