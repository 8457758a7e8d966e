"""``python -m kafka_rack.cli`` is ``kafka-rack``."""

from kafka_rack.cli import main

raise SystemExit(main())
