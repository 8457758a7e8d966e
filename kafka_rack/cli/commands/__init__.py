"""The subcommands, one module or package each, with ``add_arguments(parser)`` and ``run(arguments) -> exit code``."""
