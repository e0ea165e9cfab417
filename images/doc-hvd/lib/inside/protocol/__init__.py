"""What controller, supervisor and ranks say to each other, and where it lies."""
