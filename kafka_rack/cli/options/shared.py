"""Options of several commands: each is declared once, with one type and one meaning."""

from __future__ import annotations

import click

from kafka_rack.cli.command import option, together
from kafka_rack.cli.options.types import DIRECTORY, FILE, MAX_SEED, Listed, Pair, WholeNumber, Words

format_option = option(
    "--format", click.Choice(["table", "json"]), "Print a table for people, or JSON for programs.", default="table"
)
out_option = option("--out", DIRECTORY, "Write the results into this folder.")
racks_option = option("--racks", Listed("a,b,c"), "Racks of the brokers, in turn; with a,,c broker 1 has none.")
set_option = option("--set", Pair(), "Set a setting under Kafka's name; repeat for more.", multiple=True)
seed_option = option("--seed", WholeNumber(0, MAX_SEED), "Seed of all random draws.")
client_racks_option = option(
    "--client-racks",
    FILE,
    "Racks of clients that report none: lines such as az-a@10.0.1.0/24 or az-b@client:billing-*.",
)
packets_options = together(
    option("--ports", Words("PORT,..."), "Ports of the brokers in packets; default: recognized."),
    option(
        "--addresses",
        Words("ID[:RACK]=[HOST]:PORT,..."),
        "Addresses of the brokers in packets, such as 0:a=10.0.0.1:9092; default: learned from Metadata.",
    ),
)
command_config_option = option("--command-config", FILE, "Kafka client properties, for TLS and logins.")
