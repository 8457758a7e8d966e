"""What the jobs leave: tables on disk, put in place when they are whole."""
