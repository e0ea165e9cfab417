"""Building an image, and putting a job's requirements on it as one layer."""
