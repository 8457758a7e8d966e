"""``python -m tests.torture.kill [--rounds 100] [--seed 1] [--kafka]``: a cluster on its data directory is killed.

A round lets real clients work, ends the process by SIGKILL at a moment of the seed's choice, damages the ends of some
files in two rounds of three, starts it again, and compares what there is with what the clients were told.
"""

import argparse

from tests.torture.killing.run import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.kill")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka", action="store_true", help="kill a real Kafka of one node instead (Java and Maven)")
    arguments = parser.parse_args()
    print(run(arguments.rounds, seed=arguments.seed, kafka=arguments.kafka))


if __name__ == "__main__":
    main()
