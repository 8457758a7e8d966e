"""What a real Kafka cluster answers, held against what ours answers to the same; fixtures/answers/README.md.

`scenarios` asks, `story` is the language for it, `drivers` are the clusters, `normal` makes answers comparable,
`recorded` has the files of fixtures/answers/, `excuses` what may differ.
"""
