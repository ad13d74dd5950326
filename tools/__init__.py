"""What is run to make a release: nothing of it is installed."""
