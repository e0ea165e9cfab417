"""What the doctor makes of facts: judges that are pure, one file per subject."""
