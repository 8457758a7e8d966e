"""Is a program rack-aware? Runs it against a cluster, one process a rack, and judges what the wire shows.

``course.run(plan)`` gives the facts, ``certificate.certificate_of(command, facts, prices)`` the grade. What is seen and
how it is judged: docs/certify.md.
"""
