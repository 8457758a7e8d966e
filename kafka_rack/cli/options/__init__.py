"""Options: values from the command line, the environment and the files that these name."""
