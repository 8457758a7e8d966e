// Listens to GET /events away from the page's thread: a cluster of 10,000 partitions is parsed and compared here, and
// only what has changed goes on.

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 10_000;
const CHANGES_A_PIECE = 500;
const PARTS = ["traffic", "requests", "faults", "groups"];

let source = null;
let waitMs = FIRST_WAIT_MS;
let timer = null;
let topics = new Map(); // name -> {shape, rows}: rows are the partitions as JSON text

onmessage = ({ data }) => {
  clearTimeout(timer);
  source?.close();
  if (data === "retry") {
    waitMs = FIRST_WAIT_MS;
    connect();
  }
};

connect();

function connect() {
  clearTimeout(timer);
  source?.close();
  postMessage({ kind: "connection", status: "connecting", retryAtMs: null });
  source = new EventSource(new URL("../events", import.meta.url));
  source.onopen = () => {
    waitMs = FIRST_WAIT_MS;
    topics = new Map(); // the whole set follows
    postMessage({ kind: "connection", status: "live", retryAtMs: null });
  };
  source.onerror = lost;
  source.addEventListener("cluster", ({ data }) => tellChanges(JSON.parse(data)));
  for (const part of PARTS) {
    source.addEventListener(part, ({ data }) => postMessage({ kind: part, data: JSON.parse(data) }));
  }
}

/** The browser's own attempts give up for good at an answer that is no stream, so each attempt is one of ours. */
function lost() {
  source.close();
  postMessage({ kind: "connection", status: "lost", retryAtMs: Date.now() + waitMs });
  timer = setTimeout(connect, waitMs);
  waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
}

/**
 * Whole topics where they are new, single partitions where they differ, then the cluster without its topics. In pieces,
 * between which the page draws and listens.
 */
function tellChanges({ topics: found, ...cluster }) {
  const now = new Map();
  let changes = [];
  const tell = () => {
    if (changes.length > 0) postMessage({ kind: "partitions", changes });
    changes = [];
  };
  for (const topic of found) {
    const { partitions, ...rest } = topic;
    const shape = `${partitions.length} ${JSON.stringify(rest)}`;
    const rows = partitions.map((partition) => JSON.stringify(partition));
    const before = topics.get(topic.name);
    now.set(topic.name, { shape, rows });
    if (before === undefined || before.shape !== shape) {
      postMessage({ kind: "topic", topic });
      continue;
    }
    for (let index = 0; index < rows.length; index += 1) {
      if (rows[index] === before.rows[index]) continue;
      changes.push([topic.name, index, partitions[index]]);
      if (changes.length === CHANGES_A_PIECE) tell();
    }
  }
  tell();
  topics = now;
  postMessage({ kind: "cluster", cluster, order: [...now.keys()] });
}
