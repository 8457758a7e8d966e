"""Random requests, the same ones to a real Kafka and to ours, and what differs in the answers.

    python -m tests.answers random --family data --seed 1 --requests 2000
    python -m tests.answers random --family data --replay 4711:88-12-9.0.1     # what a difference is printed with
    python -m tests.answers random --family data --seed 1 --requests 2000 --alone   # ours without Kafka: does it fail?

A family (families.py) is a `Turns` class (turns.py): it is given a story (tests/answers/story.py), makes what its
requests need, and has some operations, each of which asks one thing. A run is a `Plan` (plan.py): a seed for what is
made at first and a seed for each turn, which draws the operation and its values; so a turn can be left out and the
others stay what they are. differential.py carries a plan out on both and gives the first answer that differs,
shrinking.py leaves out what it does not take, runner.py goes from seed to seed and tells each difference once.

A new family: a module with a subclass of `Turns`, its operations by weight in `OPERATIONS`, and a line in
families.py. An operation draws all its values before it asks, and asks once.

    class Deletions(Turns):
        OPERATIONS: ClassVar = {"delete": 3, "describe": 1}

        def begin(self, random: Random) -> None:
            self.group = self.story.named("g")
            self.to = self.story.coordinator(self.group)

        def delete(self, random: Random) -> None:
            version = random.randrange(4)
            self.ask("DeleteGroups", version, {"groupsNames": [self.group]}, to=self.to)

        def describe(self, random: Random) -> None:
            self.ask("DescribeGroups", 5, {"groups": [self.group]}, to=self.to)

What a difference showed is restored, and kept as a scenario of tests/answers/scenarios: random runs are no part of CI.
"""
