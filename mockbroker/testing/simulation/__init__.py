"""The whole cluster under virtual time and one seed, with simulated clients and faults: a seed does the same each time.

``plan.py`` draws a run from a seed, with the clients of ``workloads.py``; ``run.py`` carries it out and judges it.
``scheduler.py`` has time and tasks, ``network.py`` the connections, ``cluster.py`` the brokers, ``clients/`` who talks
to them, ``faults.py`` what goes wrong meanwhile. ``judgement.py`` says afterwards what was not right,
``shrinking.py`` makes a failing plan small.
"""
