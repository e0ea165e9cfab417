"""What nobody uses any more: found, and given back."""
