"""Who may do what, and the passwords of users."""
