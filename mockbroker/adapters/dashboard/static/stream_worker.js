// Listens to GET /events in a thread of its own: it parses and compares clusters of 10,000 partitions, and passes on
// only topics that changed.

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 10_000;

let source = null;
let waitMs = FIRST_WAIT_MS;
let timer = null;
let topics = new Map(); // name -> its JSON

onmessage = ({ data }) => {
  waitMs = FIRST_WAIT_MS;
  close();
  if (data === "connect") connect();
};

connect();

function close() {
  clearTimeout(timer);
  source?.close();
}

function connect() {
  close();
  postMessage({ kind: "connection", status: "connecting" });
  source = new EventSource(new URL("../events", import.meta.url));
  source.onopen = () => {
    waitMs = FIRST_WAIT_MS;
    topics = new Map(); // the whole set follows
    postMessage({ kind: "connection", status: "live" });
  };
  source.onerror = lost;
  source.addEventListener("cluster", ({ data }) => postChanges(JSON.parse(data)));
  for (const kind of ["traffic", "requests", "faults", "groups"])
    source.addEventListener(kind, ({ data }) => postMessage({ kind, data: JSON.parse(data) }));
}

/** Browsers stop trying after an answer that is no stream, so each attempt is one of ours. */
function lost() {
  source.close();
  postMessage({ kind: "connection", status: "lost" });
  timer = setTimeout(connect, waitMs);
  waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
}

/** Post changed topics one by one, so that the page can draw between, then the cluster without its topics. */
function postChanges({ topics: found, ...cluster }) {
  const before = topics;
  topics = new Map(found.map((topic) => [topic.name, JSON.stringify(topic)]));
  for (const topic of found)
    if (before.get(topic.name) !== topics.get(topic.name)) postMessage({ kind: "topic", topic });
  postMessage({ kind: "cluster", cluster, order: [...topics.keys()] });
}
