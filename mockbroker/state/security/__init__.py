"""Access, authentication, TLS settings, and users' credentials."""
