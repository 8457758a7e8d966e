"""Transactional producers of other people's libraries: processes that do what lines of their standard input say."""
