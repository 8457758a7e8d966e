// The commands given on this page as a test function that uses the fixtures of the pytest plugin.

const WIDTH = 118;
const CLIENT = `def run_client(servers, topic):
    """Put your own client here: it runs while the cluster is broken."""
    producer = Producer({"bootstrap.servers": servers, "client.id": "my-client"})
    producer.produce(topic, b"a record")
    assert producer.flush(60) == 0, "the record was not acknowledged within 60 s"`;

/** A test that gives the same commands, in their order, and runs a client while something is broken. */
export function pytestText(cluster, topics, actions) {
  const isProxy = cluster.mode === "proxy"; // the real cluster has its own shape and topics
  const fixture = isProxy ? "kafka_proxy" : "kafka_cluster";
  const hasFaults = actions.some(({ kind }) => kind === "add_fault");
  const shape = isProxy ? [] : shapeOf(cluster, topics);
  if (hasFaults) shape.push('unfired_faults="allow"');
  const isLong = `@pytest.mark.kafka(${shape.join(", ")})`.length > WIDTH;
  const marker = isLong ? `\n    ${shape.join(",\n    ")},\n` : shape.join(", ");
  const topic = topics.find(({ name }) => !name.startsWith("__"))?.name;
  const isOwn = topic === undefined && !isProxy;
  const written = isOwn ? "kafka_topic" : python(topic ?? "your-topic");
  const steps = stepsOf(actions, fixture, `run_client(${fixture}.bootstrap_servers, ${written})`);
  return `${shape.length > 0 ? "import pytest\n" : ""}from confluent_kafka import Producer


${CLIENT}


${hasFaults ? "# Without unfired_faults a fault that no request meets fails the test.\n" : ""}${
    shape.length > 0 ? `@pytest.mark.kafka(${marker})\n` : ""
  }def test_${titleOf(actions)}(${fixture}${isOwn ? ", kafka_topic" : ""}):
    ${steps.join("\n    ")}
`;
}

/** A value as Python writes it. */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).map(([key, one]) => `${python(key)}: ${python(one)}`);
  return `{${entries.join(", ")}}`;
}

/** Text in ASCII: whatever a name holds stays inside the quotes. */
function pythonText(text) {
  const inside = [...text].map((one) => {
    const code = one.codePointAt(0);
    if (one === "\\" || one === '"') return `\\${one}`;
    if (code >= 0x20 && code < 0x7f) return one;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${inside.join("")}"`;
}

/** The marker's arguments: the cluster's shape. */
function shapeOf(cluster, topics) {
  const brokers = [...cluster.brokers].sort((one, other) => one.id - other.id);
  const racks = patternOf(brokers.map((broker) => broker.rack ?? ""));
  const asText = racks.every((rack) => /^[A-Za-z0-9._-]*$/.test(rack)) ? python(racks.join(",")) : python(racks);
  const found = [`brokers=${brokers.length}`, `racks=${asText}`];
  const shapes = (isDiskless, shape) =>
    topics
      .filter(({ diskless, partitions }) => diskless === isDiskless && partitions.length > 0)
      .map((topic) => `${python(topic.name)}: ${shape(topic.partitions)}`)
      .join(", ");
  const classic = shapes(false, (partitions) => `(${partitions.length}, ${partitions[0].replicas.length})`);
  const diskless = shapes(true, (partitions) => partitions.length);
  if (classic !== "") found.push(`topics={${classic}}`);
  if (diskless !== "") found.push(`diskless_topics={${diskless}}`);
  if (Object.keys(cluster.settings ?? {}).length > 0) found.push(`settings=${python(cluster.settings)}`);
  return found;
}

/** The shortest list of racks of which broker i has number i modulo its length. */
function patternOf(racks) {
  const length = racks.findIndex((_, cut) => cut > 0 && racks.every((rack, index) => rack === racks[index % cut]));
  return length < 0 ? racks : racks.slice(0, length);
}

const TITLES = {
  stop_rack: ({ rack }) => `while_rack_${rack}_is_down`,
  start_rack: ({ rack }) => `when_rack_${rack}_is_back`,
  stop_broker: ({ broker }) => `while_broker_${broker}_is_down`,
  start_broker: ({ broker }) => `when_broker_${broker}_is_back`,
  add_fault: ({ fault: { effect, link } }) =>
    link ? `with_link_${Object.values(link).flat().join("_")}_broken` : `with_${effect.error ?? Object.keys(effect)[0]}`,
  remove_faults: () => "without_faults",
};

function titleOf(actions) {
  const first = actions.find(({ kind }) => kind !== "reset");
  const title = first === undefined ? "the_client" : TITLES[first.kind](first);
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 60);
}

/** The lines of the test: before each command that repairs something, and at the end, the client runs. */
function stepsOf(actions, fixture, run) {
  const lines = [];
  const variables = new Map(); // a fault's id here -> its name in the test
  let isDue = true; // something broke since the client ran
  for (const { kind, ids, id, fault, rack, broker } of actions) {
    const isBreaking = kind === "add_fault" || kind.startsWith("stop");
    if (!isBreaking && isDue && lines.length > 0) lines.push(run);
    isDue = isBreaking || lines.length === 0;
    if (kind === "add_fault") {
      variables.set(id, `fault_${variables.size + 1}`);
      lines.push(`${variables.get(id)} = ${fixture}.faults.add(${python(fault)})`);
    } else if (kind === "remove_faults") {
      lines.push(...ids.filter((one) => variables.has(one)).map((one) => `${variables.get(one)}.remove()`));
    } else {
      lines.push(`${fixture}.${kind}(${kind === "reset" ? "" : python(rack ?? broker)})`);
    }
  }
  return isDue ? [...lines, run] : lines;
}
