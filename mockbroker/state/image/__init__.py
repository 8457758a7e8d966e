"""What a restart finds again, and the records that alone change it."""
