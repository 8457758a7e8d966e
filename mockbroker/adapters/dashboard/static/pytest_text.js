// What was done on this page as a test function that runs with the fixtures of the pytest plugin.

const WIDTH = 118;

/**
 * @param cluster GET /cluster without its topics; @param topics its topics
 * @param actions what was done, in order
 */
export function pytestText(cluster, topics, actions) {
  if (cluster.mode === "proxy") return pytestTextOfProxy(actions);
  const shape = shapeOf(cluster, topics);
  const hasFaults = actions.some(({ kind }) => kind === "add_fault");
  if (hasFaults) shape.push('unfired_faults="allow"');
  const steps = stepsOf(actions, hasFaults);
  const asks = ["kafka_cluster"];
  if (hasFaults) asks.push("kafka_faults");
  asks.push("kafka_journal");
  const isLong = shape.join(", ").length + 23 > WIDTH;
  const marker = isLong
    ? `@pytest.mark.kafka(\n${shape.map((one) => `    ${one},\n`).join("")})`
    : `@pytest.mark.kafka(${shape.join(", ")})`;
  return [
    "import pytest",
    "",
    "",
    marker,
    `def test_${titleOf(actions)}(${asks.join(", ")}):`,
    ...steps.map((line) => (line === "" ? "" : `    ${line}`)),
    "",
  ].join("\n");
}

/** The same with the fixture of a proxy: the real cluster is what it is. */
function pytestTextOfProxy(actions) {
  const hasFaults = actions.some(({ kind }) => kind === "add_fault");
  const lines = stepsOf(actions, hasFaults).map((line) =>
    line
      .replace(/^(fault_\d+ = )?kafka_faults\b/, "$1kafka_proxy.faults")
      .replace(/^# kafka_journal\b/, "# kafka_proxy.journal")
      .replace(/^kafka_cluster\b|(?<=^assert |against )kafka_cluster\b/, "kafka_proxy"),
  );
  const marker = hasFaults ? ['@pytest.mark.kafka(unfired_faults="allow")'] : [];
  const body = lines.map((line) => `    ${line}`);
  return ["import pytest", "", "", ...marker, `def test_${titleOf(actions)}(kafka_proxy):`, ...body, ""].join("\n");
}

/** A value as Python writes it. */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, one]) => `${python(key)}: ${python(one)}`)
      .join(", ")}}`;
  return String(value);
}

/** Text in ASCII alone: names are anybody's, and what they hold must stay inside the quotes. */
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
  const classic = topics.filter((topic) => !topic.diskless && topic.partitions.length > 0);
  if (classic.length > 0) {
    const shapes = classic.map(
      (topic) => `${python(topic.name)}: (${topic.partitions.length}, ${topic.partitions[0].replicas.length})`,
    );
    found.push(`topics={${shapes.join(", ")}}`);
  }
  const diskless = topics.filter((topic) => topic.diskless && topic.partitions.length > 0);
  if (diskless.length > 0) {
    found.push(
      `diskless_topics={${diskless.map((topic) => `${python(topic.name)}: ${topic.partitions.length}`).join(", ")}}`,
    );
  }
  if (Object.keys(cluster.settings ?? {}).length > 0) found.push(`settings=${python(cluster.settings)}`);
  return found;
}

/** The shortest list of racks of which broker i has number i modulo its length. */
function patternOf(racks) {
  for (let length = 1; length < racks.length; length += 1) {
    if (racks.every((rack, index) => rack === racks[index % length])) return racks.slice(0, length);
  }
  return racks;
}

function titleOf(actions) {
  const first = actions.find(({ kind }) => kind !== "reset");
  const words = {
    stop_rack: ({ rack }) => `while_rack_${rack}_is_down`,
    start_rack: ({ rack }) => `when_rack_${rack}_is_back`,
    stop_broker: ({ broker }) => `while_broker_${broker}_is_down`,
    start_broker: ({ broker }) => `when_broker_${broker}_is_back`,
    add_fault: ({ fault }) =>
      fault.effect.cut
        ? `while_the_link_${[fault.link.between].flat().join("_")}_is_cut`
        : `with_${fault.effect.error ?? Object.keys(fault.effect)[0]}`,
    remove_faults: () => "once_faults_are_gone",
  };
  const title = first === undefined ? "the_cluster" : words[first.kind](first);
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "")
    .slice(0, 60);
}

/** The lines of the function. */
function stepsOf(actions, hasFaults) {
  const lines = [];
  const handles = new Map(); // a fault's id here -> its name in the test
  const steps = {
    stop_rack: ({ rack }) => `kafka_cluster.stop_rack(${python(rack)})`,
    start_rack: ({ rack }) => `kafka_cluster.start_rack(${python(rack)})`,
    stop_broker: ({ broker }) => `kafka_cluster.stop_broker(${broker})`,
    start_broker: ({ broker }) => `kafka_cluster.start_broker(${broker})`,
    reset: () => "kafka_cluster.reset()",
    add_fault: ({ fault, id }) => {
      const variable = `fault_${handles.size + 1}`;
      handles.set(id, variable);
      return `${variable} = kafka_faults.add(${python(fault)})`;
    },
  };
  for (const action of actions) {
    if (action.kind === "remove_faults") {
      for (const id of action.ids) if (handles.has(id)) lines.push(`${handles.get(id)}.remove()`);
    } else {
      lines.push(steps[action.kind](action));
    }
  }
  if (lines.length === 0) lines.push("# nothing was done on the page yet");
  lines.push("# run your client here, against kafka_cluster.bootstrap_servers, and say what must hold, as:");
  lines.push('# kafka_journal.assert_rack_local(client_id="your-client")');
  if (hasFaults) lines.push("# then take unfired_faults away: a fault that nobody met fails the test");
  lines.push("assert kafka_cluster.bootstrap_servers");
  return lines;
}
