"""What comes from the command line, the environment and files that it names."""
