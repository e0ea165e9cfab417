"""What the controller and the image say to each other. Standard library only; to be shipped into it."""
