"""Groups of the consumer protocol (KIP-848), and the members of the classic protocol that are in them."""
